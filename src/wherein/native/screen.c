/* The ZNCC of many kernels at every place of a picture: pyramid/first_search.py in C.
 *
 * A kernel is a list of points, so that a thin or rotated motif costs no more than the pixels that it covers. The sums
 * of a place are over the points in their order, in float32, whatever thread or span the place is part of. So the bits
 * of the result do not depend on these.
 */
#include <math.h>

#include "abi.h"
#include "vectors.h"

/* Places that are correlated together. With 2 vectors of 4 floats, GCC 12 keeps a sum in memory: twice the time. */
enum { VECTORS = WIDTH < 8 ? 4 : 2, SPAN = VECTORS * WIDTH };
_Static_assert((int)SPAN <= (int)SCREEN_SPAN, "Python pads the picture by SCREEN_SPAN");

typedef struct {
    const int32_t *offsets;
    const float *values;
    int count;
} Kernel;

static inline vec root(vec v)
{
    for (int k = 0; k < WIDTH; k++)
        v[k] = sqrtf(v[k]);
    return v;
}

/* overlap / √(energy − sum² / n), with `lowest` as the lower bound under the root. */
static inline vec zncc_of(vec overlap, vec energy, vec sum, float n, float lowest)
{
    vec spread = energy;
    spread -= sum * sum / n;
    const vec zero = {0}, floor = zero + lowest;
    const ivec enough = spread > floor;
    spread = (vec)(((ivec)spread & enough) | ((ivec)floor & ~enough));
    return overlap / root(spread);
}

/* The ZNCC at SPAN places from `centre` on. The picture's squares are in the plane after it, `squares` floats away. */
static inline void correlate(const float *centre, int64_t squares, const Kernel *k, float min_variance,
                             float zncc[SPAN])
{
    vec overlap[VECTORS] = {{0}}, energy[VECTORS] = {{0}}, sum[VECTORS] = {{0}};
    for (int i = 0; i < k->count; i++) {
        const float *from = centre + k->offsets[i], value = k->values[i];
        for (int j = 0; j < VECTORS; j++) {
            const vec y = load_all(from + j * WIDTH);
            overlap[j] += value * y;
            sum[j] += y;
            energy[j] += load_all(from + squares + j * WIDTH);
        }
    }
    for (int j = 0; j < VECTORS; j++)
        store(zncc + j * WIDTH, zncc_of(overlap[j], energy[j], sum[j], k->count, min_variance * (float)k->count));
}

static void screen_kernel(const Planes *places, const Kernel *k, int number, float min_variance,
                          const ScreenMaps *maps)
{
    ALIGNED float zncc[SPAN];
    for (int y = 0; y < places->height; y++)
        for (int x = 0; x < places->width; x += SPAN) {
            correlate(places->pixels + y * places->row_stride + x, places->plane_stride, k, min_variance, zncc);
            const int count = places->width - x < SPAN ? places->width - x : SPAN;
            float *best = maps->best + (int64_t)y * places->width + x;
            int32_t *which = maps->which + (int64_t)y * places->width + x;
            for (int i = 0; i < count; i++)
                if (zncc[i] > best[i])
                    best[i] = zncc[i], which[i] = number;
        }
}

/* Updates the maps with each of the kernels. `places` starts at the centre of the first place and has the size of the
 * maps. Around it the picture must continue as far as the kernels reach, and SCREEN_SPAN floats to the right.
 */
int wherein_screen(const Planes *places, const ScreenKernels *kernels, float min_variance, const ScreenMaps *maps)
{
    Kernel k = {kernels->offsets, kernels->values, 0};
    for (int i = 0; i < kernels->count; i++) {
        k.count = kernels->counts[i];
        screen_kernel(places, &k, kernels->first + i, min_variance, maps);
        k.offsets += k.count, k.values += k.count;
    }
    return DONE;
}
