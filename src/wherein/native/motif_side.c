/* The motif's side of the fast objective: formulations/motif_side.py in C.
 *
 * The Python module is the reference; tests/native/test_correlation_calls.py compares the two.
 */
#include <math.h>
#include <stdlib.h>

#include "motion.h"
#include "vectors.h"

static inline float mask_at(const Planes *mask, int c, int r)
{
    return mask->pixels[r * mask->row_stride + c];
}

/* The value of the motif at a pixel; outside its mask, the mean of the neighbours, weighted by the mask. */
static float value_at(const float *plane, int64_t stride, const Planes *mask, const SideRules *rules, int c, int r)
{
    if (c >= 0 && c < mask->width && r >= 0 && r < mask->height && mask_at(mask, c, r) > rules->inside)
        return plane[r * stride + c];
    float value = 0, weight = 0;
    for (int j = r < 1 ? 0 : r - 1; j <= r + 1 && j < mask->height; j++)
        for (int i = c < 1 ? 0 : c - 1; i <= c + 1 && i < mask->width; i++) {
            value += mask_at(mask, i, j) * plane[j * stride + i];
            weight += mask_at(mask, i, j);
        }
    return value / fmaxf(weight, rules->min_weight);
}

/* Whether all four neighbours are in the mask. Nearly always: then differences need no value_at(), which is slow. */
static inline int surrounded(const Planes *mask, float inside, int c, int r)
{
    const float *at = mask->pixels + r * mask->row_stride + c;
    return c > 0 && c < mask->width - 1 && r > 0 && r < mask->height - 1 && at[-1] > inside && at[1] > inside &&
           at[-mask->row_stride] > inside && at[mask->row_stride] > inside;
}

/* n pixels of the motif: their positions and, for each channel (`capacity` floats), values and central differences. */
typedef struct {
    float *x, *y, *value, *dx, *dy;
    int n;
    int64_t capacity;
} Pixels;

/* The pixels whose mask is above `least`, in reading order. */
static void gather(const Planes *s, const Planes *mask, const SideRules *rules, float least, Pixels *out)
{
    const int64_t stride = s->row_stride;
    int n = 0;
    for (int r = 0; r < s->height; r++)
        for (int c = 0; c < s->width; c++) {
            if (!(mask_at(mask, c, r) > least))
                continue;
            int plain = surrounded(mask, rules->inside, c, r);
            out->x[n] = c, out->y[n] = r;
            for (int k = 0; k < s->channels; k++) {
                const float *plane = s->pixels + k * s->plane_stride, *p = plane + r * stride + c;
                float dx = plain ? p[1] - p[-1]
                                 : value_at(plane, stride, mask, rules, c + 1, r) -
                                       value_at(plane, stride, mask, rules, c - 1, r);
                float dy = plain ? p[stride] - p[-stride]
                                 : value_at(plane, stride, mask, rules, c, r + 1) -
                                       value_at(plane, stride, mask, rules, c, r - 1);
                int64_t to = k * out->capacity + n;
                out->value[to] = *p, out->dx[to] = dx / 2, out->dy[to] = dy / 2;
            }
            n++;
        }
    out->n = n;
}

/* Hoare's selection: the `rank`-th greatest of n values, which are reordered. */
static float select_greatest(float *values, int n, int rank)
{
    int low = 0, high = n - 1;
    while (low < high) {
        float pivot = values[low + (high - low) / 2];
        int i = low, j = high;
        while (i <= j) {
            while (values[i] > pivot)
                i++;
            while (values[j] < pivot)
                j--;
            if (i <= j) {
                float swapped = values[i];
                values[i++] = values[j], values[j--] = swapped;
            }
        }
        if (rank - 1 <= j)
            high = j;
        else if (rank - 1 >= i)
            low = i;
        else
            break;
    }
    return values[rank - 1];
}

/* One of 4096 bins for a value ≥ 0: floats ≥ 0 have the same order as their bit patterns. */
enum { BINS = 4096, BIN_SHIFT = 19 };

