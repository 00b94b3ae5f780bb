"""Upper bounds of what the studio accepts and keeps. The size of requests is checked before they are read."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Bounds:
    """The maximum values. They are choices, for large photographs and the memory of a laptop.

    Attributes:
        upload: bytes of an uploaded picture or template.
        message: bytes of any other request.
        pixels: pixels of one picture, according to its header.
        scenes: number of scenes.
        total_pixels: pixels of all scenes, of all pictures to outline, and of the pictures of one template.
            A pixel takes 12 bytes (three float32), so 120 million pixels take 1.4 GB.
        pictures: number of pictures to outline; the least recently used is dropped. Undo works as far back as
            pictures are kept.
        templates: number of templates; the least recently used is dropped. The page uses only the newest.
    """

    upload: int = 64 * 2**20
    message: int = 4 * 2**20
    pixels: int = 40_000_000
    scenes: int = 60
    total_pixels: int = 120_000_000
    pictures: int = 6
    templates: int = 3
