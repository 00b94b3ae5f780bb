"""Checks of a template for properties that make it hard to find, each with a limit and advice.

Size and texture are checked for fitted leaves only. In each piece (leaves that move as one), the detector
fits the leaf with the most texture. The others follow its pose, and are scored at the end.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

from wherein.detect.calibration.lookalikes import MIN_SIMILARITY, self_similarity, similar_parts
from wherein.detect.calibration.measure import SCENE_SIZE
from wherein.detect.fast.pieces import MIN_UNCOVERED, Piece, Pieces, uncovered_mask
from wherein.errors import require
from wherein.making.measures import (
    contrast,
    joint_distance,
    outline_share,
    pixel_count,
    shift_similarity,
    thickness,
)
from wherein.template.bundle import Template


class Severity(StrEnum):
    """How bad a finding is."""

    PROBLEM = "problem"
    """The object will not be found, or with a wrong pose."""

    WARNING = "warning"
    """It will be found less often, or less accurately."""

    NOTE = "note"
    """For information; no action is needed."""


@dataclass(frozen=True)
class Finding:
    """One property of a template that makes it hard to find.

    Attributes:
        severity: how bad it is.
        kind: the check that reports it, for example "too small".
        part: the part concerned; None: the whole template.
        measured: the measured value.
        limit: the minimum or maximum that the value should have; the check decides which.
        unit: the unit of `measured` and `limit`.
        words: the finding as a sentence.
        advice: what to do.
    """

    severity: Severity
    kind: str
    part: str | None
    measured: float
    limit: float
    unit: str
    words: str
    advice: str

    def __str__(self) -> str:
        part = f"{self.part}: " if self.part is not None else ""
        return f"{self.severity}: {part}{self.words}; {self.advice}"

    def to_dict(self) -> dict[str, Any]:
        """The finding as a dictionary for JSON."""
        return asdict(self) | {
            "severity": str(self.severity),
            "measured": round(self.measured, 4),
            "limit": round(self.limit, 4),
        }


PROBLEM, WARNING, NOTE = Severity.PROBLEM, Severity.WARNING, Severity.NOTE


@dataclass(frozen=True)
class _Subject:
    """A template and its pieces, which are computed once for all checks."""

    template: Template

    @cached_property
    def pieces(self) -> Pieces:
        return Pieces.of(self.template)

    @property
    def fitted(self) -> Iterator[tuple[str, Piece]]:
        """Each piece, with the name of its fitted leaf."""
        # The name of the leaf and not of the piece: users know their parts, and not how they are joined.
        for piece in self.pieces.pieces:
            yield piece.fitted_leaf.name, piece


Check = Callable[[_Subject], Iterator[Finding]]


def findings(template: Template) -> list[Finding]:
    """The findings of all checks, the most severe first; an empty list if there are none.

    Example:
        >>> import torch
        >>> from wherein.images.motif import Motif
        >>> grey = Template.rigid("wall", Motif.whole(torch.full((3, 40, 60), 0.5)))
        >>> [(str(f.severity), f.kind) for f in findings(grey)]
        [('problem', 'no texture')]
    """
    given = type(template).__name__
    require(isinstance(template, Template), f"findings are those of a Template, but this is a {given}")
    subject = _Subject(template)
    return by_severity([finding for check in CHECKS for finding in check(subject)])


def by_severity(found: Sequence[Finding]) -> list[Finding]:
    """Findings sorted by severity, the most severe first; the order within a severity is kept."""
    return sorted(found, key=lambda finding: tuple(Severity).index(finding.severity))


_GONE = 0.02
"""Visible fraction below which a part counts as completely hidden. A choice: a rim of a few pixels."""


def _hidden(subject: _Subject) -> Iterator[Finding]:
    for name in subject.template.parts.leaves:
        motif = subject.template.parts[name].motif
        assert motif is not None, "a leaf"
        share = float(uncovered_mask(subject.template, name).sum() / motif.mask.sum())
        if share < MIN_UNCOVERED:
            yield Finding(
                PROBLEM if share < _GONE else WARNING,
                *("hidden", name, share, MIN_UNCOVERED, "of its pixels"),
                f"{1 - share:.0%} of it is covered by parts above it",
                "move it up in the paint order, or remove it",
            )


_OBJECT_PIXELS, _LIMB_PIXELS = (500, 1500), (100, 400)
"""Numbers of pixels below which a search is hopeless, and hard. Measured with squares cut from three
photographs: a calibration found a threshold that separates them from clutter for none of 400 pixels, two of
784, and all of 1600. The lower limits of limbs are a choice: limbs are searched for around their joint
only."""


def _too_small(subject: _Subject) -> Iterator[Finding]:
    """Check each limb by itself, and the object by the sum over all pieces, since their evidence is added."""
    sizes = {name: pixel_count(piece.motif) for name, piece in subject.fitted}
    only = next(iter(sizes)) if len(sizes) == 1 else None  # a single piece is named in the finding
    limbs = [piece.fitted_leaf.name for piece in subject.pieces.limbs]
    limits = [(only, sum(sizes.values()), *_OBJECT_PIXELS), *((n, sizes[n], *_LIMB_PIXELS) for n in limbs)]
    for name, pixels, hopeless, small in limits:
        if pixels < small:
            yield Finding(
                PROBLEM if pixels < hopeless else WARNING,
                *("too small", name, pixels, small, "pixels"),
                f"it has {pixels} pixels, fewer than {small}: clutter can look like it by chance",
                "use a larger picture of it, or a larger outline",
            )


_MIN_THICKNESS = 5
"""Minimum thickness in pixels of a piece for a search in the whole scene."""


def _thin(subject: _Subject) -> Iterator[Finding]:
    for name, piece in subject.fitted:
        across = thickness(piece.motif, _MIN_THICKNESS)
        if across < _MIN_THICKNESS:
            unit = "pixel" if across == 1 else "pixels"
            yield Finding(
                *(WARNING, "thin", name, across, _MIN_THICKNESS, "pixels"),
                f"it is only {across} {unit} thick, less than {_MIN_THICKNESS}",
                "use a larger picture, or merge it with the part beside it",
            )


_FLAT, _FAINT = 0.03, 0.06
"""Contrasts below which a search is hopeless, and hard. Measured: a threshold separated squares of 4096
pixels from clutter at a contrast of 0.047, but not at 0.025, under noise of up to 0.06."""


def _no_texture(subject: _Subject) -> Iterator[Finding]:
    for name, piece in subject.fitted:
        spread = contrast(piece.motif)
        if spread < _FAINT:
            yield Finding(
                PROBLEM if spread < _FLAT else WARNING,
                *("no texture", name, spread, _FAINT, "of the range"),
                f"its contrast is {spread:.3f} of the range from black to white, no more than that of noise",
                "include more detail in the outline: an edge, a print, a seam",
            )


_MAX_OUTLINE = 0.65
"""Share of the compared energy at the outline above which an object is found by its outline only. Measured on
pictures of Tux Paint's stamps: letters and other shapes of one colour have 0.70 to 1, drawn objects and
animals 0.25 to 0.49."""


def _outline_only(subject: _Subject) -> Iterator[Finding]:
    """Check the body only: the search begins with it."""
    body = subject.pieces.body
    share = 0.0 if body is None else outline_share(body.motif)
    if body is not None and share > _MAX_OUTLINE:
        yield Finding(
            *(WARNING, "outline", body.fitted_leaf.name, share, _MAX_OUTLINE, "of what is compared"),
            f"{share:.0%} of what is compared is its outline: it will be found by its shape only, where the "
            "background lets it be seen, and things of a similar shape may be taken for it",
            "include a print, a seam or another detail in the outline, if there is one",
        )


_MAX_SHIFT_ZNCC = 0.9
"""ZNCC of a motif with its shifted copy from which its position is uncertain. A choice: photographs of
objects have 0.1 to 0.7, stripes close to 1."""


def _slides(subject: _Subject) -> Iterator[Finding]:
    """Check the body only: joints hold limbs in place."""
    body = subject.pieces.body
    if body is None or contrast(body.motif) < _FLAT:  # without texture, the ZNCC would be that of noise
        return
    zncc, distance = shift_similarity(body.motif)
    if zncc >= _MAX_SHIFT_ZNCC:
        yield Finding(
            *(WARNING, "slides", body.fitted_leaf.name, zncc, _MAX_SHIFT_ZNCC, "ZNCC"),
            f"it looks the same if shifted by {distance:.0f} pixels (ZNCC {zncc:.2f}): stripes or shading",
            "include the end of the stripes, or another distinctive detail, in the outline",
        )


_AMBIGUOUS, _SAME = 0.8, 0.95
"""ZNCC of a motif with its rotated copy from which noise may decide the angle, and from which only noise
does. Choices."""


def _symmetric(subject: _Subject) -> Iterator[Finding]:
    root, limbs = subject.template.parts.root, bool(subject.pieces.limbs)
    for name, piece in subject.fitted:
        if contrast(piece.motif) < _FLAT:
            continue
        body = piece.name == root
        x, y = piece.joint[0] - piece.fitted_leaf.at[0], piece.joint[1] - piece.fitted_leaf.at[1]
        # A body may have any angle. Two poses of a limb differ by at most twice its turn.
        joint, reach = (None, 180.0) if body else ((x, y), 2 * piece.turn)
        degrees, zncc = self_similarity(piece.motif, joint, reach)
        if zncc < _AMBIGUOUS:
            continue
        decided = body and limbs  # the limbs are not symmetric about the body's centre: they fix its angle
        yield Finding(
            NOTE if decided else PROBLEM if zncc >= _SAME else WARNING,
            *("symmetric", name, zncc, _AMBIGUOUS, "ZNCC"),
            f"it looks the same if rotated by {abs(degrees):.0f}° (ZNCC {zncc:.2f}): its angle may be wrong",
            "no action is needed: its moving parts determine its angle"
            if decided
            else "include a detail that breaks the symmetry in the outline, or do not rely on its angle",
        )


def _look_alike(subject: _Subject) -> Iterator[Finding]:
    for first, second, zncc in similar_parts(subject.template):
        yield Finding(
            *(WARNING, "alike", first, zncc, MIN_SIMILARITY, "ZNCC"),
            f"it looks like {second} (ZNCC {zncc:.2f}): if one is hidden, the other may be mistaken for it",
            "extend an outline to include a detail that only one of them has",
        )


_NEAR_PIXELS, _NEAR_SHARE = 2.0, 0.15
"""Maximum distance of a joint from its part: in pixels, or as a share of the part's diagonal, whichever is
larger. A choice: people do not click more precisely."""


def _far_joint(subject: _Subject) -> Iterator[Finding]:
    for name, part in subject.template.parts.items():
        if not part.moves:
            continue
        distance, size = joint_distance(subject.template, name)
        limit = max(_NEAR_PIXELS, _NEAR_SHARE * size)
        if distance > limit:
            yield Finding(
                *(WARNING, "joint", name, distance, limit, "pixels"),
                f"its joint is {distance:.0f} pixels away from it, but its diagonal is {size:.0f} pixels",
                "set the pivot where the part is attached",
            )


_MINOR = 0.02
"""Share of the object's fitted pixels below which a part adds little to the evidence. A choice."""


