"""Detections in the formats of others, a file a format; `Detections` has a method for each."""
