"""Registration: `register` finds one motif in one scene, and `certainty` checks the result."""
