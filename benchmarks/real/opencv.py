"""Common methods of OpenCV: SIFT with MAGSAC, matchTemplate and ECC, with the settings of ../shared/real."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.geometry import Array

FEATURES, RATIO, REPROJECTION = 4000, 0.8, 2.0  # SIFT features, Lowe's ratio, px
MIN_INLIERS = 10  # minimum number of inliers of a detection by SIFT; a choice
ECC_STEPS, ECC_EPSILON, ECC_BLUR = 200, 1e-6, 5


def grey(picture: NDArray) -> NDArray:
    """A picture (H, W, 3) in grey."""
    import cv2

    return cv2.cvtColor(np.ascontiguousarray(picture[..., :3]), cv2.COLOR_RGB2GRAY)


@dataclass(frozen=True)
class Features:
    """SIFT features of a picture: points (N, 2) and descriptors (N, 128)."""

    points: NDArray[np.float32]
    descriptors: NDArray[np.float32] | None

    @staticmethod
    def of(picture: NDArray, mask: NDArray | None = None) -> "Features":
        """The features of a picture, inside a mask if it is given."""
        import cv2

        points, descriptors = cv2.SIFT_create(FEATURES).detectAndCompute(grey(picture), mask)
        return Features(np.array([point.pt for point in points], np.float32).reshape(-1, 2), descriptors)


def sift(motif: Features, scene: NDArray) -> Array | None:
    """The homography motif → scene by SIFT and MAGSAC; None with fewer than MIN_INLIERS matches."""
    import cv2

    there = Features.of(scene)
    if motif.descriptors is None or there.descriptors is None or len(there.points) < 2:
        return None
    matches: Any = cv2.BFMatcher().knnMatch(motif.descriptors, there.descriptors, k=2)
    good = [(a.queryIdx, a.trainIdx) for a, b in matches if a.distance < RATIO * b.distance]
    if len(good) < MIN_INLIERS:
        return None
    here, found = motif.points[[i for i, _ in good]], there.points[[j for _, j in good]]
    matrix, inliers = cv2.findHomography(here, found, cv2.USAC_MAGSAC, REPROJECTION, maxIters=5000)
    if matrix is None or inliers is None or int(inliers.sum()) < MIN_INLIERS:
        return None
    return np.asarray(matrix, np.float64)


def ecc(motif: NDArray, scene: NDArray) -> Array | None:
    """The homography motif → scene by findTransformECC, from the identity; None if it fails."""
    import cv2

    criteria = (cv2.TERM_CRITERIA_COUNT | cv2.TERM_CRITERIA_EPS, ECC_STEPS, ECC_EPSILON)
    start = np.eye(3, dtype=np.float32)
    try:
        _, warp = cv2.findTransformECC(
            grey(motif), grey(scene), start, cv2.MOTION_HOMOGRAPHY, criteria, None, ECC_BLUR
        )
    except cv2.error:
        return None
    return np.asarray(warp, np.float64)


def match_template(
    motif: NDArray, scene: NDArray, count: int = 1, least: float = -1.0
) -> list[tuple[int, int, float]]:
    """The best positions (left, top, score) of matchTemplate by ZNCC in colour, at least half a motif apart.

    Arguments:
        motif, scene: pictures.
        count: maximum number of positions.
        least: minimum score.
    """
    import cv2

    height, width = motif.shape[:2]
    scores = cv2.matchTemplate(scene, motif, cv2.TM_CCOEFF_NORMED)
    places = []
    for _ in range(count):
        _, score, _, (x, y) = cv2.minMaxLoc(scores)
        if score < least:
            break
        places.append((int(x), int(y), float(score)))
        scores[
            max(y - height // 2, 0) : y + height // 2 + 1, max(x - width // 2, 0) : x + width // 2 + 1
        ] = -2
    return places


def no_opencv() -> str | None:
    """The reason why OpenCV cannot be measured, or None."""
    try:
        import cv2  # noqa: F401 (to check whether it is installed)
    except ImportError:
        return "OpenCV is not installed"
    return None
