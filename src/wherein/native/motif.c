/* The motif's side of the fast objective, and pictures at a smaller size: formulations/motif_side.py and
 * images/pool.py in C. The Python modules are the reference; tests/native/test_kernels.py compares.
 */
#include <math.h>
#include <stdlib.h>

#include "common.h"

typedef struct {
    const float *values;
    int64_t row;
    int height, width;
} Mask;

/* The motif at a pixel; past its mask, the mean of the neighbours that are in it. */
static float value_at(const float *plane, int64_t row, const Mask *m, int c, int r)
{
    if (c >= 0 && c < m->width && r >= 0 && r < m->height && m->values[r * m->row + c] > 0.05f)
        return plane[r * row + c];
    float value = 0, weight = 0;
    for (int j = r < 1 ? 0 : r - 1; j <= r + 1 && j < m->height; j++)
        for (int i = c < 1 ? 0 : c - 1; i <= c + 1 && i < m->width; i++) {
            value += m->values[j * m->row + i] * plane[j * row + i];
            weight += m->values[j * m->row + i];
        }
    return value / fmaxf(weight, 9e-3f);
}

/* Whether all four neighbours are well in the mask, as nearly always. */
static inline int surrounded(const Mask *m, int c, int r)
{
    const float *at = m->values + r * m->row + c;
    return c > 0 && c < m->width - 1 && r > 0 && r < m->height - 1 && at[-1] > 0.05f && at[1] > 0.05f &&
           at[-m->row] > 0.05f && at[m->row] > 0.05f;
}

/* n pixels of the motif: where they are, and for each channel (rows of `capacity`) their value and its differences. */
typedef struct {
    float *x, *y, *value, *dx, *dy;
    int n;
    int64_t capacity;
} Pixels;

static void gather(const Picture *s, const Mask *m, float least, Pixels *out)
{
    int n = 0;
    for (int r = 0; r < s->height; r++)
        for (int c = 0; c < s->width; c++) {
            if (!(m->values[r * m->row + c] > least))
                continue;
            int plain = surrounded(m, c, r);
            out->x[n] = c, out->y[n] = r;
            for (int k = 0; k < s->channels; k++) {
                const float *plane = s->pixels + k * s->plane, *p = plane + r * s->row + c;
                float dx = plain ? p[1] - p[-1]
                                 : value_at(plane, s->row, m, c + 1, r) - value_at(plane, s->row, m, c - 1, r);
                float dy = plain ? p[s->row] - p[-s->row]
                                 : value_at(plane, s->row, m, c, r + 1) - value_at(plane, s->row, m, c, r - 1);
                int64_t to = k * out->capacity + n;
                out->value[to] = *p, out->dx[to] = dx / 2, out->dy[to] = dy / 2;
            }
            n++;
        }
    out->n = n;
}

/* Hoare's selection: the `rank`-th greatest of n values, which are shuffled. */
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

/* The same of values ≥ 0, which sort as their bits do: first which of 4096 bins holds it, then in that bin. */
static float greatest(const float *values, int n, int rank, float *scratch)
{
    enum { BINS = 4096, SHIFT = 19 };
    int bins[BINS] = {0}, bin = BINS, held = 0;
    for (int i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, values + i, sizeof bits);
        bins[bits >> SHIFT & (BINS - 1)]++;
    }
    while (bin > 0 && rank > bins[bin - 1])
        rank -= bins[--bin];
    for (int i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, values + i, sizeof bits);
        scratch[held] = values[i];
        held += (int)(bits >> SHIFT & (BINS - 1)) == bin - 1;
    }
    return held ? select_greatest(scratch, held, rank) : 0;
}

/* Keep, in their order, the `limit` pixels where the motif changes most. */
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

/* Σ a b over n values; Σ a where there is no b. */
static double sum_of(const float *a, const float *b, int n)
{
    double sum = 0;
    for (int first = 0; first < n; first += BLOCK) {
        v16 block = {0};
        for (int i = first; i < first + BLOCK && i < n; i += LANES)
            block += b ? load(a + i, n - i) * load(b + i, n - i) : load(a + i, n - i);
        sum += total_of(block);
    }
    return sum;
}

/* ∂M/∂p at the identity moves (x, y) by t · (1, x, y) in x and by t + 3 in y, t the coefficients of a parameter. */
static const float *tangent_of(int size, int k)
{
    static const float turn[6] = {0, 0, -1, 0, 1, 0}, scale[6] = {0, 1, 0, 0, 0, 1};
    static const float linear[4][6] = {{0, 1}, {0, 0, 1}, {0, 0, 0, 0, 1}, {0, 0, 0, 0, 0, 1}};
    static const float shift[2][6] = {{1}, {0, 0, 0, 1}};
    const int before = size == 8 ? 4 : size - 2;
    return k >= before ? shift[k - before] : size >= 6 ? linear[k] : k == 0 ? turn : scale;
}

