"""The one place where OpenCV is asked for."""

from typing import Any

from wherein.errors import WhereinError


class NoDecoderError(WhereinError):
    """OpenCV is not installed."""


def opencv() -> Any:
    """The module, which is slow to import.

    Raises:
        NoDecoderError: it is not installed.
    """
    try:
        import cv2
    except ImportError as error:
        raise NoDecoderError("videos need OpenCV: pip install 'wherein[video]'") from error
    return cv2
