"""supervision: annotate detections, parts as masks and whole objects with a label.

python examples/with_supervision.py TEMPLATE SCENE OUT.png
"""

import sys

import supervision as sv
from PIL import Image

import wherein

if len(sys.argv) != 4:
    sys.exit(__doc__)
template, scene, out = sys.argv[1:]
found = wherein.Detector(template)(scene).to_supervision()
objects, parts = found[found.class_id == 0], found[found.class_id > 0]
labels = [
    f"{name} {instance}: {score:.2f}"
    for name, instance, score in zip(
        objects["class_name"], objects["instance"], objects.confidence, strict=True
    )
]
picture = Image.open(scene).convert("RGB")
picture = sv.MaskAnnotator(color_lookup=sv.ColorLookup.CLASS).annotate(picture, parts)
picture = sv.LabelAnnotator().annotate(picture, objects, labels)
picture.save(out)
print(f"{len(objects)} found, {len(parts)} parts: {', '.join(labels)}")
