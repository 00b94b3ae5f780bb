/* The first look for many motifs in one call: planes/look/shared_look.py in C.
 *
 * look.c has the functions for one motif. Here they are called for one motif after the other with the same memory, and
 * only the best few places of each motif are kept.
 */
#include <stdlib.h>

#include "abi.h"

typedef struct {
    uint16_t *best, *which;
    float *ratings;
    int32_t *at;
} Scratch;

/* Inserts a place into a list sorted by descending rating. Of equal ratings, the place inserted first stays first.
 * Returns the new length of the list.
 */
static int insert(const BestPlaces *out, int64_t begin, int count, float rating, int32_t at, int32_t which)
{
    int to = count < out->keep ? count : out->keep - 1;
    if (count == out->keep && rating <= out->ratings[begin + to])
        return count;
    for (; to > 0 && out->ratings[begin + to - 1] < rating; to--) {
        out->ratings[begin + to] = out->ratings[begin + to - 1];
        out->at[begin + to] = out->at[begin + to - 1];
        out->which[begin + to] = out->which[begin + to - 1];
    }
    out->ratings[begin + to] = rating, out->at[begin + to] = at, out->which[begin + to] = which;
    return count < out->keep ? count + 1 : count;
}

static int look_for(const uint8_t *first, const LookPlaces *places, const int64_t *table, const ManyMotifs *motifs,
                    int number, const Scratch *s, const BestPlaces *out)
{
    const int32_t *offsets = motifs->offsets + (int64_t)number * motifs->templates * motifs->features;
    int32_t peaks = 0;
    wherein_look(first, places, offsets, motifs->templates, motifs->features, s->best, s->which);
    wherein_rate_places(places, s->best, table, motifs->windows[number], motifs->quiet, s->ratings);
    if (wherein_peaks(s->ratings, places->height, places->width, s->at, &peaks) != DONE)
        return NO_MEMORY;
    const int64_t begin = (int64_t)number * out->keep;
    int count = 0;
    for (int i = 0; i < peaks; i++) {
        const int32_t at = s->at[i], y = at / places->width, x = at % places->width;
        count = insert(out, begin, count, s->ratings[at], at, s->which[(int64_t)y * places->row + x]);
    }
    for (; count < out->keep; count++)
        out->ratings[begin + count] = 0, out->at[begin + count] = 0, out->which[begin + count] = 0;
    return DONE;
}

/* The best places for each of many motifs at one level of a scene, the highest rating first; unused entries are 0. */
int wherein_look_many(const uint8_t *first, const LookPlaces *places, const int64_t *table, const ManyMotifs *motifs,
                      const BestPlaces *out)
{
    const int64_t row = (int64_t)places->height * places->row, count = (int64_t)places->height * places->width;
    Scratch s = {.best = malloc(row * sizeof *s.best), .which = malloc(row * sizeof *s.which),
                 .ratings = malloc(count * sizeof *s.ratings), .at = malloc(count * sizeof *s.at)};
    int result = s.best && s.which && s.ratings && s.at ? DONE : NO_MEMORY;
    for (int number = 0; number < motifs->count && result == DONE; number++)
        result = look_for(first, places, table, motifs, number, &s, out);
    free(s.best), free(s.which), free(s.ratings), free(s.at);
    return result;
}
