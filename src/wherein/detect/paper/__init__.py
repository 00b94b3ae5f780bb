"""The paper's network (algorithm 1), its detections, and its calibration."""
