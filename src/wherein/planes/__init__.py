"""A flat motif anywhere in a scene, at any rotation, size and tilt: by channels of oriented gradients."""
