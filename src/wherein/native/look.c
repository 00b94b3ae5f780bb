/* The first look over a scene: planes/features.py in C.
 *
 * A motif is a list of features, each a direction at a place. The scene is a map for each direction of how strongly it
 * occurs near each place, in bytes. The sum of those bytes over the features is then an addition for 32 places at once.
 */
#include "channels.h"

typedef uint8_t Bytes __attribute__((vector_size(LOOK_SPAN)));
typedef uint16_t Words __attribute__((vector_size(LOOK_SPAN)));         /* half as many */
typedef uint16_t AllWords __attribute__((vector_size(2 * LOOK_SPAN))); /* as many */
typedef int16_t WordTruth __attribute__((vector_size(LOOK_SPAN)));

enum { LEVELS = 15, RUN = 255 / LEVELS }; /* of a response, and how many of them fit into a byte together */

/* The largest of three bytes in a row of `stride`, for all directions. */
static inline void largest(const uint8_t *a, const uint8_t *b, const uint8_t *c, uint8_t *out)
{
    for (int k = 0; k < DIRECTIONS; k++) {
        const uint8_t most = a[k] > b[k] ? a[k] : b[k];
        out[k] = most > c[k] ? most : c[k];
    }
}

/* Responses of a picture: its channels in `LEVELS` levels, each spread to its neighbours (the largest of 3 × 3), so
 * that a feature that is off by a pixel still counts in full.
 *
 * Only every other place of every other row is looked at; `maps` holds, for each direction and each of the four phases
 * (row and column even or odd), a plane of its own, so that the places that are looked at are contiguous. The planes
 * after those of the directions hold the larger of two opposite ones.
 */
int wherein_features(const Planes *picture, const ChannelRules *rules, float gain, const FeatureMaps *maps)
{
    const int height = picture->height, width = picture->width;
    const int64_t pixels = (int64_t)height * width, plane = (int64_t)maps->height * maps->width;
    ChannelBuffers buffers;
    if (make_channel_buffers(&buffers, height, width, rules) != DONE)
        return NO_MEMORY;
    float *channels = malloc(DIRECTIONS * pixels * sizeof *channels);
    uint8_t *levels = malloc(DIRECTIONS * pixels), *rows = malloc(DIRECTIONS * pixels);
    const int result = channels && levels && rows ? DONE : NO_MEMORY;
    if (result == DONE) {
        channels_of(picture, rules, &buffers, channels);
        for (int64_t i = 0; i < DIRECTIONS * pixels; i++) {
            const float level = channels[i] * gain;
            levels[i] = level < LEVELS ? (uint8_t)level : LEVELS;
        }
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++) {
                const uint8_t *row = levels + DIRECTIONS * (int64_t)y * width;
                largest(row + DIRECTIONS * clamped(x - 1, width), row + DIRECTIONS * x,
                        row + DIRECTIONS * clamped(x + 1, width), rows + DIRECTIONS * ((int64_t)y * width + x));
            }
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++) {
                uint8_t spread[DIRECTIONS];
                largest(rows + DIRECTIONS * ((int64_t)clamped(y - 1, height) * width + x),
                        rows + DIRECTIONS * ((int64_t)y * width + x),
                        rows + DIRECTIONS * ((int64_t)clamped(y + 1, height) * width + x), spread);
                uint8_t *to = maps->responses + (2 * (y & 1) + (x & 1)) * plane +
                              (int64_t)(maps->margin + (y >> 1)) * maps->width + maps->margin + (x >> 1);
                for (int k = 0; k < DIRECTIONS; k++)
                    to[4 * k * plane] = spread[k];
                for (int k = 0; k < DIRECTIONS / 2; k++) {
                    const uint8_t other = spread[k + DIRECTIONS / 2];
                    to[4 * (DIRECTIONS + k) * plane] = spread[k] > other ? spread[k] : other;
                }
            }
    }
    free(channels), free(levels), free(rows);
    free_channel_buffers(&buffers);
    return result;
}

/* The sums of one template's responses at LOOK_SPAN places from `at` on. */
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

/* Keep the larger sums, and the number of the template that has them. */
static inline void keep_best(Words sums, uint16_t number, uint16_t *best, uint16_t *which)
{
    Words known, owner;
    memcpy(&known, best, sizeof known), memcpy(&owner, which, sizeof owner);
    const Words better = (Words)(sums > known), numbers = (Words){0} + number;
    known = (sums & better) | (known & ~better);
    owner = (numbers & better) | (owner & ~better);
    memcpy(best, &known, sizeof known), memcpy(which, &owner, sizeof owner);
}

/* For every place the highest sum over all templates, and which template has it; `best` and `which` have rows of
 * `places->row` words, a multiple of LOOK_SPAN.
 */
int wherein_look(const uint8_t *first, const LookPlaces *places, const int32_t *offsets, int32_t templates,
                 int32_t features, uint16_t *best, uint16_t *which)
{
    memset(best, 0, (int64_t)places->height * places->row * sizeof *best);
    memset(which, 0, (int64_t)places->height * places->row * sizeof *which);
    for (int t = 0; t < templates; t++, offsets += features)
        for (int y = 0; y < places->height; y++)
            for (int x = 0; x < places->width; x += LOOK_SPAN) {
                Words sums[2];
                const int64_t to = (int64_t)y * places->row + x;
                sum_features(first + y * places->stride + x, offsets, features, sums);
                keep_best(sums[0], t, best + to, which + to);
                keep_best(sums[1], t, best + to + LOOK_SPAN / 2, which + to + LOOK_SPAN / 2);
            }
    return DONE;
}
