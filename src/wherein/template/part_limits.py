"""Limits of the parts of a template: their number and their names; and the default turn."""

from wherein.errors import TemplateError

MAX_NAME = 200
"""Maximum number of letters of a name. A choice: most file systems allow file names of 255 bytes, and files
are named after templates and parts."""

MAX_PARTS = 500
"""Maximum number of parts, groups included. A choice: far more than a person outlines."""

DEFAULT_TURN = 30.0
"""Default of how far a part may turn to each side, in degrees, in template.json, annotations and the studio.
A choice, and part of the file format: another value would change the meaning of existing templates."""


def check_name(name: str, what: str) -> None:
    """Refuse a name that is empty, too long, or cannot be written as UTF-8."""
    if not 0 < len(name) <= MAX_NAME:
        shown = f'"{name[:40]}…"' if name else "without letters"
        raise TemplateError(f"{what} {shown} has a name of {len(name)} letters: it must have 1 to {MAX_NAME}")
    try:
        name.encode()
    except UnicodeEncodeError as error:  # half of a surrogate pair, which JSON can contain
        raise TemplateError(f"{what} {name!a} has a name that is no text: rename it") from error


def check_count(count: int) -> None:
    """Refuse a template of more than `MAX_PARTS` parts."""
    if count > MAX_PARTS:
        raise TemplateError(f"the template has {count} parts: the maximum is {MAX_PARTS}")
