/* The facts that Python compares when it loads the library, and the instruction sets of the processor. */
#include "abi.h"

#include <stddef.h>

#include "motion.h"

#define NUMBER(name) {#name, name}
#define SIZE(type) {"sizeof " #type, sizeof(type)}
#define FIELD(type, field) {#type "." #field, offsetof(type, field)}

/* Offsets and not only sizes: if two doubles change places, the size remains the same. */
static const Fact facts[] = {
    NUMBER(MAX_CHANNELS), NUMBER(MAX_PARAMETERS), NUMBER(SCREEN_SPAN), NUMBER(DIRECTIONS),
    NUMBER(LOOK_SPAN), NUMBER(LOOK_ROWS), NUMBER(STEERING),
    NUMBER(TRANSLATION), NUMBER(EUCLIDEAN), NUMBER(SIMILARITY), NUMBER(AFFINE), NUMBER(HOMOGRAPHY),
    NUMBER(CONVERGED), NUMBER(STEP_LIMIT), NUMBER(DIVERGED), NUMBER(OUTSIDE), NUMBER(FLAT),
    NUMBER(DONE), NUMBER(NO_MEMORY),
    SIZE(Planes), FIELD(Planes, pixels), FIELD(Planes, plane_stride), FIELD(Planes, row_stride),
    FIELD(Planes, channels), FIELD(Planes, height), FIELD(Planes, width),
    SIZE(SideArrays), FIELD(SideArrays, centre), FIELD(SideArrays, radius), FIELD(SideArrays, unit),
    FIELD(SideArrays, points), FIELD(SideArrays, known), FIELD(SideArrays, motion), FIELD(SideArrays, count),
    SIZE(SideRules), FIELD(SideRules, pure), FIELD(SideRules, half), FIELD(SideRules, share),
    FIELD(SideRules, inside), FIELD(SideRules, min_weight), FIELD(SideRules, limit),
    SIZE(SolverRules), FIELD(SolverRules, damping), FIELD(SolverRules, ease), FIELD(SolverRules, tighten),
    FIELD(SolverRules, tolerance), FIELD(SolverRules, slack), FIELD(SolverRules, noise),
    FIELD(SolverRules, min_visible), FIELD(SolverRules, edge), FIELD(SolverRules, max_step),
    FIELD(SolverRules, min_variance), FIELD(SolverRules, occluded), FIELD(SolverRules, min_scale),
    FIELD(SolverRules, min_gain), FIELD(SolverRules, rounds), FIELD(SolverRules, max_steps),
    SIZE(FitArrays), FIELD(FitArrays, poses), FIELD(FitArrays, costs), FIELD(FitArrays, steps),
    FIELD(FitArrays, evaluations), FIELD(FitArrays, statuses), FIELD(FitArrays, count), FIELD(FitArrays, each),
    SIZE(ScreenKernels), FIELD(ScreenKernels, offsets), FIELD(ScreenKernels, values),
    FIELD(ScreenKernels, counts), FIELD(ScreenKernels, count), FIELD(ScreenKernels, first),
    SIZE(ScreenMaps), FIELD(ScreenMaps, best), FIELD(ScreenMaps, which),
    SIZE(ChannelRules), FIELD(ChannelRules, taps), FIELD(ChannelRules, floor), FIELD(ChannelRules, noise),
    FIELD(ChannelRules, window), FIELD(ChannelRules, count),
    SIZE(PlaneMotifArrays), FIELD(PlaneMotifArrays, points), FIELD(PlaneMotifArrays, weights),
    FIELD(PlaneMotifArrays, unsigned_points), FIELD(PlaneMotifArrays, target), FIELD(PlaneMotifArrays, dx),
    FIELD(PlaneMotifArrays, dy), FIELD(PlaneMotifArrays, hessian), FIELD(PlaneMotifArrays, with_1),
    FIELD(PlaneMotifArrays, with_t), FIELD(PlaneMotifArrays, weight), FIELD(PlaneMotifArrays, centre_x),
    FIELD(PlaneMotifArrays, centre_y), FIELD(PlaneMotifArrays, radius), FIELD(PlaneMotifArrays, count),
    FIELD(PlaneMotifArrays, height), FIELD(PlaneMotifArrays, width), FIELD(PlaneMotifArrays, margin),
    SIZE(PlaneRules), FIELD(PlaneRules, channels), FIELD(PlaneRules, damping), FIELD(PlaneRules, ease),
    FIELD(PlaneRules, tighten), FIELD(PlaneRules, tolerance), FIELD(PlaneRules, extrapolated),
    FIELD(PlaneRules, reach), FIELD(PlaneRules, slack),
    FIELD(PlaneRules, max_step), FIELD(PlaneRules, min_agreement),
    FIELD(PlaneRules, min_visible), FIELD(PlaneRules, min_variance),
    FIELD(PlaneRules, parameters), FIELD(PlaneRules, rounds), FIELD(PlaneRules, steps), FIELD(PlaneRules, levels),
    FIELD(PlaneRules, settles),
    SIZE(PlaneFits), FIELD(PlaneFits, poses), FIELD(PlaneFits, zncc), FIELD(PlaneFits, visible),
    FIELD(PlaneFits, finest), FIELD(PlaneFits, count),
    SIZE(CoverRules), FIELD(CoverRules, agrees), FIELD(CoverRules, connected), FIELD(CoverRules, least),
    FIELD(CoverRules, most), FIELD(CoverRules, cell), FIELD(CoverRules, rounds),
    SIZE(DistinctPoses), FIELD(DistinctPoses, corners), FIELD(DistinctPoses, middles), FIELD(DistinctPoses, sizes),
    FIELD(DistinctPoses, zncc), FIELD(DistinctPoses, same_place), FIELD(DistinctPoses, same_middle),
    FIELD(DistinctPoses, worse), FIELD(DistinctPoses, count),
    SIZE(ChannelPicture), FIELD(ChannelPicture, channels), FIELD(ChannelPicture, inside),
    FIELD(ChannelPicture, height), FIELD(ChannelPicture, width),
    SIZE(PoseKinds), FIELD(PoseKinds, pictures), FIELD(PoseKinds, motifs), FIELD(PoseKinds, picture),
    FIELD(PoseKinds, motif),
    SIZE(FeatureMaps), FIELD(FeatureMaps, responses), FIELD(FeatureMaps, height), FIELD(FeatureMaps, width),
    FIELD(FeatureMaps, margin),
    SIZE(LookPlaces), FIELD(LookPlaces, tiles), FIELD(LookPlaces, stride), FIELD(LookPlaces, height),
    FIELD(LookPlaces, width), FIELD(LookPlaces, row),
    SIZE(ManyMotifs), FIELD(ManyMotifs, offsets), FIELD(ManyMotifs, windows), FIELD(ManyMotifs, count),
    FIELD(ManyMotifs, templates), FIELD(ManyMotifs, features), FIELD(ManyMotifs, quiet),
    SIZE(BestPlaces), FIELD(BestPlaces, ratings), FIELD(BestPlaces, at), FIELD(BestPlaces, which),
    FIELD(BestPlaces, keep),
    {NULL, 0},
};

int wherein_abi(void) { return ABI; }

const Fact *wherein_facts(void) { return facts; }

int wherein_parameters(int motion) { return motion >= 0 && motion < MOTIONS ? parameters_of(motion) : -1; }

/* The highest level of shipped variant that this processor (and its operating system) can run; see shipped.py.
 *
 * Python calls it in the baseline variant, which runs everywhere. The v3 variant is compiled for exactly these four
 * instruction sets.
 */
int wherein_cpu_level(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
        __builtin_cpu_supports("bmi2"))
        return 3;
#endif
    return 1;
}
