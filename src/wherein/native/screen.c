/* ZNCC of many kernels at every place of a picture: search/screen.py in C.
 *
 * A kernel is a list of points, so that thin and turned motifs cost no more than they cover. Sums of a place run over
 * the points in their order, in float32, whichever thread or block it falls into: the same bits everywhere.
 */
#include <math.h>
#include <stdint.h>

#include "common.h"

enum { SPAN = 2 * LANES, MOST_CHANNELS = 4 };

typedef struct {
    const int32_t *places; /* of each point: how far its pixel is from the centre's in memory */
    const float *values;   /* n of each channel, zero mean; their squares sum to 1 over all channels */
    int n;
} Kernel;

static inline v16 at(const float *from)
{
    v16 v;
    memcpy(&v, from, sizeof v);
    return v;
}

static inline v16 root(v16 v)
{
    for (int k = 0; k < LANES; k++)
        v[k] = sqrtf(v[k]);
    return v;
}

/* ZNCC at SPAN places from `centre` on; the plane behind the channels holds the sum of their squares. */
static inline void correlate(const float *centre, int64_t plane, int channels, const Kernel *k, float least,
                             float out[SPAN])
{
    v16 overlap[2] = {{0}}, energy[2] = {{0}}, sums[MOST_CHANNELS][2] = {{{0}}};
    for (int i = 0; i < k->n; i++) {
        const float *from = centre + k->places[i];
        for (int c = 0; c < channels; c++, from += plane) {
            const float value = k->values[c * k->n + i];
            v16 first = at(from), second = at(from + LANES);
            overlap[0] += value * first, overlap[1] += value * second;
            sums[c][0] += first, sums[c][1] += second;
        }
        energy[0] += at(from), energy[1] += at(from + LANES);
    }
    for (int half = 0; half < 2; half++) {
        v16 spread = energy[half];
        for (int c = 0; c < channels; c++)
            spread -= sums[c][half] * sums[c][half] / (float)k->n;
        const v16 floor = {0}, lowest = floor + least * (float)(k->n * channels);
        const i16 enough = spread > lowest;
        spread = (v16)(((i16)spread & enough) | ((i16)lowest & ~enough));
        v16 zncc = overlap[half] / root(spread);
        memcpy(out + half * LANES, &zncc, sizeof zncc);
    }
}

static inline void screen_in(const float *pixels, int64_t plane, int64_t row, int channels, int height, int width,
                             const Kernel *k, int number, float least, float *best, int32_t *which)
{
    float zncc[SPAN];
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x += SPAN) {
            correlate(pixels + y * row + x, plane, channels, k, least, zncc);
            const int count = width - x < SPAN ? width - x : SPAN;
            float *top = best + (int64_t)y * width + x;
            int32_t *whose = which + (int64_t)y * width + x;
            for (int i = 0; i < count; i++)
                if (zncc[i] > top[i])
                    top[i] = zncc[i], whose[i] = number;
        }
}

/* The best of `kernels` at height × width places, and its number counted from `first`.
 *
 * `pixels` is where the first place's centre lies in the padded picture, of channels + 1 planes, which must go on for
 * SPAN floats behind its last place. Kernel k has counts[k] points, one kernel behind the other in `places` and, times
 * the channels, in `values`.
 */
int wherein_screen(const float *pixels, int64_t plane, int64_t row, int channels, int height, int width,
                   const int32_t *places, const float *values, const int32_t *counts, int kernels, int first,
                   float least, float *best, int32_t *which)
{
    for (int i = 0; i < kernels; i++) {
        Kernel k = {places, values, counts[i]};
        switch (channels) { /* so that the compiler unrolls the channels */
        case 1: screen_in(pixels, plane, row, 1, height, width, &k, first + i, least, best, which); break;
        case 3: screen_in(pixels, plane, row, 3, height, width, &k, first + i, least, best, which); break;
        default: screen_in(pixels, plane, row, channels, height, width, &k, first + i, least, best, which);
        }
        places += counts[i], values += channels * counts[i];
    }
    return 0;
}
