"""The supervisor: tasks that kill workers, workers that do not start, errors that are the user's."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from wherein.engine.workers import Died, Done, Event, Raised, Ready, supervised
from wherein.errors import UnwritableError, WorkerError


@dataclass(frozen=True)
class Group:
    """A task of several names."""

    names: tuple[str, ...]

    def split(self) -> list["Group"]:
        return [Group((name,)) for name in self.names]


@dataclass
class Pretended:
    """Workers that only exist in this list; what was given first is finished first."""

    behave: Callable[[int, Group, int], Event]
    starts: Callable[[int], Event] = Ready
    pending: list[tuple[int, Group | None]] = field(default_factory=list)
    count: int = 0
    tried: Counter[Group] = field(default_factory=Counter)
    together: list[set[Group]] = field(default_factory=list)
    busy: list[set[int]] = field(default_factory=list)
    closed: bool = False
    dead: set[int] = field(default_factory=set)

    def start(self) -> int:
        self.count += 1
        self.pending.append((self.count, None))
        return self.count

    def send(self, worker: int, task: Group) -> bool:
        if worker not in self.dead:
            self.pending.append((worker, task))
        return worker not in self.dead

    def wait(self) -> list[Event]:
        assert self.pending, "nothing is under way: it would wait for ever"
        self.together.append({task for _, task in self.pending if task is not None})
        self.busy.append({worker for worker, task in self.pending if task is not None})
        worker, task = self.pending.pop(0)
        if worker in self.dead:
            return [Died(worker, "killed")]
        if task is None:
            return [self.starts(worker)]
        self.tried[task] += 1
        event = self.behave(worker, task, self.tried[task])
        if isinstance(event, Died):
            self.pending = [one for one in self.pending if one[0] != worker]
        return [event]

    def close(self) -> None:
        self.closed = True


def singles(names: str) -> list[Group]:
    return [Group((name,)) for name in names]


def well(worker: int, task: Group, _: int) -> Event:
    return Done(worker, task.names[0].upper())


def test_all_tasks_are_done_by_as_many_workers_as_there_is_work_for() -> None:
    workers = Pretended(well)
    finished = list(supervised(workers, singles("abcde"), 3))
    assert sorted(one.result for one in finished) == list("ABCDE")
    assert workers.count == 3
    assert max(map(len, workers.busy)) == 3
    assert workers.closed
    few = Pretended(well)
    assert len(list(supervised(few, singles("a"), 3))) == 1
    assert few.count == 1


def test_a_task_that_kills_its_worker_is_tried_twice_the_second_time_alone() -> None:
    def behave(worker: int, task: Group, tries: int) -> Event:
        return Died(worker, "killed") if "b" in task.names else well(worker, task, tries)

    workers = Pretended(behave)
    *others, last = supervised(workers, singles("abcd"), 2)
    assert sorted(one.result for one in others) == ["A", "C", "D"]
    assert last.task == Group(("b",))
    assert last.failure == "the search failed twice: its worker process died (killed)"
    assert workers.tried[last.task] == 2
    assert workers.together[-1] == {last.task}


@pytest.mark.parametrize("end", [lambda worker: Died(worker, "x"), lambda w: Raised(w, MemoryError("none"))])
def test_an_unlucky_task_is_done_the_second_time(end: Callable[[int], Event]) -> None:
    workers = Pretended(lambda w, task, tries: end(w) if tries == 1 and task in singles("ac") else Done(w, 1))
    finished = list(supervised(workers, singles("abcd"), 2))
    assert [one.failure for one in finished] == [None] * 4
    assert {one.task for one in finished} == set(singles("abcd"))
    assert workers.tried.total() == 6


def test_a_worker_has_its_next_task_before_it_needs_it_except_in_the_end() -> None:
    workers = Pretended(well)
    finished = list(supervised(workers, singles("abcdefgh"), 2))
    assert sorted(one.result for one in finished) == list("ABCDEFGH")
    assert max(map(len, workers.together)) == 4
    assert [len(tasks) for tasks in workers.together[-3:]] == [2, 2, 1], "each worker has one of the last two"


def test_a_task_that_waits_behind_one_that_kills_the_worker_is_not_to_blame() -> None:
    def behave(worker: int, task: Group, tries: int) -> Event:
        return Died(worker, "killed") if "a" in task.names else well(worker, task, tries)

    workers = Pretended(behave)
    finished = list(supervised(workers, singles("abcdef"), 1))
    assert [one.failure is None for one in finished] == [True] * 5 + [False]
    assert [one.result for one in finished[:5]] == list("BCDEF"), "in the same order, each once"
    assert workers.tried[Group(("b",))] == 1


def test_a_task_is_not_to_blame_if_its_worker_died_before_it_was_sent() -> None:
    """The worker dies idle, after its last task, and before its death is noticed: the second try is due."""
    workers = Pretended(well)

    def behave(worker: int, task: Group, tries: int) -> Event:
        if task == Group(("a",)) and tries == 1:
            return Died(worker, "killed")
        if task == Group(("c",)):
            workers.dead.add(worker)
            workers.pending.append((worker, None))
        return well(worker, task, tries)

    workers.behave = behave
    finished = list(supervised(workers, singles("abc"), 1))
    assert [one.failure for one in finished] == [None] * 3
    assert workers.tried[Group(("a",))] == 2


def test_of_a_task_of_several_only_the_culprit_fails() -> None:
    def behave(worker: int, task: Group, tries: int) -> Event:
        return Died(worker, "killed") if "e" in task.names else Done(worker, None)

    workers = Pretended(behave)
    finished = list(supervised(workers, [Group(tuple("abc")), Group(tuple("def"))], 2))
    assert [one.task.names for one in finished if one.failure] == [("e",)]
    assert sorted(name for one in finished for name in one.task.names) == list("abcdef")


def test_an_error_about_what_was_asked_for_ends_all() -> None:
    workers = Pretended(lambda worker, *_: Raised(worker, UnwritableError("cannot write it")))
    with pytest.raises(UnwritableError, match="cannot write it"):
        list(supervised(workers, singles("abc"), 2))
    assert workers.closed


def test_workers_that_cannot_start() -> None:
    workers = Pretended(well, starts=lambda worker: Died(worker, "exit status 1"))
    with pytest.raises(WorkerError, match="workers cannot start: exit status 1"):
        list(supervised(workers, singles("abc"), 2))
    wrong = Pretended(well, starts=lambda worker: Raised(worker, ImportError("no such module")))
    with pytest.raises(ImportError, match="no such module"):
        list(supervised(wrong, singles("abc"), 2))


def test_a_worker_that_dies_now_and_then_while_it_starts() -> None:
    workers = Pretended(well, starts=lambda worker: Died(worker, "x") if worker in (1, 3) else Ready(worker))
    assert len(list(supervised(workers, singles("abc"), 2))) == 3


def test_the_others_go_on_without_workers_that_cannot_start() -> None:
    workers = Pretended(well, starts=lambda worker: Ready(worker) if worker == 2 else Died(worker, "x"))
    assert len(list(supervised(workers, singles("abcdefgh"), 3))) == 8
    assert workers.count <= 3 * 8, "not more than about one attempt for each task and worker"


def test_who_stops_ends_the_workers() -> None:
    workers = Pretended(well)
    work = supervised(workers, singles("abc"), 2)
    next(work)
    work.close()
    assert workers.closed
