"""The detector: finds every instance of a template in a scene, and the pose of every part."""

from wherein.detect.calibration.measure import calibrate
from wherein.detect.calibration.model import Calibration
from wherein.detect.detector import Detector
from wherein.detect.placed_part import PartFound
from wherein.detect.result import Detection, Detections
from wherein.detect.tracker import Tracker

__all__ = ["Calibration", "Detection", "Detections", "Detector", "PartFound", "Tracker", "calibrate"]
