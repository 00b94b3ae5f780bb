/* The first look over a scene: planes/look/features.py in C.
 *
 * A motif is a list of features, each a direction at a position. The scene is represented by one map for each
 * direction: how strongly it occurs near each place, in bytes. Summing these bytes over the features takes one vector
 * addition for each feature and 32 or 64 places.
 */
#include "channels.h"

/* Places at a time: as many as a register has bytes. A wider vector would be kept in memory. */
#if defined(__AVX512BW__)
#define AT_ONCE 64
#else
#define AT_ONCE 32
#endif
_Static_assert(LOOK_SPAN % AT_ONCE == 0, "rows are padded to whole vectors");

typedef uint8_t Bytes __attribute__((vector_size(AT_ONCE)));
typedef uint16_t Words __attribute__((vector_size(AT_ONCE)));         /* sums of half of the places */
typedef uint16_t AllWords __attribute__((vector_size(2 * AT_ONCE))); /* sums of all of them */

enum { LEVELS = 15, RUN = 255 / LEVELS }; /* the highest response, and how many responses can be summed in a byte */

static inline uint8_t larger(uint8_t a, uint8_t b)
{
    return a > b ? a : b;
}

/* The largest of three, byte by byte; written so that the compiler vectorises it. */
static inline void largest(const uint8_t *restrict a, const uint8_t *restrict b, const uint8_t *restrict c, int64_t count,
                           uint8_t *restrict out)
{
    for (int64_t i = 0; i < count; i++)
        out[i] = larger(larger(a[i], b[i]), c[i]);
}

/* Quantises the channels of a row to `LEVELS` levels; then takes the maximum of each pixel and its two neighbours. The
 * border pixels are repeated on either side.
 */
static void spread_row(const float *channels, int width, float gain, uint8_t *line, uint8_t *out)
{
    uint8_t *levels = line + DIRECTIONS;
    for (int64_t i = 0; i < (int64_t)DIRECTIONS * width; i++) {
        const float level = channels[i] * gain;
        levels[i] = (uint8_t)(int32_t)(level < LEVELS ? level : LEVELS);
    }
    memcpy(line, levels, DIRECTIONS);
    memcpy(levels + DIRECTIONS * width, levels + DIRECTIONS * (width - 1), DIRECTIONS);
    largest(line, levels, levels + DIRECTIONS, (int64_t)DIRECTIONS * width, out);
}

/* Writes a row of responses into the planes of `maps`: every other pixel, for each of the two phases along the row. */
static void put_row(const uint8_t *spread, int y, int width, const FeatureMaps *maps)
{
    const int64_t plane = (int64_t)maps->height * maps->width;
    uint8_t *row = maps->responses + 2 * (y & 1) * plane + (int64_t)(maps->margin + (y >> 1)) * maps->width + maps->margin;
    for (int phase = 0; phase < 2; phase++)
        for (int k = 0; k < DIRECTIONS; k++) {
            uint8_t *to = row + (4 * k + phase) * plane;
            for (int x = phase; x < width; x += 2)
                to[x >> 1] = spread[DIRECTIONS * x + k];
        }
    for (int phase = 0; phase < 2; phase++)
        for (int k = 0; k < DIRECTIONS / 2; k++) {
            uint8_t *to = row + (4 * (DIRECTIONS + k) + phase) * plane;
            const uint8_t *a = row + (4 * k + phase) * plane, *b = a + 4 * (DIRECTIONS / 2) * plane;
            for (int i = 0; i < (width + 1 - phase) / 2; i++)
                to[i] = larger(a[i], b[i]);
        }
}

/* The rows of responses that are not yet spread to their neighbours above and below. */
typedef struct {
    const FeatureMaps *maps;
    float gain;
    uint8_t *rows, *line; /* the last three rows as a ring buffer, and working memory for two */
    int height;
} Spreading;

static void put_spread(const Spreading *s, int y, int width)
{
    const int64_t row = (int64_t)DIRECTIONS * width;
    uint8_t *spread = s->line + row + 2 * DIRECTIONS;
    largest(s->rows + clamped(y - 1, s->height) % 3 * row, s->rows + y % 3 * row,
            s->rows + clamped(y + 1, s->height) % 3 * row, row, spread);
    put_row(spread, y, width, s->maps);
}

