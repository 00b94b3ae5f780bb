/* What the files share: pictures, and sums that do not depend on the compiler's mood. */
#pragma once
#include <stdint.h>
#include <string.h>

/* Sums run in float32 over the lanes of a block of points, then in double. */
enum { LANES = 16, BLOCK = 256 };

typedef float v16 __attribute__((vector_size(64)));
typedef int32_t i16 __attribute__((vector_size(64)));

/* Float32 planes, a row every `row` and a plane every `plane` floats. */
typedef struct {
    const float *pixels;
    int64_t plane, row;
    int channels, height, width;
} Picture;

/* The next LANES values, with zeros behind the last. */
static inline v16 load(const float *from, int count)
{
    v16 v = {0};
    if (count >= LANES)
        memcpy(&v, from, sizeof v);
    else
        memcpy(&v, from, count * sizeof *from);
    return v;
}

/* Σ over the lanes, by halves. */
static inline double total_of(v16 v)
{
    double half[LANES];
    for (int i = 0; i < LANES; i++)
        half[i] = v[i];
    for (int n = LANES / 2; n; n /= 2)
        for (int i = 0; i < n; i++)
            half[i] += half[i + n];
    return half[0];
}
