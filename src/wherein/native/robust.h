/* Robust weights: formulations/robust.py and CorrelationObjective._trusted. */
#pragma once
#include "scene.h"
#include "sums.h"

/* The best gain and biases of the light under the weights w: z ≈ gain · x + bias. */
static double relight(const Problem *p, int channels, const float *w, double bias[CHANNELS])
{
    const Motif *m = &p->motif;
    double total = 0, of_motif[CHANNELS] = {0}, texture = 0, contrast = 0;
    memset(bias, 0, CHANNELS * sizeof *bias);
    for (int first = 0; first < m->n; first += BLOCK) {
        int count = m->n - first < BLOCK ? m->n - first : BLOCK;
        v16 weights = {0};
        for (int i = first; i < first + count; i += LANES)
            weights += load(w + i, LANES);
        total += total_of(weights);
        for (int c = 0; c < channels; c++) {
            const float *z = p->room.z + c * p->room.row, *x = column_of(m, c, m->size);
            v16 sum_z = {0}, sum_x = {0}, squares = {0}, products = {0};
            for (int i = first; i < first + count; i += LANES) {
                v16 in = load(w + i, LANES), at = load(z + i, LANES), of = in * load(x + i, first + count - i);
                sum_z += in * at, sum_x += of;
                squares += of * load(x + i, first + count - i), products += of * at;
            }
            bias[c] += total_of(sum_z), of_motif[c] += total_of(sum_x);
            texture += total_of(squares), contrast += total_of(products);
        }
    }
    for (int c = 0; c < channels; c++) {
        texture -= of_motif[c] * of_motif[c] / total;
        contrast -= bias[c] * of_motif[c] / total;
    }
    double gain = fmax(contrast / texture, p->rules.least_gain);
    for (int c = 0; c < channels; c++)
        bias[c] = (bias[c] - gain * of_motif[c]) / total;
    return gain;
}

/* e: the squared misfit of every point in units of the motif, over its channels. */
static void misfit(const Problem *p, int channels, double gain, const double bias[CHANNELS])
{
    const Motif *m = &p->motif;
    const float scale = 1 / gain;
    for (int i = 0; i < m->n; i += LANES) {
        v16 sum = {0};
        for (int c = 0; c < channels; c++) {
            v16 r = load(p->room.z + c * p->room.row + i, LANES) - (float)bias[c];
            r = scale * r - load(column_of(m, c, m->size) + i, m->n - i);
            sum += r * r;
        }
        memcpy(p->room.squares + i, &sum, sizeof sum);
    }
}

/* scale_of(): v where the mean mistrust is `hidden`, by Newton's method. */
static double scale_of(const Problem *p, double total)
{
    const Rules *rules = &p->rules;
    double v = rules->least_scale;
    for (int step = 0; step < 30; step++) {
        double mean = 0, slope = 0, before = v;
        for (int first = 0; first < p->motif.n; first += BLOCK) {
            v16 means = {0}, slopes = {0};
            for (int i = first; i < first + BLOCK && i < p->motif.n; i += LANES) {
                v16 e = load(p->room.squares + i, LANES), of = 1 / ((float)v + e);
                v16 mistrust = load(p->room.seen + i, LANES) * (e * of) * (e * of);
                means += mistrust, slopes += mistrust * of;
            }
            mean += total_of(means), slope += total_of(slopes);
        }
        mean /= total, slope /= total;
        v = fmax(v + mean * (sqrt(mean / rules->hidden) - 1) / fmax(slope, 1e-300), rules->least_scale);
        if (fabs(v - before) <= 1e-6 * before)
            break;
    }
    return v;
}

/* As linearise_in, with the trust in each point in its weight. */
static void linearise_robust(const Problem *p, const double F[9], Model *out)
{
    const Motif *m = &p->motif;
    const Room *room = &p->room;
    const int channels = p->scene.channels;
    float z[CHANNELS][BLOCK], wz[CHANNELS][BLOCK], level[CHANNELS] = {0};
    Sums sums = {0};
    Weighed part;
    double total = 0;
    int levelled = 0;
    out->cost = INFINITY, out->why = OUTSIDE;
    for (int first = 0; first < m->n; first += BLOCK) {
        int count = m->n - first < BLOCK ? m->n - first : BLOCK;
        int seen = look(&p->scene, m, p->rules.edge, F, first, count, channels, z, room->seen + first);
        if (seen)
            take_level(channels, count, seen, room->seen + first, z, level, &levelled);
        for (int c = 0; c < channels; c++)
            memcpy(room->z + c * room->row + first, z[c], (count + LANES - 1) / LANES * LANES * sizeof(float));
        total += seen;
    }
    if (!(total >= p->rules.min_visible * m->n))
        return;
    memcpy(room->weight, room->seen, room->row * sizeof(float));
    for (int round = 0; round < p->rules.rounds; round++) {
        double bias[CHANNELS], gain = relight(p, channels, room->weight, bias);
        misfit(p, channels, gain, bias);
        const float v = scale_of(p, total);
        for (int i = 0; i < m->n; i += LANES) {
            v16 far = 1 + load(room->squares + i, LANES) / v, w = load(room->seen + i, LANES) / (far * far);
            memcpy(room->weight + i, &w, sizeof w);
        }
    }
    for (int first = 0; first < m->n; first += BLOCK) {
        int count = m->n - first < BLOCK ? m->n - first : BLOCK;
        for (int c = 0; c < channels; c++)
            for (int i = 0; i < count; i += LANES) {
                v16 v = load(room->z + c * room->row + first + i, LANES);
                memcpy(z[c] + i, &v, sizeof v);
                v *= load(room->weight + first + i, LANES);
                memcpy(wz[c] + i, &v, sizeof v);
            }
        weigh_block(m, channels, first, count, room->weight + first, &part);
        add_block(m, channels, first, count, &part, z, wz, &sums);
    }
    finish(m, channels, &p->rules, &sums, out);
}
