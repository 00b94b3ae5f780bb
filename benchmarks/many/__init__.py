"""Many scenes: throughput of workers, recovery of killed runs, long runs."""
