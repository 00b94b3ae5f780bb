"""Picture files with several frames."""
