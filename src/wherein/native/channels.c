/* Oriented gradient channels of a picture: images/channels.py in C. */
#include "channels.h"

#include "vectors.h"

/* The gradient at each pixel of row y, of the colour with the largest gradient: central differences, smoothed across
 * by (1, 2, 1)/4.
 */
static inline void gradient_row(const Planes *p, int y, float *line, float *restrict gx, float *restrict gy,
                                float *restrict magnitude)
{
    const int height = p->height, width = p->width;
    float *restrict along = line + 1, *restrict across = line + width + 3; /* a column smoothed, and its difference */
    memset(gx, 0, width * sizeof *gx), memset(gy, 0, width * sizeof *gy);
    for (int c = 0; c < p->channels; c++) {
        const float *plane = p->pixels + c * p->plane_stride, *here = plane + y * p->row_stride;
        const float *above = plane + clamped(y - 1, height) * p->row_stride;
        const float *below = plane + clamped(y + 1, height) * p->row_stride;
        for (int x = 0; x < width; x++) {
            along[x] = (above[x] + 2 * here[x] + below[x]) * 0.25f;
            across[x] = (below[x] - above[x]) * 0.5f;
        }
        along[-1] = along[0], along[width] = along[width - 1];
        across[-1] = across[0], across[width] = across[width - 1];
        for (int x = 0; x < width; x++) {
            const float u = (along[x + 1] - along[x - 1]) * 0.5f;
            const float v = (across[x - 1] + 2 * across[x] + across[x + 1]) * 0.25f;
            const float most = gx[x] * gx[x] + gy[x] * gy[x], own = u * u + v * v;
            gx[x] = own > most ? u : gx[x];
            gy[x] = own > most ? v : gy[x];
        }
    }
    for (int x = 0; x < width; x++)
        magnitude[x] = sqrtf(gx[x] * gx[x] + gy[x] * gy[x]);
}

/* The sums of `count` rows of numbers, in one pass. The usual count is passed as a constant, so that the compiler unrolls
 * the loop over the rows.
 */
static inline __attribute__((always_inline)) void add_rows(const float *const rows[], int count, int width,
                                                           float *restrict out)
{
    int x = 0;
    for (; x + WIDTH <= width; x += WIDTH) {
        vec sum = load_all(rows[0] + x);
        for (int j = 1; j < count; j++)
            sum += load_all(rows[j] + x);
        store(out + x, sum);
    }
    for (; x < width; x++) {
        out[x] = rows[0][x];
        for (int j = 1; j < count; j++)
            out[x] += rows[j][x];
    }
}

static inline void add_up(const float *const rows[], int count, int width, float *restrict out)
{
    if (count == 9)
        add_rows(rows, 9, width, out);
    else
        add_rows(rows, count, width, out);
}

/* The normalisation 1 / ((|g|² + noise²)^¾ (mean |g| + floor)^½) of row y, the mean over a window around each pixel.
 *
 * split() multiplies it by a square of g, so channels are in proportion to √(|g| / mean |g|): contrast cancels.
 */
static inline void scale_row(int y, int height, int width, const ChannelRules *rules, const ChannelBuffers *b)
{
    const int window = rules->window, reach = window / 2;
    const float share = 1.0f / ((float)window * window), noise = rules->noise * rules->noise;
    const float *restrict gx = b->gx + (int64_t)(y % window) * width, *restrict gy = b->gy + (int64_t)(y % window) * width;
    float *restrict column = b->line + reach, *restrict out = b->scale;
    const float **around = b->before;
    /* Summed again for every row: running sums would carry rounding errors from row to row. */
    for (int j = 0; j < window; j++)
        around[j] = b->magnitude + (int64_t)(clamped(y + j - reach, height) % window) * width;
    add_up(around, window, width, column);
    for (int j = 1; j <= reach; j++)
        column[-j] = column[0], column[width - 1 + j] = column[width - 1];
    for (int j = 0; j < window; j++)
        around[j] = column + j - reach;
    add_up(around, window, width, out);
    for (int x = 0; x < width; x++) {
        const float size = sqrtf(gx[x] * gx[x] + gy[x] * gy[x] + noise);
        out[x] = 1 / (size * sqrtf(size) * sqrtf(out[x] * share + rules->floor));
    }
}

/* max(0, ⟨g, u_k⟩)² · scale for the eight unit vectors u_k, 45° apart. */
static inline Octet split(float gx, float gy, float scale)
{
    const float h = 0.70710678f;
    const Octet ux = {1, h, 0, -h, -1, -h, 0, h}, uy = {0, h, 1, h, 0, -h, -1, -h};
    Octet along = gx * ux + gy * uy;
    along = (Octet)((OctetTruth)along & (along > 0));
    return along * along * scale;
}

