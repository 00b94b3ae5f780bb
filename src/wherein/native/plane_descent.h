/* The descent of a flat motif on a picture of channels, from any pose; used by plane.c, cover.c and rating.c.
 *
 * The same as planes/plane_descent.py, whose docstring derives the formulas, for one pose after the other.
 */
#pragma once
#include "surface.h"

/* Sums over the motif's points of gradients times coordinates, from which take_moments() makes the derivatives in all
 * parameters. Eight vectors instead of a Jacobian of eight columns for each point and channel.
 */
typedef struct {
    Octet x, y, ux, vx, uy, vy, up, vp;
} Moments;

/* `rigid`: only the moments of a shift and a rotation. */
static inline void add_moments(Moments *m, Octet gx, Octet gy, float u, float v, int rigid)
{
    m->x += gx, m->y += gy;
    m->vx += v * gx, m->uy += u * gy;
    if (rigid)
        return;
    const Octet along = u * gx + v * gy;
    m->ux += u * gx, m->vy += v * gy;
    m->up += u * along, m->vp += v * along;
}

static inline double sum_of(Octet v)
{
    return ((double)v[0] + v[1] + v[2] + v[3]) + ((double)v[4] + v[5] + v[6] + v[7]);
}

/* Derivatives in the order of the parameters: shift, rotation, scale, two of an affine motion, two of perspective. */
static inline void take_moments(const Moments *m, double sums[MAX_PARAMETERS])
{
    sums[0] += sum_of(m->x), sums[1] += sum_of(m->y);
    sums[2] += sum_of(m->uy - m->vx), sums[3] += sum_of(m->ux + m->vy);
    sums[4] += sum_of(m->ux - m->vy), sums[5] += sum_of(m->vx + m->uy);
    sums[6] -= sum_of(m->up), sums[7] -= sum_of(m->vp);
}

/* Sums over the points that lie in the scene, of scene y and target t; and Jᵀy, Jᵀ1 and Jᵀt of the Jacobian J. */
typedef struct {
    double weight, t, y, tt, yy, ty;
    double with_y[MAX_PARAMETERS], with_1[MAX_PARAMETERS], with_t[MAX_PARAMETERS];
} PlaneSums;

/* Adds up the sums at the pose P, which maps the motif's units to pixels of the surface.
 *
 * `whole`: every point lies in the scene. Then the sums without y do not depend on the pose, and the motif has them.
 * `taps`: rotate the scene's channels into the motif's frame; NULL: they are in it already. Always inlined, so that the
 * compiler makes a loop without branches for each combination of constant arguments.
 */
