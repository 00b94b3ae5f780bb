"""wherein finds where in a picture a thing is, by optimisation over transformations."""

__version__ = "0.1.0"
