"""Tasks on the machines of a Ray cluster.

A task is a function that works in a folder of its own. The folder travels: the worker starts with
the copy that the caller has, sends its files back while it works, and where a machine is lost Ray
starts the task on another one, which goes on from the last copy. So a training resumes from its
last checkpoint, on whichever machine.

Ray's transport unpickles what it receives: connect to your own cluster only. Every machine needs
this version of gpnn, and the data under the same path or its own ``GPNN_DATA``.
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
"""The engine of this machine: processes."""

Files = dict[str, bytes]
"""The files of a folder by their paths in it."""

RETRIES = 3
"""Machines that a task may lose."""
OLDEST = (2, 50)
"""Of Ray."""
AHEAD = 2
"""Tasks per core of the cluster that are handed over before there is room."""
POLL_SECONDS = 0.1
ANSWER_SECONDS = 5.0
"""That an address may take to answer."""


@dataclass(frozen=True)
class RemoteTask:
    """Work to be done somewhere.

    Attributes:
        call: called with the folder and with a function that takes the share that is done; what it
            returns is the result. It is pickled, with its arguments.
        folder: of the caller; what it holds goes along, and what the task writes comes back.
        inside: the last parts of the path that the folder has at the worker, ``work/KEY``.
        gpus: how many, or which share of one, it needs; it needs one core.
        every: seconds between two copies of the folder.
    """

    call: Callable[[Path, Callable[[float], None]], Any]
    folder: Path
    inside: str
    gpus: float = 0.0
    every: float = 10.0


@contextmanager
def cluster(engine: str) -> Iterator[None]:
    """Connect to the cluster of ``ray://HOST:PORT``; ``ray`` starts one on this machine, ``local``
    does nothing."""
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
    if ray.is_initialized():  # by the program that calls
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
    """Ray itself would try for many minutes."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=ANSWER_SECONDS):
            return
    except (OSError, ValueError, OverflowError) as error:
        why = str(error) or type(error).__name__
        raise InputError(
            f"Nobody answers at {address} ({why}). Start a cluster with 'ray start --head', and "
            "give the address that it prints: ray://HOST:PORT."
        ) from None


def gpus_for(device: str) -> float:
    """The GPUs that a task needs for ``--device``; ``auto`` takes one where the cluster has any."""
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
    """The number and the result of every task, as they finish; :func:`cluster` must be entered.

    Args:
        tasks: taken as there is room for them, so that memory is bounded.
        most: tasks at once; as many as the cluster has room for.
        tell: called with a number and ``started`` or ``share`` with its value.
    """
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    office: Any = ray.remote(_Office).options(num_cpus=0, scheduling_strategy=here).remote()
    remote: Any = ray.remote(_work)
    waiting = enumerate(tasks)
    own: dict[int, RemoteTask] = {}  # those at work
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
                    continue  # sent before it ended, and come late
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
    """Tasks that the machines of this moment can be given."""
    import ray

    return AHEAD * max(1, int(ray.cluster_resources().get("CPU", 0)))


def _variables() -> dict[str, str]:
    """What processes of the caller know by their environment."""
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
    """Stands beside the caller; takes what workers send, and gives the last copy of a folder."""

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
            return  # it is over
        if what == "files":
            self.folders[number] = value
        self.events.append((number, what, value))

    def drain(self) -> list[tuple[int, str, Any]]:
        events, self.events = self.events, []
        return events


def _work(
    office: Any, number: int, task: RemoteTask, version: str, variables: dict[str, str]
) -> tuple[Any, Files]:
    """At the worker: unpack the folder, do the work, send copies now and then; the result, and
    what the folder holds at last."""
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
    """All files of a folder; none where there is no folder."""
    with reading(folder):
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def write_folder(folder: Path, files: Files) -> None:
    """Write files into a folder, each whole or not at all, none outside it."""
    for name, content in files.items():
        inside = PurePosixPath(name)
        if inside.is_absolute() or ".." in inside.parts:
            raise InputError(f"A worker sent a file outside its folder: {name!r}.")
        write_bytes(folder / inside, content)