static inline __attribute__((always_inline)) void sum_points(const Surface *s, const PlaneMotifArrays *m,
                                                             const double P[9], int whole, int rigid, const Octet *taps,
                                                             PlaneSums *sums)
{
    /* Relative to a whole pixel near the motif: small coordinates lose nothing when rounded to float32. */
    const double X = P[2] / P[8], Y = P[5] / P[8];
    const int x0 = fabs(X) < 1e8 ? (int)X : 0, y0 = fabs(Y) < 1e8 ? (int)Y : 0;
    float f[9];
    for (int j = 0; j < 3; j++)
        f[j] = P[j] - x0 * P[6 + j], f[3 + j] = P[3 + j] - y0 * P[6 + j], f[6 + j] = P[6 + j];
    const Octet zero = {0}, one = zero + 1;
    for (int first = 0; first < m->count; first += POINTS) {
        const int last = first + POINTS < m->count ? first + POINTS : m->count;
        Moments with_y, with_1, with_t;
        memset(&with_y, 0, sizeof with_y), memset(&with_1, 0, sizeof with_1), memset(&with_t, 0, sizeof with_t);
        Octet t = zero, y = zero, tt = zero, yy = zero, ty = zero;
        double weight = 0;
        Places places;
        /* A rectified picture has a margin around the motif; on a whole scene, points may lie beyond its border. */
        place_points(s, m, f, x0, y0, first, last, taps && !whole, &places);
        for (int i = first; i < last; i++) {
            const float u = m->points[2 * i], v = m->points[2 * i + 1], w = m->weights[i];
            if (!whole && !places.inside[i - first])
                continue;
            Octet scene = channels_at(s, &places, i - first);
            if (taps)
                scene = steered(taps, scene);
            if (m->unsigned_points[i])
                scene = without_sign(scene);
            const Octet target = octet(m->target + DIRECTIONS * i);
            const Octet gx = octet(m->dx + DIRECTIONS * i), gy = octet(m->dy + DIRECTIONS * i);
            add_moments(&with_y, gx * scene, gy * scene, u, v, rigid);
            y += w * scene, yy += w * scene * scene, ty += w * target * scene;
            if (whole)
                continue;
            add_moments(&with_1, gx * one, gy * one, u, v, rigid);
            add_moments(&with_t, gx * target, gy * target, u, v, rigid);
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

/* The rotation of the pose P at the centre of the motif's points, in steps between directions. */
static inline double directions_turned(const double P[9])
{
    const double X = P[2] / P[8], Y = P[5] / P[8];
    const double a = P[0] - X * P[6], b = P[1] - X * P[7], c = P[3] - Y * P[6], d = P[4] - Y * P[7];
    return atan2(c - b, a + d) * DIRECTIONS / (2 * M_PI);
}

/* Whether all points of the motif lie on the surface at the pose P. They do if the corners of their bounding box lie on
 * it and in front of the camera, since a homography keeps the box convex.
 */
static inline int lies_on(const Surface *s, const double P[9])
{
    for (int k = 0; k < 4; k++) {
        const double u = k & 1 ? s->reach_x : -s->reach_x, v = k & 2 ? s->reach_y : -s->reach_y;
        const double depth = P[6] * u + P[7] * v + P[8];
        const double x = (P[0] * u + P[1] * v + P[2]) / depth, y = (P[3] * u + P[4] * v + P[5]) / depth;
        if (!(depth > 0 && x >= 0 && y >= 0 && x <= s->width - 1 && y <= s->height - 1))
            return 0;
    }
    return 1;
}

/* The ZNCC of the motif and a surface at the pose P, and its derivative on the motif's side.
 *
 * `steer`: directions are relative to the scene, and are rotated into the motif's frame.
 */
static inline void evaluate(const Surface *s, const PlaneMotifArrays *m, const PlaneRules *rules, const double P[9],
                            int steer, PlaneEvaluation *out)
{
    PlaneSums sums = {0};
    const int whole = steer ? !s->inside && lies_on(s, P) : s->complete;
    const int rigid = rules->parameters <= 3;
    if (steer) {
        Octet taps[DIRECTIONS];
        steering_taps(directions_turned(P), taps);
        if (whole && rigid)
            sum_points(s, m, P, 1, 1, taps, &sums);
        else if (whole)
            sum_points(s, m, P, 1, 0, taps, &sums);
        else if (rigid)
            sum_points(s, m, P, 0, 1, taps, &sums);
        else
            sum_points(s, m, P, 0, 0, taps, &sums);
    } else if (whole && rigid)
        sum_points(s, m, P, 1, 1, NULL, &sums);
    else if (whole)
        sum_points(s, m, P, 1, 0, NULL, &sums);
    else if (rigid)
        sum_points(s, m, P, 0, 1, NULL, &sums);
    else
        sum_points(s, m, P, 0, 0, NULL, &sums);
    if (whole) {
        sums.weight = m->weight, sums.tt = 1; /* the target has mean 0 and norm 1 */
        memcpy(sums.with_1, m->with_1, sizeof sums.with_1), memcpy(sums.with_t, m->with_t, sizeof sums.with_t);
    }
    out->visible = sums.weight / m->weight;
    out->zncc = -1;
    memset(out->slope, 0, sizeof out->slope);
    if (!(out->visible >= rules->min_visible))
        return;
    const double t = sums.t / sums.weight, y = sums.y / sums.weight;
    const double own = sqrt(fmax(sums.tt - t * sums.t, 1e-12));
    const double power = sqrt(fmax(sums.yy - y * sums.y, rules->min_variance * sums.weight));
    out->zncc = (sums.ty - t * sums.y) / (own * power);
    for (int i = 0; i < MAX_PARAMETERS; i++)
        out->slope[i] = ((sums.with_y[i] - y * sums.with_1[i]) / power -
                         out->zncc * (sums.with_t[i] - t * sums.with_1[i]) / own) / own;
}

/* The step (H + μ diag H)⁻¹ slope in the first `count` parameters, by the Cholesky factor. Returns its length. */
static inline double plane_step(const double *H, const double *slope, int count, double mu, double step[MAX_PARAMETERS])
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

static inline void product(const double A[9], const double B[9], double out[9])
{
    double found[9];
    for (int r = 0; r < 9; r += 3)
        for (int c = 0; c < 3; c++)
            found[r + c] = fma(A[r + 2], B[6 + c], fma(A[r + 1], B[3 + c], A[r] * B[c]));
    memcpy(out, found, sizeof found);
}

/* The adjugate, which is the inverse up to a factor: poses are normalised after it. */
static inline void inverse(const double M[9], double out[9])
{
    const double found[9] = {
        M[4] * M[8] - M[5] * M[7], M[2] * M[7] - M[1] * M[8], M[1] * M[5] - M[2] * M[4],
        M[5] * M[6] - M[3] * M[8], M[0] * M[8] - M[2] * M[6], M[2] * M[3] - M[0] * M[5],
        M[3] * M[7] - M[4] * M[6], M[1] * M[6] - M[0] * M[7], M[0] * M[4] - M[1] * M[3]};
    memcpy(out, found, sizeof found);
}

static inline void normalise(double M[9])
{
    const double last = M[8];
    for (int i = 0; i < 9; i++)
        M[i] /= last;
}

/* The motion of a step. The rotation is exact for rigid motions, so that a euclidean pose keeps its size. */
static inline void motion_of(const double step[MAX_PARAMETERS], int count, double M[9])
{
    const double c = count <= 3 ? cos(step[2]) : 1, s = count <= 3 ? sin(step[2]) : step[2];
    const double found[9] = {c + step[3] + step[4], step[5] - s, step[0], s + step[5], c + step[3] - step[4],
                             step[1], step[6], step[7], 1};
    memcpy(M, found, sizeof found);
}

/* Damped Gauss–Newton from the pose `from`, the motif's units → pixels of the surface. `best` becomes the motion from
 * there to the best pose, in the motif's units. Returns the evaluation there.
 */
static inline PlaneEvaluation descend(const Surface *s, const PlaneMotifArrays *m, const PlaneRules *rules,
                                      const double from[9], int steer, double best[9])
{
    PlaneEvaluation here, there;
    double mu = rules->damping, at[9], P[9];
    for (int i = 0; i < 9; i++)
        best[i] = i % 4 == 0;
    evaluate(s, m, rules, from, steer, &here);
    for (int k = 0; k < rules->steps && here.zncc > -1; k++) {
        double step[MAX_PARAMETERS], M[9];
        const double agreement = fmax(here.zncc, rules->min_agreement);
        const double length = plane_step(m->hessian, here.slope, rules->parameters, mu, step) / agreement;
        const double cut = fmin(1, rules->max_step / fmax(length, 1e-12)) / agreement;
        for (int i = 0; i < MAX_PARAMETERS; i++)
            step[i] *= cut;
        motion_of(step, rules->parameters, M);
        inverse(M, M);
        product(best, M, at);
        normalise(at);
        product(from, at, P);
        evaluate(s, m, rules, P, steer, &there);
        const int better = there.zncc > here.zncc;
        if (better) {
            memcpy(best, at, sizeof at);
            here = there;
        }
        mu = fmin(fmax(mu * (better ? rules->ease : rules->tighten), 1e-6), 1e6);
        if (length * m->radius < rules->tolerance)
            break;
    }
    return here;
}
