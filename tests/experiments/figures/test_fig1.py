"""Figure 1: its three methods, what each is said to have cost, and the means."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch

import wherein
from wherein.experiments.figures import fig1
from wherein.experiments.paper_registration import PaperFit, Schedule, register_by_paper
from wherein.experiments.registration_scenes import Observation, SupportZNCC, as_tensor
from wherein.experiments.subject import Subject

FEW = fig1.Fig1Settings(images=1, tries=60)


def test_covering_stops_at_the_first_pose_that_is_good_enough(robot: Subject) -> None:
    found = fig1.cover(replace(FEW, tries=2000), robot, 0, "translation", 0)
    assert found["success"]
    assert found["zncc"] >= 0.9
    assert found["operations"] == 2 * found["tries"] < 4000
    assert fig1.cover(FEW, robot, 0, "translation", 0) == found  # however many it may try
    short = fig1.cover(replace(FEW, tries=found["tries"] - 1), robot, 0, "translation", 0)
    assert not short["success"]
    assert short["tries"] == found["tries"] - 1


def test_covering_that_finds_nothing_says_how_much_it_tried(robot: Subject) -> None:
    found = fig1.cover(FEW, robot, 0, "affine", 0)
    assert (found["success"], found["tries"], found["operations"]) == (False, 60, 120)
    assert 0 < found["zncc"] < 0.9


def test_the_papers_method_registers_and_counts_every_operation(robot: Subject) -> None:
    found = fig1.optimise(FEW, robot, 0, "euclidean", 2)
    assert found["success"]
    # Of every iteration 3 interpolations and 4 convolutions; of every scale 1 interpolation to begin with.
    scales = -(-found["iterations"] // 50)
    assert found["operations"] == 7 * found["iterations"] + scales


def test_the_papers_method_says_where_it_failed(robot: Subject) -> None:
    found = fig1.optimise(replace(FEW, schedule=Schedule(scales=1, iterations=8)), robot, 0, "similarity", 0)
    assert not found["success"]
    assert found["iterations"] == 8


def test_the_papers_method_smooths_more_for_affine_motion(
    robot: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    sigmas: list[float] = []

    def shortened(seen: Sequence[Observation], motion: str, schedule: Schedule, goal: float) -> PaperFit:
        sigmas.append(schedule.sigma)
        return register_by_paper(seen, motion, replace(schedule, sigma=1.0, scales=1, iterations=1), goal)

    monkeypatch.setattr(fig1, "register_by_paper", shortened)
    for motion in fig1.DIMENSIONS:
        fig1.optimise(FEW, robot, 0, motion, 0)
    assert sigmas == [5.0, 5.0, 5.0, 10.0]


def test_a_batch_of_descents_is_as_each_alone(robot: Subject) -> None:
    seen = [fig1.observation(robot, 0, "euclidean", image) for image in (0, 1)]
    schedule = Schedule(sigma=2.5, scales=1, iterations=12)
    both = register_by_paper(seen, "euclidean", schedule, goal=0.9)
    for index, each in enumerate(seen):
        alone = register_by_paper([each], "euclidean", schedule, goal=0.9)
        torch.testing.assert_close(alone.matrix[0], both.matrix[index], atol=1e-3, rtol=1e-4)
        assert alone.iterations[0] == both.iterations[index]
        assert alone.operations[0] == both.operations[index]


def test_the_default_solver_is_register(robot: Subject) -> None:
    found = fig1.register(FEW, robot, 0, "euclidean", 0)
    seen = fig1.observation(robot, 0, "euclidean", 0)
    public = wherein.register(seen.scene, seen.motif.pixels, "euclidean", mask=seen.motif.mask)
    pose = torch.eye(3)
    pose[:2] = torch.from_numpy(public.matrix)
    assert found["zncc_at_rest"] == pytest.approx(
        float(SupportZNCC(seen.scene, seen.motif)(pose[None])), abs=1e-5
    )
    assert found["success"]
    # One look at the whole motif, at least; and fewer than if it had gone on.
    assert 2 < found["operations"] < found["operations_to_rest"]


def test_every_image_is_its_own(robot: Subject) -> None:
    scenes = [
        fig1.observation(robot, seed, "affine", image) for seed, image in ((0, 0), (0, 0), (0, 1), (1, 0))
    ]
    poses = as_tensor(*(seen.truth for seen in scenes))
    assert torch.equal(scenes[0].scene, scenes[1].scene)
    assert len(poses.unique(dim=0)) == 3


def test_means_are_marked_where_they_are_bounds() -> None:
    def one(operations: float, success: bool) -> dict[str, float | bool]:
        return {"operations": operations, "success": success, "operations_to_rest": 3 * operations}

    results = {
        f"{motion} {image}, {method}": one(cost * (image + 1), image < 1 or method != "covering")
        for motion in fig1.DIMENSIONS
        for image in range(2)
        for method, cost in (("covering", 100.0), ("optimization", 10.0), ("fast", 1.0))
    }
    modes = fig1.numbers(fig1.Fig1Settings(images=2), results)["modes"]
    assert {motion: mode["dimension"] for motion, mode in modes.items()} == fig1.DIMENSIONS
    assert modes["affine"]["covering"] == {"operations": 150, "success": 0.5, "bound": True}
    assert modes["affine"]["optimization"] == {"operations": 15, "success": 1, "bound": False}
    assert modes["affine"]["fast"]["operations_to_rest"] == 4.5


def test_tasks_have_names_of_their_own(robot: Subject) -> None:
    tasks = fig1.tasks(fig1.Fig1Settings(images=3), robot, 0)
    assert len({task.name for task in tasks}) == len(tasks) == 4 * 3 * 3
