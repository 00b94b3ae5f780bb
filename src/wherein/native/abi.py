"""The constants and enumerations of the C library, as in abi.h.

`abi_check` compares them with what a library says of itself. Only the standard library is imported: the build
of a wheel uses them too.
"""

from enum import IntEnum

ABI = 1
"""Raised with a change that neither names nor sizes show, say of a unit."""

MAX_CHANNELS = 4
"""Of a scene that is aligned with: C keeps arrays of this size on its stack."""

MAX_PARAMETERS = 8
"""Of a motion, likewise."""

SCREEN_SPAN = 32
"""How many floats `screen` may read from a place on: a picture must be padded by so many to the right."""

DIRECTIONS = 8
"""Channels of oriented gradients."""

LOOK_SPAN = 64
"""How many bytes `look` may read from a place on."""

LOOK_ROWS = 8
"""Tiles of a look are `LOOK_ROWS` × `LOOK_SPAN` places."""

STEERING = 64
"""Steps of a full turn to which a pose is rounded when it is rated: 6°, far less than a direction."""

STATUSES = ("CONVERGED", "STEP_LIMIT", "DIVERGED", "OUTSIDE", "FLAT")
"""Names of how a fit ended, in the order of C's numbers: names of `wherein.solve.solution.Status`."""

DONE, NO_MEMORY = 0, -1
"""What a function returns."""


class MotionKind(IntEnum):
    """A motion model that C knows."""

    TRANSLATION = 0
    EUCLIDEAN = 1
    SIMILARITY = 2
    AFFINE = 3
    HOMOGRAPHY = 4

    @property
    def parameters(self) -> int:
        """How many parameters it has."""
        return _PARAMETERS[self]


_PARAMETERS = {
    MotionKind.TRANSLATION: 2,
    MotionKind.EUCLIDEAN: 3,
    MotionKind.SIMILARITY: 4,
    MotionKind.AFFINE: 6,
    MotionKind.HOMOGRAPHY: 8,
}
