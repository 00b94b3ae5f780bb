"""What will make a template hard to find."""

from wherein.making.finding import Finding
from wherein.template import Template


def findings(template: Template) -> list[Finding]:
    """Everything that will make a template hard to find, the worst first; nothing where all is well."""
    del template
    return []
