"""Runs an experiment: its tasks in parallel, each result kept as soon as it is there, then the files."""
