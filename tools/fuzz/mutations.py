"""Mutations of bytes and of JSON."""

import copy
import json
import math
import struct
import zlib
from collections.abc import Sequence
from random import Random
from typing import Any

_MAX_OPERATIONS = 8
"""Maximum number of mutations of one input. A choice: one mutation finds a missing check, several find
combinations of them."""

_INTERESTING = (0, 1, 7, 8, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
"""Numbers at which sizes, counts and signs overflow."""

_DEEP = "@deep"
"""Placeholder for JSON that is nested too deeply for `json.dumps`; it is replaced in the text."""

SECRET = "../secret.png"
"""A path to a file that must not be read, whatever the input is."""

_HOSTILE: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63, 10**400, 0.5, 1e308, -1e308, 1e-300, math.nan, math.inf),
    *(
        "",
        " ",
        "a" * 5000,
        "\0",
        "\ud800",
        "../..",
        SECRET,
        "/etc/passwd",
        "C:/x.png",
        "a\\b",
        "x/../y",
        "1e9",
    ),
    *([], {}, [[]], [None] * 50, {"": None}, [1e308, -1e308], _DEEP, "null", ["a"], {"parent": None}),
)


def mutated(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """Bytes after a few random mutations; one in ten is also spliced with one of `others`."""
    made = bytearray(data)
    for _ in range(rng.randint(1, _MAX_OPERATIONS)):
        rng.choice(_BYTE_OPERATIONS)(made, rng)
    if rng.random() < 0.1:
        other = rng.choice(others)
        made = made[: rng.randrange(len(made) + 1)] + bytearray(other[rng.randrange(len(other) + 1) :])
    return bytes(made)


def _flip(data: bytearray, rng: Random) -> None:
    if data:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _overwrite(data: bytearray, rng: Random) -> None:
    width, number = rng.choice((1, 2, 4)), rng.choice(_INTERESTING)
    packed = (number & (256**width - 1)).to_bytes(width, rng.choice(("little", "big")))
    at = rng.randrange(len(data) + 1)
    data[at : at + width] = packed


def _delete(data: bytearray, rng: Random) -> None:
    at = rng.randrange(len(data) + 1)
    del data[at : at + rng.randint(1, 40)]


def _repeat(data: bytearray, rng: Random) -> None:
    at = rng.randrange(len(data) + 1)
    data[at:at] = data[at : at + rng.randint(1, 40)] * rng.randint(1, 4)


def _insert(data: bytearray, rng: Random) -> None:
    at = rng.randrange(len(data) + 1)
    data[at:at] = rng.randbytes(rng.randint(1, 20))


def _truncate(data: bytearray, rng: Random) -> None:
    if rng.random() < 0.3:
        del data[rng.randrange(len(data) + 1) :]


_BYTE_OPERATIONS = (_flip, _flip, _overwrite, _overwrite, _delete, _repeat, _insert, _truncate)


def with_checksums(png: bytes) -> bytes:
    """A PNG file with the checksums of its chunks corrected."""
    # With wrong checksums a decoder refuses the file at once, and its other checks are not tested.
    made, at = bytearray(png[:8]), 8
    while at + 12 <= len(png):
        length = struct.unpack(">I", png[at : at + 4])[0]
        body = png[at + 4 : at + 8 + length]
        made += png[at : at + 4] + body + struct.pack(">I", zlib.crc32(body))
        at += 12 + length
    return bytes(made)


def mutated_json(value: Any, rng: Random) -> str:
    """The text of a JSON value after a few mutations of its values, its keys and sometimes its characters."""
    made = copy.deepcopy(value)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        made = _changed(made, rng)
    text = json.dumps(made).replace(json.dumps(_DEEP), "[" * 3000 + "]" * 3000)
    if rng.random() < 0.15:
        text = mutated(text.encode(), rng, [text.encode()]).decode("latin-1")
    return text


def _changed(value: Any, rng: Random) -> Any:
    """A value in which one place was replaced, removed or extended."""
    places = _places(value)
    if not places or rng.random() < 0.02:
        return _hostile(rng)
    holder, key = rng.choice(places)
    action, now = rng.random(), holder[key]
    if action < 0.5 and isinstance(now, int | float) and not isinstance(now, bool) and abs(now) < 1e300:
        holder[key] = now * 10 ** rng.uniform(-3, 3) if rng.random() < 0.8 else -now  # often still accepted
    elif action < 0.6:
        holder[key] = _hostile(rng)
    elif action < 0.75:
        del holder[key]
    elif action < 0.9:
        other, other_key = rng.choice(places)
        holder[key] = copy.deepcopy(other[other_key])
    elif isinstance(holder, dict):
        holder[rng.choice(("x", "", "\ud800", "a" * 300, "__class__", "parent"))] = holder[key]
    else:
        holder.extend([holder[key]] * rng.randint(1, 2000))
    return value


def _hostile(rng: Random) -> Any:
    return copy.deepcopy(rng.choice(_HOSTILE))  # a copy, because later mutations may change it


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every place in a value: the list or dictionary that holds it, and its index or key there."""
    found: list[tuple[Any, Any]] = []
    waiting = [value] if isinstance(value, list | dict) else []
    while waiting:
        holder = waiting.pop()
        keys = list(holder) if isinstance(holder, dict) else range(len(holder))
        found += [(holder, key) for key in keys]
        waiting += [holder[key] for key in keys if isinstance(holder[key], list | dict)]
    return found
