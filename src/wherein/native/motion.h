/* The motion models of motion/models.py. Parameters of the linear part come first, then the shift, then perspective. */
#pragma once
#include <math.h>
#include <string.h>

#include "abi.h"

/* Number of parameters of the linear part. The two of the shift follow them. */
static inline int linear_parameters_of(int motion)
{
    static const int counts[MOTIONS] = {
        [TRANSLATION] = 0, [EUCLIDEAN] = 1, [SIMILARITY] = 2, [AFFINE] = 4, [HOMOGRAPHY] = 4};
    return counts[motion];
}

static inline int parameters_of(int motion)
{
    return linear_parameters_of(motion) + (motion == HOMOGRAPHY ? 4 : 2);
}

/* The linear part of M(p), row by row. */
static inline void linear_part(int motion, const double *p, double linear[4])
{
    memcpy(linear, (double[4]){1, 0, 0, 1}, 4 * sizeof *linear);
    if (motion == EUCLIDEAN || motion == SIMILARITY) {
        double scale = motion == SIMILARITY ? exp(p[1]) : 1;
        linear[0] = linear[3] = scale * cos(p[0]);
        linear[2] = scale * sin(p[0]);
        linear[1] = -linear[2];
    } else if (motion != TRANSLATION)
        for (int i = 0; i < 4; i++)
            linear[i] += p[i];
}

/* M(p), row by row. */
static inline void matrix_of(int motion, const double p[MAX_PARAMETERS], double M[9])
{
    const double *shift = p + linear_parameters_of(motion);
    double linear[4];
    linear_part(motion, p, linear);
    memcpy(M, (double[9]){linear[0], linear[1], shift[0], linear[2], linear[3], shift[1], 0, 0, 1},
           9 * sizeof *M);
    if (motion == HOMOGRAPHY)
        M[6] = p[6], M[7] = p[7];
}