static inline int bin_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits >> BIN_SHIFT & (BINS - 1);
}

/* The `rank`-th greatest of values ≥ 0: first its bin, then the value within that bin. Few values are left for the
 * selection, whose branches the processor mispredicts.
 */
static float greatest(const float *values, int n, int rank, float *scratch)
{
    int bins[BINS] = {0}, bin = BINS, held = 0;
    for (int i = 0; i < n; i++)
        bins[bin_of(values[i])]++;
    while (bin > 0 && rank > bins[bin - 1])
        rank -= bins[--bin];
    for (int i = 0; i < n; i++) {
        scratch[held] = values[i];
        held += bin_of(values[i]) == bin - 1;
    }
    return held ? select_greatest(scratch, held, rank) : 0;
}

/* Keeps the `limit` pixels with the strongest gradients, in their order; of equal ones the first. */
static void keep_strongest(Pixels *p, int channels, int limit, float *scratch)
{
    float *strength = scratch;
    memset(strength, 0, p->n * sizeof *strength);
    for (int c = 0; c < channels; c++) {
        const float *dx = p->dx + c * p->capacity, *dy = p->dy + c * p->capacity;
        for (int i = 0; i < p->n; i++)
            strength[i] += dx[i] * dx[i] + dy[i] * dy[i];
    }
    float least = greatest(strength, p->n, limit, scratch + p->capacity);
    int ties = limit, kept = 0;
    for (int i = 0; i < p->n; i++)
        ties -= strength[i] > least;
    for (int i = 0; i < p->n; i++) {
        if (!(strength[i] > least || (strength[i] == least && ties-- > 0)))
            continue;
        p->x[kept] = p->x[i], p->y[kept] = p->y[i];
        for (int64_t c = 0; c < channels * p->capacity; c += p->capacity)
            p->value[c + kept] = p->value[c + i], p->dx[c + kept] = p->dx[c + i], p->dy[c + kept] = p->dy[c + i];
        kept++;
    }
    p->n = kept;
}

/* Σ a b over n values; Σ a where b is NULL. */
static double sum_of(const float *a, const float *b, int n)
{
    double sum = 0;
    for (int first = 0; first < n; first += BLOCK) {
        Lanes block = {0};
        for (int i = first; i < first + BLOCK && i < n; i += LANES)
            for (int h = 0, at = i; h < PARTS; h++, at += WIDTH)
                block.part[h] += b ? load(a + at, n - at) * load(b + at, n - at) : load(a + at, n - at);
        sum += total_of(&block);
    }
    return sum;
}

/* The table t of ∂M/∂p at the identity: parameter k moves (x, y) by t[0] + t[1] x + t[2] y along x, and by
 * t[3] + t[4] x + t[5] y along y.
 */
static const float *tangent_of(int motion, int k)
{
    static const float turn[6] = {0, 0, -1, 0, 1, 0}, scale[6] = {0, 1, 0, 0, 0, 1};
    static const float linear[4][6] = {{0, 1}, {0, 0, 1}, {0, 0, 0, 0, 1}, {0, 0, 0, 0, 0, 1}};
    static const float shift[2][6] = {{1}, {0, 0, 0, 1}};
    const int first_shift = linear_parameters_of(motion);
    if (k >= first_shift)
        return shift[k - first_shift];
    if (motion == AFFINE || motion == HOMOGRAPHY)
        return linear[k];
    return k == 0 ? turn : scale;
}

