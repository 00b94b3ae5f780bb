"""The enumerations that C and Python share, against what they stand for."""

from wherein.formulations.motif_side import MOTION_KINDS
from wherein.motion import MOTIONS
from wherein.native import abi
from wherein.solve.solution import Status


def test_every_motion_and_status_has_its_like_in_c() -> None:
    assert {type(motion) for motion in MOTIONS.values()} == MOTION_KINDS.keys()
    assert len(set(MOTION_KINDS.values())) == len(MOTION_KINDS) == len(abi.MotionKind)
    for motion in MOTIONS.values():
        kind = MOTION_KINDS[type(motion)]
        assert (kind.name.lower(), kind.parameters) == (motion.name, motion.size)
    assert max(motion.size for motion in MOTIONS.values()) == abi.MAX_PARAMETERS
    assert {status.name for status in Status} == set(abi.STATUSES)
