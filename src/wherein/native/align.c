/* The fast objective and its solver on a CPU: formulations/correlation.py and solve/gauss_newton.py in C.
 *
 * Same mathematics, pose by pose, without the cost of a hundred small tensor operations a step. The Python
 * modules are the reference; tests/solve/test_native.py holds the two against each other.
 *
 * Sums run in float32 within a block of points and in double over the blocks, in an order that depends on
 * nothing but the number of points: a batch gives the same bits as its items one by one.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"

enum { CHANNELS = 4, SIZE = 8, COLUMNS = SIZE + 1 };

static const double least_seen = 0.25, longest_step = 0.35, least_variance = 1e-7, edge = 1e-3;

/* The motif's side: n points (all x, then all y) and K = (J, x), a row of n for each channel and column. */
typedef struct {
    const float *points, *known;
    int n, size;
    const float *unit;
    double radius;
} Motif;

/* Sums over points with their weights w: Σ w, KᵀWK and, for each channel, Σ w K. */
typedef struct {
    double total, gram[COLUMNS][COLUMNS], sums[CHANNELS][COLUMNS];
} Weighed;

typedef struct {
    double cost, gradient[SIZE], hessian[SIZE][SIZE];
} Model;

/* ---- the scene under the points ---------------------------------------------------------------------------- */

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
static inline int look(const Picture *s, const Motif *m, const double F[9], int first, int count, int channels,
                       float z[CHANNELS][BLOCK], float w[BLOCK])
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

/* ---- sums over the points ---------------------------------------------------------------------------------- */

static const float *column_of(const Motif *m, int channel, int k)
{
    return m->known + (int64_t)(channel * (m->size + 1) + k) * m->n;
}

/* The weighed sums of a block; w may be NULL, for all ones. */
static void weigh_block(const Motif *m, int channels, int first, int count, const float *w, Weighed *out)
{
    memset(out, 0, sizeof *out);
    for (int i = 0; i < count; i++)
        out->total += w ? w[i] : 1;
    for (int c = 0; c < channels; c++)
        for (int k = 0; k <= m->size; k++) {
            v16 weighted[BLOCK / LANES], sum = {0};
            for (int i = 0; i < count; i += LANES) {
                v16 v = load(column_of(m, c, k) + first + i, count - i);
                weighted[i / LANES] = v = w ? v * load(w + i, count - i) : v;
                sum += v;
            }
            out->sums[c][k] = total_of(sum);
            for (int l = 0; l <= k; l++) {
                v16 product = {0};
                for (int i = 0; i < count; i += LANES)
                    product += weighted[i / LANES] * load(column_of(m, c, l) + first + i, count - i);
                out->gram[k][l] += total_of(product);
            }
        }
}

static void add(Weighed *to, const Weighed *from, int channels, int columns)
{
    to->total += from->total;
    for (int k = 0; k < columns; k++) {
        for (int l = 0; l <= k; l++)
            to->gram[k][l] += from->gram[k][l];
        for (int c = 0; c < channels; c++)
            to->sums[c][k] += from->sums[c][k];
    }
}

/* 1 − ZNCC at F, and the normal equations of the next step: CorrelationObjective.linearise.
 * `whole` holds the weighed sums of every block with all its points in the scene.
 */
