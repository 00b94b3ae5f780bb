"""Draws the template of the demonstration, a tin robot: `python -m tools.robot OUT_FOLDER`."""
