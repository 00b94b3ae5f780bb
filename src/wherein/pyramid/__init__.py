"""Scene and motif at every scale, the search of a whole scene, and the descent of poses at one scale."""
