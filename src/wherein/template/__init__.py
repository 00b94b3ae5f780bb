"""Templates: objects made of a tree of parts, their files, poses and rendering."""

from wherein.template.bundle import Template
from wherein.template.reading import Reading
from wherein.template.template_library import Library
from wherein.template.tree import Part, Tree

__all__ = ["Library", "Part", "Reading", "Template", "Tree"]
