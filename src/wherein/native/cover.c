/* Fits of a flat motif without its covered parts: planes/cover.py in C.
 *
 * At a pose that is nearly right, small cells of the motif that agree far less with the scene than most cells do are
 * covered. They are left out, the rest is fitted on the same picture, and the cover is detected again.
 */
#include "plane_patch.h"
#include "rest.h"

typedef struct {
    double agreement, weight;
} Cell;

typedef struct {
    Patch patch;
    const CoverRules *rules;
    RestOfMotif rest;
    int32_t *at, *of;      /* of each point: index of its pixel in the patch, and of its cell */
    uint8_t *now, *before; /* of each point: whether it is covered now, and in the round before */
    uint8_t *covered;      /* of each cell: whether it is covered, regardless of its neighbours */
    double *ty, *tt, *yy;  /* of each cell: weighted sums of t·y, t·t and y·y */
    double *agreement;     /* of each cell; tell() reuses it for whether the cell is covered and connected */
    Cell *order;           /* the cells that lie in the scene, sorted by agreement */
    int down, across;
} Cover;

static int make_cover(Cover *c, const Planes *levels, const PlaneMotifArrays *m, const PlaneRules *rules,
                      const CoverRules *cover)
{
    memset(c, 0, sizeof *c);
    c->rules = cover;
    if (make_patch(&c->patch, levels, m, rules) != DONE || make_rest(&c->rest, m) != DONE)
        return NO_MEMORY;
    c->at = malloc(m->count * sizeof *c->at), c->of = malloc(m->count * sizeof *c->of);
    c->now = malloc(m->count), c->before = malloc(m->count);
    if (!(c->at && c->of && c->now && c->before))
        return NO_MEMORY;
    const int cell = cover->cell;
    for (int i = 0; i < m->count; i++) {
        const int column = lrint(m->points[2 * i] * m->radius + m->centre_x) + m->margin;
        const int row = lrint(m->points[2 * i + 1] * m->radius + m->centre_y) + m->margin;
        c->down = row / cell + 1 > c->down ? row / cell + 1 : c->down;
        c->across = column / cell + 1 > c->across ? column / cell + 1 : c->across;
        c->at[i] = row * c->patch.width + column;
    }
    for (int i = 0; i < m->count; i++)
        c->of[i] = c->at[i] / c->patch.width / cell * c->across + c->at[i] % c->patch.width / cell;
    const int64_t cells = (int64_t)c->down * c->across;
    c->ty = malloc(cells * sizeof *c->ty), c->tt = malloc(cells * sizeof *c->tt), c->yy = malloc(cells * sizeof *c->yy);
    c->agreement = malloc(cells * sizeof *c->agreement), c->order = malloc(cells * sizeof *c->order);
    c->covered = malloc(cells);
    return c->ty && c->tt && c->yy && c->agreement && c->order && c->covered ? DONE : NO_MEMORY;
}

static void free_cover(Cover *c)
{
    free(c->at), free(c->of), free(c->now), free(c->before), free(c->covered);
    free(c->ty), free(c->tt), free(c->yy), free(c->agreement), free(c->order);
    free_rest(&c->rest);
    free_patch(&c->patch);
}

/* The scene's channels at a point of the motif. */
static Octet seen_at(const Cover *c, int i)
{
    const Octet scene = octet(c->patch.channels + DIRECTIONS * (int64_t)c->at[i]);
    return c->patch.motif->unsigned_points[i] ? without_sign(scene) : scene;
}

/* The sums over each cell, with the scene's mean subtracted. Returns whether any of the motif lies in the scene. */
static int sum_cells(Cover *c)
{
    const PlaneMotifArrays *m = c->patch.motif;
    const int64_t bytes = (int64_t)c->down * c->across * sizeof(double);
    double weight = 0, sum = 0;
    for (int i = 0; i < m->count; i++)
        if (c->patch.inside[c->at[i]])
            weight += m->weights[i], sum += sum_of(m->weights[i] * seen_at(c, i));
    if (!(weight > 0))
        return 0;
    const float mean = sum / (DIRECTIONS * weight);
    memset(c->ty, 0, bytes), memset(c->tt, 0, bytes), memset(c->yy, 0, bytes);
    for (int i = 0; i < m->count; i++) {
        if (!c->patch.inside[c->at[i]])
            continue;
        const Octet y = seen_at(c, i) - mean, t = octet(m->target + DIRECTIONS * (int64_t)i);
        const int own = c->of[i];
        const double w = m->weights[i];
        c->ty[own] += w * sum_of(t * y), c->tt[own] += w * sum_of(t * t), c->yy[own] += w * sum_of(y * y);
    }
    return 1;
}

