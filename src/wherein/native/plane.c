/* The fit of a flat motif to a scene by channels: planes/plane_fit.py in C.
 *
 * A round rectifies the scene by the current pose, into the motif's own frame and resolution; computes the channels of
 * the rectified picture; and descends on them by Gauss–Newton steps from the identity. So directions of gradients are
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

/* Fits one pose in place: motif pixels at this resolution → scene pixels at full size. Levels finer than `finest` are
 * not read.
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

/* The state of a settling pose: the last pose that was kept, and the move from there. */
typedef struct {
    double F[9], zncc;
    double step[MAX_PARAMETERS];  /* the Gauss–Newton step at F */
    double taken[MAX_PARAMETERS]; /* the move from F: the step, extrapolated */
    int extrapolated;             /* whether they differ */
} Settling;

/* The next move, extrapolated from the last two steps if they are getting shorter: Anderson acceleration of depth 1, as
 * in Settling.move() of plane_descent.py. The move is limited to `extrapolated` times the length of the step, and to
 * `reach`, unless the step itself is longer than that.
 */
static void extrapolate(Settling *s, const double found[MAX_PARAMETERS], const PlaneRules *rules, double reach)
{
    double own = 0, last = 0, along = 0, change = 0, length = 0;
    for (int i = 0; i < MAX_PARAMETERS; i++) {
        const double d = found[i] - s->step[i];
        own += found[i] * found[i], last += s->step[i] * s->step[i], along += d * found[i], change += d * d;
    }
    s->extrapolated = own < last;
    const double share = s->extrapolated ? along / fmax(change, 1e-300) : 0;
    for (int i = 0; i < MAX_PARAMETERS; i++) {
        s->taken[i] = found[i] - share * (s->taken[i] + found[i] - s->step[i]);
        length += s->taken[i] * s->taken[i];
    }
    const double most = fmin(rules->extrapolated * sqrt(own), fmax(sqrt(own), reach));
    const double cut = fmin(1, most / fmax(sqrt(length), 1e-150));
    for (int i = 0; i < MAX_PARAMETERS; i++)
        s->taken[i] *= cut;
    memcpy(s->step, found, sizeof s->step);
}

/* Moves F by the inverse of a step of the motif, in the motif's units. */
static void move(double F[9], const PlaneMotifArrays *m, int parameters, const double step[MAX_PARAMETERS])
{
    const double r = m->radius, x = m->centre_x, y = m->centre_y;
    const double from_unit[9] = {r, 0, x, 0, r, y, 0, 0, 1}, to_unit[9] = {1 / r, 0, -x / r, 0, 1 / r, -y / r, 0, 0, 1};
    double M[9];
    motion_of(step, parameters, M);
    inverse(M, M);
    product(from_unit, M, M);
    product(M, to_unit, M);
    product(F, M, F);
    normalise(F);
}

/* Fits one pose that is almost right, in place, by one step in each round, extrapolated where that helps; otherwise as
 * fit_plane(). Each round starts where no channel is interpolated, so that its ZNCC tells whether the last move was
 * good.
 */
static void settle_plane(Patch *p, double F[9], int finest, double *zncc, double *visible)
{
    const PlaneMotifArrays *m = p->motif;
    const PlaneRules *rules = p->rules;
    Settling s = {.zncc = -1};
    *zncc = -1, *visible = 0;
    for (int round = 0; round < rules->rounds; round++) {
        double step[MAX_PARAMETERS];
        if (!take_patch(p, F, finest)) {
            *zncc = -1;
            return;
        }
        const PlaneEvaluation found = evaluate_on(p, m);
        if (round && found.zncc < s.zncc - rules->slack) {
            /* The move led too far: again from F, without extrapolation or half as far; in the last round not at all. */
            memcpy(F, s.F, sizeof s.F);
            if (round == rules->rounds - 1)
                return;
            for (int i = 0; i < MAX_PARAMETERS; i++)
                s.step[i] *= s.extrapolated ? 1 : 0.5, s.taken[i] = s.step[i];
            s.extrapolated = 0;
            move(F, m, rules->parameters, s.taken);
            continue;
        }
        *zncc = found.zncc, *visible = found.visible;
        if (!(found.zncc > -1))
            return;
        const double length = plane_step(m->hessian, found.slope, rules->parameters, rules->damping, step);
        const double cut = fmin(1, rules->max_step / fmax(length, 1e-12));
        for (int i = 0; i < MAX_PARAMETERS; i++)
            step[i] *= cut;
        if (round == rules->rounds - 1 && length * m->radius > rules->reach)
            return; /* No further round would check so long a step. */
        memcpy(s.F, F, sizeof s.F), s.zncc = found.zncc;
        extrapolate(&s, step, rules, rules->reach / m->radius);
        move(F, m, rules->parameters, s.taken);
        if (length * m->radius < rules->tolerance)
            return;
    }
}

int wherein_fit_planes(const Planes *levels, const PlaneMotifArrays *motif, const PlaneRules *rules,
                       const PlaneFits *fits)
{
    Patch p;
    const int result = make_patch(&p, levels, motif, rules);
    for (int i = 0; i < fits->count && result == DONE; i++)
        (rules->settles ? settle_plane : fit_plane)(&p, fits->poses + 9 * (int64_t)i, fits->finest[i], &fits->zncc[i],
                                                      &fits->visible[i]);
    free_patch(&p);
    return result;
}

/* The picture whose pixel u is the scene at M u: `out` is (channels, height, width), `inside` (height, width). */
int wherein_rectify(const Planes *scene, const double *M, int32_t height, int32_t width, float *out, uint8_t *inside)
{
    rectify(scene, M, height, width, out, inside);
    return DONE;
}
