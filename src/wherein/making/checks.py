"""What will make a template hard to find: every check, its limit, and what to do about it.

Only what is fitted is asked for size and texture: of the leaves that move as one, that with the most
texture. The others follow it, and are looked at in the end.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from wherein.detect.calibration.lookalikes import ALIKE, alike, self_alike
from wherein.detect.calibration.measure import SIZE
from wherein.detect.fast.pieces import LEAST_VISIBLE, Piece, Pieces, uncovered
from wherein.making.finding import Finding, Severity
from wherein.making.measures import area, contrast, off_joint, sliding, thickness
from wherein.template.bundle import Template

PROBLEM, WARNING, NOTE = Severity.PROBLEM, Severity.WARNING, Severity.NOTE


@dataclass(frozen=True)
class _Subject:
    """A template, and what moves as one in it."""

    template: Template

    @cached_property
    def pieces(self) -> Pieces:
        return Pieces.of(self.template)

    @property
    def fitted(self) -> Iterator[tuple[str, Piece]]:
        """Each piece, by the leaf that it is found by."""
        for piece in self.pieces.pieces:
            yield piece.fitted_leaf.name, piece


Check = Callable[[_Subject], Iterator[Finding]]


def findings(template: Template) -> list[Finding]:
    """Everything that will make a template hard to find, the worst first; nothing where all is well.

    Example:
        >>> import torch
        >>> from wherein.images.motif import Motif
        >>> grey = Template.rigid("wall", Motif.whole(torch.full((3, 40, 60), 0.5)))
        >>> [(str(f.severity), f.kind) for f in findings(grey)]
        [('problem', 'no texture')]
    """
    subject = _Subject(template)
    found = [finding for check in CHECKS for finding in check(subject)]
    return sorted(found, key=lambda finding: tuple(Severity).index(finding.severity))


_GONE = 0.02
"""The visible share below which a part counts as hidden wholly."""


def _hidden(subject: _Subject) -> Iterator[Finding]:
    for name in subject.template.parts.leaves:
        motif = subject.template.parts[name].motif
        assert motif is not None, "a leaf"
        share = float(uncovered(subject.template, name).sum() / motif.mask.sum())
        if share < LEAST_VISIBLE:
            yield Finding(
                PROBLEM if share < _GONE else WARNING,
                *("hidden", name, share, LEAST_VISIBLE, "of its pixels"),
                f"{1 - share:.0%} of it lies under parts that are painted after it",
                "move it up in the paint order, or leave it out",
            )


_WHOLE, _LIMB = (500, 1500), (100, 400)
"""Pixels below which it is hopeless, and below which it is small. Of squares cut from three photographs none
of 400 pixels, two of 784 and all of 1600 were calibrated to a threshold that separates them from clutter. A
limb is looked for about its joint only."""


def _too_small(subject: _Subject) -> Iterator[Finding]:
    """Limbs one by one; all pieces together, since their evidence adds up."""
    sizes = {name: area(piece.motif) for name, piece in subject.fitted}
    whole, alone = sum(sizes.values()), next(iter(sizes)) if len(sizes) == 1 else None
    asked = [
        (alone, whole, *_WHOLE),
        *((piece.fitted_leaf.name, sizes[piece.fitted_leaf.name], *_LIMB) for piece in subject.pieces.limbs),
    ]
    for name, pixels, hopeless, small in asked:
        if pixels < small:
            yield Finding(
                PROBLEM if pixels < hopeless else WARNING,
                *("too small", name, pixels, small, "pixels"),
                f"it has {pixels} pixels, fewer than {small}: other things look like it by chance",
                "take a larger picture of it, or a part with more around it",
            )


_THIN = 5
"""Pixels across that the detector asks of what it looks for first."""


def _thin(subject: _Subject) -> Iterator[Finding]:
    for name, piece in subject.fitted:
        across = thickness(piece.motif, _THIN)
        if across < _THIN:
            yield Finding(
                *(WARNING, "thin", name, across, _THIN, "pixels"),
                f"it is {across} pixels across at its thickest, less than {_THIN}",
                "take a larger picture, or make it one part with its neighbour",
            )


_FLAT, _FAINT = 0.03, 0.06
"""Squares of 4096 pixels were told from clutter at 0.047 and not at 0.025, under noise of up to 0.06."""


def _no_texture(subject: _Subject) -> Iterator[Finding]:
    for name, piece in subject.fitted:
        spread = contrast(piece.motif)
        if spread < _FAINT:
            yield Finding(
                PROBLEM if spread < _FLAT else WARNING,
                *("no texture", name, spread, _FAINT, "of the range"),
                f"its levels vary by {spread:.3f} of the range from black to white: noise does so too",
                "let the outline hold more of what is seen on it: an edge, a print, a seam",
            )


_SLIDES = 0.9
"""ZNCC; photographs of things have 0.1 to 0.7."""


def _slides(subject: _Subject) -> Iterator[Finding]:
    """Limbs are held by their joints."""
    body = subject.pieces.body
    if body is None or contrast(body.motif) < _FLAT:
        return
    zncc, reach = sliding(body.motif)
    if zncc >= _SLIDES:
        yield Finding(
            *(WARNING, "slides", body.fitted_leaf.name, zncc, _SLIDES, "ZNCC"),
            f"shifted by {reach:.0f} pixels it looks the same (ZNCC {zncc:.2f}): stripes, or smooth shading",
            "let the outline hold an end of the stripes, or another mark",
        )


_AMBIGUOUS, _SAME = 0.8, 0.95
"""ZNCC from which noise can make the difference, and from which nothing is left to tell the angle by."""


def _symmetric(subject: _Subject) -> Iterator[Finding]:
    root, limbs = subject.template.parts.root, bool(subject.pieces.limbs)
    for name, piece in subject.fitted:
        if contrast(piece.motif) < _FLAT:
            continue
        body = piece.name == root
        x, y = piece.joint[0] - piece.fitted_leaf.at[0], piece.joint[1] - piece.fitted_leaf.at[1]
        # Two poses of a limb are up to twice its turn apart.
        degrees, zncc = self_alike(piece.motif) if body else self_alike(piece.motif, (x, y), 2 * piece.turn)
        if zncc < _AMBIGUOUS:
            continue
        held = body and limbs
        yield Finding(
            NOTE if held else PROBLEM if zncc >= _SAME else WARNING,
            *("symmetric", name, zncc, _AMBIGUOUS, "ZNCC"),
            f"turned by {abs(degrees):.0f}° it looks much the same (ZNCC {zncc:.2f}): its angle may be wrong",
            "the parts that hang on it decide its angle"
            if held
            else "let the outline hold a mark that breaks the symmetry, or do not rely on its angle",
        )


def _look_alike(subject: _Subject) -> Iterator[Finding]:
    for first, second, zncc in alike(subject.template):
        yield Finding(
            *(WARNING, "alike", first, zncc, ALIKE, "ZNCC"),
            f"it looks like {second} (ZNCC {zncc:.2f}): where one is hidden, the other may be taken for it",
            "let an outline hold a mark that only one of them has",
        )


_NEAR, _FAR = 2.0, 0.15
"""Pixels beside a part, and share of its diagonal, up to which a joint counts as at its edge."""


def _far_joint(subject: _Subject) -> Iterator[Finding]:
    for name, part in subject.template.parts.items():
        if not part.moves:
            continue
        distance, size = off_joint(subject.template, name)
        limit = max(_NEAR, _FAR * size)
        if distance > limit:
            yield Finding(
                *(WARNING, "joint", name, distance, limit, "pixels"),
                f"its joint is {distance:.0f} pixels away from it, and it is {size:.0f} pixels large",
                "set the pivot where the part is held",
            )


_MINOR = 0.02
"""Share of the object's pixels."""


