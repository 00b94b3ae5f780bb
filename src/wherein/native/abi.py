"""The constants and enumerations of the C library, as in abi.h.

`abi_check` compares them with those that a library reports. Only the standard library is imported, because
the build of a wheel uses them, too.
"""

from enum import IntEnum

ABI = 1
"""Version number. Increase it with a change that names and sizes do not show, such as that of a unit."""

MAX_CHANNELS = 4
"""Maximum number of channels of a scene in `align`: C has arrays of this size on its stack."""

MAX_PARAMETERS = 8
"""Maximum number of parameters of a motion, for the same reason."""

SCREEN_SPAN = 32
"""Number of floats that `screen` may read from a place on; pictures are padded by as many to the right."""

DIRECTIONS = 8
"""Number of channels of oriented gradients."""

LOOK_SPAN = 64
"""Number of bytes that `look` may read from a place on."""

LOOK_ROWS = 8
"""Number of rows of a tile of `look`: tiles have `LOOK_ROWS` × `LOOK_SPAN` places."""

STEERING = 64
"""Number of steps of a full turn to which rotations are rounded for a rating: 6° each, far less than the 45°
between two directions."""

STATUSES = ("CONVERGED", "STEP_LIMIT", "DIVERGED", "OUTSIDE", "FLAT")
"""Names of `wherein.solve.solution.Status` in the order of C's numbers."""

DONE, NO_MEMORY = 0, -1
"""Return values of C functions."""


class MotionKind(IntEnum):
    """A motion model that C implements."""

    TRANSLATION = 0
    EUCLIDEAN = 1
    SIMILARITY = 2
    AFFINE = 3
    HOMOGRAPHY = 4

    @property
    def parameters(self) -> int:
        """The number of parameters."""
        return _PARAMETERS[self]


_PARAMETERS = {
    MotionKind.TRANSLATION: 2,
    MotionKind.EUCLIDEAN: 3,
    MotionKind.SIMILARITY: 4,
    MotionKind.AFFINE: 6,
    MotionKind.HOMOGRAPHY: 8,
}