static inline void linearise_in(const Picture *s, const Motif *m, const Weighed *whole, const double F[9],
                                int channels, Model *out)
{
    const int columns = m->size + 1, x = m->size;
    float z[CHANNELS][BLOCK], w[BLOCK];
    Weighed sum = {0}, part;
    double overlap[COLUMNS] = {0}, of_scene[CHANNELS] = {0}, energy = 0;
    float level[CHANNELS];
    int levelled = 0;
    out->cost = INFINITY;
    for (int first = 0; first < m->n; first += BLOCK) {
        int count = m->n - first < BLOCK ? m->n - first : BLOCK;
        int seen = look(s, m, F, first, count, channels, z, w);
        if (!seen)
            continue;
        if (seen == count)
            add(&sum, &whole[first / BLOCK], channels, columns);
        else {
            weigh_block(m, channels, first, count, w, &part);
            add(&sum, &part, channels, columns);
        }
        for (int c = 0; c < channels; c++) {
            v16 zs = {0}, squares = {0};
            if (!levelled) {
                for (int i = 0; i < count; i += LANES)
                    zs += load(z[c] + i, LANES);
                level[c] = total_of(zs) / seen;
                zs = (v16){0};
            }
            /* About the level of the first block: Σ z² − (Σ z)²/n of a bright, even scene would be rounding. */
            for (int i = 0; i < count; i += LANES) {
                v16 v = load(z[c] + i, LANES) - level[c] * load(w + i, LANES);
                memcpy(z[c] + i, &v, sizeof v);
                zs += v, squares += v * v;
            }
            of_scene[c] += total_of(zs), energy += total_of(squares);
            for (int k = 0; k < columns; k++) {
                const float *known = column_of(m, c, k) + first;
                v16 product = {0};
                for (int i = 0; i < count; i += LANES)
                    product += load(z[c] + i, LANES) * load(known + i, count - i);
                overlap[k] += total_of(product);
            }
        }
        levelled = 1;
    }
    if (!(sum.total >= least_seen * m->n))
        return;
    /* Means off: KᵀWK − Σ_c s_c s_cᵀ / Σw, and so on. */
    for (int c = 0; c < channels; c++) {
        energy -= of_scene[c] * of_scene[c] / sum.total;
        for (int k = 0; k < columns; k++) {
            overlap[k] -= of_scene[c] * sum.sums[c][k] / sum.total;
            for (int l = 0; l <= k; l++)
                sum.gram[k][l] -= sum.sums[c][k] * sum.sums[c][l] / sum.total;
        }
    }
    if (!(energy > least_variance * sum.total * channels && sum.gram[x][x] > 0))
        return;
    /* Eliminate the gain α: what of J is along x is a change of contrast, not of pose. */
    double texture = sum.gram[x][x], contrast = overlap[x];
    double gain = fmax(contrast / texture, 0.05 * sqrt(energy / texture));
    for (int k = 0; k < m->size; k++) {
        double along = sum.gram[x][k] / texture;
        out->gradient[k] = (overlap[k] - along * contrast) / gain;
        for (int l = 0; l <= k; l++)
            out->hessian[k][l] = sum.gram[k][l] - along * sum.gram[x][l];
    }
    out->cost = 1 - contrast / sqrt(energy * texture);
}

static void linearise(const Picture *s, const Motif *m, const Weighed *whole, const double F[9], Model *out)
{
    switch (s->channels) { /* so that the compiler unrolls the channels */
    case 1: linearise_in(s, m, whole, F, 1, out); break;
    case 3: linearise_in(s, m, whole, F, 3, out); break;
    default: linearise_in(s, m, whole, F, s->channels, out);
    }
}

/* ---- a step ------------------------------------------------------------------------------------------------ */

/* −(H + μ diag H)⁻¹ g by Cholesky, in units in which the diagonal of H is 1. Returns the step's length. */
static double damped_step(const Model *here, int size, double mu, double step[SIZE])
{
    double unit[SIZE], L[SIZE][SIZE], most = 0, length = 0;
    for (int i = 0; i < size; i++)
        most = fmax(most, here->hessian[i][i]);
    for (int i = 0; i < size; i++)
        unit[i] = 1 / sqrt(fmax(here->hessian[i][i], 0) + most * 1e-12 + 1e-38);
    for (int i = 0; i < size; i++)
        for (int j = 0; j <= i; j++) {
            double v = unit[i] * here->hessian[i][j] * unit[j] + (i == j ? mu + 1e-7 : 0);
            for (int k = 0; k < j; k++)
                v -= L[i][k] * L[j][k];
            L[i][j] = i == j ? sqrt(fmax(v, 1e-12)) : v / L[j][j];
        }
    for (int i = 0; i < size; i++) {
        step[i] = -unit[i] * here->gradient[i];
        for (int k = 0; k < i; k++)
            step[i] -= L[i][k] * step[k];
        step[i] /= L[i][i];
    }
    for (int i = size - 1; i >= 0; i--) {
        for (int k = i + 1; k < size; k++)
            step[i] -= L[k][i] * step[k];
        step[i] /= L[i][i];
    }
    for (int i = 0; i < size; i++) {
        step[i] *= unit[i];
        length += step[i] * step[i];
    }
    return sqrt(length);
}

