/* A filter of odd length along each axis, with zeros outside: separable() of images/gaussian.py in C.
 *
 * Each value is the sum over the taps in their order, in float32, whatever block or batch it is part of. So the bits of
 * the result do not depend on these. Taps that would only multiply zeros outside are skipped.
 */
#include <stdlib.h>

#include "abi.h"
#include "vectors.h"

/* Values that are summed together: four vectors hide the latency of an addition, and leave registers for the rest. */
enum { SPAN = 4 * WIDTH };

static inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* SPAN sums Σ_k taps[k] · from[k · stride + …]. */
static inline void filter_span(const float *from, int64_t stride, const float *taps, int count, float *out)
{
    vec sum[SPAN / WIDTH] = {{0}};
    for (int k = 0; k < count; k++, from += stride)
        for (int i = 0; i < SPAN / WIDTH; i++)
            sum[i] += taps[k] * load_all(from + i * WIDTH);
    memcpy(out, sum, sizeof sum);
}

/* Filters row y of a plane. The rows of `plane` are padded with zeros to `row` floats; `line` is, too, and by `radius`
 * more on each side. So every span is complete.
 */
static void filter_row(const float *plane, int64_t row, float *line, int y, int height, int width, const float *taps,
                       int count, float *out)
{
    const int radius = count / 2;
    const int top = larger(radius - y, 0), below = smaller(radius + height - y, count);
    for (int64_t x = 0; x < row; x += SPAN)
        filter_span(plane + (y + top - radius) * row + x, row, taps + top, below - top, line + radius + x);
    for (int64_t x = 0; x < width; x += SPAN) {
        ALIGNED float span[SPAN];
        const int first = larger(radius - (x + SPAN - 1), 0), end = smaller(radius + width - x, count);
        filter_span(line + x + first, 1, taps + first, end - first, span);
        memcpy(out + x, span, smaller(width - x, SPAN) * sizeof *span);
    }
}

/* Filters each plane. `out` is contiguous and must not overlap the picture. */
int wherein_separable(const Planes *picture, const float *taps, int32_t count, float *out)
{
    const int height = picture->height, width = picture->width;
    const int64_t row = (width + SPAN - 1) / SPAN * SPAN;
    float *plane = calloc(height * row, sizeof *plane), *line = calloc(row + 2 * (count / 2), sizeof *line);
    for (int c = 0; c < picture->channels && plane && line; c++) {
        const float *from = picture->pixels + c * picture->plane_stride;
        for (int y = 0; y < height; y++)
            memcpy(plane + y * row, from + y * picture->row_stride, width * sizeof *plane);
        for (int y = 0; y < height; y++, out += width)
            filter_row(plane, row, line, y, height, width, taps, count, out);
    }
    const int result = plane && line ? DONE : NO_MEMORY;
    free(plane), free(line);
    return result;
}
