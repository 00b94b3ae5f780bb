"""Where templates are saved on this machine: where the command line says, and nowhere else."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wherein.errors import ArgumentError
from wherein.template.bundle import Template


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
        name = self.path.name
        if self.path.exists() and not (self.overwrite or self.ours):
            raise ArgumentError(
                f'"{name}" exists: download the template, or start the studio with --overwrite'
            )
        try:
            template.save(self.path, overwrite=True)
        except ArgumentError as error:
            raise ArgumentError(str(error).replace(str(self.path), f'"{name}"')) from error
        except OSError as error:
            reason = error.strerror or "the system does not say why"
            raise ArgumentError(f'"{name}" cannot be written: {reason}') from error
        self.ours = True
        return name

    def to_dict(self) -> dict[str, Any] | None:
        """What the page may know of it."""
        return None if self.path is None else {"name": self.path.name}
