"""Detections as rows of the table on a terminal, without the name of the scene."""

from collections.abc import Sequence

from wherein.detect.result import Detection, Detections


def detection_rows(found: Detections, tracks: Sequence[int] = ()) -> list[str]:
    """One row for each detection in a scene.

    Arguments:
        found: the detections.
        tracks: the track number of each detection in a video.
    """
    # In a library, `found.template` is the name of the library: then rows name their template.
    library = len({found.template_of(item) for item in found} | {found.template}) > 1
    return [
        _row(item, found.template_of(item) if library else "", f"track {track}" if track else "")
        for item, track in zip(found, tracks or [0] * len(found), strict=True)
    ]


def _row(item: Detection, *more: str) -> str:
    x, y = item.center
    tilt = f"{item.tilt:z.0f}°" if len(item.matrix) == 3 else "–"
    numbers = f"{item.score:>6.2f}{x:>7.0f}{y:>7.0f}{item.angle:>z8.1f}°{item.scale:>7.2f}{tilt:>6}"
    return f"{numbers}  {', '.join(filter(None, (*more, *_details(item))))}".rstrip()


def _details(item: Detection) -> list[str]:
    """The readings of its parts, and the parts that were not found."""
    values = {name: part.value_text for name, part in item.parts.items()}
    return [
        *(f"{name} {value}" for name, value in values.items() if value is not None),
        *([f"without {', '.join(item.missing)}"] if item.missing else []),
    ]
