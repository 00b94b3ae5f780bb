/* The interface between Python and this library: abi.py, structs.py and abi_check.py mirror it by name.
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
    DIRECTIONS = 8,     /* channels of oriented gradients */
    LOOK_SPAN = 64,     /* wherein_look may read this many bytes from a place on */
    LOOK_ROWS = 8,      /* tiles of a look are LOOK_ROWS × LOOK_SPAN places */
    STEERING = 64,      /* steps of a full turn to which a pose is rounded when it is rated */
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
    int32_t each;  /* whether each of them has a scene of its own */
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

/* How a picture becomes channels; the values are those of images/channels.py. */
typedef struct {
    const float *taps;  /* (count): the smoothing along each axis, symmetric */
    float floor, noise; /* added to the local mean of the gradient, and to the gradient itself */
    int32_t window;     /* width of the square over which the gradient is averaged, odd */
    int32_t count;      /* odd */
} ChannelRules;

/* A flat motif at one resolution: PlaneMotif of planes/plane_motif.py. */
typedef struct {
    const float *points;            /* (count, 2): from the centre, in units of the radius */
    const float *weights;           /* (count) */
    const int32_t *unsigned_points; /* (count): 1 where light and dark may be exchanged */
    const float *target, *dx, *dy;  /* (count, DIRECTIONS): mean 0 and norm 1 under the weights; its derivatives, times
                                       the weights */
    const double *hessian;          /* (MAX_PARAMETERS, MAX_PARAMETERS) */
    const double *with_1, *with_t;  /* (MAX_PARAMETERS): sums of the derivatives, and of their products with the target */
    double weight;                  /* sum of the weights over points and channels */
    double centre_x, centre_y, radius;
    int32_t count, height, width, margin; /* of the picture, and how far the rectified scene reaches beyond it */
} PlaneMotifArrays;

/* What Python's modules decide about the fit of a flat motif. */
typedef struct {
    ChannelRules channels;
    double damping, ease, tighten;
    double tolerance;    /* pixels of the motif: a shorter step ends the descent */
    double extrapolated; /* how much longer a step of a pose that settles may become */
    double reach;        /* and how long, unless it is already, in pixels of the motif */
    double slack;        /* ZNCC by which such a step may make the fit worse */
    double max_step;     /* in units of the radius */
    double min_agreement; /* ZNCC below which a step is as long as at this */
    double min_visible;  /* fraction of the motif in the scene */
    double min_variance; /* of the scene's channels: with less there is no texture */
    int32_t parameters;  /* of the motion: 2 translation, 3 euclidean, 4 similarity, 6 affine, 8 homography */
    int32_t rounds, steps, levels; /* rounds, steps in each of them, and levels of the scene: each half of the last */
    int32_t settles;     /* one step in each round, extrapolated, and not checked before the next */
} PlaneRules;

/* `count` poses and what became of them. */
typedef struct {
    double *poses; /* (count, 3, 3) */
    double *zncc, *visible;
    const int32_t *finest; /* level of the scene of which each may make use, and coarser ones; read by fits alone */
    int32_t count;
} PlaneFits;

/* What planes/cover.py decides about what covers a motif. */
typedef struct {
    double agrees;        /* share of the median agreement below which a cell is covered */
    double connected;     /* share of a cell and its neighbours that must be */
    double least, most;   /* share of the motif that is left out */
    int32_t cell, rounds; /* width of a cell in pixels; how often the cover is told */
} CoverRules;

/* The channels of a picture. */
typedef struct {
    const float *channels; /* (height, width, DIRECTIONS) */
    const uint8_t *inside; /* (height, width): which pixels lie in the scene; NULL: all */
    int32_t height, width;
} ChannelPicture;

/* Poses of many motifs in many pictures: the numbers of the motif and of the picture of each pose. Those of a motif
 * should lie side by side: what is made for it is made once then.
 */
