"""Motion models: which transformations of the plane are allowed."""

from wherein.motion.models import (
    MOTIONS,
    Affine,
    Euclidean,
    Homography,
    Motion,
    Similarity,
    Translation,
    motion_named,
    rotation,
)

__all__ = [
    "MOTIONS",
    "Affine",
    "Euclidean",
    "Homography",
    "Motion",
    "Similarity",
    "Translation",
    "motion_named",
    "rotation",
]
