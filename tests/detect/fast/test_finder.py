"""What each stage of the search contributes, compared with the truth."""

import numpy as np
import pytest
import torch
from torch import Tensor

from detecting import Array, group, leaf, noise, off, painted, template, walker
from wherein.detect.fast.finder import Finder
from wherein.detect.fast.hypotheses import Placement
from wherein.detect.fast.joints.joint_geometry import TIGHT
from wherein.detect.fast.pieces import Pieces
from wherein.detect.score import equivalent_zncc, information
from wherein.detect.search_range import Effort, Range
from wherein.images.motif import Motif
from wherein.motion.homography import mapped, relative, scales, tilts
from wherein.planes.plane_fit import PlaneFits
from wherein.pyramid.levels import ScenePyramid
from wherein.template import Template
from wherein.template.pose import frames, placed
from wherein.template.pose import tilted as tilted_by
from wherein.template.render import render

WALKER = walker()
LIMBS = template(
    group("root"),
    leaf("a", "root", noise(40, 50, 1), (10.0, 10.0), (4.0, 20.0)),
    leaf("b", "root", noise(40, 50, 2), (90.0, 20.0), (4.0, 20.0)),
    leaf("c", "root", noise(50, 40, 3), (50.0, 80.0), (20.0, 4.0)),
    size=(150, 140),
)
"""Without a body."""

TURNS = {"arm": 17.0, "wrist": -21.0, "leg": 9.0}
MIDDLE = (161.3, 118.7)
ROOT = placed(33.0, 1.0, MIDDLE, WALKER.centre)


class Search:
    """Stages of the search, from frames that a test chooses."""

    def __init__(self, of: Template, scene: Tensor, scale: tuple[float, float] = (1.0, 1.0)) -> None:
        self.of, self.scene = of, ScenePyramid(scene)
        self.finder = Finder(of, Range(scale=scale), {piece.name: 1.0 for piece in Pieces.of(of).pieces})

    def placement(self, chosen: dict[str, Array], fit: float) -> Placement:
        """One hypothesis: every piece and the root with their frames, every piece with the same ZNCC."""
        names = self.finder.weights
        where = {name: chosen[name][None] for name in {*names, self.of.parts.root}}
        return Placement(where, {name: np.full(1, fit) for name in names})

    def polished(self, chosen: dict[str, Array]) -> Placement:
        """The hypothesis refined at full size, after a bad fit."""
        found = self.finder.scored(self.scene, self.placement(chosen, 0.3))
        return self.finder.uncover(self.scene, self.finder.polish(self.scene, found)).placement

    def off(self, piece: str, found: Placement, truth: dict[str, Array]) -> tuple[float, float]:
        """Pixels and degrees by which a piece is off."""
        name = next((p.fitted_leaf.name for p in self.finder.pieces.pieces if p.name == piece), piece)
        return off(self.of, name, found.frames[piece][0] @ self.of.parts[name].rest, truth[name])


def moved(chosen: dict[str, Array], x: float, y: float) -> dict[str, Array]:
    """All frames shifted."""
    return {name: placed(0.0, 1.0, (x, y), (0.0, 0.0)) @ frame for name, frame in chosen.items()}


def test_every_piece_is_refined_to_a_fifth_of_a_pixel() -> None:
    scene, where = painted(WALKER, ROOT, TURNS)
    search = Search(WALKER, scene)
    found = search.polished(moved(frames(WALKER.parts, ROOT, TURNS), 0.7, -0.6))
    for name in ("walker", "arm", "wrist", "leg"):
        pixels, degrees = search.off(name, found, where)
        assert pixels < 0.2, name
        assert degrees < 0.2, name


