/* One odd filter along each axis, zeros outside: images/gaussian.py's `separable` in C.
 *
 * A value is the sum over the taps in their order, in float32, whichever block it falls into: the same bits everywhere.
 */
#include <stdint.h>
#include <stdlib.h>

#include "common.h"

enum { SPAN = 4 * LANES };

static inline v16 at(const float *from)
{
    v16 v;
    memcpy(&v, from, sizeof v);
    return v;
}

/* SPAN sums Σ_k taps[k] · from[k · stride + …] */
static inline void sums(const float *from, int64_t stride, const float *taps, int count, float *out)
{
    v16 sum[SPAN / LANES] = {{0}};
    for (int k = 0; k < count; k++, from += stride)
        for (int i = 0; i < SPAN / LANES; i++)
            sum[i] += taps[k] * at(from + i * LANES);
    memcpy(out, sum, sizeof sum);
}

/* `planes` pictures, one behind the other; out may not overlap them. Negative: no memory. */
int wherein_separable(const float *pixels, int64_t planes, int height, int width, const float *taps, int count,
                      float *out)
{
    const int radius = count / 2;
    /* Rows are filtered in room of their own, with zeros around, and so long that every block is a whole one. */
    const int64_t blocks = (width + SPAN - 1) / SPAN, row = blocks * SPAN, padded = row + 2 * radius;
    float *above = calloc((height + 2 * radius) * row, sizeof *above), *line = calloc(padded, sizeof *line);
    if (!above || !line) {
        free(above), free(line);
        return -1;
    }
    float *picture = above + radius * row;
    for (int64_t p = 0; p < planes; p++, pixels += (int64_t)height * width, out += (int64_t)height * width) {
        for (int y = 0; y < height; y++)
            memcpy(picture + y * row, pixels + (int64_t)y * width, width * sizeof *pixels);
        for (int y = 0; y < height; y++) {
            for (int64_t b = 0; b < blocks; b++)
                sums(above + y * row + b * SPAN, row, taps, count, line + radius + b * SPAN);
            for (int64_t b = 0; b < blocks; b++) {
                float block[SPAN];
                const int64_t left = width - b * SPAN;
                sums(line + b * SPAN, 1, taps, count, block);
                memcpy(out + (int64_t)y * width + b * SPAN, block, (left < SPAN ? left : SPAN) * sizeof *block);
            }
        }
    }
    free(above), free(line);
    return 0;
}
