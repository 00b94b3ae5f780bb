"""What the search saw and how a fit converged, for people."""
