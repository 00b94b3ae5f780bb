/* Oriented gradient channels of a picture: images/channels.py in C. The channels of a pixel lie side by side, so that
 * one vector holds them all.
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

/* Buffers for pictures of up to so many pixels, reused for all poses of a descent. */
typedef struct {
    float *gx, *gy, *magnitude, *scale, *rows, *line;
} ChannelBuffers;

static inline void free_channel_buffers(ChannelBuffers *b)
{
    free(b->gx), free(b->gy), free(b->magnitude), free(b->scale), free(b->rows), free(b->line);
}

static inline int make_channel_buffers(ChannelBuffers *b, int height, int width, const ChannelRules *rules)
{
    const int64_t pixels = (int64_t)height * width, reach = rules->window + rules->count;
    b->gx = malloc(pixels * sizeof(float)), b->gy = malloc(pixels * sizeof(float));
    b->magnitude = malloc(pixels * sizeof(float)), b->scale = malloc(pixels * sizeof(float));
    b->rows = malloc(pixels * sizeof(Octet)), b->line = malloc((width + 2 * reach + 4) * sizeof(Octet));
    if (b->gx && b->gy && b->magnitude && b->scale && b->rows && b->line)
        return DONE;
    free_channel_buffers(b);
    return NO_MEMORY;
}

/* Of each pixel the gradient of the channel that changes most; central differences, smoothed across by (1, 2, 1)/4. */
static inline void strongest_gradient(const Planes *p, ChannelBuffers *b)
{
    const int height = p->height, width = p->width;
    float *along = b->line + 1, *across = b->line + width + 3; /* a column smoothed, and its difference */
    for (int y = 0; y < height; y++) {
        float *gx = b->gx + (int64_t)y * width, *gy = b->gy + (int64_t)y * width;
        for (int c = 0; c < p->channels; c++) {
            const float *plane = p->pixels + c * p->plane_stride, *here = plane + y * p->row_stride;
            const float *above = plane + clamped(y - 1, height) * p->row_stride;
            const float *below = plane + clamped(y + 1, height) * p->row_stride;
            for (int x = 0; x < width; x++) {
                along[x] = (above[x] + 2 * here[x] + below[x]) * 0.25f;
                across[x] = (below[x] - above[x]) * 0.5f;
            }
            along[-1] = along[0], along[width] = along[width - 1];
            across[-1] = across[0], across[width] = across[width - 1];
            for (int x = 0; x < width; x++) {
                const float u = (along[x + 1] - along[x - 1]) * 0.5f;
                const float v = (across[x - 1] + 2 * across[x] + across[x + 1]) * 0.25f;
                const int stronger = c == 0 || u * u + v * v > gx[x] * gx[x] + gy[x] * gy[x];
                gx[x] = stronger ? u : gx[x];
                gy[x] = stronger ? v : gy[x];
            }
        }
    }
}

/* 1 / ((|g|² + noise²)^¾ (mean |g| + floor)^½), the mean over a window around each pixel. */
static inline void local_scale(int height, int width, const ChannelRules *rules, ChannelBuffers *b)
{
    const int reach = rules->window / 2;
    const float share = 1.0f / ((float)rules->window * rules->window), noise = rules->noise * rules->noise;
    for (int64_t i = 0; i < (int64_t)height * width; i++)
        b->magnitude[i] = sqrtf(b->gx[i] * b->gx[i] + b->gy[i] * b->gy[i]);
    float *column = b->line + reach;
    for (int y = 0; y < height; y++) {
        float *out = b->scale + (int64_t)y * width;
        const float *gx = b->gx + (int64_t)y * width, *gy = b->gy + (int64_t)y * width;
        /* Summed anew for every row: running sums would carry rounding errors from row to row. */
        memset(column, 0, width * sizeof *column);
        for (int j = -reach; j <= reach; j++) {
            const float *row = b->magnitude + (int64_t)clamped(y + j, height) * width;
            for (int x = 0; x < width; x++)
                column[x] += row[x];
        }
        for (int j = 1; j <= reach; j++)
            column[-j] = column[0], column[width - 1 + j] = column[width - 1];
        memset(out, 0, width * sizeof *out);
        for (int j = -reach; j <= reach; j++)
            for (int x = 0; x < width; x++)
                out[x] += column[x + j];
        for (int x = 0; x < width; x++) {
            const float size = sqrtf(gx[x] * gx[x] + gy[x] * gy[x] + noise);
            out[x] = 1 / (size * sqrtf(size) * sqrtf(out[x] * share + rules->floor));
        }
    }
}

/* max(0, ⟨g, u_k⟩)² · scale for the eight directions u_k, 45° apart. */
static inline Octet split(float gx, float gy, float scale)
{
    const float h = 0.70710678f;
    const Octet ux = {1, h, 0, -h, -1, -h, 0, h}, uy = {0, h, 1, h, 0, -h, -1, -h};
    Octet along = gx * ux + gy * uy;
    along = (Octet)((OctetTruth)along & (along > 0));
    return along * along * scale;
}

/* The channels of a picture, (height, width, DIRECTIONS); buffers made for its size or a larger one. */
static inline void channels_of(const Planes *p, const ChannelRules *rules, ChannelBuffers *b, float *out)
{
    const int height = p->height, width = p->width, reach = rules->count / 2;
    const float *taps = rules->taps + reach;
    strongest_gradient(p, b);
    local_scale(height, width, rules, b);
    float *line = b->line + DIRECTIONS * reach;
    for (int y = 0; y < height; y++) {
        const int64_t first = (int64_t)y * width;
        for (int x = 0; x < width; x++)
            put_octet(line + DIRECTIONS * x, split(b->gx[first + x], b->gy[first + x], b->scale[first + x]));
        for (int j = 1; j <= reach; j++) {
            put_octet(line - DIRECTIONS * j, octet(line));
            put_octet(line + DIRECTIONS * (width - 1 + j), octet(line + DIRECTIONS * (width - 1)));
        }
        for (int x = 0; x < width; x++) {
            const float *at = line + DIRECTIONS * x;
            Octet sum = taps[0] * octet(at);
            for (int j = 1; j <= reach; j++)
                sum += taps[j] * (octet(at - DIRECTIONS * j) + octet(at + DIRECTIONS * j));
            put_octet(b->rows + DIRECTIONS * (first + x), sum);
        }
    }
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            Octet sum = taps[0] * octet(b->rows + DIRECTIONS * ((int64_t)y * width + x));
            for (int j = 1; j <= reach; j++)
                sum += taps[j] * (octet(b->rows + DIRECTIONS * ((int64_t)clamped(y - j, height) * width + x)) +
                                  octet(b->rows + DIRECTIONS * ((int64_t)clamped(y + j, height) * width + x)));
            put_octet(out + DIRECTIONS * ((int64_t)y * width + x), sum);
        }
}
