/* Oriented gradient channels of a picture: images/channels.py in C. */
#include "channels.h"

/* `out` is (height, width, DIRECTIONS), contiguous. */
int wherein_channels(const Planes *picture, const ChannelRules *rules, float *out)
{
    ChannelBuffers buffers;
    if (make_channel_buffers(&buffers, picture->width, rules) != DONE)
        return NO_MEMORY;
    channels_of(picture, rules, &buffers, keep_channels, out);
    free_channel_buffers(&buffers);
    return DONE;
}
