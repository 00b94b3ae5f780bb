"""The suite "registration": the poses of the paper's Figure 1, sub-pixel accuracy, homographies."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Literal

from benchmarks import memory, photographs, scenes
from benchmarks.measure import Ruler, Trial, machine, set_threads, summarise, time_ratio, timed
from benchmarks.methods import METHODS, OURS, Method, attempt
from benchmarks.report import FORMAT, Target, compare
from benchmarks.scenes import Problem

QUICK, QUICK_LIMITED = 3, 1  # problems per group if quick, for methods without and with a limit
SLOW = ("kornia tuned",)  # several seconds per problem: not measured if quick, and without its memory

# Aims: no slower than ECC on the problems that ECC solves, a hundred times faster than kornia.
SPEED = (Target("time / ECC, solved", "<=", 1.0), Target("time / kornia, all", "<=", 0.01))
POSE = (Target("success", ">=", 1.0), Target("corner_median", "<", 0.05), *SPEED)
AFFINE = (Target("success", ">=", 0.99), Target("corner_median", "<", 0.05), *SPEED)
SUBPIXEL = (Target("corner_rms", "<=", 0.004), *SPEED)
WINDOW = (Target("within_1px", ">=", 0.95), *SPEED)


Step = Callable[[str, float], None]
"""A function that is called with the name of the current step and the fraction of the suite that is done."""


def silent(name: str, done: float) -> None:
    """A `Step` that shows no progress."""


@dataclass(frozen=True)
class Settings:
    """The settings of a run."""

    seed: int = 0
    quick: bool = False
    threads: int = 1


@dataclass(frozen=True)
class Group:
    """Problems of one kind, and the aims for them."""

    name: str
    make: Callable[..., Iterator[Problem]]
    count: int
    targets: tuple[Target, ...]
    weigh: Literal["never", "full", "always"] = "never"
    """Whether to measure peak memory, which needs a process for each method; "full": unless quick."""


def _figure1() -> Iterator[Group]:
    for kind in scenes.POSES:
        for where in ("beach", "photographs"):
            make = partial(scenes.figure1, kind, where)
            targets = AFFINE if kind == "affine" else POSE
            weigh = "full" if (kind, where) == ("euclidean", "photographs") else "never"
            yield Group(f"Figure 1, {kind}, {where}", make, 100, targets, weigh)


GROUPS = (
    *_figure1(),
    Group("sub-pixel, affine, 300 px", scenes.subpixel, 120, SUBPIXEL, weigh="always"),
    Group("homography, 128 px, same window", scenes.homographies, 100, WINDOW, weigh="full"),
    Group("homography, 128 px in 192 px", partial(scenes.homographies, margin=32), 100, WINDOW),
)


def run(settings: Settings, step: Step = silent, groups: Sequence[Group] = GROUPS) -> dict[str, Any]:
    """Measure every method on every group; `step` is called with the progress."""
    set_threads(settings.threads)
    at = machine(settings.threads)  # first, so that the recorded load is the one before the run
    methods = [method for method in METHODS.values() if not (settings.quick and method.name in SLOW)]
    present = [method for method in methods if method.missing() is None]
    _warm_up(present)
    return {
        "format": FORMAT,
        "suite": "registration",
        "command": "python -m benchmarks registration" + (" --quick" if settings.quick else ""),
        "settings": asdict(settings),
        "machine": at,
        "data": {"photographs": photographs.names(beach=True), "missing": _missing()},
        "methods": {method.name: {"about": method.about, "missing": method.missing()} for method in methods},
        "groups": [
            _group(
                group,
                present,
                settings,
                lambda share, name=group.name, done=done: step(name, (done + share) / len(groups)),
            )
            for done, group in enumerate(groups)
        ],
    }


def _warm_up(methods: list[Method]) -> None:
    """Call every method once, without timing: the first call loads libraries."""
    for method in methods:
        for motion in ("affine",) if method.limit else (*scenes.POSES, "homography"):
            attempt(method, memory.tiny(motion))


def _missing() -> list[str]:
    notes = list(photographs.missing())
    if "beach" not in photographs.names(beach=True):
        notes.append("no ../shared: the groups called beach use the other photographs")
    if not photographs.BODY.exists():
        notes.append("no ../shared: an ellipse cut out of a photograph is used instead of the crab's body")
    return notes


def _group(
    group: Group, methods: list[Method], settings: Settings, step: Callable[[float], None]
) -> dict[str, Any]:
    count = min(group.count, QUICK) if settings.quick else group.count
    first = next(group.make(count=1, seed=settings.seed))
    trials: dict[str, list[Trial]] = {method.name: [] for method in methods}
    for index, problem in enumerate(group.make(count=count, seed=settings.seed)):
        step(index / count)
        for name, trial in _trials(
            index, problem, [m for m in methods if index < _max_problems(m, settings)]
        ):
            trials[name].append(trial)
    summary = {name: summarise(done) for name, done in trials.items()}
    _relate(summary, trials)
    if group.weigh == "always" or (group.weigh == "full" and not settings.quick):
        _weigh(summary, first, methods, settings)
    return {
        "name": group.name,
        "motion": first.motion,
        "problems": count,
        "methods": summary,
        "targets": [target.judge(summary.get(OURS)) for target in group.targets],
        "comparisons": compare(OURS, trials, summary),
    }


def _max_problems(method: Method, settings: Settings) -> float:
    """The maximum number of problems of a group for a method."""
    if method.limit is None:
        return float("inf")
    return QUICK_LIMITED if settings.quick else method.limit


def _trials(index: int, problem: Problem, methods: Iterable[Method]) -> Iterator[tuple[str, Trial]]:
    """Run every method on one problem before the next problem, so that all run under the same load."""
    ruler = Ruler(problem)
    for method in methods:
        outcome, seconds = timed(partial(attempt, method, problem))
        found = ruler.zncc(outcome.matrix), ruler.corner_error(outcome.matrix)
        yield method.name, Trial(index, problem.photograph, *found, seconds, outcome.status)


def _relate(summary: dict[str, dict[str, Any]], trials: dict[str, list[Trial]]) -> None:
    """Add the ratios of our time to the peers' times to our numbers (for the aims) and theirs (the table)."""
    if OURS not in trials:
        return
    for name, theirs in trials.items():
        if name != OURS:
            ratio = time_ratio(trials[OURS], theirs)
            summary[name]["our_time_over_its"] = ratio
            summary[OURS] |= {f"time / {name}, {which}": ratio[which] for which in ("solved", "all")}


def _weigh(
    summary: dict[str, dict[str, Any]], problem: Problem, methods: list[Method], settings: Settings
) -> None:
    """Add the peak memory of each method on one problem."""
    for method in methods:
        if method.name not in SLOW and not (settings.quick and method.limit):
            summary[method.name]["peak_mb"] = memory.peak_megabytes(method, problem, settings.threads)
