/* The scene at the motif's points: cubic convolution as in warp.py, with the scene continued by its border pixels. */
#pragma once
#include <math.h>

#include "problem.h"

typedef float v4 __attribute__((vector_size(16)));

/* The weights of Keys' kernel at the taps −1, 0, 1, 2, for a point at t ∈ [0, 1). */
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

/* The 4 × 4 pixels around (column, row), weighted and summed along y; outside the scene, its border pixels. */
static v4 sum_at_edge(const Planes *s, const float *plane, int column, int row, v4 y)
{
    v4 sum = {0};
    for (int j = 0; j < 4; j++)
        for (int i = 0; i < 4; i++) {
            int c = column - 1 + i, r = row - 1 + j;
            c = c < 0 ? 0 : c < s->width ? c : s->width - 1;
            r = r < 0 ? 0 : r < s->height ? r : s->height - 1;
            sum[i] += y[j] * plane[r * s->row_stride + c];
        }
    return sum;
}

static inline int all(ivec truths)
{
    int every = -1;
    for (int k = 0; k < WIDTH; k++)
        every &= truths[k];
    return every;
}

/* The scene at WIDTH points: `column` and `row` are the pixels before them, and (x, y) their distances from these.
 *
 * This sums along y and multiplies by the weights along x. The four products of each point are summed later, by
 * sum_products(); those of the next channel are BLOCK points further on.
 */
static inline void sample(const Planes *s, int channels, ivec column, ivec row, vec x, vec y, v4 *products)
{
    const ivec interior = (column >= 1) & (column < s->width - 2) & (row >= 1) & (row < s->height - 2);
    const int every = all(interior);
    const int64_t stride = s->row_stride;
    for (int k = 0; k < WIDTH; k++) {
        v4 wx = keys(x[k]), wy = keys(y[k]);
        const float *corner = s->pixels + (row[k] - 1) * stride + column[k] - 1;
        for (int c = 0; c < channels; c++, corner += s->plane_stride)
            if (every || interior[k])
                products[c * BLOCK + k] = wx * (wy[0] * taps(corner) + wy[1] * taps(corner + stride) +
                                                wy[2] * taps(corner + 2 * stride) + wy[3] * taps(corner + 3 * stride));
            else
                products[c * BLOCK + k] = wx * sum_at_edge(s, s->pixels + c * s->plane_stride, column[k], row[k], wy);
    }
}

/* The sum of the four products of each of WIDTH points; 0 for points that are not `inside`. */
static inline void sum_products(const v4 products[WIDTH], ivec inside, float z[WIDTH])
{
    const float *p = (const float *)products;
    vec sums;
    for (int k = 0; k < WIDTH; k++)
        sums[k] = (p[4 * k] + p[4 * k + 1]) + (p[4 * k + 2] + p[4 * k + 3]);
    store(z, (vec)((ivec)sums & inside));
}

/* A whole pixel near x. If x is huge or not a number, any pixel will do, since no point is visible then. */
static inline int whole_pixel(double x)
{
    return fabs(x) < 1e8 ? (int)x : 0;
}

/* A pose in float32, relative to a whole pixel near the motif: small coordinates lose nothing when rounded to float32. */
typedef struct {
    float f[9], left, right, top, bottom; /* the matrix, and the limits of the scene */
    int x, y, projective;                 /* the pixel */
} LocalPose;

static inline LocalPose localise(const Planes *s, double edge, const double F[9])
{
    const int x = whole_pixel(F[2]), y = whole_pixel(F[5]);
    LocalPose pose = {.left = -edge - x, .right = s->width - 1 + edge - x, .top = -edge - y,
                      .bottom = s->height - 1 + edge - y, .x = x, .y = y,
                      .projective = F[6] != 0 || F[7] != 0 || F[8] != 1};
    for (int j = 0; j < 3; j++) {
        pose.f[j] = F[j] - x * F[6 + j];
        pose.f[3 + j] = F[3 + j] - y * F[6 + j];
        pose.f[6 + j] = F[6 + j];
    }
    return pose;
}

/* Sample the scene at the next WIDTH of `count` points (px, py). Returns −1 for those in the scene, 0 for others. */
static inline ivec sample_at(const Planes *s, const LocalPose *pose, const float *px, const float *py, int count,
                             int channels, v4 *products)
{
    ivec lane;
    for (int k = 0; k < WIDTH; k++)
        lane[k] = k;
    const float *f = pose->f;
    vec u = load(px, count), v = load(py, count);
    vec x = f[0] * u + f[1] * v + f[2], y = f[3] * u + f[4] * v + f[5];
    if (pose->projective) {
        vec depth = f[6] * u + f[7] * v + f[8];
        x /= depth, y /= depth;
    }
    /* False if x or y is not a number. */
    ivec inside = (x >= pose->left) & (x <= pose->right) & (y >= pose->top) & (y <= pose->bottom);
    inside &= lane < count;
    x = (vec)((ivec)x & inside), y = (vec)((ivec)y & inside);
    ivec column = __builtin_convertvector(x, ivec), row = __builtin_convertvector(y, ivec);
    column += x < __builtin_convertvector(column, vec); /* true is −1, so this rounds down instead of towards 0 */
    row += y < __builtin_convertvector(row, vec);
    x -= __builtin_convertvector(column, vec), y -= __builtin_convertvector(row, vec);
    /* A point outside reads pixel (1, 1), which is in the interior: the fast branch of sample(). */
    column = ((column + pose->x) & inside) | (1 & ~inside), row = ((row + pose->y) & inside) | (1 & ~inside);
    sample(s, channels, column, row, x, y, products);
    return inside;
}

/* Samples the scene at `count` ≤ BLOCK points of the motif from `first` on, at the pose F, into z. w is 1 for points in
 * the scene; for others, w and z are 0. Both are padded. Returns Σ w.
 */
static inline int sample_block(const Problem *p, const double F[9], int first, int count, int channels,
                               float z[MAX_CHANNELS][BLOCK], float w[BLOCK])
{
    const LocalPose pose = localise(p->scene, p->rules->edge, F);
    const float *px = p->side->points + first, *py = px + p->side->count;
    v4 products[MAX_CHANNELS][BLOCK];
    ivec inside[BLOCK / WIDTH], visible = {0};
    for (int i = 0; i < padded(count); i += WIDTH) {
        ivec in = sample_at(p->scene, &pose, px + i, py + i, count - i, channels, &products[0][i]);
        inside[i / WIDTH] = in;
        visible -= in;
    }
    /* A separate loop: a wide load directly after the narrow stores that it covers would wait for them. */
    for (int i = 0; i < padded(count); i += WIDTH) {
        store(w + i, __builtin_convertvector(-inside[i / WIDTH], vec));
        for (int c = 0; c < channels; c++)
            sum_products(&products[c][i], inside[i / WIDTH], &z[c][i]);
    }
    int total = 0;
    for (int k = 0; k < WIDTH; k++)
        total += visible[k];
    return total;
}
