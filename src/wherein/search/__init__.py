"""One motif, every place."""
