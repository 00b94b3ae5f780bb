/* A scene rectified to the frame and resolution of a flat motif, and its channels; used by plane.c and cover.c. */
#pragma once
#include "plane_descent.h"

typedef struct {
    const Planes *levels;
    const PlaneMotifArrays *motif;
    const PlaneRules *rules;
    ChannelBuffers buffers;
    float *picture, *channels; /* the rectified scene, and its channels */
    uint8_t *inside;           /* which of its pixels lie in the scene */
    int height, width, complete;
} Patch;

/* The width of a pixel of the motif in the scene, at its centre; 0 if the pose is mirrored or behind the camera. */
static inline double scale_of(const PlaneMotifArrays *m, const double F[9])
{
    const double x = m->centre_x, y = m->centre_y, depth = F[6] * x + F[7] * y + F[8];
    const double X = (F[0] * x + F[1] * y + F[2]) / depth, Y = (F[3] * x + F[4] * y + F[5]) / depth;
    const double area = (F[0] - X * F[6]) * (F[4] - Y * F[7]) - (F[1] - X * F[7]) * (F[3] - Y * F[6]);
    return depth > 0 && area > 0 && isfinite(area) ? sqrt(area) / depth : 0;
}

enum { SPAN = 64 }; /* pixels of a row at a time */

typedef float Pair __attribute__((vector_size(8))); /* neighbours in a row */

static inline Pair pair(const float *from)
{
    Pair v;
    memcpy(&v, from, sizeof v);
    return v;
}

/* The plane `from` at `count` places: `at` is the pixel before each, (a, b) the distance from it, and `step` and `down`
 * the distances to the next pixel and to the next row. In pairs of neighbours, since a compiler that vectorises this
 * over the places gathers single pixels, which takes twice as long.
 */
static inline void interpolate(const float *from, const int32_t *at, const float *a, const float *b, int count, int step,
                               int down, float *restrict to)
{
    for (int i = 0; i < count; i++) {
        const float *p = from + at[i];
        const Pair upper = step ? pair(p) : (Pair){p[0], p[0]}, lower = step ? pair(p + down) : (Pair){p[down], p[down]};
        const Pair middle = upper + b[i] * (lower - upper);
        to[i] = middle[0] + a[i] * (middle[1] - middle[0]);
    }
}

/* The picture of `height` × `width` pixels whose pixel u is the scene at M u, linearly interpolated; outside, the scene
 * is continued by its border pixels. Returns whether all pixels lie in the scene.
 */
static inline int rectify(const Planes *s, const double M[9], int height, int width, float *out, uint8_t *inside)
{
    const float right = s->width - 1, bottom = s->height - 1;
    const int step = s->width > 1, stride = s->row_stride, down = s->height > 1 ? stride : 0;
    const int last_column = s->width > 1 ? s->width - 2 : 0, last_row = s->height > 1 ? s->height - 2 : 0;
    const int64_t plane = (int64_t)height * width;
    /* Relative to a whole pixel near the middle: small coordinates lose nothing when rounded to float32. */
    const double depth = M[6] * width / 2 + M[7] * height / 2 + M[8];
    const double mx = (M[0] * width / 2 + M[1] * height / 2 + M[2]) / depth;
    const double my = (M[3] * width / 2 + M[4] * height / 2 + M[5]) / depth;
    const int x0 = fabs(mx) < 1e8 ? (int)mx : 0, y0 = fabs(my) < 1e8 ? (int)my : 0;
    float f[9];
    for (int j = 0; j < 3; j++)
        f[j] = M[j] - x0 * M[6 + j], f[3 + j] = M[3 + j] - y0 * M[6 + j], f[6 + j] = M[6 + j];
    int all = 1;
    for (int r = 0; r < height; r++)
        for (int first = 0; first < width; first += SPAN) {
            const int count = first + SPAN < width ? SPAN : width - first;
            int32_t at[SPAN];
            float a[SPAN], b[SPAN];
            uint8_t *const seen = inside + (int64_t)r * width + first;
            /* Places first, then colours: two loops that the compiler can vectorise. */
            for (int i = 0; i < count; i++) {
                const int c = first + i;
                const float scale = 1 / (f[6] * c + f[7] * r + f[8]);
                float x = (f[0] * c + f[1] * r + f[2]) * scale + x0, y = (f[3] * c + f[4] * r + f[5]) * scale + y0;
                seen[i] = (x >= -0.5f) & (y >= -0.5f) & (x <= right + 0.5f) & (y <= bottom + 0.5f) & (scale > 0);
                x = x > 0 ? x : 0, y = y > 0 ? y : 0; /* also 0 for what is not a number */
                x = x < right ? x : right, y = y < bottom ? y : bottom;
                int column = (int)x, row = (int)y;
                column = column < last_column ? column : last_column;
                row = row < last_row ? row : last_row;
                a[i] = x - column, b[i] = y - row, at[i] = row * stride + column;
            }
            for (int i = 0; i < count; i++)
                all &= seen[i];
            for (int k = 0; k < s->channels; k++) {
                const float *restrict from = s->pixels + k * s->plane_stride;
                float *restrict to = out + k * plane + (int64_t)r * width + first;
                interpolate(from, at, a, b, count, step, down, to);
            }
        }
    return all;
}

