"""The state of a whole set of replicas, in one file that is replaced at once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from ..errors import InputError
from ..files import atomic_path
from .ready import Ready

__all__ = ["Saved"]

FILE = "replicas.safetensors"
FORMAT = "gpnn-replicas-1"


class Saved:
    """Keeps the tensors of an engine in a folder, with a description of the run they belong to."""

    def __init__(self, folder: Path, ready: Ready) -> None:
        self.path = Path(folder) / FILE
        self.run = _describe(ready)

    def restore(self, state: Mapping[str, Tensor]) -> tuple[int, float]:
        """Fill the tensors from the file; the epochs done and the seconds spent on them."""
        if not self.path.is_file():
            return 0, 0.0
        try:
            with safe_open(self.path, "pt") as file:
                header = file.metadata() or {}
                if header.get("format") != FORMAT or header.get("run") != self.run:
                    raise InputError(
                        f"{self.path} belongs to another run or version. Delete it, or choose "
                        "another folder."
                    )
                for name, value in state.items():
                    value.copy_(file.get_tensor(name))
                return int(header["epochs"]), float(header["seconds"])
        except (SafetensorError, RuntimeError, OSError) as error:
            raise InputError(f"{self.path} cannot be read ({error}). Delete it.") from None

    def keep(self, state: Mapping[str, Tensor], epochs: int, seconds: float) -> None:
        """Write the tensors, epochs done and seconds spent."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        header = {"format": FORMAT, "run": self.run}
        header |= {"epochs": str(epochs), "seconds": repr(seconds)}
        plain = {name: value.detach().cpu().contiguous() for name, value in state.items()}
        with atomic_path(self.path) as temporary:
            save_file(plain, temporary, metadata=header)


def _describe(ready: Ready) -> str:
    """A hash of all that makes a run this run and no other."""
    total = hashlib.sha256()
    setup, dtype = ready.setup, str(ready.dtype)
    facts = [setup.samples.digest(), setup.config.to_dict(), asdict(ready.schedule), dtype]
    total.update(json.dumps(facts, sort_keys=True).encode())
    for one in ready.replicas:
        for ids in (one.train, one.valid, one.test):
            total.update(ids.tobytes() + b"|")
        total.update(json.dumps([one.seed, one.lr, one.weight_decay, one.dropout]).encode())
    return total.hexdigest()
