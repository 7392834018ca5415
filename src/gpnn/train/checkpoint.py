"""The state of a training run after an epoch, in one file that is replaced at once.

Tensors lie in the safetensors file, everything else as JSON in its header. Random numbers are a
function of seed and epoch (see :mod:`gpnn.train.fit`), so there is no generator state to keep.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from ..errors import InputError
from ..files import atomic_path

__all__ = ["CHECKPOINT", "State", "describe_difference", "load_state", "save_state"]

CHECKPOINT = "checkpoint.safetensors"
FORMAT = "gpnn-checkpoint-1"


@dataclass
class State:
    """Where a run stands.

    Attributes:
        history: one record per epoch done.
        best_key, best_epoch: of the best epoch so far, compared in order.
        best: its weights.
    """

    history: list[dict[str, Any]] = field(default_factory=list)
    best_key: tuple[float, ...] | None = None
    best_epoch: int = 0
    best: dict[str, Tensor] = field(default_factory=dict)

    @property
    def epoch(self) -> int:
        return len(self.history)


def save_state(
    folder: Path,
    state: State,
    model: torch.nn.Module,
    optimiser: torch.optim.Optimizer,
    run: Mapping[str, Any],
) -> None:
    """Write the checkpoint; ``run`` is what makes the run this run and no other."""
    tensors = {f"model.{name}": value for name, value in model.state_dict().items()}
    tensors |= {f"best.{name}": value for name, value in state.best.items()}
    for index, moments in optimiser.state_dict()["state"].items():
        tensors |= {f"optimiser.{index}.{name}": value for name, value in moments.items()}
    header = {
        "format": FORMAT,
        "run": json.dumps(run),
        "history": json.dumps(state.history),
        "best": json.dumps([state.best_key, state.best_epoch]),
    }
    plain = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    with atomic_path(folder / CHECKPOINT) as temporary:
        save_file(plain, temporary, metadata=header)


def load_state(
    folder: Path,
    model: torch.nn.Module,
    optimiser: torch.optim.Optimizer,
    run: Mapping[str, Any],
) -> State | None:
    """Put model and optimiser where the checkpoint left them; ``None`` where there is none."""
    path = folder / CHECKPOINT
    if not path.is_file():
        return None
    damaged = f"{path} is damaged. Start over with --fresh (or fresh=True)"
    try:
        with safe_open(path, framework="pt") as file:
            header = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise InputError(f"{damaged}: {error}") from None
    if header.get("format") != FORMAT:
        raise InputError(f"{path} was not written by this version of gpnn. Choose another folder.")
    there = json.loads(header["run"])
    here = json.loads(json.dumps(run))
    if there != here:
        raise InputError(
            f"{folder} holds another run ({describe_difference(there, here)}). Choose another "
            "folder with --out, or start over there with --fresh."
        )
    best_key, best_epoch = json.loads(header["best"])
    try:
        model.load_state_dict(_under(tensors, "model."))
        moments: dict[int, dict[str, Tensor]] = {}
        for name, value in _under(tensors, "optimiser.").items():
            index, _, what = name.partition(".")
            moments.setdefault(int(index), {})[what] = value
        groups = optimiser.state_dict()["param_groups"]
        optimiser.load_state_dict({"state": moments, "param_groups": groups})
    except (RuntimeError, ValueError) as error:
        raise InputError(f"{damaged}: {error}") from None
    return State(
        json.loads(header["history"]),
        None if best_key is None else tuple(best_key),
        best_epoch,
        _under(tensors, "best."),
    )


def describe_difference(there: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    """The settings in which two runs differ, one level down."""
    said = []
    for key in sorted(set(there) | set(here)):
        old, new = there.get(key), here.get(key)
        if isinstance(old, dict) and isinstance(new, dict):
            said += [
                f"{name}: {old.get(name)} there, {new.get(name)} here"
                for name in sorted(set(old) | set(new))
                if old.get(name) != new.get(name)
            ]
        elif old != new:
            said.append(f"other {key}")
    return "; ".join(said)


def _under(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {
        name.removeprefix(prefix): value
        for name, value in tensors.items()
        if name.startswith(prefix)
    }
