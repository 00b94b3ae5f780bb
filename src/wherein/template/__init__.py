"""Templates: objects made of a tree of parts, their files, poses and rendering."""

from wherein.template.bundle import Template
from wherein.template.reading import Reading
from wherein.template.tree import Part, Tree

__all__ = ["Part", "Reading", "Template", "Tree"]
