"""The network of the paper (algorithm 1), and its calibration."""
