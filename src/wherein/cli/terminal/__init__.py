"""What people see on a terminal: progress bars, and results as a table."""