@pytest.mark.parametrize("box", [(0, 0, 18, 60), (32, 0, 18, 60), (0, 0, 50, 20), (0, 40, 50, 20)])
def test_an_occluder_does_not_pull_a_piece_aside(box: tuple[int, int, int, int]) -> None:
    """Even one that shows the same picture, three pixels further."""
    root = placed(0.0, 1.0, MIDDLE, WALKER.centre)
    scene, where = painted(WALKER, root, TURNS)
    x, y = ((where["trunk"] @ (0, 0, 1))[:2] + box[:2]).astype(int)
    width, height = box[2:]
    scene[:, y : y + height, x : x + width] = scene[:, y - 3 : y + height - 3, x - 3 : x + width - 3].clone()
    search = Search(WALKER, scene)
    pixels, degrees = search.off("walker", search.polished(frames(WALKER.parts, root, TURNS)), where)
    assert pixels < 0.2
    assert degrees < 0.2


def test_without_a_body_the_root_is_fitted_to_the_joints() -> None:
    root, turns = placed(20.0, 1.0, MIDDLE, LIMBS.centre), {"a": 25.0, "b": -20.0, "c": 15.0}
    scene, where = painted(LIMBS, root, turns)
    beside = frames(LIMBS.parts, root, turns) | moved({"root": root}, 1.0, -0.9)
    search = Search(LIMBS, scene)
    pixels, degrees = search.off("root", search.polished(beside), where)
    assert pixels < 0.2
    assert degrees < 0.2


@pytest.mark.parametrize("scale", [0.8, 1.2])
def test_without_a_body_the_scale_is_that_of_the_limbs(scale: float) -> None:
    """Starting from a scale that is 8 % off, as two joints that are close together may give."""
    scene, _ = painted(LIMBS, placed(20.0, scale, MIDDLE, LIMBS.centre), {"a": 10.0, "b": -12.0})
    search = Search(LIMBS, scene, (0.6, 1.5))
    guess = placed(20.0, scale * (1.08 if scale < 1 else 0.92), MIDDLE, LIMBS.centre)
    found = search.finder.limb_search.from_roots(search.scene, guess[None]).placement
    assert scales(found.frames["root"], (0.0, 0.0))[0] == pytest.approx(scale, rel=0.015)


def test_what_is_outside_the_scene_explains_nothing() -> None:
    """Of a piece that is half outside the scene half is explained, however well the other half fits."""
    root = placed(0.0, 1.0, MIDDLE, WALKER.centre)
    scene, where = painted(WALKER, root)
    left = int((where["trunk"] @ (24.5, 0, 1))[0]) + 1
    search = Search(WALKER, scene[:, :, left:].contiguous())
    chosen = moved(frames(WALKER.parts, root, {}), -left, 0.0)
    known = search.finder.scored(search.scene, search.placement(chosen, 0.9))
    fractions = {"walker": 0.5, "arm": 1.0, "wrist": 1.0, "leg": 0.5}
    for name, share in fractions.items():
        assert known.visible[name][0] == pytest.approx(share, abs=0.1)
    evidence = np.mean([-np.log1p(-share * 0.9**2) for share in fractions.values()])
    assert known.scores[0] == pytest.approx(np.sqrt(-np.expm1(-evidence)), abs=0.02)


@pytest.mark.parametrize("away", [0.0, 4.5])
def test_a_limb_stays_at_its_joint(away: float) -> None:
    """A picture of the leg a few pixels beside its joint is not the leg."""
    scene, _ = painted(WALKER, ROOT, TURNS, ("leg",))
    scene, _ = painted(WALKER, moved({"r": ROOT}, away, 0.0)["r"], TURNS, ("trunk", "upper", "hand"), scene)
    search = Search(WALKER, scene)
    after = search.polished(frames(WALKER.parts, ROOT, TURNS))
    leg = next(piece for piece in search.finder.pieces.limbs if piece.name == "leg")
    own = relative(after.frames["walker"], after.frames["leg"])
    assert np.linalg.norm(mapped(own, leg.joint)[0] - np.array(leg.joint)) < TIGHT
    assert (after.zncc["leg"][0] > 0.9) == (away == 0)


