"""A batch of scenes: searched in any order, by any workers, and given in the order of the input."""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

from wherein.engine.manifest import Entry, Shard, shards
from wherein.engine.run_folder import RunFolder, write_shard
from wherein.engine.scene_events import SceneEvent
from wherein.engine.workers import Finished, Workers, supervised

Finish = Callable[[Sequence[Shard]], Generator[Finished[Shard]]]
"""Has shards searched, and their results written into the folder of the run."""


@dataclass(frozen=True)
class Batch:
    """The scenes of a run.

    Attributes:
        entries: in the order of their results.
        total: scenes of the whole run, of which these may be a portion.
        folder: where results are kept.
    """

    entries: Sequence[Entry]
    total: int
    folder: RunFolder

    def missing(self) -> list[Shard]:
        """What is left to do."""
        return list(shards([entry for entry in self.entries if not self.folder.has(entry)], self.total))

    def results(
        self, finish: Finish, progress: Callable[[int], None]
    ) -> Iterator[tuple[Entry, Iterator[SceneEvent]]]:
        """Each scene, in order, with its results.

        Arguments:
            finish: has shards searched.
            progress: called with the number of scenes that were finished since.
        """
        left = self.missing()
        progress(len(self.entries) - sum(map(len, left)))
        with closing(finish(left)) as work:
            for entry in self.entries:
                while not self.folder.has(entry):
                    self._note(next(work), progress)
                yield entry, self.folder.read(entry)
            for finished in work:  # scenes that are given twice were searched twice
                self._note(finished, progress)

    def _note(self, finished: Finished[Shard], progress: Callable[[int], None]) -> None:
        if finished.failure is None:
            self.folder.add(finished.task)
        else:
            self.folder.failed.update((entry.key, finished.failure) for entry in finished.task.entries)
        progress(len(finished.task))


def finish_here(folder: RunFolder, work: Callable[[Entry], Iterable[SceneEvent]]) -> Finish:
    """Shards are searched one after the other in this process."""

    def finish(left: Sequence[Shard]) -> Generator[Finished[Shard]]:
        for shard in left:
            write_shard(folder.path, shard, work)
            yield Finished(shard)

    return finish


def finish_with(workers: Callable[[], Workers], count: int) -> Finish:
    """Shards are searched by so many workers side by side, which are started if there is anything to do."""

    def finish(left: Sequence[Shard]) -> Generator[Finished[Shard]]:
        if left:
            yield from supervised(workers(), left, count)

    return finish