/* M(p) of motion/models.py; the number of parameters tells the motion. */
static void matrix_of(int size, const double p[SIZE], double M[9])
{
    const double *shift = p + (size == 8 ? 4 : size - 2);
    double linear[4] = {1, 0, 0, 1};
    if (size == 3 || size == 4) {
        double scale = size == 4 ? exp(p[1]) : 1;
        linear[0] = linear[3] = scale * cos(p[0]);
        linear[2] = scale * sin(p[0]);
        linear[1] = -linear[2];
    } else if (size >= 6)
        for (int i = 0; i < 4; i++)
            linear[i] += p[i];
    memcpy(M, (double[9]){linear[0], linear[1], shift[0], linear[2], linear[3], shift[1], 0, 0, 1},
           9 * sizeof *M);
    if (size == 8)
        M[6] = p[6], M[7] = p[7];
}

/* F ← F · M(step), no further than the linearisation can be trusted. */
static void move(const Motif *m, const double F[9], const double step[SIZE], double length, double moved[9])
{
    double p[SIZE], M[9], shrink = fmin(1, longest_step * m->radius / fmax(length, 1e-12));
    for (int i = 0; i < m->size; i++)
        p[i] = step[i] * shrink * m->unit[i];
    matrix_of(m->size, p, M);
    for (int i = 0; i < 9; i++)
        moved[i] = F[i / 3 * 3] * M[i % 3] + F[i / 3 * 3 + 1] * M[3 + i % 3] + F[i / 3 * 3 + 2] * M[6 + i % 3];
    for (int i = 0; i < 9; i++)
        moved[i] /= i < 8 ? moved[8] : moved[i];
}

typedef struct {
    double start, ease, tighten, tolerance, slack, noise;
    int steps;
} Settings;

enum { CONVERGED, STEP_LIMIT, DIVERGED };

/* Damped Gauss–Newton of one pose, in place. */
static int descend(const Picture *s, const Motif *m, const Weighed *whole, const Settings *how, double F[9],
                   double *cost, int64_t *taken)
{
    Model here, there;
    double mu = how->start, step[SIZE], ahead[9];
    *taken = 0;
    linearise(s, m, whole, F, &here);
    *cost = here.cost;
    if (!isfinite(here.cost))
        return DIVERGED;
    for (int i = 0; i < how->steps; i++) {
        double length = damped_step(&here, m->size, mu, step);
        move(m, F, step, length, ahead);
        linearise(s, m, whole, ahead, &there);
        int better = there.cost <= here.cost * (1 + how->slack) + how->noise;
        if (better) {
            memcpy(F, ahead, sizeof ahead);
            here = there;
            *cost = here.cost;
            ++*taken;
        }
        if (length < how->tolerance)
            return CONVERGED;
        mu = fmin(fmax(mu * (better ? how->ease : how->tighten), 1e-9), 1e9);
    }
    return STEP_LIMIT;
}

/* gauss_newton() for B poses (B, 3, 3), in place; steps = 0 only looks at the cost. 0, or −1 without memory. */
int wherein_align(const float *pixels, int64_t plane, int64_t row, int channels, int height, int width,
                  const float *points, const float *known, int n, int size, const float *unit, float radius,
                  float *poses, int B, int steps, double start, double ease, double tighten, double tolerance,
                  double slack, double noise, float *cost, int64_t *taken, int32_t *status)
{
    Picture s = {pixels, plane, row, channels, height, width};
    Motif m = {points, known, n, size, unit, radius};
    Settings how = {start, ease, tighten, tolerance, slack, noise, steps};
    Weighed *whole = malloc(((n + BLOCK - 1) / BLOCK + 1) * sizeof *whole);
    if (!whole)
        return -1;
    for (int first = 0; first < n; first += BLOCK)
        weigh_block(&m, channels, first, n - first < BLOCK ? n - first : BLOCK, NULL, &whole[first / BLOCK]);
    for (int b = 0; b < B; b++) {
        double F[9], reached;
        int number = 1;
        for (int i = 0; i < 9; i++) {
            F[i] = poses[9 * b + i];
            number = number && isfinite(F[i]);
        }
        if (!number) {
            cost[b] = INFINITY, taken[b] = 0, status[b] = DIVERGED;
            continue;
        }
        status[b] = descend(&s, &m, whole, &how, F, &reached, &taken[b]);
        cost[b] = reached;
        for (int i = 0; i < 9; i++)
            poses[9 * b + i] = F[i];
    }
    free(whole);
    return 0;
}
