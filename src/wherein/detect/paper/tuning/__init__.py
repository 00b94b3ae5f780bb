"""Calibration of the paper's network without a person (appendix A.4): bottom-up, on painted scenes.

The template is painted into clutter in other poses. Each leaf descends from starts around where it is: that
tells its stride, and at which cost it is found. Where else its cost is least tells what must not be found. α
and γ lie between, and make the spikes that the node above is measured on, up to the root and its threshold.
"""

from wherein.detect.paper.tuning.measure_network import calibrate_paper
from wherein.detect.paper.tuning.paper_model import PaperCalibration

__all__ = ["PaperCalibration", "calibrate_paper"]
