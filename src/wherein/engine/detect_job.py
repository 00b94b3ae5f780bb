"""The job of the workers of `wherein detect`: everything that a process needs to search its shards."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from wherein import __version__
from wherein.detect.calibration.store import StoredCalibration
from wherein.detect.detector import Detector
from wherein.engine.manifest import Shard
from wherein.engine.run_folder import write_shard
from wherein.engine.scene_work import SceneWork, WorkSettings
from wherein.errors import ArgumentError, require
from wherein.template.template_library import Library
from wherein.thresholds import MinScore


@dataclass(frozen=True)
class DetectJob:
    """What is searched for, how, and where results go. A worker gets it as a whole, when it starts.

    Attributes:
        template: where the templates are loaded from.
        options: other arguments of the detector, by name.
        threshold: of the score; None: the calibrated one.
        calibrations: of all templates. They were measured, or loaded, before workers start.
        settings: what else is done with each scene.
        folder: of the run.
        directory: in which relative paths begin.
        version: of the package that made the job.
    """

    template: str
    options: Mapping[str, Any]
    threshold: MinScore | None
    calibrations: Mapping[str, StoredCalibration]
    settings: WorkSettings
    folder: Path
    directory: Path
    version: str = __version__

    def __call__(self) -> Callable[[Shard], None]:
        """In a worker: a function that searches the scenes of a shard, and writes its file.

        Raises:
            ArgumentError: this machine has another version of the package, or not the same folders.
            TemplateError: the template cannot be loaded.
        """
        message = f"a worker has wherein {__version__}, but the run has {self.version}: install the same"
        require(self.version == __version__, message)
        # Not only for what is opened: messages name files as the user did.
        try:
            os.chdir(self.directory)
        except OSError as error:
            raise ArgumentError(
                f"a worker cannot use the folder {self.directory}: {error.strerror}. All machines must have "
                "the same folders"
            ) from error
        detector = Detector(
            Library.of(self.template),
            threshold=self.threshold,
            calibration=dict(self.calibrations),
            progress=False,
            **self.options,
        )
        work = SceneWork(lambda: detector, self.settings)
        return partial(self._search, work)

    def _search(self, work: SceneWork, shard: Shard) -> None:
        write_shard(self.folder, shard, work)
