"""A run of `wherein detect` that is distributed among workers, or kept in a folder, or both."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wherein import __version__
from wherein.detect.detector import Detector
from wherein.engine.batch import Batch, Finish, finish_here, finish_with
from wherein.engine.detect_job import DetectJob
from wherein.engine.engine_options import EngineOptions
from wherein.engine.manifest import Entry
from wherein.engine.processes import LocalWorkers, threads_each
from wherein.engine.run_folder import RunFolder, check_same_run
from wherein.engine.scene_events import SceneEvent
from wherein.engine.scene_work import SceneWork, WorkSettings
from wherein.native import kernel
from wherein.template.template_library import Library
from wherein.thresholds import MinScore


@dataclass(frozen=True)
class SharedRun:
    """The templates, the settings of the search, and the workers.

    Attributes:
        engine: the options of the engine.
        template: the path from which workers load the templates.
        options: arguments of the detector, by name.
        threshold: the threshold of the score; None: the calibrated one.
        settings: what else is done with each scene.
        drawings: the folder or file of drawings; None: none.
        overwrite: whether to start again in a folder that belongs to another run.
    """

    engine: EngineOptions
    template: Path
    options: Mapping[str, Any]
    threshold: MinScore | None
    settings: WorkSettings
    drawings: Path | None = None
    overwrite: bool = False

    def __call__(
        self, entries: Sequence[Entry], total: int, detector: Detector, progress: Callable[[int], None]
    ) -> Iterator[tuple[Entry, Iterator[SceneEvent]]]:
        """Each scene with its results, in the order of the entries.

        Arguments:
            entries: the scenes.
            total: number of scenes of the whole run; the entries may be a portion of it.
            detector: provides the calibrations; without workers, it searches the scenes.
            progress: called with the number of scenes that were finished since the last call.
        """
        with ExitStack() as stack:
            folder = self._folder(detector, stack)
            folder.forget_undrawn(entries)
            batch = Batch(entries, total, folder)
            finish = self._finish(detector, folder, bool(batch.missing()), stack)
            yield from batch.results(finish, progress)

    def _folder(self, detector: Detector, stack: ExitStack) -> RunFolder:
        if self.engine.resume is None:
            return stack.enter_context(RunFolder.temporary(detector.library))
        return RunFolder.open(self.engine.resume, detector.library, self._about(detector), self.overwrite)

    def check_folder(self, library: Library) -> None:
        """Raise `ArgumentError` if the folder belongs to another run, before anything is calibrated."""
        if self.engine.resume is not None:
            check_same_run(self.engine.resume, self._given(library), self.overwrite)

    def _about(self, detector: Detector) -> dict[str, Any]:
        """Everything that the results of a scene depend on."""
        return {**self._given(detector.library), "thresholds": detector.thresholds}

    def _given(self, library: Library) -> dict[str, Any]:
        """What the results of a scene depend on, besides calibrations."""
        return {
            "wherein": __version__,
            "templates": {one.name: one.fingerprint for one in library.templates},
            "options": dict(self.options),
            "region": self.settings.region,
            "drawings": None if self.drawings is None else str(self.drawings.absolute()),
            "report": self.settings.page is not None,
            "maps": self.settings.maps,
            "export": self.settings.export,
        }

    def _finish(self, detector: Detector, folder: RunFolder, needed: bool, stack: ExitStack) -> Finish:
        engine = self.engine
        # Absolute paths: a worker of a cluster starts in another folder.
        job = DetectJob(
            str(self.template.absolute()),
            self.options,
            self.threshold,
            detector.calibrations,
            self.settings,
            folder.path.absolute(),
            Path.cwd(),
        )
        # A resumed run without missing scenes starts no cluster.
        if engine.ray and needed:
            from wherein.engine.ray_workers import RayWorkers, ray_cluster  # an optional package

            cluster = ray_cluster(engine.address, engine.dashboard, engine.workers)
            cpus = stack.enter_context(cluster)
            return finish_with(lambda: RayWorkers(job), engine.workers or cpus)
        count = engine.workers or 1
        if count > 1:
            # If the C kernel has to be compiled, do it here once and not in all workers at the same time.
            kernel.available()
            return finish_with(lambda: LocalWorkers(job, threads_each(count)), count)
        return finish_here(folder, SceneWork(lambda: detector, self.settings))
