/* Which of many poses are different objects: planes/look/pose_filter.py in C. */
#include <math.h>
#include <stdlib.h>

#include "abi.h"

enum { CORNERS = 4 };

/* The largest difference of two lists of coordinates. */
static inline double farthest(const double *a, const double *b, int count)
{
    double most = 0;
    for (int i = 0; i < count; i++)
        most = fmax(most, fabs(a[i] - b[i]));
    return most;
}

/* Greedy non-maximum suppression of `count` poses, the best first: writes the indices of those that are kept to `kept`,
 * at most `most` of them, and returns their number; or NO_MEMORY. The thresholds are those of PoseFilter.distinct().
 */
int wherein_distinct(const DistinctPoses *poses, int32_t most, int32_t *kept, int32_t *number)
{
    const double *corners = poses->corners, *middles = poses->middles, *sizes = poses->sizes, *zncc = poses->zncc;
    uint8_t *dropped = calloc(poses->count + 1, 1);
    if (!dropped)
        return NO_MEMORY;
    *number = 0;
    for (int i = 0; i < poses->count && *number < most; i++) {
        if (dropped[i])
            continue;
        kept[(*number)++] = i;
        for (int j = i + 1; j < poses->count; j++) {
            const double apart = farthest(middles + 2 * j, middles + 2 * i, 2);
            const int near = apart < poses->same_middle * sizes[i] && zncc[j] < poses->worse * zncc[i];
            if (near || farthest(corners + 2 * CORNERS * j, corners + 2 * CORNERS * i, 2 * CORNERS) <=
                            poses->same_place * sizes[j])
                dropped[j] = 1;
        }
    }
    free(dropped);
    return DONE;
}
