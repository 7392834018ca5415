"""The state of a training in one file that is replaced atomically and verified when it is read.

Tensors are stored in a safetensors file, everything else as JSON in its header. The header holds a
SHA-256 of all tensors and one of itself: a file with a flipped bit is rejected. Random numbers are
functions of seed, epoch and step, so there is no generator state to store.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as tensor_bytes
from torch import Tensor

from ..errors import InputError
from ..files import reading, write_bytes
from ..options import Number, Whole
from ..schema import Anything, Table, Text, parse_json

__all__ = ["CHECKPOINT", "Checkpoint", "describe_difference"]

CHECKPOINT = "checkpoint.safetensors"
FORMAT = "gpnn-checkpoint-3"


class Checkpoint:
    """Keeps the tensors of a training in a folder.

    Args:
        run: the settings that identify the training, ready for JSON.
    """

    def __init__(self, folder: str | Path, run: Mapping[str, Any]) -> None:
        self.path = Path(folder) / CHECKPOINT
        self.run: dict[str, Any] = json.loads(json.dumps(run))

    def restore(self, state: Mapping[str, Tensor]) -> tuple[int, float]:
        """Fill the tensors from the file. Returns the epochs done and the seconds spent."""
        if not self.path.is_file():
            return 0, 0.0
        try:
            with reading(self.path), safe_open(self.path, "pt") as file:
                header = file.metadata() or {}
                if header.get("format") != FORMAT:
                    raise InputError(
                        f"{self.path} was not written by this version of gpnn. Choose another "
                        "folder, or start over with --fresh (fresh=True)."
                    )
                text = header.get("known", "")
                if _text_digest(text) != header.get("known_sha256"):
                    raise _Damaged("the checksum of its header does not match")
                known = self._known(text)
                self._check_run(known["run"])
                if missing := sorted(set(state) - set(file.keys())):
                    raise _Damaged(f"it lacks {missing[0]}")
                for name, value in state.items():
                    if tuple(file.get_slice(name).get_shape()) != tuple(value.shape):
                        raise _Damaged(f"{name} has another shape")
                tensors = {name: file.get_tensor(name) for name in state}
            if _digest(tensors) != known["sha256"]:
                raise _Damaged("its checksum does not match")
        except (SafetensorError, _Damaged) as error:
            raise InputError(
                f"{self.path} is damaged ({error}). Delete it, or start over with --fresh "
                "(fresh=True)."
            ) from None
        for name, value in state.items():
            value.copy_(tensors[name])
        return known["epochs"], known["seconds"]

    def _known(self, text: str) -> dict[str, Any]:
        try:
            known: dict[str, Any] = parse_json(text, HEADER)
        except InputError as error:
            raise _Damaged(str(error)) from None
        return known

    def _check_run(self, there: Any) -> None:
        if there != self.run:
            raise InputError(
                f"{self.path.parent} holds another run ({describe_difference(there, self.run)}). "
                "Choose another folder with --out, or start over there with --fresh (fresh=True)."
            )

    def keep(self, state: Mapping[str, Tensor], epochs: int, seconds: float) -> None:
        """Write the tensors, epochs done and seconds spent."""
        plain = {name: value.detach().cpu().contiguous() for name, value in state.items()}
        digest = _digest(plain)
        known = json.dumps(
            {"run": self.run, "epochs": epochs, "seconds": seconds, "sha256": digest}
        )
        header = {"format": FORMAT, "known": known, "known_sha256": _text_digest(known)}
        write_bytes(self.path, tensor_bytes(plain, metadata=header))

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


class _Damaged(Exception):
    """The file is damaged; the message says how."""


HEADER = Table(
    {"run": Table(more=Anything()), "epochs": Whole(0), "seconds": Number(), "sha256": Text(64)}
)


def _text_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _digest(tensors: Mapping[str, Tensor]) -> str:
    total = hashlib.sha256()
    for name in sorted(tensors):
        value = tensors[name].contiguous()
        total.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        total.update(value.flatten().view(torch.uint8).numpy().tobytes() if value.numel() else b"")
    return total.hexdigest()


def describe_difference(there: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    """The settings in which two runs differ, including nested ones."""
    differences = []
    for key in sorted(set(there) | set(here)):
        old, new = there.get(key), here.get(key)
        if old == new:
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            differences.append(describe_difference(old, new))
        elif (isinstance(old, str | list) and len(str(old)) > 40) or old is None or new is None:
            differences.append(f"other {key}")
        else:
            differences.append(f"{key}: {old} there, {new} here")
    return "; ".join(differences)
