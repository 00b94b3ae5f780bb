"""Making templates: `cut` makes one from outlines on a picture; `findings` checks it for difficulties."""

from wherein.formats.part_outline import Outline
from wherein.making.checks import Finding, Severity, findings
from wherein.making.cutout import cut

__all__ = ["Finding", "Outline", "Severity", "cut", "findings"]