def bodies(search: Search, roots: Array, zncc: float) -> PlaneFits:
    """Poses of the walker's body."""
    model = search.finder.models["walker"]
    return PlaneFits(roots @ model.to_canvas, np.full(len(roots), zncc), np.ones(len(roots)))


def with_likely_limbs(search: Search, found: PlaneFits, effort: Effort) -> PlaneFits:
    return search.finder.likely_bodies.with_likely_limbs(search.scene, found, effort)


def test_of_many_bodies_those_go_on_about_which_limbs_may_be_found() -> None:
    scene, _ = painted(WALKER, ROOT, TURNS)
    search = Search(WALKER, scene)
    beside = [placed(angle, 1.0, (60.0, 50.0), WALKER.centre) for angle in range(0, 240, 40)]
    found = bodies(search, np.stack([*beside, ROOT]), 0.5)
    kept = with_likely_limbs(search, found, Effort(0.9))
    assert len(kept) == 4
    assert any(np.allclose(pose, found.poses[-1]) for pose in kept.poses)
    # With a low threshold all of them may be objects: a crowd is not cut off.
    assert len(with_likely_limbs(search, found, Effort(0.1))) == len(found)
    assert len(with_likely_limbs(search, found[np.arange(4)], Effort(0.9))) == 4


def test_bodies_go_on_that_may_come_to_a_score_of_use() -> None:
    """Of two weak bodies the one that has its limbs; of a strong one the limbs may be hidden."""
    scene, _ = painted(WALKER, ROOT, TURNS)
    search = Search(WALKER, scene)
    beside = placed(100.0, 1.0, (60.0, 50.0), WALKER.centre)
    weights = dict.fromkeys(search.finder.weights, 4.0)
    search.finder = Finder(WALKER, search.finder.ranges, weights)
    roots, needed = np.stack([beside, ROOT]), Effort(0.9, least=0.7)
    (kept,) = search.finder.likely_bodies.with_likely_limbs(
        search.scene, bodies(search, roots, 0.6), needed
    ).poses
    assert np.allclose(kept, bodies(search, roots, 0.6).poses[1])
    strong = bodies(search, roots, 0.95)
    assert len(with_likely_limbs(search, strong, needed)) == 2
    # What is of use is said by the caller; during calibration everything is.
    weak = bodies(search, roots, 0.6)
    assert len(with_likely_limbs(search, weak, Effort(0.9))) == 2


def test_roots_go_on_that_may_come_to_a_score_of_use() -> None:
    scene, _ = painted(LIMBS, ROOT, {})
    search = Search(LIMBS, scene)
    roots = np.stack([placed(100.0, 1.0, (60.0, 50.0), LIMBS.centre), ROOT])
    limbs = search.finder.limb_search
    assert len(limbs.from_roots(search.scene, roots).scores) == 2
    (score,) = limbs.from_roots(search.scene, roots, least=0.6).scores
    assert score > 0.8
    assert not len(limbs.from_roots(search.scene, roots[:1], least=0.6).scores)


def test_nothing_is_looked_for_behind_hidden_limbs_where_hardly_anything_was_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene, _ = painted(WALKER, ROOT, TURNS)
    search, asked = Search(WALKER, scene), []
    search.finder = Finder(WALKER, search.finder.ranges, dict.fromkeys(search.finder.weights, 4.0))
    monkeypatch.setattr(
        "wherein.detect.fast.finder.place_behind_hidden",
        lambda scene, placement, *others: asked.append(len(placement.frames["walker"])) or placement,
    )
    chosen = {name: frame[None] for name, frame in frames(WALKER.parts, ROOT, TURNS).items()}
    model = search.finder.models["wrist"]
    # With four times the evidence that clutter usually reaches, a body is found, and still may be clutter.
    found = float(equivalent_zncc(np.array(4 / search.finder.weights["walker"])))
    for body, looked_for in ((0.99, 1), (0.1, 0), (found, 0)):
        asked.clear()
        # The scene is flat, so that neither arm nor wrist is found in it.
        placement = Placement(chosen, {"walker": np.array([body]), "arm": np.array([0.0])})
        search.finder.with_limb(ScenePyramid(scene * 0), placement, model, TIGHT)
        assert asked == [looked_for]


