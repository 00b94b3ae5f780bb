"""The suite "real": wherein on real photographs, compared with methods of OpenCV in the same run."""
