"""How much the studio takes and holds: what a page sends is bounded before it is read."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """The most of each.

    Attributes:
        upload: bytes of a picture or a template.
        message: bytes of any other request.
        pixels: of one picture, by its header.
        scenes: that are held at once.
        held: pixels of all scenes together, of all pictures to outline, and of a template's pictures; one
            takes 12 bytes in memory.
        pictures: to outline that are held, the last ones; so many can be undone to.
        templates: that are held, the last ones: the page asks for no others.
    """

    upload: int = 64 * 2**20
    message: int = 4 * 2**20
    pixels: int = 40_000_000
    scenes: int = 60
    held: int = 120_000_000
    pictures: int = 6
    templates: int = 3
