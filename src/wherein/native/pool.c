/* Reduction of a picture by averaging: images/pool.py in C. */
#include "abi.h"

/* One row of the result: the means of blocks of factor × factor pixels. */
static inline void pool_row(const float *from, int64_t row_stride, int width, int factor, float *out)
{
    for (int i = 0; i < width; i++) {
        float sum = 0;
        for (int j = 0; j < factor; j++)
            for (int k = 0; k < factor; k++)
                sum += from[j * row_stride + i * factor + k];
        out[i] = sum / (factor * factor);
    }
}

/* Each pixel of `out` is the mean of factor² pixels; rows and columns that do not fill a block are left out. */
int wherein_pool(const Planes *picture, int32_t factor, float *out)
{
    const int64_t stride = picture->row_stride;
    const int width = picture->width / factor;
    for (int c = 0; c < picture->channels; c++)
        for (int r = 0; r < picture->height / factor; r++, out += width) {
            const float *from = picture->pixels + c * picture->plane_stride + (int64_t)r * factor * stride;
            switch (factor) { /* usual factors as constants, so that the compiler unrolls the sums */
            case 2: pool_row(from, stride, width, 2, out); break;
            case 4: pool_row(from, stride, width, 4, out); break;
            case 8: pool_row(from, stride, width, 8, out); break;
            default: pool_row(from, stride, width, factor, out);
            }
        }
    return DONE;
}

/* The same for bytes and a factor of 2: `from` is (planes, height, width), contiguous, and 255 becomes 1. Each byte is
 * divided by 255 before the sum, so that the result equals that of the picture in floats to the last bit.
 */
int wherein_halve_bytes(const uint8_t *from, int32_t planes, int32_t height, int32_t width, float *out)
{
    const int down = height / 2, across = width / 2;
    for (int c = 0; c < planes; c++)
        for (int r = 0; r < down; r++, out += across) {
            const uint8_t *restrict upper = from + ((int64_t)c * height + 2 * r) * width, *restrict lower = upper + width;
            for (int i = 0; i < across; i++) {
                float sum = upper[2 * i] / 255.0f;
                sum += upper[2 * i + 1] / 255.0f;
                sum += lower[2 * i] / 255.0f;
                sum += lower[2 * i + 1] / 255.0f;
                out[i] = sum / 4;
            }
        }
    return DONE;
}
