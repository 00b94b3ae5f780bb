"""A batch of scenes: searched in any order by any workers; results are returned in the order of the input."""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

from wherein.engine.manifest import Entry, Shard, shards
from wherein.engine.run_folder import RunFolder, write_shard
from wherein.engine.scene_events import SceneEvent
from wherein.engine.workers import Finished, Workers, supervised

Finish = Callable[[Sequence[Shard]], Generator[Finished[Shard]]]
"""A function that has shards searched, writes their results to the run folder, and yields finished shards."""


@dataclass(frozen=True)
class Batch:
    """The scenes of a run.

    Attributes:
        entries: the scenes, in the order of their results.
        total: number of scenes of the whole run; the entries may be a portion of it.
        folder: the folder with the results.
    """

    entries: Sequence[Entry]
    total: int
    folder: RunFolder

    def missing(self) -> list[Shard]:
        """The scenes that are not finished, in shards."""
        return list(shards([entry for entry in self.entries if not self.folder.has(entry)], self.total))

    def results(
        self, finish: Finish, progress: Callable[[int], None]
    ) -> Iterator[tuple[Entry, Iterator[SceneEvent]]]:
        """Each scene with its results, in the order of the input.

        Arguments:
            finish: has the missing shards searched.
            progress: called with the number of scenes that were finished since the last call.
        """
        left = self.missing()
        progress(len(self.entries) - sum(map(len, left)))
        with closing(finish(left)) as work:
            for entry in self.entries:
                # Shards finish in any order. Results of later scenes wait on disk, so that memory does not
                # grow with the number of scenes.
                while not self.folder.has(entry):
                    self._note(next(work), progress)
                yield entry, self.folder.read(entry)
            for finished in work:  # shards of scenes that are listed twice may still be in progress
                self._note(finished, progress)

    def _note(self, finished: Finished[Shard], progress: Callable[[int], None]) -> None:
        # A failed shard has no file: its scenes are recorded as failed, so that the run goes on.
        if finished.failure is None:
            self.folder.add(finished.task)
        else:
            self.folder.failed.update((entry.key, finished.failure) for entry in finished.task.entries)
        progress(len(finished.task))


def finish_here(folder: RunFolder, work: Callable[[Entry], Iterable[SceneEvent]]) -> Finish:
    """A `Finish` that searches one shard after the other in this process."""

    def finish(left: Sequence[Shard]) -> Generator[Finished[Shard]]:
        for shard in left:
            write_shard(folder.path, shard, work)
            yield Finished(shard)

    return finish


def finish_with(workers: Callable[[], Workers], count: int) -> Finish:
    """A `Finish` that searches with `count` workers in parallel, which start only if something is missing."""

    def finish(left: Sequence[Shard]) -> Generator[Finished[Shard]]:
        if left:
            yield from supervised(workers(), left, count)

    return finish
