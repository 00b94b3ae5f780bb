"""Where templates are saved on this machine: where the command line says, and nowhere else."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wherein.errors import ArgumentError
from wherein.template import Template
from wherein.template.bundle import DESCRIPTION


@dataclass
class Target:
    """A folder or .zip.

    Attributes:
        path: where; None: templates are only downloaded.
        overwrite: whether a template that is there may be replaced.
        ours: whether this session has written it, and so may do it again.
    """

    path: Path | None = None
    overwrite: bool = False
    ours: bool = field(default=False, init=False)

    def save(self, template: Template) -> str:
        """Write a template; the name of the folder or file, without its path.

        Raises:
            ArgumentError: there is no target, or something there that may not be replaced.
        """
        if self.path is None:
            raise ArgumentError("the studio was started without a place to save to: download the template")
        self._check(self.path)
        try:
            template.save(self.path, overwrite=True)
        except OSError as error:
            raise ArgumentError(
                f'"{self.path.name}" cannot be written: {error.strerror or "why is not known"}'
            ) from error
        self.ours = True
        return self.path.name

    def to_dict(self) -> dict[str, Any] | None:
        """What the page may know of it."""
        return None if self.path is None else {"name": self.path.name}

    def _check(self, path: Path) -> None:
        if not path.exists() or self.ours:
            return
        if not self.overwrite:
            raise ArgumentError(
                f'"{path.name}" exists: download the template, or start the studio with --overwrite'
            )
        # A folder is replaced with all that is in it, so it must be a template's and not somebody's home.
        if path.is_dir() and any(path.iterdir()) and not (path / DESCRIPTION).is_file():
            raise ArgumentError(
                f'"{path.name}" is a folder without {DESCRIPTION}: only templates are replaced'
            )
