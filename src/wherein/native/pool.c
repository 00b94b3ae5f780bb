/* A picture at a smaller size: images/pool.py in C. */
#include "abi.h"

/* One row of the result: the means of squares of factor × factor pixels. */
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

/* Each pixel of `out` is the mean of factor² ones; rows and columns that do not fill a pixel are left out. */
int wherein_pool(const Planes *picture, int32_t factor, float *out)
{
    const int64_t stride = picture->row_stride;
    const int width = picture->width / factor;
    for (int c = 0; c < picture->channels; c++)
        for (int r = 0; r < picture->height / factor; r++, out += width) {
            const float *from = picture->pixels + c * picture->plane_stride + (int64_t)r * factor * stride;
            switch (factor) { /* the usual factors as constants, so that the compiler unrolls the sums */
            case 2: pool_row(from, stride, width, 2, out); break;
            case 4: pool_row(from, stride, width, 4, out); break;
            case 8: pool_row(from, stride, width, 8, out); break;
            default: pool_row(from, stride, width, factor, out);
            }
        }
    return DONE;
}