static int by_agreement(const void *a, const void *b)
{
    const double x = ((const Cell *)a)->agreement, y = ((const Cell *)b)->agreement;
    return (x > y) - (x < y);
}

/* The agreement of each cell, and its weighted median over the cells that lie in the scene. */
static double median_agreement(Cover *c)
{
    int known = 0;
    double total = 0, share = 0;
    for (int k = 0; k < c->down * c->across; k++) {
        c->agreement[k] = c->ty[k] / fmax(sqrt(c->tt[k] * c->yy[k]), 1e-12);
        if (c->tt[k] > 0)
            c->order[known++] = (Cell){c->agreement[k], c->tt[k]}, total += c->tt[k];
    }
    qsort(c->order, known, sizeof *c->order, by_agreement);
    int k = 0;
    for (; k < known - 1 && share + c->order[k].weight < total / 2; k++)
        share += c->order[k].weight;
    return known ? c->order[k].agreement : 0;
}

/* Whether enough cells around a covered cell are covered, too. */
static int is_connected(const Cover *c, int row, int column)
{
    int covered = 0, known = 0;
    for (int r = row > 0 ? row - 1 : 0; r <= row + 1 && r < c->down; r++)
        for (int s = column > 0 ? column - 1 : 0; s <= column + 1 && s < c->across; s++)
            covered += c->covered[r * c->across + s], known += c->tt[r * c->across + s] > 0;
    /* In float32, as in torch: whether two of five reach a share of 0.4 depends on the last bit. */
    return covered / 9.0f >= (float)c->rules->connected * (known / 9.0f);
}

/* Marks the covered points in `now`. Returns whether their share is neither too small nor too large for a fit of the
 * rest.
 */
static int tell(Cover *c)
{
    if (!sum_cells(c))
        return 0;
    const double least = c->rules->agrees * median_agreement(c);
    double total = 0, hidden = 0;
    for (int k = 0; k < c->down * c->across; k++)
        c->covered[k] = c->tt[k] > 0 && c->agreement[k] < least, total += c->tt[k];
    for (int k = 0; k < c->down * c->across; k++) {
        const int kept = c->covered[k] && is_connected(c, k / c->across, k % c->across);
        c->agreement[k] = kept; /* not into `covered`, which is_connected() still reads for the next cells */
        hidden += kept ? c->tt[k] : 0;
    }
    for (int i = 0; i < c->patch.motif->count; i++)
        c->now[i] = c->agreement[c->of[i]] > 0;
    return hidden / total >= c->rules->least && hidden / total <= c->rules->most;
}

/* One pose, in place; unchanged if nothing is covered. Ends when the cover is the same as in the round before. */
static void uncover(Cover *c, double F[9], int finest, double *zncc, double *visible)
{
    const int count = c->patch.motif->count;
    double start[9], best[9];
    memcpy(start, F, sizeof start);
    for (int round = 0; round < c->rules->rounds; round++) {
        if (!take_patch(&c->patch, F, finest) || !tell(c) || (round && !memcmp(c->now, c->before, count)))
            return;
        memcpy(c->before, c->now, count);
        take_rest(&c->rest, c->patch.motif, c->now, c->patch.rules->parameters);
        const PlaneEvaluation found = descend_on(&c->patch, &c->rest.motif, F, best);
        *zncc = found.zncc, *visible = found.visible;
        if (!(found.zncc > -1))
            memcpy(F, start, sizeof start);
    }
}

int wherein_uncover(const Planes *levels, const PlaneMotifArrays *motif, const PlaneRules *rules,
                    const CoverRules *cover, const PlaneFits *fits)
{
    Cover c;
    const int result = make_cover(&c, levels, motif, rules, cover);
    for (int i = 0; i < fits->count && result == DONE; i++)
        uncover(&c, fits->poses + 9 * (int64_t)i, fits->finest[i], &fits->zncc[i], &fits->visible[i]);
    free_cover(&c);
    return result;
}
