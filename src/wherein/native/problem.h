/* What is solved: the scene, the motif's side, the rules, and the memory to work in. */
#pragma once
#include "abi.h"
#include "vectors.h"

enum { MAX_COLUMNS = MAX_PARAMETERS + 1 };

/* Sums over points with weights w: Σ w, KᵀWK (its lower triangle) and, for each channel, Σ w K. */
typedef struct {
    double total, gram[MAX_COLUMNS][MAX_COLUMNS], sums[MAX_CHANNELS][MAX_COLUMNS];
} WeightedSums;

/* The cost at a pose and the normal equations of the next step; where the cost is infinite, `failure` says why. */
typedef struct {
    double cost, gradient[MAX_PARAMETERS], hessian[MAX_PARAMETERS][MAX_PARAMETERS];
    int failure;
} Evaluation;

/* For robust weights, of all points: the scene under them (`row` floats for each channel), 1 where they are in the
 * scene, their weights, and their squared misfits.
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
    WeightedSums *complete; /* of every block with all its points in the scene, as is nearly always the case */
    Workspace work;
} Problem;

/* Column k of K in one channel; the last one, k = parameters, is the motif itself. */
static inline const float *column_of(const Problem *p, int channel, int k)
{
    return p->side->known + (int64_t)(channel * (p->parameters + 1) + k) * p->side->count;
}
