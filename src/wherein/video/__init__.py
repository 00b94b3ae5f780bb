"""Videos and cameras: read frames, detect a template in each, write an annotated video. Needs OpenCV."""
