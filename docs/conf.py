"""How Sphinx builds the documentation: `make docs`, warnings are errors."""

import re
from typing import cast

from sphinx.application import Sphinx

import wherein

project = "wherein"
author = "The wherein team"
project_copyright = "the wherein team"
version = release = wherein.__version__

extensions = [
    "myst_parser",  # pages in Markdown
    "sphinx.ext.autodoc",  # the API from its docstrings
    "sphinx.ext.napoleon",  # in which sections are words with a colon
    "sphinx_copybutton",
]
myst_enable_extensions = ["deflist", "colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]

autodoc_typehints = "none"  # docstrings say what arguments mean; shapes in signatures hide the names
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
napoleon_google_docstring = True
napoleon_use_ivar = True

html_theme = "furo"
html_title = f"wherein {version}"
html_static_path: list[str] = []
copybutton_prompt_text = "$ "

_CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_COLON = "\ue000"
"""Stands for a colon while napoleon looks, which takes an attribute's words before one for its type."""


def _plain(*hook: object) -> None:
    """Docstrings are plain text: `name` is code, A*A a product, |x| a length."""
    what, lines = hook[1], cast("list[str]", hook[5])
    plain = (line.replace("*", "\\*").replace("|", "\\|") for line in lines)
    lines[:] = [_CODE.sub(r"``\1``", line) for line in plain]
    if what in ("attribute", "property"):
        lines[:] = [line.replace(":", _COLON) for line in lines]


def _with_colons(*hook: object) -> None:
    lines = cast("list[str]", hook[5])
    lines[:] = [line.replace(_COLON, ":") for line in lines]


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", _plain, priority=400)  # before napoleon's, which is at 500
    app.connect("autodoc-process-docstring", _with_colons, priority=600)
