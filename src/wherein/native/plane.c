/* A flat motif fitted to a scene by its channels: planes/plane_fit.py in C.
 *
 * A round rectifies the scene by the pose so far, which brings it into the motif's own frame and resolution; makes the
 * channels of that picture; and descends on them by Gauss–Newton from the identity. So directions of gradients are
 * always compared in the motif's frame, whatever the rotation or tilt in the scene.
 */
#include "channels.h"

typedef struct {
    const Planes *levels;
    const PlaneMotifArrays *motif;
    const PlaneRules *rules;
    ChannelBuffers buffers;
    float *picture, *channels; /* the rectified scene, and its channels */
    uint8_t *inside;           /* which of its pixels lie in the scene */
    int height, width, complete;
} Patch;

/* Sums over the motif's points for the derivative in each parameter of a motion. */
typedef struct {
    Octet x, y, ux, vx, uy, vy, up, vp;
} Moments;

static inline void add_moments(Moments *m, Octet gx, Octet gy, float u, float v)
{
    const Octet along = u * gx + v * gy;
    m->x += gx, m->y += gy;
    m->ux += u * gx, m->vx += v * gx;
    m->uy += u * gy, m->vy += v * gy;
    m->up += u * along, m->vp += v * along;
}

static inline double sum_of(Octet v)
{
    return ((double)v[0] + v[1] + v[2] + v[3]) + ((double)v[4] + v[5] + v[6] + v[7]);
}

/* In the order of the parameters: shift, rotation, scale, the two of an affine motion, the two of perspective. */
static void take_moments(const Moments *m, double sums[MAX_PARAMETERS])
{
    sums[0] += sum_of(m->x), sums[1] += sum_of(m->y);
    sums[2] += sum_of(m->uy - m->vx), sums[3] += sum_of(m->ux + m->vy);
    sums[4] += sum_of(m->ux - m->vy), sums[5] += sum_of(m->vx + m->uy);
    sums[6] -= sum_of(m->up), sums[7] -= sum_of(m->vp);
}

/* Sums over the points that lie in the scene: of scene y and target t, and of the derivatives J with y, 1 and t. */
typedef struct {
    double weight, t, y, tt, yy, ty;
    double with_y[MAX_PARAMETERS], with_1[MAX_PARAMETERS], with_t[MAX_PARAMETERS];
} PlaneSums;

enum { POINTS = 256 }; /* summed in float32, and then in double */

/* The channels at (x, y) of the patch, linearly interpolated. */
static inline Octet channels_at(const Patch *p, float x, float y, int *inside)
{
    x = x > 0 ? x : 0, y = y > 0 ? y : 0; /* 0 also where it is not a number */
    x = x < p->width - 1.001f ? x : p->width - 1.001f, y = y < p->height - 1.001f ? y : p->height - 1.001f;
    const int column = (int)x, row = (int)y;
    const float a = x - column, b = y - row;
    const int64_t at = (int64_t)row * p->width + column;
    const float *from = p->channels + DIRECTIONS * at, *next = from + DIRECTIONS * p->width;
    /* Of the nearest pixel: of the one before, it would depend on the last bit of x. */
    *inside = !p->inside || p->inside[(int64_t)(int)(y + 0.5f) * p->width + (int)(x + 0.5f)];
    const Octet left = octet(from) + b * (octet(next) - octet(from));
    const Octet right = octet(from + DIRECTIONS) + b * (octet(next + DIRECTIONS) - octet(from + DIRECTIONS));
    return left + a * (right - left);
}

