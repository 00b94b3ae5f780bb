"""Parsing of amounts of memory, and the memory of this process. Without torch, for the command line."""

import re
import sys
from pathlib import Path

from wherein.errors import ArgumentError

_UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
_AMOUNT = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[KMGT]?i?B)", re.IGNORECASE)

MIN_MEMORY = 10**8
"""Minimum amount in bytes. A choice: the libraries alone take more. It also catches numbers such as 4, which
are meant as GB."""


def bytes_of(amount: float | str) -> int:
    """Convert a number, or a text such as "4GB" or "512 MiB", to bytes.

    Raises:
        ArgumentError: the text is not an amount of memory, or the amount is less than 100 MB.

    Example:
        >>> bytes_of("4GB"), bytes_of("1.5 GiB")
        (4000000000, 1610612736)
    """
    found = _AMOUNT.fullmatch(amount.strip()) if isinstance(amount, str) else None
    if found is not None:
        number = float(found["number"]) * _UNITS[found["unit"].upper()]
    else:
        number = 0.0 if isinstance(amount, str) else float(amount)
    if not MIN_MEMORY <= number < 2**60:
        raise ArgumentError(
            f'memory must be at least 100 MB, as a number of bytes or a text with a unit such as "4GB", but '
            f"is {amount!r}"
        )
    return int(number)


def held() -> int:
    """The resident memory of this process in bytes; its peak if only that is known, 0 if neither is."""
    try:
        import resource  # not on Windows
    except ImportError:
        return 0
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        unit = 1 if sys.platform == "darwin" else 2**10  # macOS counts bytes, the others kB
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return pages * resource.getpagesize()
