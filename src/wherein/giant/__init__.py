"""Pictures that are too large for memory, read by region."""
