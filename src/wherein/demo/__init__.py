"""The template that the demonstration looks for: a tin robot, drawn by `wherein.demo.draw`."""

from pathlib import Path

ROBOT = Path(__file__).parent / "robot"
"""The folder with its template.json and pictures."""
