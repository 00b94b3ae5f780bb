"""Notice what no input may cause: files outside of a folder, the network, programs, pickles, leftovers."""

import os
import sys
from pathlib import Path
from typing import Any

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_FORBIDDEN = (
    *("socket.connect", "socket.bind", "socket.getaddrinfo", "socket.sendto"),
    *("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "pickle.find_class"),
)
_CHANGES = (
    "os.mkdir",
    "os.remove",
    "os.rmdir",
    "os.rename",
    "os.link",
    "os.symlink",
    "os.truncate",
    "os.chmod",
)
"""Audit events of Python; the first argument is a path, of some the second as well."""

_TWO_PATHS = ("os.rename", "os.link", "os.symlink")


class Watch:
    """Collects what happens that must not, by the audit events of Python, from when it is made.

    Arguments:
        folder: the only place where files may be written.
        secret: the name of a file that must not be read.

    Attributes:
        seen: what happened, in words; whoever reads it empties it.
    """

    def __init__(self, folder: Path, secret: str) -> None:
        self.folder, self.secret = os.path.realpath(folder) + os.sep, secret
        self.seen: list[str] = []
        sys.addaudithook(self._event)  # it cannot be removed: a watch is for a process

    def _event(self, event: str, arguments: tuple[Any, ...]) -> None:
        # It never raises: the code that is watched could catch that.
        if event == "open":
            path, _, flags = arguments
            if isinstance(path, str | bytes):
                self._opened(os.fsdecode(path), bool(flags & _WRITING))
        elif event in _FORBIDDEN:
            self.seen.append(f"{event}: {arguments!r:.200}")
        elif event in _CHANGES:
            for path in arguments[: 2 if event in _TWO_PATHS else 1]:
                # A bare name is relative to an open folder, of which the event says the number only.
                if isinstance(path, str | bytes | os.PathLike) and os.sep in os.fsdecode(path):
                    self._changed(event, os.fsdecode(path))

    def _opened(self, path: str, writing: bool) -> None:
        if writing:
            self._changed("written", path)
        elif path.endswith((self.secret, "/etc/passwd")):
            self.seen.append(f"read: {path}")

    def _changed(self, what: str, path: str) -> None:
        # The folder is resolved, not the file, which may be a link that is replaced.
        where = os.path.join(os.path.realpath(os.path.dirname(path) or "."), os.path.basename(path))  # noqa: PTH118, PTH120, PTH119
        if not where.startswith(self.folder) and where != os.devnull:
            self.seen.append(f"{what}: {path}")
