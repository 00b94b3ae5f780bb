"""What will make a template hard to find: one thing, in words and in numbers."""

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class Severity(StrEnum):
    """How bad it is."""

    PROBLEM = "problem"
    """It will not be found, or not rightly."""

    WARNING = "warning"
    """It will be found less often, or less exactly."""

    NOTE = "note"
    """To be known; nothing needs to be done."""


@dataclass(frozen=True)
class Finding:
    """One thing that makes a template hard to find.

    Attributes:
        severity: how bad it is.
        kind: which check has found it, "too small" say.
        part: whose it is; None: the whole template's.
        measured: the number that was measured.
        limit: the number that it should not be below, or not above.
        unit: of both.
        words: what was found, in a sentence.
        advice: what to do.
    """

    severity: Severity
    kind: str
    part: str | None
    measured: float
    limit: float
    unit: str
    words: str
    advice: str

    def __str__(self) -> str:
        whose = f"{self.part}: " if self.part is not None else ""
        return f"{self.severity}: {whose}{self.words}; {self.advice}"

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self) | {
            "severity": str(self.severity),
            "measured": round(self.measured, 4),
            "limit": round(self.limit, 4),
        }
