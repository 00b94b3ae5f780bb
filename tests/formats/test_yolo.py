"""YOLO's text files, read back by the rules of its documentation."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from detecting import walker
from walkers import HEIGHT, LEAVES, WIDTH, found, gauge, ring, ring_mask, tilted
from wherein.detect.result import Detections
from wherein.errors import ArgumentError
from wherein.formats.export_target import ExportTarget
from wherein.formats.registry import FORMATS
from wherein.formats.yolo import oriented_box
from wherein.images.motif import Motif
from wherein.images.polygons import area, box, filled
from wherein.template import Library, Template

SIZE = np.array((WIDTH, HEIGHT))


def exported(
    variant: str, some: Detections, template: Template, folder: Path
) -> list[tuple[int, np.ndarray]]:
    """The class and the numbers of each line."""
    scene, out = folder / "a.png", folder / "a.txt"
    with FORMATS[variant].export(ExportTarget(folder, {scene: out}), Library.of(template)) as add:
        add(scene, some)
    rows = [line.split() for line in out.read_text().splitlines()]
    numbers = [(int(first), np.array(rest, dtype=float)) for first, *rest in rows]
    # Ultralytics refuses a file with a coordinate outside of [0, 1]; visibilities of keypoints are 0, 1 or 2.
    assert all(
        (values >= 0).all() and (values <= (2 if "pose" in variant else 1)).all() for _, values in numbers
    )
    return numbers


def names(folder: Path) -> dict[str, object]:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    return yaml.safe_load((folder / "data.yaml").read_text(encoding="utf-8"))


def test_boxes_of_objects_and_parts(tmp_path: Path) -> None:
    some = found("hand", at=((110.0, 80.0), (20.0, 150.0)))
    rows = exported("yolo", some, walker(), tmp_path)
    assert [number for number, _ in rows] == [0, 1, 2, 3] * 2
    assert names(tmp_path) == {"names": dict(enumerate(("walker", *LEAVES)))}
    for (_, (x, y, width, height)), part in zip(rows[1:4], LEAVES[:3], strict=True):
        left, top, across, down = some[0].parts[part].box
        middle = (left + across / 2 + 0.5, top + down / 2 + 0.5)
        np.testing.assert_allclose((x, y) * SIZE, middle, atol=0.01)
        np.testing.assert_allclose((width, height) * SIZE, (across, down), atol=0.01)


def ring_motif() -> Motif:
    mask = torch.from_numpy(ring_mask()).float()
    return Motif(torch.rand(3, *mask.shape), mask)


@pytest.mark.parametrize("scale", [0.7, 1.5])
def test_segments_have_the_area_of_the_mask(tmp_path: Path, scale: float) -> None:
    some = ring(20.0, scale)
    made = Template.rigid("ring", ring_motif())
    ((_, numbers),) = exported("yolo-segment", some, made, tmp_path)
    polygon = numbers.reshape(-1, 2) * SIZE - 0.5
    assert area([polygon]) == pytest.approx(ring_mask().sum() * scale**2, rel=0.02)
    assert filled([[polygon]], WIDTH, HEIGHT).sum() == pytest.approx(ring_mask().sum() * scale**2, rel=0.02)


def test_overlapping_parts_are_no_hole(tmp_path: Path) -> None:
    some = found()
    (_, whole), *_ = exported("yolo-segment", some, walker(), tmp_path)
    inside = filled([[whole.reshape(-1, 2) * SIZE - 0.5]], WIDTH, HEIGHT)
    parts = filled([some[0].parts[name].rings for name in LEAVES], WIDTH, HEIGHT)
    assert (inside != parts).sum() < 0.05 * parts.sum()


def test_oriented_boxes_are_turned_as_the_object_is(tmp_path: Path) -> None:
    some = found()
    rows = exported("yolo-obb", some, walker(), tmp_path)
    leg = rows[2][1].reshape(4, 2) * SIZE - 0.5
    expected = some[0].parts["leg"].polygon
    assert all(np.linalg.norm(expected - corner, axis=1).min() < 0.01 for corner in leg)
    side = leg[1] - leg[0]
    assert np.degrees(np.arctan2(side[1], side[0])) == pytest.approx(some[0].parts["leg"].angle, abs=0.01)
    square = np.array([(0.0, 0), (4, 0), (4, 2), (0, 2)])
    np.testing.assert_allclose(oriented_box([square], 0.0), square)


def test_poses_have_the_joints(tmp_path: Path) -> None:
    some = found("leg", at=((110.0, 80.0), (-20.0, 80.0)))
    rows = exported("yolo-pose", some, walker(), tmp_path)
    assert [number for number, _ in rows] == [0, 0]
    joints = [name for name, part in walker().parts.items() if part.moves]
    made = names(tmp_path)
    assert made["kpt_shape"] == [len(joints), 3]
    assert made["kpt_names"] == {0: joints}
    points = rows[0][1][4:].reshape(-1, 3)
    for (x, y, visible), name in zip(points, joints, strict=True):
        np.testing.assert_allclose((x, y) * SIZE - 0.5, some[0].parts[name].joint, atol=0.01)
        assert visible == (1 if name == "leg" else 2)
    assert 0 in rows[1][1][6::3]  # outside of the scene


def test_poses_of_a_template_without_joints_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="ring has no joints: use yolo-obb or yolo-segment"):
        exported("yolo-pose", ring(), Template.rigid("ring", ring_motif()), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_joints_in_perspective(tmp_path: Path) -> None:
    some = tilted()
    ((_, numbers),) = exported("yolo-pose", some, gauge(), tmp_path)
    np.testing.assert_allclose(numbers[4:6] * SIZE - 0.5, some[0].parts["needle"].joint, atol=0.01)
    left, top, right, bottom = box([part.polygon for part in some[0].parts.values()])
    np.testing.assert_allclose(numbers[2:4] * SIZE, (right - left, bottom - top), atol=0.01)


def test_a_scene_without_objects_is_an_empty_file(tmp_path: Path) -> None:
    assert exported("yolo", replace(found(), items=()), walker(), tmp_path) == []