typedef struct {
    const ChannelPicture *pictures;
    const PlaneMotifArrays *motifs;
    const int32_t *picture, *motif; /* (count of the poses) */
} PoseKinds;

/* Where the responses of a scene are kept: (DIRECTIONS * 3 / 2, 4, height, width) bytes, `margin` of them around the
 * scene.
 */
typedef struct {
    uint8_t *responses;
    int32_t height, width, margin;
} FeatureMaps;

/* The places of a first look: `stride` bytes from row to row of the responses, `row` words in the results. */
typedef struct {
    const uint8_t *tiles; /* which tiles are looked at, row by row; NULL: all */
    int64_t stride;
    int32_t height, width, row;
} LookPlaces;

/* Motifs that are looked for together: offsets of the features of all templates of each, as wherein_look has them, and
 * the window of each over which the scene's energy is averaged.
 */
typedef struct {
    const int32_t *offsets, *windows;
    int32_t count, templates, features;
    float quiet;
} ManyMotifs;

/* The best places of each motif, `keep` of each: rating, index of the place, number of the template. */
typedef struct {
    float *ratings;
    int32_t *at, *which;
    int32_t keep;
} BestPlaces;

/* A name and a number for Python to compare; see abi.c. */
typedef struct {
    const char *name;
    int64_t value;
} Fact;

int wherein_abi(void);
const Fact *wherein_facts(void);
int wherein_parameters(int motion);
int wherein_cpu_level(void);

int wherein_align(const Planes *scenes, const SideArrays *side, const SolverRules *rules, const FitArrays *fits);
int wherein_motif_side(const Planes *motif, const Planes *mask, const SideRules *rules, SideArrays *side);
int wherein_pool(const Planes *picture, int32_t factor, float *out);
int wherein_halve_bytes(const uint8_t *from, int32_t planes, int32_t height, int32_t width, float *out);
int wherein_screen(const Planes *places, const ScreenKernels *kernels, float min_variance, const ScreenMaps *maps);
int wherein_separable(const Planes *picture, const float *taps, int32_t count, float *out);
int wherein_channels(const Planes *picture, const ChannelRules *rules, float *out);
int wherein_fit_planes(const Planes *levels, const PlaneMotifArrays *motif, const PlaneRules *rules,
                       const PlaneFits *fits);
int wherein_uncover(const Planes *levels, const PlaneMotifArrays *motif, const PlaneRules *rules,
                    const CoverRules *cover, const PlaneFits *fits);
int wherein_rate_poses(const ChannelPicture *picture, const PlaneMotifArrays *motif, const PlaneRules *rules,
                       const PlaneFits *fits);
int wherein_refine_poses(const ChannelPicture *picture, const PlaneMotifArrays *motif, const PlaneRules *rules,
                         const PlaneFits *fits);
int wherein_rate_many(const PoseKinds *kinds, const PlaneRules *rules, const PlaneFits *fits);
int wherein_refine_many(const PoseKinds *kinds, const PlaneRules *rules, const PlaneFits *fits);
int wherein_rectify(const Planes *scene, const double *M, int32_t height, int32_t width, float *out, uint8_t *inside);
int wherein_features(const Planes *picture, const ChannelRules *rules, float gain, const FeatureMaps *maps);
int wherein_look(const uint8_t *first, const LookPlaces *places, const int32_t *offsets, int32_t templates,
                 int32_t features, uint16_t *best, uint16_t *which);
int wherein_energy(const FeatureMaps *maps, int32_t height, int32_t width, int64_t *table);
int wherein_rate_places(const LookPlaces *places, const uint16_t *best, const int64_t *table, int32_t window,
                        float quiet, float *ratings);
int wherein_peaks(const float *ratings, int32_t height, int32_t width, int32_t *at, int32_t *count);
int wherein_look_many(const uint8_t *first, const LookPlaces *places, const int64_t *table, const ManyMotifs *motifs,
                      const BestPlaces *out);