/* `whole`: every point lies in the scene, so that the sums without y are those that the motif has already. */
static inline void sum_points(const Patch *p, const float F[9], int whole, PlaneSums *sums)
{
    const PlaneMotifArrays *m = p->motif;
    const float x0 = m->centre_x + m->margin, y0 = m->centre_y + m->margin;
    const Octet zero = {0}, one = zero + 1;
    for (int first = 0; first < m->count; first += POINTS) {
        const int last = first + POINTS < m->count ? first + POINTS : m->count;
        Moments with_y, with_1, with_t;
        memset(&with_y, 0, sizeof with_y), memset(&with_1, 0, sizeof with_1), memset(&with_t, 0, sizeof with_t);
        Octet t = zero, y = zero, tt = zero, yy = zero, ty = zero;
        double weight = 0;
        for (int i = first; i < last; i++) {
            const float u = m->points[2 * i], v = m->points[2 * i + 1], w = m->weights[i];
            const float depth = m->radius / (F[6] * u + F[7] * v + F[8]);
            int inside;
            Octet scene = channels_at(p, (F[0] * u + F[1] * v + F[2]) * depth + x0,
                                      (F[3] * u + F[4] * v + F[5]) * depth + y0, &inside);
            if (!whole && !inside)
                continue;
            if (m->unsigned_points[i]) {
                const Octet other = {scene[4], scene[5], scene[6], scene[7], scene[0], scene[1], scene[2], scene[3]};
                scene = 0.5f * (scene + other);
            }
            const Octet target = octet(m->target + DIRECTIONS * i);
            const Octet gx = octet(m->dx + DIRECTIONS * i), gy = octet(m->dy + DIRECTIONS * i);
            add_moments(&with_y, gx * scene, gy * scene, u, v);
            y += w * scene, yy += w * scene * scene, ty += w * target * scene;
            if (whole)
                continue;
            add_moments(&with_1, gx * one, gy * one, u, v);
            add_moments(&with_t, gx * target, gy * target, u, v);
            t += w * target, tt += w * target * target, weight += w;
        }
        take_moments(&with_y, sums->with_y);
        sums->y += sum_of(y), sums->yy += sum_of(yy), sums->ty += sum_of(ty);
        if (whole)
            continue;
        take_moments(&with_1, sums->with_1);
        take_moments(&with_t, sums->with_t);
        sums->weight += DIRECTIONS * weight, sums->t += sum_of(t), sums->tt += sum_of(tt);
    }
}

typedef struct {
    double zncc, visible, slope[MAX_PARAMETERS];
} PlaneEvaluation;

/* ZNCC of motif and patch at the pose F (in units of the motif's radius), and its derivative on the motif's side. */
static void evaluate(const Patch *p, const double F[9], PlaneEvaluation *out)
{
    const PlaneMotifArrays *m = p->motif;
    PlaneSums sums = {0};
    float f[9];
    for (int i = 0; i < 9; i++)
        f[i] = F[i];
    if (p->complete) {
        sum_points(p, f, 1, &sums);
        sums.weight = m->weight, sums.tt = 1; /* the target has mean 0 and norm 1 */
        memcpy(sums.with_1, m->with_1, sizeof sums.with_1), memcpy(sums.with_t, m->with_t, sizeof sums.with_t);
    } else
        sum_points(p, f, 0, &sums);
    out->visible = sums.weight / m->weight;
    out->zncc = -1;
    memset(out->slope, 0, sizeof out->slope);
    if (out->visible < p->rules->min_visible)
        return;
    const double t = sums.t / sums.weight, y = sums.y / sums.weight;
    const double own = sqrt(fmax(sums.tt - t * sums.t, 1e-12));
    const double power = sqrt(fmax(sums.yy - y * sums.y, p->rules->min_variance * sums.weight));
    out->zncc = (sums.ty - t * sums.y) / (own * power);
    for (int i = 0; i < MAX_PARAMETERS; i++)
        out->slope[i] = ((sums.with_y[i] - y * sums.with_1[i]) / power -
                         out->zncc * (sums.with_t[i] - t * sums.with_1[i]) / own) / own;
}

/* (H + μ diag H)⁻¹ slope over the first `count` parameters, by Cholesky factors. Returns its length. */
static double plane_step(const double *H, const double *slope, int count, double mu, double step[MAX_PARAMETERS])
{
    double L[MAX_PARAMETERS][MAX_PARAMETERS], unit[MAX_PARAMETERS], length = 0;
    for (int i = 0; i < count; i++)
        unit[i] = 1 / sqrt(fmax(H[MAX_PARAMETERS * i + i], 1e-12));
    for (int i = 0; i < count; i++)
        for (int j = 0; j <= i; j++) {
            double v = unit[i] * H[MAX_PARAMETERS * i + j] * unit[j] + (i == j ? mu + 1e-9 : 0);
            for (int k = 0; k < j; k++)
                v -= L[i][k] * L[j][k];
            L[i][j] = i == j ? sqrt(fmax(v, 1e-10)) : v / L[j][j];
        }
    for (int i = 0; i < count; i++) {
        step[i] = unit[i] * slope[i];
        for (int k = 0; k < i; k++)
            step[i] -= L[i][k] * step[k];
        step[i] /= L[i][i];
    }
    for (int i = count - 1; i >= 0; i--) {
        for (int k = i + 1; k < count; k++)
            step[i] -= L[k][i] * step[k];
        step[i] /= L[i][i];
    }
    for (int i = 0; i < count; i++) {
        step[i] *= unit[i];
        length += step[i] * step[i];
    }
    for (int i = count; i < MAX_PARAMETERS; i++)
        step[i] = 0;
    return sqrt(length);
}

