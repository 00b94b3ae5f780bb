"""Annotations of any kind that is known, told by what they hold."""

from pathlib import Path

from wherein.errors import TemplateError
from wherein.formats import coco_reader as coco
from wherein.formats import labelme_reader as labelme
from wherein.formats.annotated import Annotated, AnyPath, parsed


def read(path: AnyPath, image: str | None = None, thing: str | None = None) -> Annotated:
    """The picture and the parts of one object out of a labelme or a COCO file.

    Arguments:
        path: of the .json file.
        image: a picture's file, in place of the one that the annotation names; or, in a COCO file, the name
            or id of one of its images.
        thing: which object, where there are several: labelme's group, or COCO's group or annotation id.

    Raises:
        TemplateError: it is neither, or not as it must be.
        ArgumentError: it leaves a choice, or does not have what was chosen.
        PictureError: its picture cannot be read, or has another size.
    """
    record = parsed(path)
    picture = Path(image) if image is not None and Path(image).is_file() else None
    if "shapes" in record:
        return labelme.understood(record, path, None if image is None else Path(image), thing)
    if "annotations" in record and "images" in record:
        if picture is not None:  # stands for the image of its name, or for the only one
            images = record["images"]
            image = picture.name if isinstance(images, list) and len(images) > 1 else None
        return coco.understood(record, path, image, picture, thing)
    raise TemplateError(
        f'{path} is neither labelme\'s JSON, which has "shapes", nor COCO\'s, which has "images" and '
        '"annotations"'
    )
