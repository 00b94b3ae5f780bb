/* Sums over the points, and what they say: CorrelationObjective._moments and the end of its linearise. */
#pragma once
#include <math.h>

#include "problem.h"

static const float *column_of(const Motif *m, int channel, int k)
{
    return m->known + (int64_t)(channel * (m->size + 1) + k) * m->n;
}

/* The weighed sums of a block; w may be NULL, for all ones. */
static void weigh_block(const Motif *m, int channels, int first, int count, const float *w, Weighed *out)
{
    memset(out, 0, sizeof *out);
    for (int i = 0; i < count; i++)
        out->total += w ? w[i] : 1;
    for (int c = 0; c < channels; c++)
        for (int k = 0; k <= m->size; k++) {
            v16 weighted[BLOCK / LANES], sum = {0};
            for (int i = 0; i < count; i += LANES) {
                v16 v = load(column_of(m, c, k) + first + i, count - i);
                weighted[i / LANES] = v = w ? v * load(w + i, count - i) : v;
                sum += v;
            }
            out->sums[c][k] = total_of(sum);
            for (int l = 0; l <= k; l++) {
                v16 product = {0};
                for (int i = 0; i < count; i += LANES)
                    product += weighted[i / LANES] * load(column_of(m, c, l) + first + i, count - i);
                out->gram[k][l] += total_of(product);
            }
        }
}

static void add(Weighed *to, const Weighed *from, int channels, int columns)
{
    to->total += from->total;
    for (int k = 0; k < columns; k++) {
        for (int l = 0; l <= k; l++)
            to->gram[k][l] += from->gram[k][l];
        for (int c = 0; c < channels; c++)
            to->sums[c][k] += from->sums[c][k];
    }
}

/* The same and, with the scene z under the points: KᵀWz, for each channel Σ w z, and Σ w z². */
typedef struct {
    Weighed known;
    double overlap[COLUMNS], of_scene[CHANNELS], energy;
} Sums;

/* Add a block of the scene and the same weighed, wz; `known` holds its weighed sums of K. */
static inline void add_block(const Motif *m, int channels, int first, int count, const Weighed *known,
                             float z[CHANNELS][BLOCK], float wz[CHANNELS][BLOCK], Sums *out)
{
    add(&out->known, known, channels, m->size + 1);
    for (int c = 0; c < channels; c++) {
        v16 sum = {0}, squares = {0};
        for (int i = 0; i < count; i += LANES) {
            v16 v = load(wz[c] + i, LANES);
            sum += v, squares += v * load(z[c] + i, LANES);
        }
        out->of_scene[c] += total_of(sum), out->energy += total_of(squares);
        for (int k = 0; k <= m->size; k++) {
            const float *column = column_of(m, c, k) + first;
            v16 product = {0};
            for (int i = 0; i < count; i += LANES)
                product += load(wz[c] + i, LANES) * load(column + i, count - i);
            out->overlap[k] += total_of(product);
        }
    }
}

/* Take the level of the first block that is seen off z: Σ z² − (Σ z)²/n of a bright, even scene would be rounding. */
static inline void take_level(int channels, int count, int seen, const float w[BLOCK], float z[CHANNELS][BLOCK],
                              float level[CHANNELS], int *levelled)
{
    for (int c = 0; c < channels; c++) {
        v16 sum = {0};
        for (int i = 0; i < count && !*levelled; i += LANES)
            sum += load(z[c] + i, LANES);
        if (!*levelled)
            level[c] = total_of(sum) / seen;
        for (int i = 0; i < count; i += LANES) {
            v16 v = load(z[c] + i, LANES) - level[c] * load(w + i, LANES);
            memcpy(z[c] + i, &v, sizeof v);
        }
    }
    *levelled = 1;
}

/* The sums of CorrelationObjective._moments become cost, gradient and Gauss–Newton matrix. */
static void finish(const Motif *m, int channels, const Rules *rules, Sums *s, Model *out)
{
    const int columns = m->size + 1, x = m->size;
    Weighed *known = &s->known;
    /* Means off: KᵀWK − Σ_c s_c s_cᵀ / Σw, and so on. */
    for (int c = 0; c < channels; c++) {
        s->energy -= s->of_scene[c] * s->of_scene[c] / known->total;
        for (int k = 0; k < columns; k++) {
            s->overlap[k] -= s->of_scene[c] * known->sums[c][k] / known->total;
            for (int l = 0; l <= k; l++)
                known->gram[k][l] -= known->sums[c][k] * known->sums[c][l] / known->total;
        }
    }
    double texture = known->gram[x][x], contrast = s->overlap[x];
    const double least = rules->least_variance * known->total * channels;
    out->why = s->energy > least && texture > least ? DIVERGED : FLAT;
    if (out->why == FLAT)
        return;
    /* Eliminate the gain α: what of J is along x is a change of contrast, not of pose. */
    double gain = fmax(contrast / texture, 0.05 * sqrt(s->energy / texture));
    for (int k = 0; k < m->size; k++) {
        double along = known->gram[x][k] / texture;
        out->gradient[k] = (s->overlap[k] - along * contrast) / gain;
        for (int l = 0; l <= k; l++)
            out->hessian[k][l] = known->gram[k][l] - along * known->gram[x][l];
    }
    out->cost = 1 - contrast / sqrt(s->energy * texture);
}
