/* Many poses of a flat motif on channels that are computed once: planes/rating.py in C. */
#include "plane_descent.h"

/* The target rotated by each of STEERING equal steps of a full turn, computed on first use.
 *
 * Rotating the target is equivalent to rotating the scene's channels the other way. But the target is the same for all
 * poses of the same rotation, while the scene is different for each pose and point.
 */
typedef struct {
    Octet *targets; /* (STEERING, count) */
    uint8_t known[STEERING];
} SteeredTargets;

static const Octet *turned_target(SteeredTargets *table, const PlaneMotifArrays *m, const double F[9])
{
    const double turn = atan2(F[3] - F[1], F[0] + F[4]) / (2 * M_PI);
    const int step = ((int)lrint(turn * STEERING) % STEERING + STEERING) % STEERING;
    Octet *target = table->targets + (int64_t)step * m->count;
    if (!table->known[step]) {
        Octet taps[DIRECTIONS];
        steering_taps(-(double)step * DIRECTIONS / STEERING, taps);
        for (int i = 0; i < m->count; i++)
            target[i] = m->weights[i] * steered(taps, octet(m->target + DIRECTIONS * i));
        table->known[step] = 1;
    }
    return target;
}

/* ZNCC of the motif at the pose F, motif pixels → pixels of the surface. */
static double steered_zncc(const Surface *s, const PlaneMotifArrays *m, const PlaneRules *rules, const double F[9],
                           const Octet *target)
{
    const float r = m->radius, x0 = F[0] * m->centre_x + F[1] * m->centre_y + F[2];
    const float y0 = F[3] * m->centre_x + F[4] * m->centre_y + F[5];
    const float f[9] = {r * F[0], r * F[1], x0, r * F[3], r * F[4], y0, 0, 0, 1};
    const Octet zero = {0};
    Octet t = zero, y = zero, tt = zero, yy = zero, ty = zero;
    double weight = 0, all = 0;
    Places places;
    for (int i = 0; i < m->count; i++) {
        const float w = m->weights[i];
        if (i % POINTS == 0)
            place_points(s, m, f, 0, 0, i, i + POINTS < m->count ? i + POINTS : m->count, 1, &places);
        all += w;
        if (!places.inside[i % POINTS])
            continue;
        Octet scene = channels_at(s, &places, i % POINTS);
        if (m->unsigned_points[i])
            scene = without_sign(scene);
        const Octet own = octet(m->target + DIRECTIONS * i);
        weight += w, t += w * own, tt += w * own * own;
        y += w * scene, yy += w * scene * scene, ty += target[i] * scene;
    }
    if (weight < rules->min_visible * all || !(weight > 0))
        return -1;
    const double total = DIRECTIONS * weight, mean_t = sum_of(t) / total, mean_y = sum_of(y) / total;
    const double own = sum_of(tt) - mean_t * sum_of(t), power = sum_of(yy) - mean_y * sum_of(y);
    return (sum_of(ty) - mean_t * sum_of(y)) / sqrt(fmax(own, 1e-12) * fmax(power, rules->min_variance * total));
}

static Surface surface_of(const ChannelPicture *picture)
{
    return (Surface){.channels = picture->channels, .inside = picture->inside, .height = picture->height,
                     .width = picture->width};
}

/* The ZNCC of each pose, affine; nothing moves. `table`: of this motif, with room for its targets. */
static void rate(const Surface *s, const PlaneMotifArrays *m, const PlaneRules *rules, SteeredTargets *table,
                 const PlaneFits *fits, int i)
{
    const double *F = fits->poses + 9 * (int64_t)i;
    fits->zncc[i] = steered_zncc(s, m, rules, F, turned_target(table, m, F));
}

static Octet *room_for_targets(int count)
{
    return aligned_alloc(sizeof(Octet), sizeof(Octet) * STEERING * (int64_t)count);
}

int wherein_rate_poses(const ChannelPicture *picture, const PlaneMotifArrays *motif, const PlaneRules *rules,
                       const PlaneFits *fits)
{
    const Surface s = surface_of(picture);
    SteeredTargets table = {.targets = room_for_targets(motif->count)};
    if (!table.targets)
        return NO_MEMORY;
    for (int i = 0; i < fits->count; i++)
        rate(&s, motif, rules, &table, fits, i);
    free(table.targets);
    return DONE;
}

/* The same for poses of many motifs. */
int wherein_rate_many(const PoseKinds *kinds, const PlaneRules *rules, const PlaneFits *fits)
{
    int most = 1;
    for (int i = 0; i < fits->count; i++)
        most = kinds->motifs[kinds->motif[i]].count > most ? kinds->motifs[kinds->motif[i]].count : most;
    SteeredTargets table = {.targets = room_for_targets(most)};
    if (!table.targets)
        return NO_MEMORY;
    for (int i = 0; i < fits->count; i++) {
        if (i && kinds->motif[i] != kinds->motif[i - 1])
            memset(table.known, 0, sizeof table.known);
        const Surface s = surface_of(kinds->pictures + kinds->picture[i]);
        rate(&s, kinds->motifs + kinds->motif[i], rules, &table, fits, i);
    }
    free(table.targets);
    return DONE;
}

/* Sets how far the points of a motif reach from their centre. */
static void set_reach(Surface *s, const PlaneMotifArrays *m)
{
    s->reach_x = s->reach_y = 0;
    for (int i = 0; i < m->count; i++) {
        s->reach_x = fmax(s->reach_x, fabsf(m->points[2 * i]));
        s->reach_y = fmax(s->reach_y, fabsf(m->points[2 * i + 1]));
    }
}

/* Descends from a pose on the picture itself, whose channels are rotated into the motif's frame at each pose. */
static void refine(const Surface *s, const PlaneMotifArrays *m, const PlaneRules *rules, const PlaneFits *fits, int i)
{
    const double r = m->radius;
    const double from_unit[9] = {r, 0, m->centre_x, 0, r, m->centre_y, 0, 0, 1};
    const double to_unit[9] = {1 / r, 0, -m->centre_x / r, 0, 1 / r, -m->centre_y / r, 0, 0, 1};
    double *F = fits->poses + 9 * (int64_t)i, from[9], best[9];
    product(F, from_unit, from);
    const PlaneEvaluation found = descend(s, m, rules, from, 1, best);
    product(from, best, F);
    product(F, to_unit, F);
    normalise(F);
    fits->zncc[i] = found.zncc, fits->visible[i] = found.visible;
}

int wherein_refine_poses(const ChannelPicture *picture, const PlaneMotifArrays *motif, const PlaneRules *rules,
                         const PlaneFits *fits)
{
    Surface s = surface_of(picture);
    set_reach(&s, motif);
    for (int i = 0; i < fits->count; i++)
        refine(&s, motif, rules, fits, i);
    return DONE;
}

/* The same for poses of many motifs. */
int wherein_refine_many(const PoseKinds *kinds, const PlaneRules *rules, const PlaneFits *fits)
{
    Surface s = {0};
    for (int i = 0; i < fits->count; i++) {
        const Surface here = surface_of(kinds->pictures + kinds->picture[i]);
        s.channels = here.channels, s.inside = here.inside, s.height = here.height, s.width = here.width;
        if (!i || kinds->motif[i] != kinds->motif[i - 1])
            set_reach(&s, kinds->motifs + kinds->motif[i]);
        refine(&s, kinds->motifs + kinds->motif[i], rules, fits, i);
    }
    return DONE;
}
