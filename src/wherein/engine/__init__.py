"""Many scenes: searched here, in several processes, or on a Ray cluster, with the same results."""
