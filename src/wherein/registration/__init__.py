"""register(): one motif in one scene."""