/* A sink of channels. A row can be spread when the next one is known. */
static void spread_channels(void *to, int y, const float *channels, int width)
{
    const Spreading *s = to;
    spread_row(channels, width, s->gain, s->line, s->rows + (int64_t)(y % 3) * DIRECTIONS * width);
    if (y > 0)
        put_spread(s, y - 1, width);
    if (y == s->height - 1)
        put_spread(s, y, width);
}

/* The responses of a picture: its channels, quantised to `LEVELS` levels and spread to their neighbours (the maximum of
 * 3 × 3 pixels), so that a feature that is off by a pixel still counts in full.
 *
 * Places lie at every other pixel of every other row. So `maps` has a plane for each direction and each of the four
 * phases (row and column even or odd), in which the responses for consecutive places are contiguous. The planes after
 * those of the directions hold the maximum of two opposite directions.
 */
int wherein_features(const Planes *picture, const ChannelRules *rules, float gain, const FeatureMaps *maps)
{
    const int64_t row = (int64_t)DIRECTIONS * picture->width;
    ChannelBuffers buffers;
    if (make_channel_buffers(&buffers, picture->width, rules) != DONE)
        return NO_MEMORY;
    Spreading spreading = {.maps = maps, .gain = gain, .rows = malloc(3 * row),
                           .line = malloc(2 * (row + 2 * DIRECTIONS)), .height = picture->height};
    const int result = spreading.rows && spreading.line ? DONE : NO_MEMORY;
    if (result == DONE)
        channels_of(picture, rules, &buffers, spread_channels, &spreading);
    free(spreading.rows), free(spreading.line);
    free_channel_buffers(&buffers);
    return result;
}

/* The sums of one template's responses at AT_ONCE places from `at` on.
 *
 * Runs of RUN responses are summed in bytes, which cannot overflow, and the runs in words.
 */
static inline void sum_features(const uint8_t *at, const int32_t *offsets, int count, Words sums[2])
{
    sums[0] = sums[1] = (Words){0};
    for (int first = 0; first < count; first += RUN) {
        const int last = first + RUN < count ? first + RUN : count;
        Bytes run = {0};
        for (int i = first; i < last; i++) {
            Bytes next;
            memcpy(&next, at + offsets[i], sizeof next);
            run += next;
        }
        const AllWords wide = __builtin_convertvector(run, AllWords);
        Words halves[2];
        memcpy(halves, &wide, sizeof halves);
        sums[0] += halves[0], sums[1] += halves[1];
    }
}

/* Keeps the larger sums and the index of their template. Of equal sums, the first template stays. */
static inline void keep_best(Words sums, uint16_t number, uint16_t *best, uint16_t *which)
{
    Words known, owner;
    memcpy(&known, best, sizeof known), memcpy(&owner, which, sizeof owner);
    const Words better = (Words)(sums > known), numbers = (Words){0} + number;
    known = (sums & better) | (known & ~better);
    owner = (numbers & better) | (owner & ~better);
    memcpy(best, &known, sizeof known), memcpy(which, &owner, sizeof owner);
}

enum { ROWS = 32 }; /* rows of places at a time: the responses they need stay in the cache for all templates */
_Static_assert(ROWS % LOOK_ROWS == 0, "whole tiles at a time");

/* Whether the places from (x, y) on are in a tile that is compared. */
static inline int looked_at(const LookPlaces *places, int y, int x)
{
    return !places->tiles || places->tiles[y / LOOK_ROWS * (places->row / LOOK_SPAN) + x / LOOK_SPAN];
}

/* For every place the highest sum over all templates, and the index of its template. `best` and `which` have rows of
 * `places->row` words, a multiple of LOOK_SPAN. At places outside the selected tiles, both are 0.
 */
int wherein_look(const uint8_t *first, const LookPlaces *places, const int32_t *offsets, int32_t templates,
                 int32_t features, uint16_t *best, uint16_t *which)
{
    memset(best, 0, (int64_t)places->height * places->row * sizeof *best);
    memset(which, 0, (int64_t)places->height * places->row * sizeof *which);
    for (int top = 0; top < places->height; top += ROWS) {
        const int bottom = top + ROWS < places->height ? top + ROWS : places->height;
        for (int t = 0; t < templates; t++)
            for (int y = top; y < bottom; y++)
                for (int x = 0; x < places->width; x += AT_ONCE) {
                    if (!looked_at(places, y, x))
                        continue;
                    Words sums[2];
                    const int64_t to = (int64_t)y * places->row + x;
                    sum_features(first + y * places->stride + x, offsets + (int64_t)t * features, features, sums);
                    keep_best(sums[0], t, best + to, which + to);
                    keep_best(sums[1], t, best + to + AT_ONCE / 2, which + to + AT_ONCE / 2);
                }
    }
    return DONE;
}

