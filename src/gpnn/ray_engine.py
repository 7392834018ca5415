"""Run tasks on the machines of a Ray cluster.

A task is a function that works in a separate folder. The worker starts with the caller's copy of
the folder and sends its files back while it runs. If a machine is lost, Ray restarts the task on
another machine from the last copy. Training therefore resumes from its last checkpoint.

Ray unpickles the data it receives: connect only to your own cluster. Every machine needs the same
version of gpnn, and the data under the same path or its own ``GPNN_DATA``.
"""

from __future__ import annotations

import logging
import os
import socket
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from . import __version__
from .errors import InputError
from .files import reading, write_bytes
from .plugins import load_plugins_of_parent

__all__ = ["LOCAL", "Files", "RemoteTask", "cluster", "gpus_for", "run_tasks"]

LOCAL = "local"
"""The engine that uses processes on this machine."""

Files = dict[str, bytes]
"""The files of a folder, keyed by relative path."""

RETRIES = 3
"""How often a task is restarted after losing its machine."""
OLDEST = (2, 50)
"""Minimum version of Ray."""
AHEAD = 2
"""Tasks per core of the cluster that are submitted at once."""
POLL_SECONDS = 0.1
ANSWER_SECONDS = 5.0
"""Timeout for connecting to an address."""


@dataclass(frozen=True)
class RemoteTask:
    """A task to run on a worker.

    Attributes:
        call: called with the folder and a function to report the completed fraction; its return
            value is the result. It is pickled, with its arguments.
        folder: folder of the caller. Its files are sent to the worker, and files that the task
            writes are sent back.
        inside: last components of the folder's path at the worker, such as ``work/KEY``.
        gpus: number of GPUs, possibly fractional, that the task needs in addition to one core.
        every: seconds between two copies of the folder.
    """

    call: Callable[[Path, Callable[[float], None]], Any]
    folder: Path
    inside: str
    gpus: float = 0.0
    every: float = 10.0


@contextmanager
def cluster(engine: str) -> Iterator[None]:
    """Connect to the cluster at ``ray://HOST:PORT``; ``ray`` starts a cluster on this machine,
    ``local`` does nothing."""
    if engine == LOCAL:
        yield
        return
    address = engine.removeprefix("ray").removeprefix("://")
    if engine != "ray" and not (engine.startswith("ray://") and address):
        raise InputError(
            f"--engine cannot be {engine!r}. Choose local, ray, or ray://HOST:PORT of a cluster."
        )
    try:
        import ray
    except ImportError:
        raise InputError("--engine ray needs Ray. Install gpnn with the extra ray.") from None
    if tuple(map(int, ray.__version__.split(".")[:2])) < OLDEST:
        raise InputError(
            f"--engine ray needs Ray {OLDEST[0]}.{OLDEST[1]} or later; here is {ray.__version__}. "
            "Install gpnn with the extra ray."
        )
    if ray.is_initialized():  # by the calling program
        yield
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    options: dict[str, Any] = {"include_dashboard": False}
    if address:
        _check_answers(address)
        options = {"address": address}
    try:
        ray.init(log_to_driver=False, logging_level=logging.ERROR, **options)
    except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        first = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise InputError(
            f"Ray does not start with {engine}: {first.rstrip('.')}. Check with 'ray status', run "
            "on a machine of the cluster, and set RAY_AUTH_MODE=token where the cluster asks for "
            "a token."
        ) from None
    try:
        yield
    finally:
        ray.shutdown()