def _minor(subject: _Subject) -> Iterator[Finding]:
    sizes = {name: area(piece.motif) for name, piece in subject.fitted}
    for name, pixels in sizes.items():
        share = pixels / sum(sizes.values())
        if share < _MINOR:
            yield Finding(
                *(NOTE, "minor", name, share, _MINOR, "of the object"),
                f"it is {share:.1%} of the object: it adds little to how sure a find is",
                "nothing, unless it is to be found by itself",
            )


def _large(subject: _Subject) -> Iterator[Finding]:
    size = max(subject.template.size)
    if size > max(SIZE):
        yield Finding(
            *(NOTE, "large", None, size, max(SIZE), "pixels"),
            f"it is {size} pixels large; looking for it takes the longer, and what its scores stand for is "
            "measured at a part of its size",
            "reduce the picture and the scenes alike, where half the exactness will do",
        )


def _no_body(subject: _Subject) -> Iterator[Finding]:
    if subject.pieces.body is None:
        yield Finding(
            *(NOTE, "no body", None, 0, 1, "parts"),
            "no part is fixed to the root: the object is looked for by its moving parts, which takes longer",
            "let the largest part be static, if it is",
        )


CHECKS: tuple[Check, ...] = (
    *(
        _hidden,
        _too_small,
        _thin,
        _no_texture,
        _slides,
        _symmetric,
        _look_alike,
        _far_joint,
        _minor,
        _large,
        _no_body,
    ),
)
"""In the order in which findings of one severity are told."""
