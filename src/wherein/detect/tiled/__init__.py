"""Scenes that are too large for memory, searched in overlapping tiles."""
