"""The search of scenes that are too large for memory, in overlapping tiles."""
