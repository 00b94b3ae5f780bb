"""Automatic calibration of the paper's network on synthetic scenes, from the leaves to the root (A.4).

The template is painted over clutter in other poses. Each leaf is registered from starts around its true pose,
which gives its stride and the costs at which it is found. The lowest costs elsewhere must not count as found:
α and γ lie between. With these the leaves make the maps on which the node above is measured, and so on up to
the root and its threshold.
"""

from wherein.detect.paper.tuning.measure_network import calibrate_paper
from wherein.detect.paper.tuning.paper_model import PaperCalibration

__all__ = ["PaperCalibration", "calibrate_paper"]
