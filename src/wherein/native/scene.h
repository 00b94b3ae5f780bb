/* The scene under the motif's points: warp.py's cubic convolution, the picture continued by its border. */
#pragma once
#include <math.h>

#include "problem.h"

typedef float v4 __attribute__((vector_size(16)));

/* Keys' φ at the taps −1, 0, 1, 2 of a point that lies t ∈ [0, 1) behind tap 0. */
static inline v4 keys(float t)
{
    const v4 c0 = {0, 1, 0, 0}, c1 = {-0.5f, 0, 0.5f, 0}, c2 = {1, -2.5f, 2, -0.5f}, c3 = {-0.5f, 1.5f, -1.5f, 0.5f};
    return c0 + t * (c1 + t * (c2 + t * c3));
}

static inline v4 taps(const float *from)
{
    v4 v;
    memcpy(&v, from, sizeof v);
    return v;
}

/* The 4 × 4 pixels around (column, row) summed along y; outside the picture, its border pixels. */
static v4 sum_at_edge(const Picture *s, const float *plane, int column, int row, v4 y)
{
    v4 sum = {0};
    for (int j = 0; j < 4; j++)
        for (int i = 0; i < 4; i++) {
            int c = column - 1 + i, r = row - 1 + j;
            c = c < 0 ? 0 : c < s->width ? c : s->width - 1;
            r = r < 0 ? 0 : r < s->height ? r : s->height - 1;
            sum[i] += y[j] * plane[r * s->row + c];
        }
    return sum;
}

static inline int all(i16 truths)
{
    int every = -1;
    for (int k = 0; k < LANES; k++)
        every &= truths[k];
    return every;
}

/* y∘τ at LANES points, `column` and `row` below them and (x, y) behind those: along y tap by tap, then along x lane by
 * lane, which leaves four products a point to be summed, the next channel's BLOCK points further.
 */
static inline void sample(const Picture *s, int channels, i16 column, i16 row, v16 x, v16 y, v4 *products)
{
    const i16 interior = (column >= 1) & (column < s->width - 2) & (row >= 1) & (row < s->height - 2);
    const int every = all(interior);
    for (int k = 0; k < LANES; k++) {
        v4 wx = keys(x[k]), wy = keys(y[k]);
        const float *corner = s->pixels + (row[k] - 1) * s->row + column[k] - 1;
        for (int c = 0; c < channels; c++, corner += s->plane)
            if (every || interior[k])
                products[c * BLOCK + k] = wx * (wy[0] * taps(corner) + wy[1] * taps(corner + s->row) +
                                                wy[2] * taps(corner + 2 * s->row) + wy[3] * taps(corner + 3 * s->row));
            else
                products[c * BLOCK + k] = wx * sum_at_edge(s, s->pixels + c * s->plane, column[k], row[k], wy);
    }
}

/* The sums of four products each, of LANES points; zero where not `inside`. */
static inline void sum_products(const v4 products[LANES], i16 inside, float z[LANES])
{
    const float *p = (const float *)products;
    v16 sums;
    for (int k = 0; k < LANES; k++)
        sums[k] = (p[4 * k] + p[4 * k + 1]) + (p[4 * k + 2] + p[4 * k + 3]);
    sums = (v16)((i16)sums & inside);
    memcpy(z, &sums, sizeof sums);
}

static inline int whole_pixel(double x)
{
    return fabs(x) < 1e8 ? (int)x : 0; /* further out, or not a number: nothing is seen from any pixel */
}

/* z = y∘τ at `count` ≤ BLOCK points from `first` on, τ the points under the pose F; w is 1 in the scene, else 0, and
 * z is 0 with it, up to a multiple of LANES. Returns Σ w. Coordinates are taken from a whole pixel near the pose, so
 * that float32 loses nothing.
 */
static inline int look(const Picture *s, const Motif *m, double edge, const double F[9], int first, int count,
                       int channels, float z[CHANNELS][BLOCK], float w[BLOCK])
{
    const i16 lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const int base_x = whole_pixel(F[2]), base_y = whole_pixel(F[5]);
    const int projective = F[6] != 0 || F[7] != 0 || F[8] != 1;
    const float left = -edge - base_x, right = s->width - 1 + edge - base_x;
    const float top = -edge - base_y, bottom = s->height - 1 + edge - base_y;
    float f[9];
    v4 products[CHANNELS][BLOCK];
    i16 insides[BLOCK / LANES], seen = {0};
    for (int j = 0; j < 3; j++) {
        f[j] = F[j] - base_x * F[6 + j];
        f[3 + j] = F[3 + j] - base_y * F[6 + j];
        f[6 + j] = F[6 + j];
    }
    for (int i = 0; i < count; i += LANES) {
        v16 px = load(m->points + first + i, count - i), py = load(m->points + m->n + first + i, count - i);
        v16 x = f[0] * px + f[1] * py + f[2], y = f[3] * px + f[4] * py + f[5];
        if (projective) {
            v16 depth = f[6] * px + f[7] * py + f[8];
            x /= depth, y /= depth;
        }
        i16 inside = (x >= left) & (x <= right) & (y >= top) & (y <= bottom); /* false where not a number */
        inside &= lane < count - i;
        x = (v16)((i16)x & inside), y = (v16)((i16)y & inside);
        i16 column = __builtin_convertvector(x, i16), row = __builtin_convertvector(y, i16);
        column += x < __builtin_convertvector(column, v16); /* true is −1: towards −∞, not towards 0 */
        row += y < __builtin_convertvector(row, v16);
        x -= __builtin_convertvector(column, v16), y -= __builtin_convertvector(row, v16);
        /* A point outside looks at (1, 1), in the interior, which is the fast way. */
        column = ((column + base_x) & inside) | (1 & ~inside), row = ((row + base_y) & inside) | (1 & ~inside);
        sample(s, channels, column, row, x, y, &products[0][i]);
        insides[i / LANES] = inside;
        seen -= inside;
    }
    /* In a loop of its own: a wide load right behind the narrow stores that it covers would wait for them. */
    for (int i = 0; i < count; i += LANES) {
        v16 weight = __builtin_convertvector(-insides[i / LANES], v16);
        memcpy(w + i, &weight, sizeof weight);
        for (int c = 0; c < channels; c++)
            sum_products(&products[c][i], insides[i / LANES], &z[c][i]);
    }
    int total = 0;
    for (int k = 0; k < LANES; k++)
        total += seen[k];
    return total;
}
