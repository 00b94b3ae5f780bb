/* Pictures of channels, and their values at the points of a motif; used by plane_descent.h and rating.c. */
#pragma once
#include "channels.h"

/* A picture of channels to which a motif is fitted. */
typedef struct {
    const float *channels; /* (height, width, DIRECTIONS) */
    const uint8_t *inside; /* (height, width): which pixels lie in the scene; NULL: all */
    int height, width;
    int complete;            /* whether all pixels lie in the scene */
    double reach_x, reach_y; /* how far the motif's points reach from their centre; only if channels are steered */
} Surface;

enum { POINTS = 256 }; /* summed in float32; the sums of these blocks in double */

/* The places of a block of points on a surface. */
typedef struct {
    int32_t at[POINTS];         /* the pixel above and to the left of each, row by row */
    float a[POINTS], b[POINTS]; /* the distance from it */
    uint8_t inside[POINTS];     /* whether it lies in the scene, and in front of the camera */
} Places;

/* The places of the points with the indices from `first` to before `last`, whose homogeneous coordinates are f (u, v, 1)
 * relative to the pixel (x0, y0). Places beyond the border become those of the nearest border pixel.
 *
 * `anywhere`: places beyond the border, or behind the camera, are outside. A loop of its own, which the compiler can
 * vectorise.
 */
static inline void place_points(const Surface *s, const PlaneMotifArrays *m, const float f[9], int x0, int y0, int first,
                                int last, int anywhere, Places *to)
{
    const float *points = m->points + 2 * first;
    const float right = s->width - 1.001f, bottom = s->height - 1.001f;
    const float last_x = s->width - 0.5f, last_y = s->height - 0.5f;
    const int width = s->width, count = last - first;
    for (int i = 0; i < count; i++) {
        const float u = points[2 * i], v = points[2 * i + 1];
        const float near = 1 / (f[6] * u + f[7] * v + f[8]);
        float x = (f[0] * u + f[1] * v + f[2]) * near + x0, y = (f[3] * u + f[4] * v + f[5]) * near + y0;
        /* False if a coordinate is not a number. */
        to->inside[i] = (!anywhere) | ((near > 0) & (x >= -0.5f) & (y >= -0.5f) & (x <= last_x) & (y <= last_y));
        x = x > 0 ? x : 0, y = y > 0 ? y : 0; /* also 0 for what is not a number */
        x = x < right ? x : right, y = y < bottom ? y : bottom;
        const int column = (int)x, row = (int)y;
        to->a[i] = x - column, to->b[i] = y - row, to->at[i] = row * width + column;
    }
    if (!s->inside)
        return;
    for (int i = 0; i < count; i++) {
        /* Of the nearest pixel, and not of the one before: at a whole pixel, that would depend on the last bit of x. */
        const int64_t nearest = to->at[i] + (to->b[i] >= 0.5f) * (int64_t)width + (to->a[i] >= 0.5f);
        to->inside[i] &= s->inside[nearest];
    }
}

/* The channels at one of these places, linearly interpolated. */
static inline Octet channels_at(const Surface *s, const Places *places, int i)
{
    const float a = places->a[i], b = places->b[i];
    const float *from = s->channels + DIRECTIONS * (int64_t)places->at[i], *next = from + DIRECTIONS * s->width;
    const Octet left = octet(from) + b * (octet(next) - octet(from));
    const Octet right = octet(from + DIRECTIONS) + b * (octet(next + DIRECTIONS) - octet(from + DIRECTIONS));
    return left + a * (right - left);
}

/* Channels without sign: the mean of each and the opposite one. */
static inline Octet without_sign(Octet v)
{
    const Octet other = {v[4], v[5], v[6], v[7], v[0], v[1], v[2], v[3]};
    return 0.5f * (v + other);
}

/* The matrix that rotates the directions of channels by `turn` steps: out[c] = Σ_j taps[j][c] in[j], trigonometric
 * interpolation.
 */
static inline void steering_taps(double turn, Octet taps[DIRECTIONS])
{
    float of[DIRECTIONS]; /* by the difference of two directions */
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

static inline Octet steered(const Octet taps[DIRECTIONS], Octet v)
{
    Octet sum = v[0] * taps[0];
    for (int j = 1; j < DIRECTIONS; j++)
        sum += v[j] * taps[j];
    return sum;
}

