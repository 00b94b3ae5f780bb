"""The demonstration: the templates of a tin robot and of a pressure gauge, scenes with them, and what is true
there.

`tools/robot` and `tools/gauge` in the repository draw them; the wheel has only their pictures.
"""

from pathlib import Path

ROBOT = Path(__file__).parent / "robot"
"""The folder with the robot's template.json and pictures."""

GAUGE = Path(__file__).parent / "gauge"
"""The folder with the gauge's template.json and pictures."""
