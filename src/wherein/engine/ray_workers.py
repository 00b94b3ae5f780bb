"""Workers that are actors of a Ray cluster, on one machine or several.

Only Ray Core is used. Tasks and results are small: scenes are read from files and results are written to
files, so all machines must have these files under the same paths.
"""

import os
import secrets
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import torch

from wherein.engine.processes import usable_cores
from wherein.engine.workers import Died, Done, Event, Make, Raised, Ready
from wherein.errors import WorkerError
from wherein.extras import require_package

_OBJECT_STORE = 100 * 2**20
"""Size in bytes of the object store (shared memory) of a cluster that is started here. Ray needs at least
75 MB. Nothing large passes through the store, but by default Ray would reserve a third of the memory."""

_WAIT = 60.0
"""Timeout of a wait for the cluster, in seconds. A choice: it only limits how long a lost notification
could go unnoticed."""


def ray_module() -> Any:
    """The module ray, with token authentication and without usage statistics.

    Ray reads both from the environment; variables that the user has set are kept.

    Raises:
        MissingError: it is not installed.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_AUTH_MODE", "token")
    return require_package("ray", "--engine ray", "pip install 'wherein[scale]'")


def _set_up_own_cluster() -> None:
    """Set environment variables that Ray reads on import: a secret token, and loopback addresses."""
    if not {"RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"} & os.environ.keys():
        os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
    # Despite its name, on every system this variable decides whether a node has a loopback address.
    os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")


@contextmanager
def ray_cluster(address: str | None, dashboard: bool = False, cpus: int | None = None) -> Iterator[int]:
    """Connect to a Ray cluster, or start one on this machine; yields its number of CPUs.

    Arguments:
        address: the address of the cluster, for example 127.0.0.1:6379; "auto": the cluster that runs on this
            machine; None: start a cluster, and stop it at the end of the block.
        dashboard: whether a cluster that is started has a dashboard, on 127.0.0.1.
        cpus: number of CPUs of a cluster that is started; None: the cores that this process may use.

    Raises:
        MissingError: Ray is not installed.
        WorkerError: there is no cluster at this address, or it refuses the connection.
    """
    if address is None:
        _set_up_own_cluster()
    ray = ray_module()
    # A cluster of our own is reachable from this machine only.
    own = {
        "num_cpus": cpus or usable_cores(),
        "include_dashboard": dashboard,
        "dashboard_host": "127.0.0.1",
        "object_store_memory": _OBJECT_STORE,
    }
    quiet = {"log_to_driver": False, "logging_level": "error"}
    try:
        with _own_sigterm():
            ray.init(address=address or "local", **quiet, **({} if address else own))
    except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        where = f"connect to Ray at {address}" if address else "start Ray"
        raise WorkerError(f"cannot {where}: {_first_line(error)}") from error
    _silence(ray)
    try:
        yield max(1, int(ray.cluster_resources().get("CPU", 1)))
    finally:
        ray.shutdown()


def _silence(ray: Any) -> None:
    """Prevent Ray from reporting dead workers and nodes on standard output.

    There, text between lines of JSON would break programs that read them. No public option prevents it. This
    private switch is the one that Ray's debugger uses; `tests/engine/test_ray_workers.py` fails if a new
    version moves it.
    """
    ray._private.worker._worker_logs_enabled = False


class RayWorkers:
    """Actors of the connected cluster, with one CPU and one torch thread each.

    Arguments:
        make: makes the function to apply, once in each actor; `make`, tasks and results must be picklable.
    """

    def __init__(self, make: Make) -> None:
        self._ray, self._make = ray_module(), make
        # Ray restarts and retries nothing, because `Supervisor` decides what is tried again.
        self._class = self._ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(_Actor)
        self._actors: dict[int, Any] = {}
        # The calls that are not finished: the number of the worker, and whether it is starting.
        self._calls: dict[Any, tuple[int, bool]] = {}
        self._count = 0

    def start(self) -> int:
        """Start an actor, which reports `Ready` when the cluster has a CPU for it; returns its number."""
        self._count += 1
        actor = self._actors[self._count] = self._class.remote()
        self._calls[actor.prepare.remote(self._make)] = self._count, True
        return self._count

    def send(self, worker: int, task: Any) -> bool:
        """Send a task to an actor, which does tasks in order; if it has died, `wait` reports it."""
        self._calls[self._actors[worker].apply.remote(task)] = worker, False
        return True

    def wait(self) -> list[Event]:
        """Wait until there are events, and return them; none after a timeout."""
        try:
            # Returns as soon as one call is done; the others stay in `_calls`.
            done, _ = self._ray.wait(list(self._calls), timeout=_WAIT)
            return [self._event(call) for call in done]
        except self._ray.exceptions.RayError as error:
            raise WorkerError(f"the connection to Ray was lost: {_first_line(error)}") from error

    def _event(self, call: Any) -> Event:
        worker, starting = self._calls.pop(call)
        errors = self._ray.exceptions
        try:
            result = self._ray.get(call)
        except errors.RayTaskError as error:
            cause = error.cause
            return Raised(worker, cause if isinstance(cause, Exception) else error)
        except (errors.RayActorError, errors.WorkerCrashedError, errors.ObjectLostError) as error:
            self._forget(worker)
            return Died(worker, _first_line(error))
        return Ready(worker) if starting else Done(worker, result)

    def _forget(self, worker: int) -> None:
        """Remove an actor that has died, and its other calls, which would report its death again."""
        self._kill(self._actors.pop(worker))
        self._calls = {call: what for call, what in self._calls.items() if what[0] != worker}

    def _kill(self, actor: Any) -> None:
        with suppress(Exception):  # the actor may have ended already, or the cluster
            self._ray.kill(actor)

    def close(self) -> None:
        """Kill all actors."""
        for actor in self._actors.values():
            self._kill(actor)
        self._actors.clear()
        self._calls.clear()


class _Actor:
    """Applies the function to tasks, in a process of the cluster."""

    def prepare(self, make: Make) -> None:
        """Make the function."""
        torch.set_num_threads(1)
        self._work = make()

    def apply(self, task: Any) -> Any:
        """Apply the function to a task."""
        return self._work(task)


@contextmanager
def _own_sigterm() -> Iterator[None]:
    """Keep the program's handler of SIGTERM: `ray.init` replaces it by one that exits without a message."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _first_line(error: Exception) -> str:
    """The first line of an error's message, or its type: Ray's messages have many lines."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
