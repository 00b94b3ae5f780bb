/* Robust weights: formulations/robust.py and CorrelationObjective._trusted.
 *
 * Weights and lighting depend on each other over all points. So the scene is sampled once into the workspace, and all
 * further passes read it from there.
 */
#pragma once
#include "sampling.h"
#include "sums.h"

/* The gain and biases with the best weighted fit z ≈ gain · x + bias. */
typedef struct {
    double gain, bias[MAX_CHANNELS];
} Light;

/* Sums of w z, w x, w x² and w x z over a block of one channel. */
typedef struct {
    double z, x, squares, products;
} LightSums;

static inline LightSums light_sums(const float *w, const float *z, const float *x, int count)
{
    Lanes sum_z = {0}, sum_x = {0}, squares = {0}, products = {0};
    for (int i = 0; i < count; i += LANES)
        for (int h = 0, at = i; h < PARTS; h++, at += WIDTH) {
            vec weight = load_all(w + at), scene = load_all(z + at);
            vec motif = load(x + at, count - at), weighted = weight * motif;
            sum_z.part[h] += weight * scene, sum_x.part[h] += weighted;
            squares.part[h] += weighted * motif, products.part[h] += weighted * scene;
        }
    return (LightSums){total_of(&sum_z), total_of(&sum_x), total_of(&squares), total_of(&products)};
}

static inline double sum_weights(const float *w, int count)
{
    Lanes sum = {0};
    for (int i = 0; i < count; i += LANES)
        for (int h = 0, at = i; h < PARTS; h++, at += WIDTH)
            sum.part[h] += load_all(w + at);
    return total_of(&sum);
}

static Light fit_light(const Problem *p, int channels)
{
    const Workspace *work = &p->work;
    double total = 0, of_motif[MAX_CHANNELS] = {0}, texture = 0, contrast = 0;
    Light light = {0};
    for (int first = 0; first < p->side->count; first += BLOCK) {
        const int count = block_count(p->side->count, first);
        total += sum_weights(work->weight + first, count);
        for (int c = 0; c < channels; c++) {
            LightSums sums = light_sums(work->weight + first, work->z + c * work->row + first,
                                        column_of(p, c, p->parameters) + first, count);
            light.bias[c] += sums.z, of_motif[c] += sums.x;
            texture += sums.squares, contrast += sums.products;
        }
    }
    for (int c = 0; c < channels; c++) {
        texture -= of_motif[c] * of_motif[c] / total;
        contrast -= light.bias[c] * of_motif[c] / total;
    }
    light.gain = fmax(contrast / texture, p->rules->min_gain);
    for (int c = 0; c < channels; c++)
        light.bias[c] = (light.bias[c] - light.gain * of_motif[c]) / total;
    return light;
}

/* The squared misfit e of each point, in units of the motif, summed over the channels. */
static void measure_misfits(const Problem *p, int channels, const Light *light)
{
    const int n = p->side->count;
    const float scale = 1 / light->gain;
    for (int i = 0; i < padded(n); i += WIDTH) {
        vec sum = {0};
        for (int c = 0; c < channels; c++) {
            vec r = load_all(p->work.z + c * p->work.row + i) - (float)light->bias[c];
            r = scale * r - load(column_of(p, c, p->parameters) + i, n - i);
            sum += r * r;
        }
        store(p->work.squares + i, sum);
    }
}

/* Adds the mistrust Σ w (e / (v + e))² of the points of a block, and minus half of its derivative in v. */
static inline void add_mistrust(const Workspace *work, int first, int count, float v, double *mean, double *slope)
{
    Lanes means = {0}, slopes = {0};
    for (int i = 0; i < count; i += LANES)
        for (int h = 0, at = first + i; h < PARTS; h++, at += WIDTH) {
            vec e = load_all(work->squares + at), of = 1 / (v + e);
            vec mistrust = load_all(work->visible + at) * (e * of) * (e * of);
            means.part[h] += mistrust, slopes.part[h] += mistrust * of;
        }
    *mean += total_of(&means), *slope += total_of(&slopes);
}

/* The scale v at which the mean mistrust is `occluded`, by Newton's method: scale_of() of formulations/robust.py,
 * with its limits on the number of steps and on their length.
 */
static double scale_of(const Problem *p, double total)
{
    const SolverRules *rules = p->rules;
    double v = rules->min_scale;
    for (int step = 0; step < 30; step++) {
        double mean = 0, slope = 0, before = v;
        for (int first = 0; first < p->side->count; first += BLOCK)
            add_mistrust(&p->work, first, block_count(p->side->count, first), v, &mean, &slope);
        mean /= total, slope /= total;
        v = fmax(v + mean * (sqrt(mean / rules->occluded) - 1) / fmax(slope, 1e-300), rules->min_scale);
        if (fabs(v - before) <= 1e-6 * before)
            break;
    }
    return v;
}

/* Samples the scene at all points into the workspace. Returns the number of visible points. */
static double sample_all(const Problem *p, const double F[9], int channels)
{
    const Workspace *work = &p->work;
    ALIGNED float z[MAX_CHANNELS][BLOCK];
    Level level = {0};
    double total = 0;
    for (int first = 0; first < p->side->count; first += BLOCK) {
        const int count = block_count(p->side->count, first);
        int visible = sample_block(p, F, first, count, channels, z, work->visible + first);
        if (visible)
            take_level(channels, count, visible, work->visible + first, z, &level);
        for (int c = 0; c < channels; c++)
            memcpy(work->z + c * work->row + first, z[c], padded(count) * sizeof(float));
        total += visible;
    }
    return total;
}

/* The weight of each point, its visibility times the trust in it; computed alternately with the light. */
static void find_weights(const Problem *p, int channels, double total)
{
    const Workspace *work = &p->work;
    memcpy(work->weight, work->visible, work->row * sizeof(float));
    for (int round = 0; round < p->rules->rounds; round++) {
        const Light light = fit_light(p, channels);
        measure_misfits(p, channels, &light);
        const float v = scale_of(p, total);
        for (int i = 0; i < padded(p->side->count); i += WIDTH) {
            vec far = 1 + load_all(work->squares + i) / v;
            store(work->weight + i, load_all(work->visible + i) / (far * far));
        }
    }
}

/* As linearise_plain() in align.c, with robust weights. */
static void linearise_robust(const Problem *p, const double F[9], int channels, Evaluation *out)
{
    const Workspace *work = &p->work;
    ALIGNED float z[MAX_CHANNELS][BLOCK], wz[MAX_CHANNELS][BLOCK];
    Sums sums = {0};
    WeightedSums known;
    const double total = sample_all(p, F, channels);
    out->cost = INFINITY, out->failure = OUTSIDE;
    if (!(total >= p->rules->min_visible * p->side->count))
        return;
    find_weights(p, channels, total);
    for (int first = 0; first < p->side->count; first += BLOCK) {
        const int count = block_count(p->side->count, first);
        for (int c = 0; c < channels; c++)
            for (int i = 0; i < padded(count); i += WIDTH) {
                vec v = load_all(work->z + c * work->row + first + i);
                store(z[c] + i, v);
                store(wz[c] + i, v * load_all(work->weight + first + i));
            }
        weigh_block(p, channels, first, count, work->weight + first, &known);
        add_block(p, channels, first, count, &known, z, wz, &sums);
    }
    finish(p, channels, &sums, out);
}
