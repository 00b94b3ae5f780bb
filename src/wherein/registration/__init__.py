"""Registration: `register`, which finds one motif in one scene, and `certainty`, which checks the result."""
