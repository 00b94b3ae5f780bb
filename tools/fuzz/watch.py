"""Detects forbidden actions: changes outside of a folder, reading a secret, network, programs, pickles."""

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
"""Audit events of Python whose first argument is a path (and the second, for those in `_TWO_PATHS`)."""

_TWO_PATHS = ("os.rename", "os.link", "os.symlink")


class Watch:
    """Records forbidden actions of this process through the audit events of Python.

    Arguments:
        folder: the only folder in which files may be written.
        secret: the name of a file that must not be read.

    Attributes:
        seen: descriptions of the forbidden actions; the caller clears the list.
    """

    def __init__(self, folder: Path, secret: str) -> None:
        self.folder, self.secret = os.path.realpath(folder) + os.sep, secret
        self.seen: list[str] = []
        sys.addaudithook(self._event)  # cannot be removed, so there should be one watch for each process

    def _event(self, event: str, arguments: tuple[Any, ...]) -> None:
        # Recorded instead of raised: the code under test could catch an exception.
        if event == "open":
            path, _, flags = arguments
            if isinstance(path, str | bytes):
                self._opened(os.fsdecode(path), bool(flags & _WRITING))
        elif event in _FORBIDDEN:
            self.seen.append(f"{event}: {arguments!r:.200}")
        elif event in _CHANGES:
            for path in arguments[: 2 if event in _TWO_PATHS else 1]:
                # A bare name is relative to an open folder, of which the event has only the descriptor.
                if isinstance(path, str | bytes | os.PathLike) and os.sep in os.fsdecode(path):
                    self._changed(event, os.fsdecode(path))

    def _opened(self, path: str, writing: bool) -> None:
        if writing:
            self._changed("written", path)
        elif path.endswith((self.secret, "/etc/passwd")):
            self.seen.append(f"read: {path}")

    def _changed(self, what: str, path: str) -> None:
        # Only the folder is resolved: the file itself may be a link, which is replaced and not followed.
        where = os.path.join(os.path.realpath(os.path.dirname(path) or "."), os.path.basename(path))  # noqa: PTH118, PTH120, PTH119
        if not where.startswith(self.folder) and where != os.devnull:
            self.seen.append(f"{what}: {path}")
