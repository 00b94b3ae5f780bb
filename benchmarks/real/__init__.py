"""The suite "real": wherein on real photographs, beside what OpenCV offers, in one run."""
