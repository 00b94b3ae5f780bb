"""What the first search sees, and how the fits converge: for people to look at."""
