"""The pose of every part, from the pose of the object and the angles of its joints.

The frame of a part is the matrix canvas → scene. The frame of the root is the pose of the object. The frame
of a part that is turned by the angle t about its joint q is a rotation about q, followed by the frame of its
parent:

    F_part = F_parent · R(t; q),        matrix of a leaf = F_part · rest.

Hence a part moves with all its ancestors, and q is the position of the joint on the canvas at rest. If the
canvas shows the object at an angle (`Tree.plane`), R turns in the plane of the object.
"""

import math
from collections.abc import Mapping

import numpy as np

from wherein.errors import require
from wherein.motion.homography import rotations
from wherein.template.tree import Matrix, Point, Tree


def rotation(degrees: float, about: Point = (0.0, 0.0)) -> Matrix:
    """The matrix of a rotation about a point; positive angles turn x towards y."""
    return rotations(np.array(float(degrees)), about)


def placed(degrees: float, scale: float, at: Point, centre: Point) -> Matrix:
    """The matrix that rotates and scales about `centre` and moves `centre` to `at`."""
    matrix = rotation(degrees)
    matrix[:2, :2] *= scale
    matrix[:2, 2] = np.array(at) - matrix[:2, :2] @ np.array(centre)
    return matrix


def tilted(degrees: float, axis: float, distance: float, centre: Point) -> Matrix:
    """The homography that tilts a plane about an axis through `centre`, as seen by a camera in front of it.

    Arguments:
        degrees: of the tilt.
        axis: direction of the foreshortening in degrees, from x towards y.
        distance: of the camera from the centre, in pixels of the plane.
        centre: the point that stays where it is.
    """
    # Turning the plane by θ about the y axis takes (x, y) to (x cos θ, y) at the depth d + x sin θ from a
    # camera at distance d. Dividing by depth / d gives x' = x cos θ / (1 + x sin θ / d), y' = y / (1 + …).
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    foreshortened = np.array(((c, 0, 0), (0, 1, 0), (s / distance, 0, 1)))
    turn, (x, y) = rotation(axis), centre
    there = np.array(((1, 0, x), (0, 1, y), (0, 0, 1.0)))
    return np.asarray(there @ turn @ foreshortened @ turn.T @ np.linalg.inv(there))


def frames(tree: Tree, root: Matrix, turns: Mapping[str, float]) -> dict[str, Matrix]:
    """The frame of every part, canvas → scene.

    Arguments:
        tree: the parts.
        root: the frame of the root.
        turns: the angle of each joint in degrees, by the part's name; 0 for parts that are not named.

    Raises:
        ArgumentError: a part in `turns` does not exist, or is static.
    """
    for name, degrees in turns.items():
        require(name in tree, f'there is no part "{name}": the parts are {", ".join(sorted(tree))}')
        require(not (degrees and tree[name].static), f'the part "{name}" is static: it cannot be turned')
    found: dict[str, Matrix] = {}
    for name, part in tree.items():
        found[name] = root if part.parent is None else found[part.parent]
        if turns.get(name):  # skipped for 0, so that a part at rest has exactly the frame of its parent
            found[name] = found[name] @ tree.turned(name, turns[name])
    return found


def matrices(tree: Tree, root: Matrix, turns: Mapping[str, float]) -> dict[str, Matrix]:
    """The matrix of every part: its own pixels → scene, or canvas → scene for a group."""
    return {name: frame @ tree[name].rest for name, frame in frames(tree, root, turns).items()}
