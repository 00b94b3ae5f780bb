"""Limits of the parts of any template: their number, their names, and the turn that is assumed by default."""

from wherein.errors import TemplateError

MAX_NAME = 200
"""Maximum number of letters of a name. A choice: most file systems allow 255 for a file that is named after
it."""

MAX_PARTS = 500
"""Maximum number of parts, groups included. A choice: far more than a person outlines."""

DEFAULT_TURN = 30.0
"""± degrees that a part may turn where none are given: in template.json, in annotations and in the studio.
A choice, and part of the file format: to change it would change what existing templates mean."""


def check_name(name: str, what: str) -> None:
    """Refuse a name that is empty, too long, or cannot be written as UTF-8."""
    if not 0 < len(name) <= MAX_NAME:
        shown = f'"{name[:40]}…"' if name else "without letters"
        raise TemplateError(f"{what} {shown} has a name of {len(name)} letters: it must have 1 to {MAX_NAME}")
    try:
        name.encode()
    except UnicodeEncodeError as error:  # half of a surrogate pair, which JSON can hold
        raise TemplateError(f"{what} {name!a} has a name that is no text: rename it") from error


def check_count(count: int) -> None:
    """Refuse a template of more than `MAX_PARTS` parts."""
    if count > MAX_PARTS:
        raise TemplateError(f"the template has {count} parts: the maximum is {MAX_PARTS}")
