"""Making a template: outlines on a picture → a `Template`; and what will make a template hard to find."""

from wherein.formats import annotations
from wherein.formats import coco_reader as coco
from wherein.formats import labelme_reader as labelme
from wherein.formats.annotated import Annotated
from wherein.formats.part_outline import Outline
from wherein.making.checks import findings
from wherein.making.cutting import cut
from wherein.making.finding import Finding, Severity

__all__ = ["Annotated", "Finding", "Outline", "Severity", "annotations", "coco", "cut", "findings", "labelme"]
