"""The structs of the C library, as in abi.h; `abi_check` compares their layout with that of a library.

They must be constructed with the names of all their fields: `ctypes` accepts any other name, too, and sets
missing fields to 0. A search constructs a thousand structs for a scene, so there is no check at run time; a
test reads the sources instead.
"""

import ctypes

_I32, _I64, _F32, _F64, _POINTER = (
    ctypes.c_int32,
    ctypes.c_int64,
    ctypes.c_float,
    ctypes.c_double,
    ctypes.c_void_p,
)


class Planes(ctypes.Structure):
    """A picture in float32; strides are counted in floats."""

    _fields_ = (
        ("pixels", _POINTER),
        ("plane_stride", _I64),
        ("row_stride", _I64),
        ("channels", _I32),
        ("height", _I32),
        ("width", _I32),
    )


class SideArrays(ctypes.Structure):
    """A linearised motif, `MotifSide`, with one row of `count` floats for each coordinate and column."""

    _fields_ = (
        ("centre", _POINTER),
        ("radius", _POINTER),
        ("unit", _POINTER),
        ("points", _POINTER),
        ("known", _POINTER),
        ("motion", _I32),
        ("count", _I32),
    )


class SideRules(ctypes.Structure):
    """The constants that decide which pixels of a motif are compared: see `formulations.motif_side`."""

    _fields_ = (
        ("pure", _F32),
        ("half", _F32),
        ("share", _F32),
        ("inside", _F32),
        ("min_weight", _F32),
        ("limit", _I32),
    )


class SolverRules(ctypes.Structure):
    """The constants of `gauss_newton` and of `CorrelationObjective`."""

    _fields_ = (
        ("damping", _F64),
        ("ease", _F64),
        ("tighten", _F64),
        ("tolerance", _F64),
        ("slack", _F64),
        ("noise", _F64),
        ("min_visible", _F64),
        ("edge", _F64),
        ("max_step", _F64),
        ("min_variance", _F64),
        ("occluded", _F64),
        ("min_scale", _F64),
        ("min_gain", _F64),
        ("rounds", _I32),
        ("max_steps", _I32),
    )


class FitArrays(ctypes.Structure):
    """`count` poses, replaced by the results, and the arrays for their costs, steps and statuses."""

    _fields_ = (
        ("poses", _POINTER),
        ("costs", _POINTER),
        ("steps", _POINTER),
        ("evaluations", _POINTER),
        ("statuses", _POINTER),
        ("count", _I32),
        ("each", _I32),
    )


class ScreenKernels(ctypes.Structure):
    """Correlation kernels as lists of points, one kernel after the other."""

    _fields_ = (
        ("offsets", _POINTER),
        ("values", _POINTER),
        ("counts", _POINTER),
        ("count", _I32),
        ("first", _I32),
    )


class ScreenMaps(ctypes.Structure):
    """The best ZNCC so far at every place, and the number of the kernel that reaches it."""

    _fields_ = (("best", _POINTER), ("which", _POINTER))


class ChannelRules(ctypes.Structure):
    """The parameters of channels of oriented gradients."""

    _fields_ = (
        ("taps", _POINTER),
        ("floor", _F32),
        ("noise", _F32),
        ("window", _I32),
        ("count", _I32),
    )


class PlaneMotifArrays(ctypes.Structure):
    """A flat motif at one resolution: `PlaneMotif`."""

    _fields_ = (
        ("points", _POINTER),
        ("weights", _POINTER),
        ("unsigned_points", _POINTER),
        ("target", _POINTER),
        ("dx", _POINTER),
        ("dy", _POINTER),
        ("hessian", _POINTER),
        ("with_1", _POINTER),
        ("with_t", _POINTER),
        ("weight", _F64),
        ("centre_x", _F64),
        ("centre_y", _F64),
        ("radius", _F64),
        ("count", _I32),
        ("height", _I32),
        ("width", _I32),
        ("margin", _I32),
    )


class PlaneRules(ctypes.Structure):
    """The constants of the fit of a flat motif."""

    _fields_ = (
        ("channels", ChannelRules),
        ("damping", _F64),
        ("ease", _F64),
        ("tighten", _F64),
        ("tolerance", _F64),
        ("extrapolated", _F64),
        ("reach", _F64),
        ("slack", _F64),
        ("max_step", _F64),
        ("min_agreement", _F64),
        ("min_visible", _F64),
        ("min_variance", _F64),
        ("parameters", _I32),
        ("rounds", _I32),
        ("steps", _I32),
        ("levels", _I32),
        ("settles", _I32),
    )


class PlaneFits(ctypes.Structure):
    """`count` poses, replaced by the results, and the arrays for their ZNCC and visible fractions."""

    _fields_ = (
        ("poses", _POINTER),
        ("zncc", _POINTER),
        ("visible", _POINTER),
        ("finest", _POINTER),
        ("count", _I32),
    )


class CoverRules(ctypes.Structure):
    """The constants that decide which cells of a flat motif are occluded."""

    _fields_ = (
        ("agrees", _F64),
        ("connected", _F64),
        ("least", _F64),
        ("most", _F64),
        ("cell", _I32),
        ("rounds", _I32),
    )


class DistinctPoses(ctypes.Structure):
    """Poses of a motif, the best first, and when two of them are the same."""

    _fields_ = (
        ("corners", _POINTER),
        ("middles", _POINTER),
        ("sizes", _POINTER),
        ("zncc", _POINTER),
        ("same_place", _F64),
        ("same_middle", _F64),
        ("worse", _F64),
        ("count", _I32),
    )


class ChannelPicture(ctypes.Structure):
    """The channels of a picture, and which of its pixels lie in the scene."""

    _fields_ = (
        ("channels", _POINTER),
        ("inside", _POINTER),
        ("height", _I32),
        ("width", _I32),
    )


class PoseKinds(ctypes.Structure):
    """Poses of many motifs in many pictures: the motif and the picture of each pose."""

    _fields_ = (
        ("pictures", _POINTER),
        ("motifs", _POINTER),
        ("picture", _POINTER),
        ("motif", _POINTER),
    )


class FeatureMaps(ctypes.Structure):
    """The responses of a scene for each direction and phase."""

    _fields_ = (
        ("responses", _POINTER),
        ("height", _I32),
        ("width", _I32),
        ("margin", _I32),
    )


class LookPlaces(ctypes.Structure):
    """The places of the first search."""

    _fields_ = (
        ("tiles", _POINTER),
        ("stride", _I64),
        ("height", _I32),
        ("width", _I32),
        ("row", _I32),
    )


class ManyMotifs(ctypes.Structure):
    """Motifs that are searched for together."""

    _fields_ = (
        ("offsets", _POINTER),
        ("windows", _POINTER),
        ("count", _I32),
        ("templates", _I32),
        ("features", _I32),
        ("quiet", _F32),
    )


class BestPlaces(ctypes.Structure):
    """The best places of each motif."""

    _fields_ = (
        ("ratings", _POINTER),
        ("at", _POINTER),
        ("which", _POINTER),
        ("keep", _I32),
    )


STRUCTS = (
    Planes,
    SideArrays,
    SideRules,
    SolverRules,
    FitArrays,
    ScreenKernels,
    ScreenMaps,
    ChannelRules,
    PlaneMotifArrays,
    PlaneRules,
    PlaneFits,
    CoverRules,
    DistinctPoses,
    ChannelPicture,
    PoseKinds,
    FeatureMaps,
    LookPlaces,
    ManyMotifs,
    BestPlaces,
)
"""All structs, for `abi_check`."""
