"""Joints: where a piece keeps to them, and the placement of pieces about them."""
