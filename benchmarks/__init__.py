"""Benchmarks: wherein and its peers, measured in the same run; results as JSON and as tables."""
