"""Pictures that are too large for memory: they are read by region."""
