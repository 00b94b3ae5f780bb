"""Where things that take time to make are kept for the user, from run to run."""

import os
from pathlib import Path


def cache_folder(kind: str) -> Path:
    """$XDG_CACHE_HOME/wherein/KIND, or ~/.cache/wherein/KIND; nothing is made."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    home = Path(base) if Path(base).is_absolute() else Path("~/.cache").expanduser()
    return home / "wherein" / kind
