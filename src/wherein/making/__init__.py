"""Making a template: outlines on a picture → a `Template`; and what will make a template hard to find."""

from wherein.formats.part_outline import Outline
from wherein.making.checks import findings
from wherein.making.cutting import cut
from wherein.making.finding import Finding, Severity

__all__ = ["Finding", "Outline", "Severity", "cut", "findings"]
