"""The detector: from a template and a scene to every instance and the pose of every part."""

from wherein.detect.calibrate import calibrate
from wherein.detect.calibration import Calibration
from wherein.detect.detections import Detection, Detections, PartFound
from wherein.detect.detector import Detector
from wherein.detect.tracking import Tracker

__all__ = ["Calibration", "Detection", "Detections", "Detector", "PartFound", "Tracker", "calibrate"]