def _check_answers(address: str) -> None:
    """Raise if nothing answers at the address; Ray itself would retry for many minutes."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=ANSWER_SECONDS):
            return
    except (OSError, ValueError, OverflowError) as error:
        why = str(error) or type(error).__name__
        raise InputError(
            f"No Ray cluster answers at {address} ({why}). Start a cluster with 'ray start "
            "--head', and give the address that it prints: ray://HOST:PORT."
        ) from None


def gpus_for(device: str) -> float:
    """GPUs that a task needs for ``--device``; ``auto`` uses one if the cluster has any."""
    import ray

    there = bool(ray.cluster_resources().get("GPU"))
    if device.startswith("cuda") and not there:
        raise InputError(f"The cluster has no GPU for --device {device}.")
    return float(there and (device == "auto" or device.startswith("cuda")))


def run_tasks(
    tasks: Iterable[RemoteTask],
    most: int | None = None,
    tell: Callable[[int, str, Any], None] = lambda *_: None,
) -> Iterator[tuple[int, Any]]:
    """Yield the number and result of every task as it finishes, inside a :func:`cluster` context.

    Args:
        tasks: consumed as there is room for them, so that memory is bounded.
        most: maximum number of concurrent tasks; by default as many as the cluster has room for.
        tell: called with the task number, the event (``started`` or ``share``) and its value.
    """
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    office: Any = ray.remote(_Office).options(num_cpus=0, scheduling_strategy=here).remote()
    remote: Any = ray.remote(_work)
    waiting = enumerate(tasks)
    own: dict[int, RemoteTask] = {}  # running tasks
    running: dict[Any, int] = {}
    try:
        while True:
            for number, task in islice(waiting, max(0, (most or _room()) - len(running))):
                own[number] = task
                ray.get(office.keep.remote(number, read_folder(task.folder)))
                options = remote.options(num_cpus=1, num_gpus=task.gpus, max_retries=RETRIES)
                running[options.remote(office, number, task, __version__, _variables())] = number
            if not running:
                return
            ready, _ = ray.wait(list(running), timeout=POLL_SECONDS)
            for number, what, value in ray.get(office.drain.remote()):
                if number not in own:
                    continue  # a late message of a finished task
                if what == "files":
                    write_folder(own[number].folder, value)
                else:
                    tell(number, what, value)
            for reference in ready:
                number = running.pop(reference)
                result, files = _result(reference)
                write_folder(own.pop(number).folder, files)
                office.forget.remote(number)
                yield number, result
    finally:
        for reference in running:
            with suppress(Exception):
                ray.cancel(reference, force=True)
        ray.kill(office)


def _room() -> int:
    """Number of tasks that the cluster can currently take."""
    import ray

    return AHEAD * max(1, int(ray.cluster_resources().get("CPU", 0)))


def _variables() -> dict[str, str]:
    """Environment variables that workers need from the caller."""
    return {name: value for name, value in os.environ.items() if name == "GPNN_PLUGINS"}


def _result(reference: Any) -> Any:
    import ray

    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        cause = error.cause
        if isinstance(cause, InputError):
            raise cause from None
        raise
    except (ray.exceptions.RayError, RuntimeError) as error:
        first = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise InputError(
            f"A task was lost {RETRIES + 1} times, perhaps because memory ran out: {first}. Run "
            "the command again: it resumes."
        ) from None


@dataclass
class _Office:
    """Actor on the caller's machine that stores the latest folders and the events of workers."""

    folders: dict[int, Files] = field(default_factory=dict)
    events: list[tuple[int, str, Any]] = field(default_factory=list)

    def keep(self, number: int, files: Files) -> None:
        self.folders[number] = files

    def forget(self, number: int) -> None:
        self.folders.pop(number, None)

    def latest(self, number: int) -> Files:
        return self.folders[number]

    def tell(self, number: int, what: str, value: Any) -> None:
        if number not in self.folders:
            return  # the task has finished
        if what == "files":
            self.folders[number] = value
        self.events.append((number, what, value))

    def drain(self) -> list[tuple[int, str, Any]]:
        events, self.events = self.events, []
        return events


def _work(
    office: Any, number: int, task: RemoteTask, version: str, variables: dict[str, str]
) -> tuple[Any, Files]:
    """Run a task at the worker: unpack the folder, do the work, and send copies periodically.
    Returns the result and the final content of the folder."""
    import ray
    import torch

    if version != __version__:
        raise InputError(
            f"A machine of the cluster has gpnn {__version__}, the caller {version}. Install the "
            "same version everywhere."
        )
    os.environ.update(variables)
    load_plugins_of_parent()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="gpnn-") as root:
        folder = Path(root) / task.inside
        write_folder(folder, ray.get(office.latest.remote(number)))
        office.tell.remote(number, "started", None)
        sent = [time.monotonic()]

        def tell(done: float) -> None:
            now = time.monotonic()
            if now - sent[0] >= task.every:
                sent[0] = now
                files = read_folder(folder)
                if files:
                    office.tell.remote(number, "files", files)
                office.tell.remote(number, "share", done)

        return task.call(folder, tell), read_folder(folder)


def read_folder(folder: Path) -> Files:
    """All files of a folder; empty if the folder does not exist."""
    with reading(folder):
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def write_folder(folder: Path, files: Files) -> None:
    """Write files into a folder, each atomically; paths outside the folder are refused."""
    for name, content in files.items():
        inside = PurePosixPath(name)
        if inside.is_absolute() or ".." in inside.parts:
            raise InputError(f"A worker sent a file outside its folder: {name!r}.")
        write_bytes(folder / inside, content)
