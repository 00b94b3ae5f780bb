"""The demonstration: the template of a tin robot, a scene with three of them, and their pose errors.

`tools/robot` in the repository draws the robot; the wheel has only its pictures.
"""

from pathlib import Path

ROBOT = Path(__file__).parent / "robot"
"""The folder with the robot's template.json and pictures."""
