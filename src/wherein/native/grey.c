/* Grey pictures that are stored in three equal colours. */
#include <string.h>

#include "abi.h"

enum { SAMPLES = 3, AT_ONCE = 64 }; /* of a pixel; pixels that are compared together */

/* Copies the first sample of each pixel of `pixels`, (height, width, SAMPLES), to `out`, and sets `grey` to whether all
 * samples of each pixel are equal; if they are not, `out` is incomplete.
 *
 * Each sample is compared with the next one in memory; `within` leaves out the last of each pixel.
 */
int wherein_grey_plane(const uint8_t *pixels, int32_t height, int32_t width, uint8_t *out, int32_t *grey)
{
    const int64_t count = (int64_t)height * width;
    uint8_t within[SAMPLES * AT_ONCE];
    for (int i = 0; i < SAMPLES * AT_ONCE; i++)
        within[i] = i % SAMPLES == SAMPLES - 1 ? 0 : 255;
    *grey = 0;
    for (int64_t first = 0; first < count; first += AT_ONCE) {
        const uint8_t *from = pixels + SAMPLES * first;
        const int here = count - first < AT_ONCE ? (int)(count - first) : AT_ONCE;
        uint8_t differs = 0;
        /* The last sample of the picture has no next one. */
        if (count - first > AT_ONCE)
            for (int i = 0; i < SAMPLES * AT_ONCE; i++)
                differs |= (from[i] ^ from[i + 1]) & within[i];
        else
            for (int i = 0; i < SAMPLES * here - 1; i++)
                differs |= (from[i] ^ from[i + 1]) & within[i];
        if (differs)
            return DONE;
        for (int i = 0; i < here; i++)
            out[first + i] = from[SAMPLES * i];
    }
    *grey = 1;
    return DONE;
}
