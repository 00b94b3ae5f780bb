"""Search and fit of a flat motif at any place, rotation, size and tilt, by channels of oriented gradients."""