/* The summed-area table of the energy, which is the sum of squared responses over the directions. `table` has a row and
 * a column of zeros before those of the height × width places.
 */
int wherein_energy(const FeatureMaps *maps, int32_t height, int32_t width, int64_t *table)
{
    const int64_t plane = (int64_t)maps->height * maps->width;
    int32_t *line = malloc(width * sizeof *line);
    if (!line)
        return NO_MEMORY;
    memset(table, 0, (width + 1) * sizeof *table);
    for (int y = 0; y < height; y++) {
        const uint8_t *row = maps->responses + (int64_t)(maps->margin + y) * maps->width + maps->margin;
        memset(line, 0, width * sizeof *line);
        for (int k = 0; k < DIRECTIONS; k++)
            for (int x = 0; x < width; x++)
                line[x] += row[4 * k * plane + x] * row[4 * k * plane + x];
        const int64_t *above = table + (int64_t)y * (width + 1);
        int64_t *to = table + (int64_t)(y + 1) * (width + 1), sum = 0;
        to[0] = 0;
        for (int x = 0; x < width; x++)
            to[x + 1] = above[x + 1] + (sum += line[x]);
    }
    free(line);
    return DONE;
}

/* The rating best / √((mean energy + quiet) · share) of each place, with the mean over a window around it. At the
 * border, the mean is over the part of the window inside the scene, and `share` is the share of this part: fewer
 * features contribute there. If the window is larger than half of the scene, the border is near nearly everywhere, and
 * `share` is 1.
 */
int wherein_rate_places(const LookPlaces *places, const uint16_t *best, const int64_t *table, int32_t window,
                        float quiet, float *ratings)
{
    const int height = places->height, width = places->width, reach = window / 2;
    const float whole = (float)(2 * reach + 1) * (2 * reach + 1);
    const int small = 2 * window <= (height < width ? height : width);
    for (int y = 0; y < height; y++) {
        const int top = y > reach ? y - reach : 0, bottom = y + reach + 1 < height ? y + reach + 1 : height;
        const int64_t *above = table + (int64_t)top * (width + 1), *below = table + (int64_t)bottom * (width + 1);
        const uint16_t *from = best + (int64_t)y * places->row;
        float *to = ratings + (int64_t)y * width;
        for (int x = 0; x < width; x++) {
            const int left = x > reach ? x - reach : 0, right = x + reach + 1 < width ? x + reach + 1 : width;
            const float sum = (below[right] - below[left]) - (above[right] - above[left]);
            const float inside = (bottom - top) * (right - left);
            to[x] = from[x] / sqrtf((sum / inside + quiet) * (small ? inside / whole : 1));
        }
    }
    return DONE;
}

static inline float highest(float a, float b)
{
    return a > b ? a : b;
}

/* The indices of all places with a positive rating that is not exceeded by any of their eight neighbours. */
int wherein_peaks(const float *ratings, int32_t height, int32_t width, int32_t *at, int32_t *count)
{
    float *across = malloc(2 * (int64_t)width * sizeof *across); /* maxima of columns of three, then of squares */
    if (!across)
        return NO_MEMORY;
    float *column = across + width;
    int found = 0;
    for (int y = 0; y < height; y++) {
        const float *here = ratings + (int64_t)y * width, *above = y ? here - width : here;
        const float *below = y + 1 < height ? here + width : here;
        for (int x = 0; x < width; x++)
            column[x] = highest(highest(above[x], below[x]), here[x]);
        across[0] = width > 1 ? highest(column[0], column[1]) : column[0];
        across[width - 1] = width > 1 ? highest(column[width - 1], column[width - 2]) : column[0];
        for (int x = 1; x < width - 1; x++)
            across[x] = highest(highest(column[x - 1], column[x + 1]), column[x]);
        for (int x = 0; x < width; x++)
            if (here[x] > 0 && here[x] >= across[x])
                at[found++] = y * width + x;
    }
    *count = found;
    free(across);
    return DONE;
}
