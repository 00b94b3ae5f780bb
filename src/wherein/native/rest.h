/* A flat motif without some of its points: PlaneMotif.without() of planes/plane_motif.py in C. */
#pragma once
#include "channels.h"

typedef struct {
    PlaneMotifArrays motif;
    float *points, *weights, *target, *dx, *dy;
    int32_t *unsigned_points;
    double hessian[MAX_PARAMETERS * MAX_PARAMETERS], with_1[MAX_PARAMETERS], with_t[MAX_PARAMETERS];
} RestOfMotif;

static inline void free_rest(RestOfMotif *r)
{
    free(r->points), free(r->weights), free(r->target), free(r->dx), free(r->dy), free(r->unsigned_points);
}

/* Allocates room for all points of a motif. Call free_rest() even if this returns NO_MEMORY. The struct holds pointers
 * into itself, so it must not be copied.
 */
static inline int make_rest(RestOfMotif *r, const PlaneMotifArrays *m)
{
    const int64_t bytes = m->count * sizeof(float);
    r->points = malloc(2 * bytes), r->weights = malloc(bytes), r->unsigned_points = malloc(bytes);
    r->target = malloc(DIRECTIONS * bytes), r->dx = malloc(DIRECTIONS * bytes), r->dy = malloc(DIRECTIONS * bytes);
    r->motif = *m;
    r->motif.points = r->points, r->motif.weights = r->weights, r->motif.unsigned_points = r->unsigned_points;
    r->motif.target = r->target, r->motif.dx = r->dx, r->motif.dy = r->dy;
    r->motif.hessian = r->hessian, r->motif.with_1 = r->with_1, r->motif.with_t = r->with_t;
    return r->points && r->weights && r->target && r->dx && r->dy && r->unsigned_points ? DONE : NO_MEMORY;
}

/* Copies the points that are left, with their target unchanged. */
static inline void copy_points(RestOfMotif *r, const PlaneMotifArrays *m, const uint8_t *without)
{
    int n = 0;
    for (int i = 0; i < m->count; i++) {
        if (without[i])
            continue;
        r->points[2 * n] = m->points[2 * i], r->points[2 * n + 1] = m->points[2 * i + 1];
        r->weights[n] = m->weights[i], r->unsigned_points[n] = m->unsigned_points[i];
        put_octet(r->target + DIRECTIONS * n, octet(m->target + DIRECTIONS * i));
        put_octet(r->dx + DIRECTIONS * n, octet(m->dx + DIRECTIONS * i));
        put_octet(r->dy + DIRECTIONS * n, octet(m->dy + DIRECTIONS * i));
        n++;
    }
    r->motif.count = n;
}

/* Gives the target mean 0 and norm 1 under the weights, and the derivatives the same scale. */
static inline void normalise_target(RestOfMotif *r)
{
    const int n = r->motif.count;
    double weight = 0, sum = 0, square = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < DIRECTIONS; k++)
            weight += r->weights[i], sum += (double)r->weights[i] * r->target[DIRECTIONS * i + k];
    const double mean = sum / weight;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < DIRECTIONS; k++) {
            const double t = r->target[DIRECTIONS * i + k] - mean;
            square += r->weights[i] * t * t;
        }
    const double scale = 1 / fmax(sqrt(square), 1e-9);
    for (int i = 0; i < DIRECTIONS * n; i++) {
        r->target[i] = (r->target[i] - mean) * scale;
        r->dx[i] *= scale, r->dy[i] *= scale;
    }
    r->motif.weight = weight;
}

/* How each parameter moves a point along x and along y: PlaneMotif._fields. */
static inline void fields_at(double u, double v, double x[MAX_PARAMETERS], double y[MAX_PARAMETERS])
{
    const double along[MAX_PARAMETERS] = {1, 0, -v, u, u, v, -u * u, -u * v};
    const double down[MAX_PARAMETERS] = {0, 1, u, v, -v, u, -u * v, -v * v};
    memcpy(x, along, sizeof along), memcpy(y, down, sizeof down);
}

/* The matrix H of the first `parameters` and the sums Jᵀ1 and Jᵀt, as in PlaneMotif.hessian. */
static inline void linearise(RestOfMotif *r, int parameters)
{
    double *H = r->hessian;
    memset(H, 0, sizeof r->hessian), memset(r->with_1, 0, sizeof r->with_1), memset(r->with_t, 0, sizeof r->with_t);
    for (int i = 0; i < r->motif.count; i++) {
        double x[MAX_PARAMETERS], y[MAX_PARAMETERS];
        double xx = 0, xy = 0, yy = 0, x1 = 0, y1 = 0, xt = 0, yt = 0; /* over the channels */
        for (int k = DIRECTIONS * i; k < DIRECTIONS * (i + 1); k++) {
            const double gx = r->dx[k], gy = r->dy[k], t = r->target[k];
            xx += gx * gx, xy += gx * gy, yy += gy * gy;
            x1 += gx, y1 += gy, xt += gx * t, yt += gy * t;
        }
        const double w = r->weights[i]; /* derivatives include the weight, so their products include it twice */
        xx /= w, xy /= w, yy /= w;
        fields_at(r->points[2 * i], r->points[2 * i + 1], x, y);
        for (int a = 0; a < MAX_PARAMETERS; a++)
            r->with_1[a] += x1 * x[a] + y1 * y[a], r->with_t[a] += xt * x[a] + yt * y[a];
        for (int a = 0; a < parameters; a++)
            for (int b = 0; b <= a; b++)
                H[MAX_PARAMETERS * a + b] += xx * x[a] * x[b] + xy * (x[a] * y[b] + y[a] * x[b]) + yy * y[a] * y[b];
    }
    for (int a = 0; a < parameters; a++)
        for (int b = 0; b <= a; b++) {
            const double off = r->with_1[a] * r->with_1[b] / r->motif.weight + r->with_t[a] * r->with_t[b];
            H[MAX_PARAMETERS * a + b] -= off, H[MAX_PARAMETERS * b + a] = H[MAX_PARAMETERS * a + b];
        }
}

/* The motif without the points that `without` marks, for a descent in the first `parameters`. */
static inline void take_rest(RestOfMotif *r, const PlaneMotifArrays *m, const uint8_t *without, int parameters)
{
    copy_points(r, m, without);
    normalise_target(r);
    linearise(r, parameters);
}