/* Rectifies the scene at the pose F and computes its channels. Returns 0 if the pose has no such picture. */
static inline int take_patch(Patch *p, const double F[9], int finest)
{
    const PlaneMotifArrays *m = p->motif;
    const double scale = scale_of(m, F);
    if (!(scale > 0))
        return 0;
    /* The level with the resolution closest to the motif's: finer ones would alias, coarser ones are blurred. */
    int level = finest;
    while (level + 1 < p->rules->levels && scale > M_SQRT2 * (1 << level))
        level++;
    const Planes *scene = &p->levels[level];
    const double size = 1 << level, shift = (size - 1) / 2;
    const double to_level[9] = {1 / size, 0, -shift / size, 0, 1 / size, -shift / size, 0, 0, 1};
    const double from_patch[9] = {1, 0, -m->margin, 0, 1, -m->margin, 0, 0, 1};
    double M[9];
    product(to_level, F, M);
    product(M, from_patch, M);
    p->complete = rectify(scene, M, p->height, p->width, p->picture, p->inside);
    const Planes picture = {.pixels = p->picture, .plane_stride = (int64_t)p->height * p->width, .row_stride = p->width,
                            .channels = scene->channels, .height = p->height, .width = p->width};
    channels_of(&picture, &p->rules->channels, &p->buffers, keep_channels, p->channels);
    return 1;
}

/* Allocates a patch. Call free_patch() even if this returns NO_MEMORY. */
static inline int make_patch(Patch *p, const Planes *levels, const PlaneMotifArrays *motif, const PlaneRules *rules)
{
    *p = (Patch){.levels = levels, .motif = motif, .rules = rules, .height = motif->height + 2 * motif->margin,
                 .width = motif->width + 2 * motif->margin};
    const int64_t pixels = (int64_t)p->height * p->width;
    if (make_channel_buffers(&p->buffers, p->width, &rules->channels) != DONE) {
        memset(&p->buffers, 0, sizeof p->buffers); /* freed already */
        return NO_MEMORY;
    }
    p->picture = malloc(levels->channels * pixels * sizeof *p->picture);
    p->channels = malloc(DIRECTIONS * pixels * sizeof *p->channels);
    p->inside = malloc(pixels);
    return p->picture && p->channels && p->inside ? DONE : NO_MEMORY;
}

static inline void free_patch(Patch *p)
{
    free(p->picture), free(p->channels), free(p->inside);
    free_channel_buffers(&p->buffers);
}

/* The ZNCC of a motif, or of some of its points, and its derivative, at the pose of a patch. There the points lie on
 * whole pixels, so no channel is interpolated.
 */
static inline PlaneEvaluation evaluate_on(const Patch *p, const PlaneMotifArrays *m)
{
    const double in_patch[9] = {m->radius, 0, m->centre_x + m->margin, 0, m->radius, m->centre_y + m->margin, 0, 0, 1};
    const Surface surface = {.channels = p->channels, .inside = p->inside, .height = p->height, .width = p->width,
                             .complete = p->complete};
    PlaneEvaluation found;
    evaluate(&surface, m, p->rules, in_patch, 0, &found);
    return found;
}

/* Descends on a patch from the pose F at which it was taken, with its motif or some of the motif's points. F becomes the
 * best pose, and `best` the motion to it in the motif's units.
 */
static inline PlaneEvaluation descend_on(const Patch *p, const PlaneMotifArrays *m, double F[9], double best[9])
{
    const double from_unit[9] = {m->radius, 0, m->centre_x, 0, m->radius, m->centre_y, 0, 0, 1};
    const double to_unit[9] = {1 / m->radius, 0, -m->centre_x / m->radius, 0, 1 / m->radius, -m->centre_y / m->radius,
                               0, 0, 1};
    const double in_patch[9] = {m->radius, 0, m->centre_x + m->margin, 0, m->radius, m->centre_y + m->margin, 0, 0, 1};
    const Surface surface = {.channels = p->channels, .inside = p->inside, .height = p->height, .width = p->width,
                             .complete = p->complete};
    double M[9];
    const PlaneEvaluation found = descend(&surface, m, p->rules, in_patch, 0, best);
    product(from_unit, best, M);
    product(M, to_unit, M);
    product(F, M, F);
    normalise(F);
    return found;
}
