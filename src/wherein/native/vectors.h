/* Vectors of floats, and sums whose order does not depend on the width of a processor's vectors. */
#pragma once
#include <stdint.h>
#include <string.h>

/* Within a BLOCK of points, a sum is accumulated in float32 in LANES partial sums; these, and the blocks, are added in
 * double. The order is the same on every processor, and depends only on the number of points.
 */
enum { LANES = 16, BLOCK = 256 };

/* The floats of a vector: as many as the processor's registers hold. Wider vectors would be kept in memory: with GCC 12
 * and vectors of 16 floats, AVX2 took 3 times as long to align and 10 times as long to screen. LANES is PARTS of them.
 */
#if defined(__AVX512F__)
enum { WIDTH = 16 };
#elif defined(__AVX2__)
enum { WIDTH = 8 };
#else
enum { WIDTH = 4 };
#endif
enum { PARTS = LANES / WIDTH };

typedef float vec __attribute__((vector_size(WIDTH * sizeof(float))));
typedef int32_t ivec __attribute__((vector_size(WIDTH * sizeof(int32_t)))); /* also the result of comparing two vec */

/* For buffers: a vector of 16 floats that is not aligned spans two cache lines, and takes two reads. */
#define ALIGNED __attribute__((aligned(64)))

/* LANES partial sums. */
typedef struct {
    vec part[PARTS];
} Lanes;

/* The next WIDTH of `count` values, followed by zeros; count may be 0 or negative. */
static inline vec load(const float *from, int count)
{
    vec v = {0};
    if (count >= WIDTH)
        memcpy(&v, from, sizeof v);
    else if (count > 0)
        memcpy(&v, from, count * sizeof *from);
    return v;
}

static inline vec load_all(const float *from)
{
    vec v;
    memcpy(&v, from, sizeof v);
    return v;
}

static inline void store(float *to, vec v)
{
    memcpy(to, &v, sizeof v);
}

static inline void add_upper_half(double *values, int half)
{
    for (int i = 0; i < half; i++)
        values[i] += values[i + half];
}

/* The sum of the lanes, by halves, so that the order is the same for every WIDTH. Written out with constants, since the
 * compiler would not unroll a loop over the halves.
 */
static inline double total_of(const Lanes *lanes)
{
    double values[LANES];
    for (int i = 0; i < LANES; i++)
        values[i] = lanes->part[i / WIDTH][i % WIDTH];
    add_upper_half(values, 8);
    add_upper_half(values, 4);
    add_upper_half(values, 2);
    return values[0] + values[1];
}
_Static_assert(LANES == 16, "total_of adds three halves and a pair");

/* The number of values in the block that starts at `first`, of n values in all. */
static inline int block_count(int n, int first)
{
    return n - first < BLOCK ? n - first : BLOCK;
}

/* `count` rounded up to a multiple of LANES: the length of a block's buffers, which are 0 after the last value. */
static inline int padded(int count)
{
    return (count + LANES - 1) / LANES * LANES;
}

/* Σ a b over a block: a is padded, b need not be. Complete lanes have a separate loop without the branches of load(),
 * which saves a quarter of the time of an alignment with robust weights.
 */
static inline double dot(const float *a, const float *b, int count)
{
    Lanes sum = {0};
    int i = 0;
    for (; i + LANES <= count; i += LANES)
        for (int h = 0, at = i; h < PARTS; h++, at += WIDTH)
            sum.part[h] += load_all(a + at) * load_all(b + at);
    for (int h = 0, at = i; h < PARTS && i < count; h++, at += WIDTH)
        sum.part[h] += load_all(a + at) * load(b + at, count - at);
    return total_of(&sum);
}
