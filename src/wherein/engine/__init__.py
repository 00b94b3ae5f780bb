"""Searching many scenes in this process, in several processes, or on a Ray cluster: with equal results."""
