/* The interface between Python and this library: abi.py mirrors everything here by name.
 *
 * The two are compared when the library is loaded (abi.c says what there is to compare), so a field that is
 * added, renamed or moved on one side only makes the library unusable instead of its results wrong. What such
 * a comparison cannot see, say a field that changes its unit, needs a new number ABI on both sides.
 */
#pragma once
#include <stdint.h>

enum { ABI = 1 };

enum {
    MAX_CHANNELS = 4,   /* of a scene that is aligned with: the size of arrays on the stack */
    MAX_PARAMETERS = 8, /* of a motion, likewise */
    SCREEN_SPAN = 32,   /* wherein_screen may read this many floats from a place on, in its row and the points' */
};

/* The motion models of motion/models.py that C knows. */
enum { TRANSLATION, EUCLIDEAN, SIMILARITY, AFFINE, HOMOGRAPHY, MOTIONS };

/* How a fit ended: the names of Status in solve/result.py. */
enum { CONVERGED, STEP_LIMIT, DIVERGED, OUTSIDE, FLAT };

/* What the functions return. */
enum { DONE = 0, NO_MEMORY = -1 };

/* A picture in float32. The pixels of a row are contiguous; strides are counted in floats. */
typedef struct {
    const float *pixels;
    int64_t plane_stride, row_stride;
    int32_t channels, height, width;
} Planes;

/* MotifSide of formulations/motif_side.py: `count` pixels of the motif and how they change when it moves.
 * One row of `count` floats for each coordinate and column, because the sums run along the pixels.
 */
typedef struct {
    float *centre; /* (2); wherein_align does not read it */
    float *radius; /* (1) */
    float *unit;   /* (parameters) */
    float *points; /* (2, count): x, then y, from the centre */
    float *known;  /* (channels, parameters + 1, count): K = (J, x) */
    int32_t motion, count;
} SideArrays;

/* What decides which pixels of a motif are compared; the values are those of formulations/motif_side.py. */
typedef struct {
    float pure, half, share; /* of the mask: see threshold() */
    float inside;            /* a mask above this: the pixel's own value counts, not that of its neighbours */
    float min_weight;        /* of the nine neighbours together, so that nothing is divided by 0 */
    int32_t limit;           /* maximum number of pixels, at least 1 */
} SideRules;

/* What Python's modules decide about a descent. */
typedef struct {
    double damping, ease, tighten;        /* Damping of solve/gauss_newton.py */
    double tolerance;                     /* pixels: a shorter step ends the descent */
    double slack, noise;                  /* a cost that rises by no more, relative or absolute, is no failure */
    double min_visible, edge;             /* fraction of the points in the scene; pixels around it that count as in it */
    double max_step;                      /* as a fraction of the motif's radius */
    double min_variance;                  /* a scene or motif with less has no texture */
    double occluded, min_scale, min_gain; /* robust weights: see robust.h; occluded = 0 turns them off */
    int32_t rounds, max_steps;            /* of robust weights; max_steps = 0 evaluates the cost and moves nothing */
} SolverRules;

/* `count` poses and what became of them. */
typedef struct {
    float *poses; /* (count, 3, 3): where to start, then where the descent ended */
    float *costs;
    int64_t *steps, *evaluations;
    int32_t *statuses;
    int32_t count;
} FitArrays;

/* Correlation kernels as lists of points, one kernel after the other. */
typedef struct {
    const int32_t *offsets; /* of each point: floats from the pixel of the centre to its own */
    const float *values;    /* of each point; those of a kernel have mean 0, and squares that sum to 1 */
    const int32_t *counts;  /* points of each kernel */
    int32_t count, first;   /* how many kernels, and the number of the first */
} ScreenKernels;

/* The best ZNCC so far at every place, and the number of the kernel that has it; both contiguous. */
typedef struct {
    float *best;
    int32_t *which;
} ScreenMaps;

/* A name and a number for Python to compare; see abi.c. */
typedef struct {
    const char *name;
    int64_t value;
} Fact;

int wherein_abi(void);
const Fact *wherein_facts(void);
int wherein_parameters(int motion);
int wherein_cpu_level(void);

int wherein_align(const Planes *scene, const SideArrays *side, const SolverRules *rules, const FitArrays *fits);
int wherein_motif_side(const Planes *motif, const Planes *mask, const SideRules *rules, SideArrays *side);
int wherein_pool(const Planes *picture, int32_t factor, float *out);
int wherein_screen(const Planes *places, const ScreenKernels *kernels, float min_variance, const ScreenMaps *maps);
int wherein_separable(const Planes *picture, const float *taps, int32_t count, float *out);
