"""Turns as a person sees them in the photograph of a template, and in the plane of the object.

The places of two marks on a dial that was photographed at an angle give the angle between them in the
picture. The turn of a needle from one to the other is measured in the plane of the dial, where it differs.
"""

import numpy as np
from numpy.typing import NDArray

from wherein.motion.homography import mapped, rotations
from wherein.template.bundle import Template


def plane_turn(template: Template, name: str, degrees: float) -> float:
    """The turn of a part in the plane of the object at which its tip appears turned by `degrees` on the
    canvas."""
    plane, (joint, tip) = template.parts.plane, _arm(template, name)
    if plane is None:
        return degrees
    there = mapped(rotations(np.array(degrees), joint), tip)
    return _nearest(_between(*mapped(plane, np.stack((joint, tip, there)))), degrees)


def picture_turn(template: Template, name: str, degrees: float) -> float:
    """The inverse of `plane_turn`."""
    joint, tip = _arm(template, name)
    if template.parts.plane is None:
        return degrees
    return _nearest(_between(joint, tip, mapped(template.parts.turned(name, degrees), tip)), degrees)


def _arm(template: Template, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The joint of a part and its tip, the point of its outline that is farthest from the joint, on the
    canvas."""
    part = template.parts[name]
    outline, joint = template.outlines[name] + np.array(part.at), np.array(part.joint)
    return joint, outline[int(np.argmax(np.linalg.norm(outline - joint, axis=1)))]


def _between(joint: NDArray[np.float64], before: NDArray[np.float64], after: NDArray[np.float64]) -> float:
    """The angle in degrees from one point to another, seen from the joint."""
    (x0, y0), (x1, y1) = before - joint, after - joint
    return float(np.degrees(np.arctan2(y1, x1) - np.arctan2(y0, x0)))


def _nearest(degrees: float, to: float) -> float:
    """The angle plus full turns, as near as possible to another."""
    return degrees + 360.0 * round((to - degrees) / 360.0)
