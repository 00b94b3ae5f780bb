/* The fast objective and its solver: formulations/correlation.py and solve/gauss_newton.py in C.
 *
 * The same mathematics, one pose after the other, without the overhead of a hundred small tensor operations for each
 * step. The Python modules are the reference; tests/native/test_correlation_calls.py compares the two. A batch gives
 * the same bits as its items one by one: no sum runs over poses, and the order of a sum depends only on the number of
 * points.
 */
#include <stdlib.h>

#include "motion.h"
#include "robust.h"

/* 1 − ZNCC at the pose F, and the normal equations of the next step: CorrelationObjective.linearise. */
static inline void linearise_plain(const Problem *p, const double F[9], int channels, Evaluation *out)
{
    ALIGNED float z[MAX_CHANNELS][BLOCK], w[BLOCK];
    Sums sums = {0};
    WeightedSums part;
    Level level = {0};
    out->cost = INFINITY, out->failure = OUTSIDE;
    for (int first = 0; first < p->side->count; first += BLOCK) {
        const int count = block_count(p->side->count, first);
        int visible = sample_block(p, F, first, count, channels, z, w);
        if (!visible)
            continue;
        take_level(channels, count, visible, w, z, &level);
        if (visible < count)
            weigh_block(p, channels, first, count, w, &part);
        /* w is 0 or 1, and z is 0 where w is 0, so z is its own product with the weights. */
        add_block(p, channels, first, count, visible < count ? &part : &p->complete[first / BLOCK], z, z, &sums);
    }
    if (sums.known.total >= p->rules->min_visible * p->side->count)
        finish(p, channels, &sums, out);
}

/* Usual numbers of channels are passed as constants, so that the compiler unrolls the loops over them. */
static void linearise(const Problem *p, const double F[9], Evaluation *out)
{
    const int channels = p->scene->channels;
    if (p->rules->occluded > 0)
        linearise_robust(p, F, channels, out);
    else if (channels == 1)
        linearise_plain(p, F, 1, out);
    else if (channels == 3)
        linearise_plain(p, F, 3, out);
    else
        linearise_plain(p, F, channels, out);
}

/* The Cholesky factor L of H + μ diag H = L Lᵀ, in units in which the diagonal of H is 1.
 *
 * The small constants bound units and pivots away from 0, for a parameter on which the cost does not depend.
 */
static void factorise(const Evaluation *here, int size, double mu, double unit[], double L[][MAX_PARAMETERS])
{
    double most = 0;
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
}

