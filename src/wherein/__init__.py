"""wherein finds objects in pictures and measures their exact pose, by optimisation over transformations."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wherein.detect.calibration.model import Calibration
    from wherein.detect.detector import Detector
    from wherein.detect.result import Detection, Detections
    from wherein.detect.tracker import Tracker
    from wherein.errors import ArgumentError, MissingError, PictureError, TemplateError, WhereinError
    from wherein.registration.certainty import certainty
    from wherein.registration.register import Registration, register
    from wherein.solve.solution import Status
    from wherein.template.bundle import Template

__version__ = "0.1.0"

__all__ = [
    "ArgumentError",
    "Calibration",
    "Detection",
    "Detections",
    "Detector",
    "MissingError",
    "PictureError",
    "Registration",
    "Status",
    "Template",
    "TemplateError",
    "Tracker",
    "WhereinError",
    "certainty",
    "register",
]

_MODULES = {
    "Calibration": "wherein.detect",
    "Detection": "wherein.detect",
    "Detections": "wherein.detect",
    "Detector": "wherein.detect",
    "Tracker": "wherein.detect",
    "ArgumentError": "wherein.errors",
    "MissingError": "wherein.errors",
    "PictureError": "wherein.errors",
    "TemplateError": "wherein.errors",
    "WhereinError": "wherein.errors",
    "Registration": "wherein.registration.register",
    "certainty": "wherein.registration.certainty",
    "register": "wherein.registration.register",
    "Status": "wherein.solve",
    "Template": "wherein.template",
}


def __getattr__(name: str) -> Any:
    """Import a public name at its first use: importing torch takes seconds, `wherein --help` must not."""
    if name not in _MODULES:
        raise AttributeError(f"module 'wherein' has no attribute {name!r}")
    value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