def _minor(subject: _Subject) -> Iterator[Finding]:
    sizes = {name: pixel_count(piece.motif) for name, piece in subject.fitted}
    for name, pixels in sizes.items():
        share = pixels / sum(sizes.values())
        if share < _MINOR:
            yield Finding(
                *(NOTE, "minor", name, share, _MINOR, "of the object"),
                f"it is {share:.1%} of the object: it adds little to the score",
                "no action is needed, unless you need the pose of this part",
            )


def _large(subject: _Subject) -> Iterator[Finding]:
    size = max(subject.template.size)
    if size > max(SCENE_SIZE):
        yield Finding(
            *(NOTE, "large", None, size, max(SCENE_SIZE), "pixels"),
            f"it is {size} pixels long: searching for it takes longer, and its scores are calibrated at a "
            "reduced size",
            "downscale the template and the scenes by the same factor, if the accuracy is still sufficient",
        )


def _no_body(subject: _Subject) -> Iterator[Finding]:
    if subject.pieces.body is None:
        yield Finding(
            *(NOTE, "no body", None, 0, 1, "parts"),
            "no part is fixed to the root: the search begins with the moving parts, which takes longer",
            "make the largest part static, if it does not move",
        )


CHECKS: tuple[Check, ...] = (
    _hidden,
    _too_small,
    _thin,
    _no_texture,
    _outline_only,
    _slides,
    _symmetric,
    _look_alike,
    _far_joint,
    _minor,
    _large,
    _no_body,
)
"""All checks, in the order in which findings of one severity are listed."""
