/* One odd filter along each axis, zeros outside: images/gaussian.py's `separable` in C.
 *
 * A value is the sum over the taps in their order, in float32, whichever block or batch it falls into: the same bits.
 * Taps that would only meet the zeros outside are left out.
 */
#include <stdint.h>
#include <stdlib.h>

#include "common.h"

enum { SPAN = 4 * LANES };

static inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* SPAN sums Σ_k taps[k] · from[k · stride + …] */
static inline void sums(const float *from, int64_t stride, const float *taps, int count, float *out)
{
    v16 sum[SPAN / LANES] = {{0}};
    for (int k = 0; k < count; k++, from += stride)
        for (int i = 0; i < SPAN / LANES; i++)
            sum[i] += taps[k] * load(from + i * LANES, LANES);
    memcpy(out, sum, sizeof sum);
}

/* `planes` pictures, one behind the other; out may not overlap them. Negative: no memory. */
int wherein_separable(const float *pixels, int64_t planes, int height, int width, const float *taps, int count,
                      float *out)
{
    const int radius = count / 2;
    /* Rows are filtered in room of their own, with zeros around, and so long that every block is a whole one. */
    const int64_t blocks = (width + SPAN - 1) / SPAN, row = blocks * SPAN;
    float *picture = calloc(height * row, sizeof *picture), *line = calloc(row + 2 * radius, sizeof *line);
    if (!picture || !line) {
        free(picture), free(line);
        return -1;
    }
    for (int64_t p = 0; p < planes; p++, pixels += (int64_t)height * width, out += (int64_t)height * width) {
        for (int y = 0; y < height; y++)
            memcpy(picture + y * row, pixels + (int64_t)y * width, width * sizeof *pixels);
        for (int y = 0; y < height; y++) {
            const int top = larger(radius - y, 0), below = smaller(radius + height - y, count);
            for (int64_t b = 0; b < blocks; b++)
                sums(picture + (y + top - radius) * row + b * SPAN, row, taps + top, below - top,
                     line + radius + b * SPAN);
            for (int64_t x = 0; x < width; x += SPAN) {
                float block[SPAN];
                const int first = larger(radius - (x + SPAN - 1), 0), end = smaller(radius + width - x, count);
                sums(line + x + first, 1, taps + first, end - first, block);
                memcpy(out + (int64_t)y * width + x, block, smaller(width - x, SPAN) * sizeof *block);
            }
        }
    }
    free(picture), free(line);
    return 0;
}
