"""Draws the second template of the demonstration, a pressure gauge: `python -m tools.gauge OUT_FOLDER`."""
