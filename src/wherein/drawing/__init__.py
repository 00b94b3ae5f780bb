"""Drawings of results: everything that paints lines, letters and colours on a picture is here."""
