"""Benchmarks: one file a suite, peers measured in the same run, results as JSON and as a table."""
