"""Fuzzing: mutated pictures, templates, archives, calibrations and requests, against everything that reads
them. `python -m tools.fuzz --help`."""
