"""Many scenes: throughput of workers, runs that are killed, long runs."""