static void product(const double A[9], const double B[9], double out[9])
{
    double found[9];
    for (int r = 0; r < 9; r += 3)
        for (int c = 0; c < 3; c++)
            found[r + c] = fma(A[r + 2], B[6 + c], fma(A[r + 1], B[3 + c], A[r] * B[c]));
    memcpy(out, found, sizeof found);
}

/* Up to a factor, which a pose does not see: the adjugate. */
static void inverse(const double M[9], double out[9])
{
    const double found[9] = {
        M[4] * M[8] - M[5] * M[7], M[2] * M[7] - M[1] * M[8], M[1] * M[5] - M[2] * M[4],
        M[5] * M[6] - M[3] * M[8], M[0] * M[8] - M[2] * M[6], M[2] * M[3] - M[0] * M[5],
        M[3] * M[7] - M[4] * M[6], M[1] * M[6] - M[0] * M[7], M[0] * M[4] - M[1] * M[3]};
    memcpy(out, found, sizeof found);
}

static void normalise(double M[9])
{
    const double last = M[8];
    for (int i = 0; i < 9; i++)
        M[i] /= last;
}

/* The motion of a step: exact for rotations, so that a euclidean pose keeps its size. */
static void motion_of(const double step[MAX_PARAMETERS], int count, double M[9])
{
    const double c = count <= 3 ? cos(step[2]) : 1, s = count <= 3 ? sin(step[2]) : step[2];
    const double found[9] = {c + step[3] + step[4], step[5] - s, step[0], s + step[5], c + step[3] - step[4],
                             step[1], step[6], step[7], 1};
    memcpy(M, found, sizeof found);
}

/* How much larger a pixel of the motif is in the scene, at its centre; 0 where the pose is mirrored or behind. */
static double scale_of(const PlaneMotifArrays *m, const double F[9])
{
    const double x = m->centre_x, y = m->centre_y, depth = F[6] * x + F[7] * y + F[8];
    const double X = (F[0] * x + F[1] * y + F[2]) / depth, Y = (F[3] * x + F[4] * y + F[5]) / depth;
    const double area = (F[0] - X * F[6]) * (F[4] - Y * F[7]) - (F[1] - X * F[7]) * (F[3] - Y * F[6]);
    return depth > 0 && area > 0 && isfinite(area) ? sqrt(area) / depth : 0;
}

enum { SPAN = 64 }; /* pixels of a row at a time */

/* A picture of `height` × `width` pixels whose pixel u shows the scene at M u, linearly interpolated and continued by
 * its border. Returns whether all of it lies in the scene.
 */
static int rectify(const Planes *s, const double M[9], int height, int width, float *out, uint8_t *inside)
{
    const float right = s->width - 1, bottom = s->height - 1;
    const int step = s->width > 1, stride = s->row_stride, down = s->height > 1 ? stride : 0;
    const int last_column = s->width > 1 ? s->width - 2 : 0, last_row = s->height > 1 ? s->height - 2 : 0;
    const int64_t plane = (int64_t)height * width;
    /* About a whole pixel near the middle, so that rounding coordinates to float32 costs nothing in a large scene. */
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
            /* Places first, then colours: two loops that the compiler makes vectors of. */
            for (int i = 0; i < count; i++) {
                const int c = first + i;
                const float scale = 1 / (f[6] * c + f[7] * r + f[8]);
                float x = (f[0] * c + f[1] * r + f[2]) * scale + x0, y = (f[3] * c + f[4] * r + f[5]) * scale + y0;
                seen[i] = (x >= -0.5f) & (y >= -0.5f) & (x <= right + 0.5f) & (y <= bottom + 0.5f) & (scale > 0);
                x = x > 0 ? x : 0, y = y > 0 ? y : 0; /* 0 also where it is not a number */
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
                for (int i = 0; i < count; i++) {
                    const float *p = from + at[i];
                    const float upper = p[0] + a[i] * (p[step] - p[0]);
                    const float lower = p[down] + a[i] * (p[down + step] - p[down]);
                    to[i] = upper + b[i] * (lower - upper);
                }
            }
        }
    return all;
}

