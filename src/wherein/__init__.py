"""wherein finds where in a picture a thing is, by optimisation over transformations."""

from wherein.errors import ArgumentError, PictureError, WhereinError
from wherein.register import Registration, register
from wherein.solve import Status

__version__ = "0.1.0"

__all__ = ["ArgumentError", "PictureError", "Registration", "Status", "WhereinError", "register"]
