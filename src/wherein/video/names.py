"""What a video or a camera is called."""

import re
from pathlib import Path

VIDEOS = (".mp4", ".m4v", ".mov", ".avi", ".mkv", ".webm", ".mpg", ".mpeg")

_CAMERA = re.compile(r"camera:(\d+)")


def is_video(name: str) -> bool:
    """Whether a name stands for a video file or a camera ("camera:0")."""
    return camera(name) is not None or Path(name).suffix.lower() in VIDEOS


def camera(name: str) -> int | None:
    """The number of the camera that a name stands for."""
    match = _CAMERA.fullmatch(name)
    return int(match[1]) if match else None
