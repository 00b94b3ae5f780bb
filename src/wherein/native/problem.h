/* The problem of an alignment: the scene, the motif's side, the rules, and working memory. */
#pragma once
#include "abi.h"
#include "vectors.h"

enum { MAX_COLUMNS = MAX_PARAMETERS + 1 };

/* Sums over points with the weights w: Σ w, the lower triangle of KᵀWK and, for each channel, Σ w K. */
typedef struct {
    double total, gram[MAX_COLUMNS][MAX_COLUMNS], sums[MAX_CHANNELS][MAX_COLUMNS];
} WeightedSums;

/* The cost at a pose, and the normal equations of the next step. If the cost is infinite, `failure` is the reason. */
typedef struct {
    double cost, gradient[MAX_PARAMETERS], hessian[MAX_PARAMETERS][MAX_PARAMETERS];
    int failure;
} Evaluation;

/* Arrays over all points for robust weights: the scene at the points (`row` floats for each channel), whether they are
 * in the scene (1 or 0), their weights, and their squared misfits.
 */
typedef struct {
    int64_t row;
    float *z, *visible, *weight, *squares;
} Workspace;

typedef struct {
    const Planes *scene;
    const SideArrays *side;
    const SolverRules *rules;
    int parameters;
    WeightedSums *complete; /* of each block, for when all its points lie in the scene, which is nearly always so */
    Workspace work;
} Problem;

/* Column k of K in one channel; the last one, k = parameters, is the motif itself. */
static inline const float *column_of(const Problem *p, int channel, int k)
{
    return p->side->known + (int64_t)(channel * (p->parameters + 1) + k) * p->side->count;
}