/* A column of J in one channel; a perspective (k = 6, 7) moves (x, y) by −x (x, y) or −y (x, y). */
static void column(int size, int k, float unit, int n, const float *x, const float *y, const float *dx,
                   const float *dy, float *out)
{
    if (k >= 6) {
        const float *along = k == 6 ? x : y;
        for (int i = 0; i < n; i++)
            out[i] = -unit * along[i] * (dx[i] * x[i] + dy[i] * y[i]);
        return;
    }
    const float *t = tangent_of(size, k);
    const float t0 = unit * t[0], t1 = unit * t[1], t2 = unit * t[2], t3 = unit * t[3], t4 = unit * t[4],
                t5 = unit * t[5];
    for (int i = 0; i < n; i++)
        out[i] = dx[i] * (t0 + t1 * x[i] + t2 * y[i]) + dy[i] * (t3 + t4 * x[i] + t5 * y[i]);
}

static void centre(float *values, int n, float mean)
{
    for (int i = 0; i < n; i++)
        values[i] -= mean;
}

/* Write centre (2), radius (1), units (size), points (2, n) and K = (J, x) (channels, size + 1, n), means off. */
static void write_side(const Pixels *p, int channels, int size, float *out)
{
    const int n = p->n, before = size == 8 ? 4 : size - 2;
    float *radius = out + 2, *unit = out + 3, *x = unit + size, *y = x + n, *known = y + n;
    memcpy(x, p->x, n * sizeof *x);
    memcpy(y, p->y, n * sizeof *y);
    centre(x, n, out[0] = sum_of(x, NULL, n) / n);
    centre(y, n, out[1] = sum_of(y, NULL, n) / n);
    *radius = fmax(sqrt((sum_of(x, x, n) + sum_of(y, y, n)) / n), 1);
    for (int k = 0; k < size; k++)
        unit[k] = k < before ? 1 / *radius : k < before + 2 ? 1 : 1 / (*radius * *radius);
    for (int c = 0; c < channels; c++)
        for (int k = 0; k <= size; k++, known += n) {
            const int64_t from = c * p->capacity;
            if (k < size)
                column(size, k, unit[k], n, x, y, p->dx + from, p->dy + from, known);
            else
                memcpy(known, p->value + from, n * sizeof *known);
            centre(known, n, sum_of(known, NULL, n) / n);
        }
}

/* Above which value of the mask a pixel is compared: motif_side.py's _threshold. */
static float threshold(const Mask *m)
{
    const float pure = 0.9f, half = 0.5f, share = 0.4f;
    float most = 0;
    int64_t in_pure = 0, in_half = 0;
    for (int r = 0; r < m->height; r++)
        for (int c = 0; c < m->width; c++) {
            float in = m->values[r * m->row + c];
            most = in > most ? in : most;
            in_pure += in > pure;
            in_half += in > half;
        }
    return most <= half ? most / 2 : in_pure >= share * in_half ? pure : half;
}

/* motif_side(): see write_side; returns n ≤ limit, or −1 without memory. limit ≥ 1. */
int wherein_motif_side(const float *pixels, int64_t plane, int64_t row, int channels, int height, int width,
                       const float *mask, int64_t mask_row, int size, int limit, float *out)
{
    Picture s = {pixels, plane, row, channels, height, width};
    Mask m = {mask, mask_row, height, width};
    const int64_t most = (int64_t)height * width;
    float *memory = malloc((4 + 3 * channels) * most * sizeof *memory);
    if (!memory)
        return -1;
    float *in = memory + 4 * most;
    Pixels p = {memory, memory + most, in, in + channels * most, in + 2 * channels * most, 0, most};
    gather(&s, &m, threshold(&m), &p);
    if (p.n > limit)
        keep_strongest(&p, channels, limit, memory + 2 * most);
    write_side(&p, channels, size, out);
    free(memory);
    return p.n;
}

/* One row of wherein_pool: the means of `factor` rows that lie `row` floats apart. */
static inline void pool_row(const float *from, int64_t row, int rows, int wide, int factor, float *out)
{
    for (int i = 0; i < wide; i++) {
        float sum = 0;
        for (int j = 0; j < rows; j++)
            for (int k = 0; k < factor; k++)
                sum += from[j * row + i * factor + k];
        out[i] = sum / (factor * factor);
    }
}

/* Each pixel the mean of factor² ones; ⌊height / factor⌋ × ⌊width / factor⌋ of them. */
int wherein_pool(const float *pixels, int64_t plane, int64_t row, int channels, int height, int width, int factor,
                 float *out)
{
    const int wide = width / factor;
    for (int c = 0; c < channels; c++)
        for (int r = 0; r < height / factor; r++, out += wide) {
            const float *from = pixels + c * plane + (int64_t)r * factor * row;
            switch (factor) { /* so that the compiler unrolls the sums */
            case 2: pool_row(from, row, 2, wide, 2, out); break;
            case 4: pool_row(from, row, 4, wide, 4, out); break;
            case 8: pool_row(from, row, 8, wide, 8, out); break;
            default: pool_row(from, row, factor, wide, factor, out);
            }
        }
    return 0;
}
