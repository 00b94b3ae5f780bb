"""An object of parts: the tree, its files, its poses, its pictures."""

from wherein.template.bundle import Template
from wherein.template.tree import Part, Tree

__all__ = ["Part", "Template", "Tree"]
