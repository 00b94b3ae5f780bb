"""OpenCV: search a BGR frame, draw the outlines into it, and rectify the object.

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
frame = cv2.imread(scene)  # or a frame of cv2.VideoCapture
found = detector(frame, color="bgr")
drawn = frame.copy()
for item in found:
    print(f"score {item.score:.2f}, turned {item.angle:.1f}°, at {item.matrix[:, 2].round(1)}")
    for part in item.parts.values():
        if part.leaf and part.found:
            cv2.polylines(drawn, [part.polygon.round().astype(np.int32)], True, (0, 220, 0), 2)
cv2.imwrite(out, drawn)
if len(found):
    # The matrix maps canvas → scene, so WARP_INVERSE_MAP resamples the scene onto the canvas.
    straight = cv2.warpAffine(frame, found[0].matrix, detector.template.size, flags=cv2.WARP_INVERSE_MAP)
    cv2.imwrite(upright, straight)
