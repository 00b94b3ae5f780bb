/* The interface between Python and this library; abi.py, structs.py and abi_check.py mirror it by name.
 *
 * Both sides are compared when the library is loaded (abi.c lists what is compared). So if a field is added,
 * renamed or moved on one side only, loading fails, instead of results being wrong. A change that this comparison
 * cannot see, such as a new unit of a field, needs a new number ABI on both sides.
 */
#pragma once
#include <stdint.h>

enum { ABI = 1 };

enum {
    MAX_CHANNELS = 4,   /* maximum channels of the scene of an alignment: the size of arrays on the stack */
    MAX_PARAMETERS = 8, /* maximum parameters of a motion, likewise */
    DIRECTIONS = 8,     /* channels of oriented gradients */
    LOOK_SPAN = 64,     /* wherein_look may read this many bytes from each place on */
    LOOK_ROWS = 8,      /* tiles of a look are LOOK_ROWS × LOOK_SPAN places */
    STEERING = 64,      /* the rotation of a pose is rounded to 1 / STEERING of a full turn when it is rated */
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

/* The rules by which the pixels of a motif are selected; the values are those of formulations/motif_side.py. */
typedef struct {
    float pure, half, share; /* thresholds of the mask: see threshold() */
    float inside;            /* where the mask is above it, a pixel has its own value, else its neighbours' mean */
    float min_weight;        /* lower bound of the sum of weights over the nine neighbours: avoids division by 0 */
    int32_t limit;           /* maximum number of pixels, at least 1 */
} SideRules;

/* Parameters of a descent; their values come from the Python modules. */
typedef struct {
    double damping, ease, tighten;        /* Damping of solve/gauss_newton.py */
    double tolerance;                     /* pixels: a shorter step ends the descent */
    double slack, noise;                  /* relative and absolute increase of the cost that a step may cause */
    double min_visible, edge;             /* minimum fraction of points in the scene; pixels by which it is extended */
    double max_step;                      /* as a fraction of the motif's radius */
    double min_variance;                  /* a scene or motif with a lower variance has no texture */
    double occluded, min_scale, min_gain; /* robust weights: see robust.h; occluded = 0 turns them off */
    int32_t rounds, max_steps;            /* rounds of robust weights; max_steps = 0 only evaluates the cost */
} SolverRules;

/* `count` poses, and the results of their descents. */
typedef struct {
    float *poses; /* (count, 3, 3): in: the starts; out: the ends of the descents */
    float *costs;
    int64_t *steps, *evaluations;
    int32_t *statuses;
    int32_t count;
    int32_t each;  /* whether each pose has a scene of its own */
} FitArrays;

/* Correlation kernels as lists of points, one kernel after the other. */
typedef struct {
    const int32_t *offsets; /* of each point: distance in floats from the pixel of the centre */
    const float *values;    /* of each point; for each kernel, they have mean 0 and a sum of squares of 1 */
    const int32_t *counts;  /* points of each kernel */
    int32_t count, first;   /* number of kernels, and the index of the first */
} ScreenKernels;

/* The best ZNCC so far at every place, and the index of its kernel; both contiguous. */
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

/* Parameters of the fit of a flat motif; their values come from the Python modules. */
typedef struct {
    ChannelRules channels;
    double damping, ease, tighten;
    double tolerance;    /* in pixels of the motif: a shorter step ends the descent */
    double extrapolated; /* maximum factor by which extrapolation lengthens the step of a settling pose */
    double reach;        /* maximum length of the extrapolated step in pixels, unless the step itself is longer */
    double slack;        /* ZNCC that a step of a settling pose may lose */
    double max_step;     /* in units of the radius */
    double min_agreement; /* steps are divided by the ZNCC, or by this if it is lower */
    double min_visible;  /* minimum fraction of the motif in the scene */
    double min_variance; /* lower bound of the variance of the scene's channels */
    int32_t parameters;  /* of the motion: 2 translation, 3 euclidean, 4 similarity, 6 affine, 8 homography */
    int32_t rounds, steps, levels; /* rounds, steps in each, and levels of the scene, each half of the last */
    int32_t settles;     /* one step in each round, extrapolated, and checked in the next round */
} PlaneRules;

/* `count` poses, and the results of their fits. */
typedef struct {
    double *poses; /* (count, 3, 3) */
    double *zncc, *visible;
    const int32_t *finest; /* the finest level that each pose may use; only fits read it */
    int32_t count;
} PlaneFits;

/* Parameters of the detection of covered parts; their values come from planes/cover.py. */
typedef struct {
    double agrees;        /* share of the median agreement below which a cell is covered */
    double connected;     /* share of the 3 × 3 cells around a covered cell that must be covered */
    double least, most;   /* minimum and maximum share of the motif that is left out */
    int32_t cell, rounds; /* width of a cell in pixels; maximum number of detections of the cover */
} CoverRules;

/* Poses of a motif, the best first, and when two are the same; see PoseFilter of planes/look/pose_filter.py. */
typedef struct {
    const double *corners, *middles, *sizes, *zncc; /* (count, 4, 2), (count, 2), (count), (count) */
    double same_place;  /* distance of all corners, as a share of the size */
    double same_middle; /* distance of the middles, as a share of the size, if the ZNCC is below */
    double worse;       /* this share of the better one */
    int32_t count;
} DistinctPoses;

/* The channels of a picture. */
typedef struct {
    const float *channels; /* (height, width, DIRECTIONS) */
    const uint8_t *inside; /* (height, width): which pixels lie in the scene; NULL: all */
    int32_t height, width;
} ChannelPicture;

/* Poses of many motifs in many pictures, with the indices of the motif and of the picture of each pose. The poses of a
 * motif should be consecutive, so that what is computed for a motif is computed once.
 */
typedef struct {
    const ChannelPicture *pictures;
    const PlaneMotifArrays *motifs;
    const int32_t *picture, *motif; /* (count of the poses) */
} PoseKinds;

/* The responses of a scene: (DIRECTIONS * 3 / 2, 4, height, width) bytes, with a margin of `margin` bytes on each side
 * of the scene.
 */
typedef struct {
    uint8_t *responses;
    int32_t height, width, margin;
} FeatureMaps;

/* The places of a first look: rows are `stride` bytes apart in the responses, and `row` words in the results. */
typedef struct {
    const uint8_t *tiles; /* which tiles are compared, row by row; NULL: all */
    int64_t stride;
    int32_t height, width, row;
} LookPlaces;

/* Motifs of one shared look: for each motif the offsets of the features of all its templates, as in wherein_look, and
 * the width of the window over which the scene's energy is averaged.
 */
typedef struct {
    const int32_t *offsets, *windows;
    int32_t count, templates, features;
    float quiet;
} ManyMotifs;

/* The best `keep` places of each motif: rating, index of the place, index of the template. */
typedef struct {
    float *ratings;
    int32_t *at, *which;
    int32_t keep;
} BestPlaces;

/* A name and a number that Python compares; see abi.c. */
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
int wherein_grey_plane(const uint8_t *pixels, int32_t height, int32_t width, uint8_t *out, int32_t *grey);
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
int wherein_distinct(const DistinctPoses *poses, int32_t most, int32_t *kept, int32_t *number);
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