/* A symmetric filter over pixels or rows: taps[0] · here + Σ taps[j + 1] · (before[j] + after[j]). */
static inline __attribute__((always_inline)) void filter(const float *here, const float *const before[],
                                                         const float *const after[], const float *taps, int reach,
                                                         int64_t count, float *restrict out)
{
    int64_t i = 0;
    for (; i + WIDTH <= count; i += WIDTH) {
        vec sum = taps[0] * load_all(here + i);
        for (int j = 0; j < reach; j++)
            sum += taps[j + 1] * (load_all(before[j] + i) + load_all(after[j] + i));
        store(out + i, sum);
    }
    for (; i < count; i += DIRECTIONS) {
        Octet sum = taps[0] * octet(here + i);
        for (int j = 0; j < reach; j++)
            sum += taps[j + 1] * (octet(before[j] + i) + octet(after[j] + i));
        put_octet(out + i, sum);
    }
}

/* The same, with the usual reaches as constants, so that the compiler unrolls the loop over the taps. */
static inline void smooth(const float *here, const float *const before[], const float *const after[], const float *taps,
                          int reach, int64_t count, float *restrict out)
{
    if (reach == 2)
        filter(here, before, after, taps, 2, count, out);
    else if (reach == 4)
        filter(here, before, after, taps, 4, count, out);
    else
        filter(here, before, after, taps, reach, count, out);
}

/* The channels of row y, smoothed along it. */
static inline void smooth_row(int y, int width, const ChannelRules *rules, const ChannelBuffers *b, float *restrict out)
{
    const int reach = rules->count / 2, kept = y % rules->window;
    const float *taps = rules->taps + reach;
    const float *gx = b->gx + (int64_t)kept * width, *gy = b->gy + (int64_t)kept * width;
    float *restrict line = b->line + DIRECTIONS * reach;
    for (int x = 0; x < width; x++)
        put_octet(line + DIRECTIONS * x, split(gx[x], gy[x], b->scale[x]));
    for (int j = 1; j <= reach; j++) {
        put_octet(line - DIRECTIONS * j, octet(line));
        put_octet(line + DIRECTIONS * (width - 1 + j), octet(line + DIRECTIONS * (width - 1)));
    }
    for (int j = 0; j < reach; j++)
        b->before[j] = line - DIRECTIONS * (j + 1), b->after[j] = line + DIRECTIONS * (j + 1);
    smooth(line, b->before, b->after, taps, reach, (int64_t)DIRECTIONS * width, out);
}

/* The channels of row y, smoothed across the rows around it, which are smoothed along already. */
static inline void smooth_across(int y, int height, int width, const ChannelRules *rules, const ChannelBuffers *b,
                                 float *restrict out)
{
    const int reach = rules->count / 2;
    const int64_t row = (int64_t)DIRECTIONS * width;
    const float *taps = rules->taps + reach, *restrict here = b->smooth + y % rules->count * row;
    for (int j = 0; j < reach; j++) {
        b->before[j] = b->smooth + clamped(y - j - 1, height) % rules->count * row;
        b->after[j] = b->smooth + clamped(y + j + 1, height) % rules->count * row;
    }
    smooth(here, b->before, b->after, taps, reach, row, out);
}

/* Passes the channels of a picture to `sink`, row by row. The buffers must be made for its width or a larger one.
 *
 * Each stage lags behind the one before it: gradients are `window / 2` rows ahead of the normalised channels, and these
 * `reach` rows ahead of the smoothed ones.
 */
void channels_of(const Planes *p, const ChannelRules *rules, ChannelBuffers *b, ChannelSink *sink, void *to)
{
    const int height = p->height, width = p->width, window = rules->window, reach = rules->count / 2;
    const int64_t row = (int64_t)DIRECTIONS * width;
    float *out = b->smooth + rules->count * row;
    int known = 0; /* number of rows whose gradient is known */
    for (int y = 0; y < height + reach; y++) {
        for (; known < height && known <= y + window / 2; known++) {
            const int64_t kept = (int64_t)(known % window) * width;
            gradient_row(p, known, b->line, b->gx + kept, b->gy + kept, b->magnitude + kept);
        }
        if (y < height) {
            scale_row(y, height, width, rules, b);
            smooth_row(y, width, rules, b, b->smooth + y % rules->count * row);
        }
        if (y >= reach) {
            smooth_across(y - reach, height, width, rules, b, out);
            sink(to, y - reach, out, width);
        }
    }
}

/* `out` is (height, width, DIRECTIONS), contiguous. */
int wherein_channels(const Planes *picture, const ChannelRules *rules, float *out)
{
    ChannelBuffers buffers;
    if (make_channel_buffers(&buffers, picture->width, rules) != DONE)
        return NO_MEMORY;
    channels_of(picture, rules, &buffers, keep_channels, out);
    free_channel_buffers(&buffers);
    return DONE;
}
