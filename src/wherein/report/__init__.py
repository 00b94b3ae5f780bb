"""Results as things to look at."""