def test_groups_below_limbs_of_limbs_wait_for_them() -> None:
    """Roots are fitted to the limbs attached to them; what hangs on those comes afterwards."""
    chain = template(
        group("root"),
        group("arm", "root", (12.0, 60.0)),
        leaf("upper", "arm", noise(40, 50, 1), (10.0, 40.0), static=True),
        leaf("other", "root", noise(40, 50, 2), (60.0, 90.0), (4.0, 20.0)),
        group("fore", "arm", (60.0, 60.0)),
        leaf("lower", "fore", noise(30, 40, 3), (60.0, 45.0), static=True),
        group("hand", "fore", (100.0, 60.0)),
        group("palm", "hand", (104.0, 60.0)),
        leaf("finger", "palm", noise(30, 30, 4), (106.0, 45.0), (2.0, 15.0)),
        size=(150, 140),
    )
    root = placed(0.0, 1.0, MIDDLE, chain.centre)
    scene, _ = painted(chain, root)
    search = Search(chain, scene)
    found = search.finder.limb_search.from_roots(search.scene, root[None]).placement
    assert {"arm", "fore", "finger"} <= found.zncc.keys()
    assert found.zncc["fore"][0] > 0.8


def test_no_hypotheses_have_the_pieces_that_others_have() -> None:
    scene, _ = painted(WALKER, ROOT, TURNS)
    search = Search(WALKER, scene)
    some = search.finder.from_body_poses(search.scene, bodies(search, ROOT[None], 0.5))
    both = some.joined(search.finder.nothing)
    assert len(both.scores) == len(search.finder.nothing.joined(some).scores) == 1
    assert both.placement.frames.keys() == some.placement.frames.keys()


@pytest.mark.parametrize(("weight", "tilted"), [(0.6, False), (20.0, True)])
def test_a_tilt_must_gain_evidence(weight: float, tilted: bool) -> None:
    """A stick that is seen at a small tilt: what it gains is evidence only if clutter reaches little."""
    pixels = torch.full((3, 14, 120), 0.2)
    pixels[:, :, 100:] = 0.7
    made = template(leaf("stick", None, pixels), size=(120, 14))
    root = placed(20.0, 1.0, (160.0, 120.0), made.centre)
    true = root @ tilted_by(18.0, 0.0, 400.0, made.centre)
    scene = render(noise(240, 320, 4), made, {"stick": true})
    finder = Finder(made, Range(tilt=40.0), {"stick": weight})
    found = finder.polish(
        ScenePyramid(scene),
        finder.evaluated(ScenePyramid(scene), Placement({"stick": true[None]}, {"stick": np.full(1, 0.3)})),
    )
    seen = tilts(found.placement.frames["stick"], finder.middle)[0]
    assert (seen > 10) == tilted


def test_a_small_body_must_fit_better_than_a_large_one_for_the_same_score() -> None:
    made, name = Template.rigid("it", Motif.whole(noise(60, 70, 1))), "it"
    finder = Finder(made, Range(scale=(0.5, 2.0)), {name: 1.0}, size_power=0.35)
    poses = np.stack([placed(0.0, size, (100.0, 100.0), finder.middle) for size in (0.5, 1.0, 2.0)])
    needed = finder.scoring.body_zncc(poses, 0.7)
    assert needed[0] > needed[1] > needed[2]
    assert needed[1] == pytest.approx(0.7)
    whole, placement = {name: np.ones(3)}, Placement({name: poses}, {name: needed})
    np.testing.assert_allclose(finder.scoring.score(placement, {name: information(needed)}, whole), 0.7)
