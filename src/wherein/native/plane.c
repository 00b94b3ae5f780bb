/* A flat motif fitted to a scene by its channels: planes/plane_fit.py in C.
 *
 * A round rectifies the scene by the pose so far, which brings it into the motif's own frame and resolution; makes the
 * channels of that picture; and descends on them by Gauss–Newton from the identity. So directions of gradients are
 * always compared in the motif's frame, whatever the rotation or tilt in the scene.
 */
#include "plane_patch.h"

static double distance_from_identity(const double M[9])
{
    double sum = 0;
    for (int i = 0; i < 9; i++)
        sum += (M[i] - (i % 4 == 0)) * (M[i] - (i % 4 == 0));
    return sqrt(sum);
}

/* One pose, in place: motif pixels of this resolution → scene pixels at full size. Levels finer than `finest` are not
 * read.
 */
static void fit_plane(Patch *p, double F[9], int finest, double *zncc, double *visible)
{
    *zncc = -1, *visible = 0;
    for (int round = 0; round < p->rules->rounds; round++) {
        double best[9];
        if (!take_patch(p, F, finest)) {
            *zncc = -1;
            return;
        }
        const PlaneEvaluation found = descend_on(p, p->motif, F, best);
        *zncc = found.zncc, *visible = found.visible;
        if (distance_from_identity(best) * p->motif->radius < p->rules->tolerance)
            return;
    }
}

int wherein_fit_planes(const Planes *levels, const PlaneMotifArrays *motif, const PlaneRules *rules,
                       const PlaneFits *fits)
{
    Patch p;
    const int result = make_patch(&p, levels, motif, rules);
    for (int i = 0; i < fits->count && result == DONE; i++)
        fit_plane(&p, fits->poses + 9 * (int64_t)i, fits->finest[i], &fits->zncc[i], &fits->visible[i]);
    free_patch(&p);
    return result;
}

/* The scene as seen through M: `out` is (channels, height, width), `inside` (height, width). */
int wherein_rectify(const Planes *scene, const double *M, int32_t height, int32_t width, float *out, uint8_t *inside)
{
    rectify(scene, M, height, width, out, inside);
    return DONE;
}
