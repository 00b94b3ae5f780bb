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
    x, y = item.center
    print(f"score {item.score:.2f}, turned {item.angle:.1f}°, tilted {item.tilt:.1f}°, at ({x:.1f}, {y:.1f})")
    for part in item.parts.values():
        if part.leaf and part.found:
            cv2.polylines(drawn, [part.polygon.round().astype(np.int32)], True, (0, 220, 0), 2)
cv2.imwrite(out, drawn)
if len(found):
    # The matrix maps canvas → scene, so WARP_INVERSE_MAP resamples the scene onto the canvas. The matrix is
    # 3×3, since the object may be tilted; with tilt=0 it is 2×3, for cv2.warpAffine.
    size, flags = detector.template.size, cv2.WARP_INVERSE_MAP
    straight = cv2.warpPerspective(frame, found[0].matrix, size, flags=flags)
    cv2.imwrite(upright, straight)
