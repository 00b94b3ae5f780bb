"""Scene and motif at every scale, and the descent of poses from the coarsest to full size."""
