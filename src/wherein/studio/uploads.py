"""Uploaded files: they are streamed to a temporary file, and their name is used as a label only."""

import tempfile
import unicodedata
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TypeVar

from starlette.concurrency import run_in_threadpool

from wherein.errors import WhereinError

T = TypeVar("T")

_MAX_LABEL = 200
"""Maximum number of characters of a label. A choice: most file systems allow names of 255 bytes."""


class UploadError(WhereinError, ValueError):
    """An uploaded file cannot be read; the message begins with its label."""


def label(name: str, default: str) -> str:
    """The label of a file, for display and for results: its name without folders and control characters.

    Arguments:
        name: the name as sent by the browser.
        default: the label if nothing remains of the name.

    >>> label("../../etc/passwd", "scene"), label("C:\\\\cats\\\\tom.png", "scene"), label("..", "scene")
    ('passwd', 'tom.png', 'scene')
    """
    last = name.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    shown = "".join(c for c in last if unicodedata.category(c)[0] != "C").strip()[:_MAX_LABEL]
    return default if shown in ("", ".", "..") else shown


async def read_upload(body: AsyncIterator[bytes], name: str, read: Callable[[Path], T]) -> T:
    """Save an upload to a temporary file, and return the result of `read` for its path.

    Arguments:
        body: the bytes; their number has been limited already.
        name: the label.
        read: reads the file. It runs in a thread, because decoding would block other requests.

    Raises:
        UploadError: `read` failed; the message has the label in place of the path.
    """
    with tempfile.TemporaryDirectory(prefix="wherein-studio-") as folder:
        path = Path(folder) / "upload"
        with path.open("wb") as file:
            async for chunk in body:
                file.write(chunk)
        try:
            return await run_in_threadpool(read, path)
        except WhereinError as error:
            raise UploadError(str(error).replace(str(path), name)) from error
