"""Which scenes a command is given: pictures and videos, by files, folders and globs, in a fixed order."""

import glob
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from wherein.video.source import VIDEOS, is_video

PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff", ".gif")


@dataclass(frozen=True)
class Given:
    """One scene, or why there is none where one was expected."""

    path: Path
    error: str | None = None

    @property
    def video(self) -> bool:
        """Whether it is a video or a camera."""
        return is_video(str(self.path))


def given(arguments: Sequence[str]) -> Iterator[Given]:
    """Every scene that the arguments stand for, each once, in the order given, folders and globs by name."""
    seen: set[Path] = set()
    for argument in arguments:
        for scene in _expand(argument):
            if scene.error is not None or scene.path not in seen:
                seen.add(scene.path)
                yield scene


def _expand(argument: str) -> Iterator[Given]:
    path = Path(argument)
    if path.is_dir():
        found = sorted(p for p in path.iterdir() if p.suffix.lower() in PICTURES + VIDEOS and p.is_file())
        yield from map(Given, found)
        if not found:
            yield Given(
                path, f"the folder has no pictures ({', '.join(PICTURES)}) or videos ({', '.join(VIDEOS)})"
            )
    elif path.exists() or not glob.has_magic(argument):
        yield Given(path)
    else:
        # Not Path.glob, which takes no absolute patterns.
        names = glob.glob(argument, recursive=True)  # noqa: PTH207
        matches = sorted(Path(name) for name in names if Path(name).is_file())
        yield from map(Given, matches)
        if not matches:
            yield Given(path, "no file matches")