/* The scene in the motif's frame at the pose F, and its channels. Returns 0 where there is no such picture. */
static int take_patch(Patch *p, const double F[9])
{
    const PlaneMotifArrays *m = p->motif;
    const double scale = scale_of(m, F);
    if (!(scale > 0))
        return 0;
    /* The level whose pixels come closest to the motif's: finer ones would alias, coarser ones are blurred. */
    int level = 0;
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

/* Gauss–Newton on one patch from the identity; `best` is the motion found. Returns the evaluation there. */
static PlaneEvaluation descend_patch(const Patch *p, double best[9])
{
    const PlaneRules *rules = p->rules;
    PlaneEvaluation here, there;
    double mu = rules->damping, at[9];
    for (int i = 0; i < 9; i++)
        best[i] = i % 4 == 0;
    evaluate(p, best, &here);
    for (int k = 0; k < rules->steps && here.zncc > -1; k++) {
        double step[MAX_PARAMETERS], M[9];
        const double length = plane_step(p->motif->hessian, here.slope, rules->parameters, mu, step);
        const double cut = fmin(1, rules->max_step / fmax(length, 1e-12));
        for (int i = 0; i < MAX_PARAMETERS; i++)
            step[i] *= cut;
        motion_of(step, rules->parameters, M);
        inverse(M, M);
        product(best, M, at);
        normalise(at);
        evaluate(p, at, &there);
        const int better = there.zncc > here.zncc || (rules->unchecked && there.zncc > -1);
        if (better) {
            memcpy(best, at, sizeof at);
            here = there;
        }
        mu = fmin(fmax(mu * (better ? rules->ease : rules->tighten), 1e-6), 1e6);
        if (length * p->motif->radius < rules->tolerance)
            break;
    }
    return here;
}

static double distance_from_identity(const double M[9])
{
    double sum = 0;
    for (int i = 0; i < 9; i++)
        sum += (M[i] - (i % 4 == 0)) * (M[i] - (i % 4 == 0));
    return sqrt(sum);
}

/* One pose, in place: motif pixels of this resolution → scene pixels at full size. */
static void fit_plane(Patch *p, double F[9], double *zncc, double *visible)
{
    const PlaneMotifArrays *m = p->motif;
    const double to_unit[9] = {1 / m->radius, 0, -m->centre_x / m->radius, 0, 1 / m->radius, -m->centre_y / m->radius,
                               0, 0, 1};
    const double from_unit[9] = {m->radius, 0, m->centre_x, 0, m->radius, m->centre_y, 0, 0, 1};
    *zncc = -1, *visible = 0;
    for (int round = 0; round < p->rules->rounds; round++) {
        double best[9], M[9];
        if (!take_patch(p, F)) {
            *zncc = -1;
            return;
        }
        const PlaneEvaluation found = descend_patch(p, best);
        *zncc = found.zncc, *visible = found.visible;
        product(from_unit, best, M);
        product(M, to_unit, M);
        product(F, M, F);
        normalise(F);
        if (distance_from_identity(best) * m->radius < p->rules->tolerance)
            return;
    }
}

int wherein_fit_planes(const Planes *levels, const PlaneMotifArrays *motif, const PlaneRules *rules,
                       const PlaneFits *fits)
{
    Patch p = {.levels = levels, .motif = motif, .rules = rules, .height = motif->height + 2 * motif->margin,
               .width = motif->width + 2 * motif->margin};
    const int64_t pixels = (int64_t)p.height * p.width;
    if (make_channel_buffers(&p.buffers, p.width, &rules->channels) != DONE)
        return NO_MEMORY;
    p.picture = malloc(levels->channels * pixels * sizeof *p.picture);
    p.channels = malloc(DIRECTIONS * pixels * sizeof *p.channels);
    p.inside = malloc(pixels);
    const int result = p.picture && p.channels && p.inside ? DONE : NO_MEMORY;
    for (int i = 0; i < fits->count && result == DONE; i++)
        fit_plane(&p, fits->poses + 9 * (int64_t)i, &fits->zncc[i], &fits->visible[i]);
    free(p.picture), free(p.channels), free(p.inside);
    free_channel_buffers(&p.buffers);
    return result;
}

/* The scene as seen through M: `out` is (channels, height, width), `inside` (height, width). */
int wherein_rectify(const Planes *scene, const double *M, int32_t height, int32_t width, float *out, uint8_t *inside)
{
    rectify(scene, M, height, width, out, inside);
    return DONE;
}

/* Channels that are turned by `turn` directions: out[c] = Σ_j taps[j][c] in[j], trigonometric interpolation. */
static void steering_taps(double turn, Octet taps[DIRECTIONS])
{
    float of[DIRECTIONS]; /* by the difference of the directions */
    for (int n = 0; n < DIRECTIONS; n++) {
        const double at = 2 * M_PI / DIRECTIONS * (n - turn);
        double sum = 1 + cos(at * DIRECTIONS / 2);
        for (int k = 1; k < DIRECTIONS / 2; k++)
            sum += 2 * cos(k * at);
        of[n] = sum / DIRECTIONS;
    }
    for (int j = 0; j < DIRECTIONS; j++)
        for (int c = 0; c < DIRECTIONS; c++)
            taps[j][c] = of[(j - c + DIRECTIONS) % DIRECTIONS];
}

/* ZNCC of the motif at the pose F, motif pixels → pixels of the patch, with channels that are turned as F turns. */
static double steered_zncc(const Patch *p, const double F[9])
{
    const PlaneMotifArrays *m = p->motif;
    const float r = m->radius, x0 = F[0] * m->centre_x + F[1] * m->centre_y + F[2];
    const float y0 = F[3] * m->centre_x + F[4] * m->centre_y + F[5];
    const float ux = r * F[0], vx = r * F[1], uy = r * F[3], vy = r * F[4];
    const Octet zero = {0};
    Octet taps[DIRECTIONS], t = zero, y = zero, tt = zero, yy = zero, ty = zero;
    double weight = 0, all = 0;
    steering_taps(atan2(F[3] - F[1], F[0] + F[4]) * DIRECTIONS / (2 * M_PI), taps);
    for (int i = 0; i < m->count; i++) {
        const float u = m->points[2 * i], v = m->points[2 * i + 1], w = m->weights[i];
        const float at_x = ux * u + vx * v + x0, at_y = uy * u + vy * v + y0;
        int inside;
        const Octet raw = channels_at(p, at_x, at_y, &inside);
        all += w;
        if (!inside || !(at_x >= -0.5f && at_y >= -0.5f && at_x <= p->width - 0.5f && at_y <= p->height - 0.5f))
            continue;
        Octet scene = zero;
        for (int j = 0; j < DIRECTIONS; j++)
            scene += raw[j] * taps[j];
        if (m->unsigned_points[i]) {
            const Octet other = {scene[4], scene[5], scene[6], scene[7], scene[0], scene[1], scene[2], scene[3]};
            scene = 0.5f * (scene + other);
        }
        const Octet target = octet(m->target + DIRECTIONS * i);
        weight += w, t += w * target, tt += w * target * target;
        y += w * scene, yy += w * scene * scene, ty += w * target * scene;
    }
    if (weight < p->rules->min_visible * all || !(weight > 0))
        return -1;
    const double total = DIRECTIONS * weight, mean_t = sum_of(t) / total, mean_y = sum_of(y) / total;
    const double own = sum_of(tt) - mean_t * sum_of(t), power = sum_of(yy) - mean_y * sum_of(y);
    return (sum_of(ty) - mean_t * sum_of(y)) /
           sqrt(fmax(own, 1e-12) * fmax(power, p->rules->min_variance * total));
}

/* `inside` says which pixels of the picture lie in the scene; NULL: all. */
int wherein_rate_poses(const float *channels, const uint8_t *inside, int32_t height, int32_t width,
                       const PlaneMotifArrays *motif, const PlaneRules *rules, const PlaneFits *fits)
{
    const Patch p = {.motif = motif, .rules = rules, .channels = (float *)channels, .inside = (uint8_t *)inside,
                     .height = height, .width = width};
    for (int i = 0; i < fits->count; i++)
        fits->zncc[i] = steered_zncc(&p, fits->poses + 9 * (int64_t)i);
    return DONE;
}
