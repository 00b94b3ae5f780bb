"""Videos and cameras: reading frames, detecting in each frame, writing annotated videos. Needs OpenCV."""
