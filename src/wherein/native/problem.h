/* What is to be solved: a scene, the motif's side, and the rules. */
#pragma once
#include "common.h"

enum { CHANNELS = 4, SIZE = 8, COLUMNS = SIZE + 1 };

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

/* Status of solve/solution.py. */
enum { CONVERGED, STEP_LIMIT, DIVERGED, OUTSIDE, FLAT };

/* Without a number the cost is infinite, and `why` one of the above. */
typedef struct {
    double cost, gradient[SIZE], hessian[SIZE][SIZE];
    int why;
} Model;

/* What Python's modules lay down, in the order of native/__init__.py: Damping and the tolerance; of the objective,
 * its slack, its noise and its limits; and of robust weights, where `hidden` is more than 0.
 */
typedef struct {
    double start, ease, tighten, tolerance, slack, noise, min_visible, longest_step, least_variance, edge;
    double hidden, least_scale, least_gain, rounds;
} Rules;

/* For robust weights: the scene under all the points, `row` to a channel; which are seen, their weights and misfits. */
typedef struct {
    int64_t row;
    float *z, *seen, *weight, *squares;
} Room;

typedef struct {
    Picture scene;
    Motif motif;
    Rules rules;
    Weighed *whole;
    Room room;
} Problem;
