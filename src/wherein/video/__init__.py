"""Videos and cameras: frames in, annotated videos out. OpenCV does the decoding, where it is installed."""