/* The step −(H + μ diag H)⁻¹ g, by the Cholesky factor. Returns its length. */
static double damped_step(const Evaluation *here, int size, double mu, double step[MAX_PARAMETERS])
{
    double unit[MAX_PARAMETERS], L[MAX_PARAMETERS][MAX_PARAMETERS], length = 0;
    factorise(here, size, mu, unit, L);
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

/* F · M. With explicit fma(): a compiler that fuses products and sums by itself may fuse different ones in another
 * version, or after a change nearby, which changes the last bit of a pose. The order is arbitrary.
 */
static void multiply(const double F[9], const double M[9], double product[9])
{
    for (int row = 0; row < 9; row += 3) {
        const double a = F[row], b = F[row + 1], c = F[row + 2];
        product[row] = fma(c, M[6], fma(b, M[3], a * M[0]));
        product[row + 1] = fma(c, M[7], fma(a, M[1], b * M[4]));
        product[row + 2] = fma(c, M[8], fma(a, M[2], b * M[5]));
    }
}

/* F · M(step), with the length of the step limited to where the linearisation holds. */
static void move(const Problem *p, const double F[9], const double step[MAX_PARAMETERS], double length,
                 double moved[9])
{
    const double longest = p->rules->max_step * *p->side->radius;
    double params[MAX_PARAMETERS], M[9], shrink = fmin(1, longest / fmax(length, 1e-12));
    for (int i = 0; i < p->parameters; i++)
        params[i] = step[i] * shrink * p->side->unit[i];
    matrix_of(p->side->motion, params, M);
    multiply(F, M, moved);
    for (int i = 0; i < 9; i++)
        moved[i] /= i < 8 ? moved[8] : moved[i];
}

/* Damped Gauss–Newton from one pose, in place. Returns the status. */
static int descend(const Problem *p, double F[9], double *cost, int64_t *steps, int64_t *evaluations)
{
    const SolverRules *rules = p->rules;
    Evaluation here, there;
    double mu = rules->damping, step[MAX_PARAMETERS], ahead[9];
    *steps = 0;
    *evaluations = 1;
    linearise(p, F, &here);
    *cost = here.cost;
    if (!isfinite(here.cost))
        return here.failure;
    for (int i = 0; i < rules->max_steps; i++) {
        double length = damped_step(&here, p->parameters, mu, step);
        move(p, F, step, length, ahead);
        linearise(p, ahead, &there);
        ++*evaluations;
        int better = there.cost <= here.cost * (1 + rules->slack) + rules->noise;
        if (better) {
            memcpy(F, ahead, sizeof ahead);
            here = there;
            *cost = here.cost;
            ++*steps;
        }
        if (length < rules->tolerance)
            return CONVERGED;
        mu = fmin(fmax(mu * (better ? rules->ease : rules->tighten), 1e-9), 1e9);
    }
    return STEP_LIMIT;
}

/* Allocates the workspace of robust weights; or, without these, computes the sums of complete blocks. */
static int prepare(Problem *p)
{
    const int n = p->side->count, blocks = (n + BLOCK - 1) / BLOCK, channels = p->scene->channels;
    Workspace *work = &p->work;
    if (p->rules->occluded > 0) {
        work->row = (int64_t)blocks * BLOCK;
        work->z = calloc((channels + 3) * work->row + 1, sizeof *work->z);
        if (!work->z)
            return NO_MEMORY;
        work->visible = work->z + channels * work->row;
        work->weight = work->visible + work->row;
        work->squares = work->weight + work->row;
        return DONE;
    }
    p->complete = malloc((blocks + 1) * sizeof *p->complete);
    if (!p->complete)
        return NO_MEMORY;
    for (int b = 0; b < blocks; b++)
        weigh_block(p, channels, b * BLOCK, block_count(n, b * BLOCK), NULL, &p->complete[b]);
    return DONE;
}

/* One fit. A start with a number that is not finite has the status DIVERGED. */
static void fit(const Problem *p, const FitArrays *fits, int b)
{
    float *pose = fits->poses + 9 * (int64_t)b;
    double F[9], cost = INFINITY;
    int finite = 1;
    for (int i = 0; i < 9; i++) {
        F[i] = pose[i];
        finite = finite && isfinite(F[i]);
    }
    if (!finite) {
        fits->costs[b] = INFINITY, fits->steps[b] = 0, fits->evaluations[b] = 1, fits->statuses[b] = DIVERGED;
        return;
    }
    fits->statuses[b] = descend(p, F, &cost, &fits->steps[b], &fits->evaluations[b]);
    fits->costs[b] = cost;
    for (int i = 0; i < 9; i++)
        pose[i] = F[i];
}

/* gauss_newton() of a CorrelationObjective from each pose, all in one scene or each in its own. */
int wherein_align(const Planes *scenes, const SideArrays *side, const SolverRules *rules, const FitArrays *fits)
{
    Problem p = {.scene = scenes, .side = side, .rules = rules, .parameters = parameters_of(side->motion)};
    const int result = prepare(&p);
    for (int b = 0; b < fits->count && result == DONE; b++) {
        p.scene = scenes + (fits->each ? b : 0);
        fit(&p, fits, b);
    }
    free(p.complete);
    free(p.work.z);
    return result;
}
