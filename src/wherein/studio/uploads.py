"""Uploaded files: streamed to a temporary file of our own, and named by a label only."""

import tempfile
import unicodedata
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TypeVar

from starlette.concurrency import run_in_threadpool

from wherein.errors import WhereinError

T = TypeVar("T")

_MAX_LABEL = 200
"""Characters of a label. A choice: most file systems allow 255."""


class UploadError(WhereinError, ValueError):
    """An uploaded file cannot be read; the message begins with its label."""


def label(name: str, default: str) -> str:
    """A file's name without its folders and without control characters, to show and to write into results.

    Arguments:
        name: as the browser sent it.
        default: for a name of which nothing is left.

    >>> label("../../etc/passwd", "scene"), label("C:\\\\cats\\\\tom.png", "scene"), label("..", "scene")
    ('passwd', 'tom.png', 'scene')
    """
    last = name.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    shown = "".join(c for c in last if unicodedata.category(c)[0] != "C").strip()[:_MAX_LABEL]
    return default if shown in ("", ".", "..") else shown


async def read_upload(body: AsyncIterator[bytes], name: str, read: Callable[[Path], T]) -> T:
    """Save an upload to a temporary file, and return what `read` makes of it.

    Arguments:
        body: the bytes, already limited in number.
        name: the label.
        read: takes the file's path; runs in a thread, because decoding would block other requests.

    Raises:
        UploadError: `read` failed; its message, with the label in place of the path.
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
