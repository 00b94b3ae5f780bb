"""Output on a terminal: progress bars, and results as a table."""
