"""template.json: its schema, and reading it. The file may come from an untrusted source."""

import json
import os
from collections.abc import Iterable
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from wherein.errors import TemplateError
from wherein.files import inside
from wherein.template.part_limits import DEFAULT_TURN, MAX_NAME, check_count

if TYPE_CHECKING:  # not at run time, so that the command line can look for templates before torch is loaded
    from wherein.template.tree import Part

FORMAT = "wherein-template/1"
DESCRIPTION = "template.json"

MAX_BYTES = 4 * 2**20
"""Maximum size of template.json in bytes. A choice: `MAX_PARTS` parts with readings need less than 10 %."""

_MAX_PLACE = 1e6
"""Maximum absolute value of a coordinate in pixels. A choice: no picture is that large."""

_Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME)]
_File = Annotated[str, Field(min_length=1, max_length=4096)]  # the longest path of Linux
_Row = tuple[FiniteFloat, FiniteFloat, FiniteFloat]
_Coordinate = Annotated[FiniteFloat, Field(ge=-_MAX_PLACE, le=_MAX_PLACE)]


class _Spec(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=False)


class PartSpec(_Spec):
    """The entry of a part; its fields are explained in `wherein.template.tree.Part`."""

    parent: _Name | None
    image: _File | None = None
    at: tuple[_Coordinate, _Coordinate] | None = None
    pivot: tuple[_Coordinate, _Coordinate] | None = None
    turn: Annotated[FiniteFloat, Field(ge=0, le=180)] = DEFAULT_TURN
    static: bool = False
    reading: Any = None  # checked by `Reading.of`, whose error messages show the syntax


class TemplateSpec(_Spec):
    """All of template.json."""

    format: Literal["wherein-template/1"]
    name: _Name
    canvas: _File
    paint_order: list[_Name] | None = None
    plane: tuple[_Row, _Row, _Row] | None = None
    parts: Annotated[dict[_Name, PartSpec], Field(min_length=1)]


def read_description(folder: Path, where: Path) -> str:
    """The text of template.json in a folder.

    Arguments:
        folder: that contains the file.
        where: the path of the template for error messages; for an archive it differs from `folder`.

    Raises:
        TemplateError: it cannot be read, is too large, or is a link to a file outside the folder.
    """
    path = inside(folder, DESCRIPTION)
    if path is None:
        raise TemplateError(f"{where}: {DESCRIPTION} is a link out of the folder: put the file itself there")
    try:
        if path.is_file() and path.stat().st_size > MAX_BYTES:
            raise TemplateError(
                f"{where}: {DESCRIPTION} has {path.stat().st_size:,} bytes: the maximum is {MAX_BYTES:,}"
            )
        # "-sig": editors on Windows put a byte order mark at the beginning.
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        message = f"{where} has no {DESCRIPTION}: use a folder that has one, or a .zip of it"
        raise TemplateError(message) from error
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise TemplateError(f"{DESCRIPTION} in {where} cannot be read: {reason}") from error


def parse_description(text: str) -> TemplateSpec:
    """The validated contents of a template.json.

    Raises:
        TemplateError: it is invalid; the message names the part and the field.
    """
    try:
        spec = TemplateSpec.model_validate(_parse(text))
    except ValidationError as error:
        raise TemplateError(_explain(error)) from error
    check_count(len(spec.parts))  # `Tree` checks it too, but only after all pictures are loaded
    return spec


def picture_names(leaves: Iterable[str], beside: Path | None = None) -> tuple[str, dict[str, str]]:
    """Files for the pictures of the canvas and of each leaf, by its name; free names in the folder `beside`.

    They are numbered: names of parts may contain characters that file names must not.
    """
    names = {name: _free_name(f"{number:02d}", beside) for number, name in enumerate(leaves)}
    return _free_name("canvas", beside), names


def _free_name(stem: str, folder: Path | None) -> str:
    """A file name for a picture that is not yet used in a folder."""
    names = chain((f"{stem}.png",), (f"{stem}-{number}.png" for number in count(2)))
    return next(name for name in names if folder is None or not os.path.lexists(folder / name))


def owned_pictures(folder: Path) -> list[Path]:
    """The pictures in a folder that its template.json names; none if template.json is invalid."""
    try:
        spec = parse_description(read_description(folder, folder))
    except TemplateError:
        return []
    names = {spec.canvas, *(part.image for part in spec.parts.values() if part.image is not None)}
    # Links are not resolved: the link belongs to the template, the file that it points to does not.
    return [folder / name for name in sorted(names) if Path(name).name == name]


def _parse(text: str) -> dict[str, Any]:
    """The JSON object in a text."""
    try:
        description = json.loads(text, object_pairs_hook=_unique_keys)
    except RecursionError:
        raise TemplateError(f"{DESCRIPTION} cannot be read: its JSON is nested too deeply") from None
    except TemplateError:
        raise
    except ValueError as error:  # not JSONDecodeError: a number with too many digits raises its base class
        raise TemplateError(f"{DESCRIPTION} is not JSON: {error}") from error
    if not isinstance(description, dict):
        raise TemplateError(f"{DESCRIPTION} must be a JSON object, but is a {type(description).__name__}")
    return description


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a key that appears twice: Python's JSON reader would silently keep the last one."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise TemplateError(f'{DESCRIPTION} has the key "{key}" twice')
        found[key] = value
    return found


def _explain(error: ValidationError) -> str:
    """A message about the first problem in template.json, with the part and the field."""
    first = error.errors()[0]
    place = [str(step) for step in first["loc"]]
    in_part = place[:1] == ["parts"] and len(place) > 1
    what = f'the part "{place[1]}"' if in_part else DESCRIPTION
    field = ".".join(place[2:] if in_part else place)
    return f'{what}: "{field}": {first["msg"]}' if field else f"{what}: {first['msg']}"


def part_record(part: "Part", image: str | None) -> dict[str, Any]:
    """The entry of a part in template.json; `image` is the file of its picture, None for a group."""
    record: dict[str, Any] = {"parent": part.parent}
    if image is not None:
        record |= {"image": image, "at": list(part.at)}
    record |= {"pivot": list(part.pivot), "turn": part.turn, "static": part.static}
    return record if part.reading is None else record | {"reading": part.reading.to_dict()}
