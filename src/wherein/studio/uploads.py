"""What the page sends: read as it comes, into a file of our own, and called only what a person calls it."""

import tempfile
import unicodedata
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TypeVar

from starlette.concurrency import run_in_threadpool

from wherein.errors import WhereinError

T = TypeVar("T")

_LONGEST = 200
"""Letters of a name that are kept."""


class UploadError(WhereinError, ValueError):
    """What was sent cannot be read; the message calls it as the page does."""


def label(name: str, default: str) -> str:
    """A name to show and to write into results: of a path the last step, of that what can be printed.

    >>> label("../../etc/passwd", "scene"), label("C:\\\\cats\\\\tom.png", "scene"), label("..", "scene")
    ('passwd', 'tom.png', 'scene')
    """
    last = name.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    shown = "".join(c for c in last if unicodedata.category(c)[0] != "C").strip()[:_LONGEST]
    return default if shown in ("", ".", "..") else shown


async def read_upload(body: AsyncIterator[bytes], name: str, read: Callable[[Path], T]) -> T:
    """What `read` makes of the bytes that come, once they lie in a file, which is gone afterwards.

    Arguments:
        body: the bytes, already counted.
        name: a label.
        read: works in a thread of its own.

    Raises:
        UploadError: what `read` has to say about the file, with its label in place of its path.
    """
    with tempfile.TemporaryDirectory(prefix="wherein-studio-") as folder:
        path = Path(folder) / "upload"
        with path.open("wb") as file:
            async for piece in body:
                file.write(piece)
        try:
            return await run_in_threadpool(read, path)
        except WhereinError as error:
            raise UploadError(str(error).replace(str(path), name)) from error
