"""Fuzzing of everything that reads input, with mutated pictures, templates, archives, annotations,
calibrations and requests: `python -m tools.fuzz --help`."""
