"""Making a template: outlines on a picture → a `Template`; and what will make a template hard to find."""

from wherein.making import annotations, coco, labelme
from wherein.making.annotated import Annotated
from wherein.making.checks import findings
from wherein.making.cutting import cut
from wherein.making.finding import Finding, Severity
from wherein.making.outline import Outline

__all__ = ["Annotated", "Finding", "Outline", "Severity", "annotations", "coco", "cut", "findings", "labelme"]
