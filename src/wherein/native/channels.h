/* Oriented gradient channels of a picture: images/channels.py in C. The channels of a pixel are contiguous, so that one
 * vector holds them all. channels.c makes them.
 *
 * A picture is processed row by row. Only as many rows as the window and the smoothing need are kept, so that they stay
 * in the cache whatever the size of the picture.
 */
#pragma once
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"

typedef float Octet __attribute__((vector_size(DIRECTIONS * sizeof(float))));
typedef int32_t OctetTruth __attribute__((vector_size(DIRECTIONS * sizeof(int32_t))));
_Static_assert(DIRECTIONS == 8, "a vector of eight floats, and the table of directions below");

static inline Octet octet(const float *from)
{
    Octet v;
    memcpy(&v, from, sizeof v);
    return v;
}

static inline void put_octet(float *to, Octet v)
{
    memcpy(to, &v, sizeof v);
}

static inline int clamped(int i, int count)
{
    return i < 0 ? 0 : i < count ? i : count - 1;
}

/* Ring buffers of the rows that are kept: row y is at index y modulo their number. Reused for all pictures of up to
 * the same width.
 */
typedef struct {
    float *gx, *gy, *magnitude; /* `window` rows */
    float *smooth;              /* channels, smoothed along the row: `count` rows */
    float *line, *scale;
    const float **before, **after; /* the rows that are summed */
} ChannelBuffers;

/* Receives the channels of row y; `row` is valid only during the call. */
typedef void ChannelSink(void *to, int y, const float *row, int width);

static inline void free_channel_buffers(ChannelBuffers *b)
{
    free(b->gx), free(b->gy), free(b->magnitude), free(b->smooth), free(b->line), free(b->scale);
    free(b->before), free(b->after);
}

static inline int make_channel_buffers(ChannelBuffers *b, int width, const ChannelRules *rules)
{
    const int64_t rows = (int64_t)rules->window * width, reach = rules->window + rules->count;
    b->gx = malloc(rows * sizeof(float)), b->gy = malloc(rows * sizeof(float));
    b->magnitude = malloc(rows * sizeof(float));
    b->smooth = malloc((rules->count + 1) * (int64_t)width * sizeof(Octet)); /* and the row that is passed on */
    b->line = malloc((width + 2 * reach + 4) * sizeof(Octet)), b->scale = malloc(width * sizeof(float));
    b->before = malloc(reach * sizeof *b->before), b->after = malloc(reach * sizeof *b->after);
    if (b->gx && b->gy && b->magnitude && b->smooth && b->line && b->scale && b->before && b->after)
        return DONE;
    free_channel_buffers(b);
    return NO_MEMORY;
}

/* Passes the channels of a picture to `sink`, row by row. The buffers must be made for its width or a larger one. */
__attribute__((visibility("hidden"))) void channels_of(const Planes *p, const ChannelRules *rules, ChannelBuffers *b,
                                                       ChannelSink *sink, void *to);

/* A sink that copies all rows: `to` is (height, width, DIRECTIONS), contiguous. */
static inline void keep_channels(void *to, int y, const float *row, int width)
{
    memcpy((float *)to + (int64_t)y * width * DIRECTIONS, row, (int64_t)width * sizeof(Octet));
}
