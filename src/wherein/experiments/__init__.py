"""The paper's experiments, each repeated by one command: `wherein reproduce`.

`figures` has one module for each figure, and `runs` the code that runs any of them. The other modules are
shared by several figures: templates and photographs, scenes, the paper's registration method.
"""

from enum import StrEnum


class Name(StrEnum):
    """The experiments; each value is a module of `wherein.experiments.figures` with an `EXPERIMENT`."""

    FIG1 = "fig1"
    FIG3 = "fig3"
    FIG4 = "fig4"
    FIG5 = "fig5"
    THEOREM = "theorem"
