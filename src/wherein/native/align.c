/* The fast objective and its solver on a CPU: formulations/correlation.py and solve/gauss_newton.py in C.
 *
 * Same mathematics, pose by pose, without the cost of a hundred small tensor operations a step. The Python
 * modules are the reference; tests/native/test_kernels.py holds the two against each other.
 *
 * Sums run in float32 within a block of points and in double over the blocks, in an order that depends on
 * nothing but the number of points: a batch gives the same bits as its items one by one.
 */
#include <stdlib.h>

#include "robust.h"

/* 1 − ZNCC at F, and the normal equations of the next step: CorrelationObjective.linearise.
 * `whole` holds the weighed sums of every block with all its points in the scene.
 */
static inline void linearise_in(const Problem *p, const double F[9], int channels, Model *out)
{
    const Motif *m = &p->motif;
    float z[CHANNELS][BLOCK], w[BLOCK], level[CHANNELS] = {0};
    Sums sums = {0};
    Weighed part;
    int levelled = 0;
    out->cost = INFINITY, out->why = OUTSIDE;
    for (int first = 0; first < m->n; first += BLOCK) {
        int count = m->n - first < BLOCK ? m->n - first : BLOCK;
        int seen = look(&p->scene, m, p->rules.edge, F, first, count, channels, z, w);
        if (!seen)
            continue;
        take_level(channels, count, seen, w, z, level, &levelled);
        if (seen < count)
            weigh_block(m, channels, first, count, w, &part);
        add_block(m, channels, first, count, seen < count ? &part : &p->whole[first / BLOCK], z, z, &sums);
    }
    if (sums.known.total >= p->rules.min_visible * m->n)
        finish(m, channels, &p->rules, &sums, out);
}

static void linearise(const Problem *p, const double F[9], Model *out)
{
    if (p->rules.hidden > 0)
        linearise_robust(p, F, out);
    else
        switch (p->scene.channels) { /* so that the compiler unrolls the channels */
        case 1: linearise_in(p, F, 1, out); break;
        case 3: linearise_in(p, F, 3, out); break;
        default: linearise_in(p, F, p->scene.channels, out);
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
static void move(const Motif *m, double longest, const double F[9], const double step[SIZE], double length,
                 double moved[9])
{
    double p[SIZE], M[9], shrink = fmin(1, longest * m->radius / fmax(length, 1e-12));
    for (int i = 0; i < m->size; i++)
        p[i] = step[i] * shrink * m->unit[i];
    matrix_of(m->size, p, M);
    for (int i = 0; i < 9; i++)
        moved[i] = F[i / 3 * 3] * M[i % 3] + F[i / 3 * 3 + 1] * M[3 + i % 3] + F[i / 3 * 3 + 2] * M[6 + i % 3];
    for (int i = 0; i < 9; i++)
        moved[i] /= i < 8 ? moved[8] : moved[i];
}

/* Damped Gauss–Newton of one pose, in place. */
static int descend(const Problem *p, int steps, double F[9], double *cost, int64_t *taken, int64_t *looks)
{
    const Rules *rules = &p->rules;
    Model here, there;
    double mu = rules->start, step[SIZE], ahead[9];
    *taken = 0;
    *looks = 1;
    linearise(p, F, &here);
    *cost = here.cost;
    if (!isfinite(here.cost))
        return here.why;
    for (int i = 0; i < steps; i++) {
        double length = damped_step(&here, p->motif.size, mu, step);
        move(&p->motif, rules->longest_step, F, step, length, ahead);
        linearise(p, ahead, &there);
        ++*looks;
        int better = there.cost <= here.cost * (1 + rules->slack) + rules->noise;
        if (better) {
            memcpy(F, ahead, sizeof ahead);
            here = there;
            *cost = here.cost;
            ++*taken;
        }
        if (length < rules->tolerance)
            return CONVERGED;
        mu = fmin(fmax(mu * (better ? rules->ease : rules->tighten), 1e-9), 1e9);
    }
    return STEP_LIMIT;
}

/* Memory for sums and, where weights are robust, for the points; 0, or −1 where there is none. */
static int prepare(Problem *p)
{
    const Motif *m = &p->motif;
    const int blocks = (m->n + BLOCK - 1) / BLOCK, robust = p->rules.hidden > 0;
    p->room.row = (int64_t)blocks * BLOCK;
    p->whole = malloc((blocks + 1) * sizeof *p->whole);
    p->room.z = robust ? calloc((p->scene.channels + 3) * p->room.row + 1, sizeof *p->room.z) : NULL;
    if (!p->whole || (robust && !p->room.z))
        return -1;
    if (robust) {
        p->room.seen = p->room.z + p->scene.channels * p->room.row;
        p->room.weight = p->room.seen + p->room.row;
        p->room.squares = p->room.weight + p->room.row;
    }
    for (int b = 0; b < blocks && !robust; b++)
        weigh_block(m, p->scene.channels, b * BLOCK, m->n - b * BLOCK < BLOCK ? m->n - b * BLOCK : BLOCK, NULL,
                    &p->whole[b]);
    return 0;
}

/* gauss_newton() for B poses (B, 3, 3), in place; steps = 0 only looks at the cost. 0, or −1 without memory. */
int wherein_align(const float *pixels, int64_t plane, int64_t row, int channels, int height, int width,
                  const float *points, const float *known, int n, int size, const float *unit, float radius,
                  float *poses, int B, int steps, const Rules *rules, float *cost, int64_t *taken,
                  int64_t *looks, int32_t *status)
{
    Problem p = {.scene = {pixels, plane, row, channels, height, width},
                 .motif = {points, known, n, size, unit, radius},
                 .rules = *rules};
    const int short_of_memory = prepare(&p);
    for (int b = 0; b < B && !short_of_memory; b++) {
        double F[9], reached;
        int number = 1;
        for (int i = 0; i < 9; i++) {
            F[i] = poses[9 * b + i];
            number = number && isfinite(F[i]);
        }
        if (!number) {
            cost[b] = INFINITY, taken[b] = 0, looks[b] = 1, status[b] = DIVERGED;
            continue;
        }
        status[b] = descend(&p, steps, F, &reached, &taken[b], &looks[b]);
        cost[b] = reached;
        for (int i = 0; i < 9; i++)
            poses[9 * b + i] = F[i];
    }
    free(p.whole);
    free(p.room.z);
    return short_of_memory;
}
