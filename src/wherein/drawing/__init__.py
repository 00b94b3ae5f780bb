"""Drawings of results: all code that paints lines, text and colours on pictures."""
