"""The job that workers of `wherein detect` receive: everything that a process needs to search shards."""

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
    """The templates, the settings of the search, and the target of results. Each worker gets it at its start.

    Attributes:
        template: the path from which the templates are loaded.
        options: further arguments of the detector, by name.
        threshold: the threshold of the score; None: the calibrated one.
        calibrations: the calibrations of all templates. They are measured, or loaded, before workers start,
            so that workers do not all measure them.
        settings: what else is done with each scene.
        folder: the folder of the run.
        directory: the folder to which relative paths refer.
        version: the version of the package that made the job.
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
        """In a worker: returns a function that searches the scenes of a shard and writes its file.

        Raises:
            ArgumentError: this machine has another version of the package, or other folders.
            TemplateError: the template cannot be loaded.
        """
        # Other versions may give other results; on one machine this cannot happen, on a cluster it can.
        message = f"a worker has wherein {__version__}, but the run has {self.version}: install the same"
        require(self.version == __version__, message)
        # Paths stay relative and are not made absolute before: messages name files as the user did.
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
