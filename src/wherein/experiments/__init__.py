"""The paper's experiments, each by one command: `wherein reproduce`. One file a figure."""

from enum import StrEnum


class Name(StrEnum):
    """The experiments; each is a module of this package that says what its `EXPERIMENT` is."""

    FIG1 = "fig1"
    FIG3 = "fig3"
    FIG4 = "fig4"
    FIG5 = "fig5"
    THEOREM = "theorem"