/* Column k of J in one channel. The last two parameters, of perspective, move (x, y) by −x (x, y) and −y (x, y). */
static void column(int motion, int k, float unit, int n, const float *x, const float *y, const float *dx,
                   const float *dy, float *out)
{
    const int first_perspective = linear_parameters_of(motion) + 2;
    if (k >= first_perspective) {
        const float *along = k == first_perspective ? x : y;
        for (int i = 0; i < n; i++)
            out[i] = -unit * along[i] * (dx[i] * x[i] + dy[i] * y[i]);
        return;
    }
    const float *t = tangent_of(motion, k);
    const float t0 = unit * t[0], t1 = unit * t[1], t2 = unit * t[2], t3 = unit * t[3], t4 = unit * t[4],
                t5 = unit * t[5];
    for (int i = 0; i < n; i++)
        out[i] = dx[i] * (t0 + t1 * x[i] + t2 * y[i]) + dy[i] * (t3 + t4 * x[i] + t5 * y[i]);
}

static void subtract(float *values, int n, float mean)
{
    for (int i = 0; i < n; i++)
        values[i] -= mean;
}

/* Points relative to their centre, and units of steps: 1 for a shift, 1/r for the linear part, 1/r² for perspective.
 *
 * With these units, each parameter moves the points by about a pixel.
 */
static void write_points(const Pixels *p, SideArrays *out)
{
    const int n = p->n, linear = linear_parameters_of(out->motion);
    float *x = out->points, *y = x + n;
    memcpy(x, p->x, n * sizeof *x);
    memcpy(y, p->y, n * sizeof *y);
    subtract(x, n, out->centre[0] = sum_of(x, NULL, n) / n);
    subtract(y, n, out->centre[1] = sum_of(y, NULL, n) / n);
    const float radius = fmax(sqrt((sum_of(x, x, n) + sum_of(y, y, n)) / n), 1);
    for (int k = 0; k < parameters_of(out->motion); k++)
        out->unit[k] = k < linear ? 1 / radius : k < linear + 2 ? 1 : 1 / (radius * radius);
    *out->radius = radius, out->count = n;
}

/* K = (J, x) with the means subtracted: they do not change the objective, but its rounding errors. */
static void write_known(const Pixels *p, int channels, const SideArrays *out)
{
    const int n = p->n, parameters = parameters_of(out->motion);
    const float *x = out->points, *y = x + n;
    float *known = out->known;
    for (int c = 0; c < channels; c++)
        for (int k = 0; k <= parameters; k++, known += n) {
            const int64_t from = c * p->capacity;
            if (k < parameters)
                column(out->motion, k, out->unit[k], n, x, y, p->dx + from, p->dy + from, known);
            else
                memcpy(known, p->value + from, n * sizeof *known);
            subtract(known, n, sum_of(known, NULL, n) / n);
        }
}

/* The value of the mask above which a pixel is compared: _threshold() of motif_side.py, which gives the reasons. */
static float threshold(const Planes *mask, const SideRules *rules)
{
    float most = 0;
    int64_t pure = 0, half = 0;
    for (int r = 0; r < mask->height; r++)
        for (int c = 0; c < mask->width; c++) {
            float in = mask_at(mask, c, r);
            most = in > most ? in : most;
            pure += in > rules->pure;
            half += in > rules->half;
        }
    if (most <= rules->half)
        return most / 2;
    return pure >= rules->share * half ? rules->pure : rules->half;
}

/* motif_side() for the motion side->motion. The arrays of `side` must have room for as many points as the motif has
 * pixels, or for rules->limit. They are filled without gaps for side->count points.
 */
int wherein_motif_side(const Planes *motif, const Planes *mask, const SideRules *rules, SideArrays *side)
{
    const int64_t most = (int64_t)motif->height * motif->width, channels = motif->channels;
    float *memory = malloc((4 + 3 * channels) * most * sizeof *memory);
    if (!memory)
        return NO_MEMORY;
    float *in = memory + 4 * most;
    Pixels p = {memory, memory + most, in, in + channels * most, in + 2 * channels * most, 0, most};
    gather(motif, mask, rules, threshold(mask, rules), &p);
    if (p.n > rules->limit)
        keep_strongest(&p, channels, rules->limit, memory + 2 * most);
    write_points(&p, side);
    write_known(&p, channels, side);
    free(memory);
    return DONE;
}
