"""The demonstration: templates of a tin robot and a pressure gauge, and scenes with known true poses.

`tools/robot` and `tools/gauge` in the repository draw the templates; the wheel contains only their pictures.
"""

from pathlib import Path

ROBOT = Path(__file__).parent / "robot"
"""The folder of the robot's template."""

GAUGE = Path(__file__).parent / "gauge"
"""The folder of the gauge's template."""
