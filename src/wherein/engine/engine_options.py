"""The options of the engine: which workers search the scenes of a run, and where results are kept."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from wherein.engine.manifest import ALL, Portion, SceneFile
from wherein.errors import MissingError, require
from wherein.files import check_writable, write_errors
from wherein.video.source import camera_index


@dataclass(frozen=True)
class EngineOptions:
    """How the work on many scenes is distributed.

    Attributes:
        workers: number of processes; None: one or, with Ray, one for each CPU of the cluster.
        ray: whether the processes belong to a Ray cluster.
        address: the address of the cluster; None: a cluster is started on this machine.
        dashboard: whether Ray's dashboard is started with the cluster.
        resume: the folder in which the run is kept, so that it can be resumed; None: it is not kept.
        portion: the portion of the scenes that is searched.
    """

    workers: int | None = None
    ray: bool = False
    address: str | None = None
    dashboard: bool = False
    resume: Path | None = None
    portion: Portion = ALL

    @property
    def shared(self) -> bool:
        """Whether results pass through a run folder: scenes are searched by workers, or the run is kept."""
        return self.ray or (self.workers or 1) > 1 or self.resume is not None

    def check(self, scenes: Sequence[SceneFile]) -> None:
        """Check the options, and that these scenes can be searched with them.

        Raises:
            ArgumentError: options contradict each other, or do not suit the scenes.
            MissingError: ray is needed, but not installed.
            UnwritableError: the folder of the run cannot be written.
        """
        require(self.ray or self.address is None, "--address is that of a Ray cluster: add --engine ray")
        require(self.ray or not self.dashboard, "--dashboard is that of Ray: add --engine ray")
        require(
            self.address is None or not self.dashboard,
            "--dashboard is for a cluster that is started here: omit it, or --address",
        )
        require(
            self.address is None or self.resume is not None,
            "--address needs --resume FOLDER, on a file system that all machines of the cluster share: there "
            "they write their results",
        )
        if self.ray and find_spec("ray") is None:
            raise MissingError("--engine ray needs ray, which is not installed: pip install 'wherein[scale]'")
        cameras = [str(scene.path) for scene in scenes if camera_index(str(scene.path)) is not None]
        require(
            not cameras or not (self.shared or self.portion.count > 1),
            f"{', '.join(cameras)} has no end, so it cannot be shared out or continued: omit --workers, "
            "--engine, --resume and --shard",
        )
        if self.resume is not None:
            require(
                not self.resume.exists() or self.resume.is_dir(),
                f"--resume {self.resume} is a file: choose a folder",
            )
            with write_errors(self.resume):
                check_writable(self.resume)
