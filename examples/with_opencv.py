"""OpenCV: a frame goes in as it is, in BGR; outlines are drawn into it, and the object is brought upright.

python examples/with_opencv.py TEMPLATE SCENE OUT.png UPRIGHT.png
"""

import sys

import cv2
import numpy as np

import wherein

if len(sys.argv) != 5:
    sys.exit(__doc__)
template, scene, out, upright = sys.argv[1:]
detector = wherein.Detector(template)
frame = cv2.imread(scene)  # or what cv2.VideoCapture.read gives
found = detector(frame, color="bgr")
drawn = frame.copy()
for item in found:
    print(f"score {item.score:.2f}, turned {item.angle:.1f}°, at {item.matrix[:, 2].round(1)}")
    for part in item.parts.values():
        if part.leaf and part.found:
            cv2.polylines(drawn, [part.polygon.round().astype(np.int32)], True, (0, 220, 0), 2)
cv2.imwrite(out, drawn)
if len(found):
    # A matrix maps canvas → scene, so the inverse of the usual warp brings the scene onto the canvas.
    straight = cv2.warpAffine(frame, found[0].matrix, detector.template.size, flags=cv2.WARP_INVERSE_MAP)
    cv2.imwrite(upright, straight)
