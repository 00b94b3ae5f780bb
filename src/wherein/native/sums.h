/* Sums over the points, and the cost and normal equations: CorrelationObjective._moments and the end of linearise(). */
#pragma once
#include <math.h>

#include "problem.h"

/* Writes column × w of a block to `to`, padded; w = NULL: all ones. Returns the sum. */
static inline double weigh_column(const float *column, const float *w, int count, float to[BLOCK])
{
    Lanes sum = {0};
    for (int i = 0; i < count; i += LANES)
        for (int h = 0, at = i; h < PARTS; h++, at += WIDTH) {
            vec v = load(column + at, count - at);
            v = w ? v * load(w + at, count - at) : v;
            store(to + at, v);
            sum.part[h] += v;
        }
    return total_of(&sum);
}

/* The weighted sums of a block. */
static void weigh_block(const Problem *p, int channels, int first, int count, const float *w, WeightedSums *out)
{
    ALIGNED float weighted[BLOCK];
    memset(out, 0, sizeof *out);
    for (int i = 0; i < count; i++)
        out->total += w ? w[i] : 1;
    for (int c = 0; c < channels; c++)
        for (int k = 0; k <= p->parameters; k++) {
            out->sums[c][k] = weigh_column(column_of(p, c, k) + first, w, count, weighted);
            for (int l = 0; l <= k; l++)
                out->gram[k][l] += dot(weighted, column_of(p, c, l) + first, count);
        }
}

static void add(WeightedSums *to, const WeightedSums *from, int channels, int columns)
{
    to->total += from->total;
    for (int k = 0; k < columns; k++) {
        for (int l = 0; l <= k; l++)
            to->gram[k][l] += from->gram[k][l];
        for (int c = 0; c < channels; c++)
            to->sums[c][k] += from->sums[c][k];
    }
}

/* The weighted sums of K; and, with the scene z at the points, KᵀWz, Σ w z for each channel, and Σ w z². */
typedef struct {
    WeightedSums known;
    double overlap[MAX_COLUMNS], of_scene[MAX_CHANNELS], energy;
} Sums;

/* Adds a block, given its weighted sums of K, the scene z, and the scene times the weights, wz. */
static inline void add_block(const Problem *p, int channels, int first, int count, const WeightedSums *known,
                             float z[MAX_CHANNELS][BLOCK], float wz[MAX_CHANNELS][BLOCK], Sums *out)
{
    add(&out->known, known, channels, p->parameters + 1);
    for (int c = 0; c < channels; c++) {
        Lanes sum = {0}, squares = {0};
        for (int i = 0; i < count; i += LANES)
            for (int h = 0, at = i; h < PARTS; h++, at += WIDTH) {
                vec v = load_all(wz[c] + at);
                sum.part[h] += v, squares.part[h] += v * load_all(z[c] + at);
            }
        out->of_scene[c] += total_of(&sum), out->energy += total_of(&squares);
        for (int k = 0; k <= p->parameters; k++)
            out->overlap[k] += dot(wz[c], column_of(p, c, k) + first, count);
    }
}

/* The mean of each channel in the first block with visible points. It is subtracted in all blocks, since in float32
 * Σ z² − (Σ z)²/n of a bright scene with little contrast would be only rounding errors.
 */
typedef struct {
    float mean[MAX_CHANNELS];
    int known;
} Level;

static inline void take_level(int channels, int count, int visible, const float w[BLOCK],
                              float z[MAX_CHANNELS][BLOCK], Level *level)
{
    for (int c = 0; c < channels; c++) {
        Lanes sum = {0};
        for (int i = 0; i < count && !level->known; i += LANES)
            for (int h = 0, at = i; h < PARTS; h++, at += WIDTH)
                sum.part[h] += load_all(z[c] + at);
        if (!level->known)
            level->mean[c] = total_of(&sum) / visible;
        for (int i = 0; i < padded(count); i += WIDTH)
            store(z[c] + i, load_all(z[c] + i) - level->mean[c] * load_all(w + i));
    }
    level->known = 1;
}

/* Subtracts the means: KᵀWK − Σ_c s_c s_cᵀ / Σ w with s_c = Σ w K of channel c, and so on. */
static inline void centre_sums(int columns, int channels, Sums *s)
{
    WeightedSums *known = &s->known;
    for (int c = 0; c < channels; c++) {
        s->energy -= s->of_scene[c] * s->of_scene[c] / known->total;
        for (int k = 0; k < columns; k++) {
            s->overlap[k] -= s->of_scene[c] * known->sums[c][k] / known->total;
            for (int l = 0; l <= k; l++)
                known->gram[k][l] -= known->sums[c][k] * known->sums[c][l] / known->total;
        }
    }
}

/* The cost, the gradient and the Gauss–Newton matrix. */
static void finish(const Problem *p, int channels, Sums *s, Evaluation *out)
{
    const int x = p->parameters;
    WeightedSums *known = &s->known;
    centre_sums(p->parameters + 1, channels, s);
    double texture = known->gram[x][x], contrast = s->overlap[x];
    const double least = p->rules->min_variance * known->total * channels;
    out->failure = s->energy > least && texture > least ? DIVERGED : FLAT;
    if (out->failure == FLAT)
        return;
    /* Eliminates the gain: the component of J along x changes the contrast, which the ZNCC ignores. */
    double gain = fmax(contrast / texture, 0.05 * sqrt(s->energy / texture));
    for (int k = 0; k < p->parameters; k++) {
        double along = known->gram[x][k] / texture;
        out->gradient[k] = (s->overlap[k] - along * contrast) / gain;
        for (int l = 0; l <= k; l++)
            out->hessian[k][l] = known->gram[k][l] - along * known->gram[x][l];
    }
    out->cost = 1 - contrast / sqrt(s->energy * texture);
}
