"""Model files: ``model.safetensors`` (weights) and ``model.json`` (everything else) in a folder.

A folder holds one model, or several that answer together. The JSON names the SHA-256 of the
weights and is written last, so that a torn pair is noticed. Nothing is pickled.
"""

from __future__ import annotations

import hashlib
import json
import platform
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load as read_tensors
from safetensors.torch import save as tensor_bytes
from torch import Tensor

from ..data.encoder import Encoder
from ..data.samples import Samples
from ..data.tasks import Task
from ..errors import InputError
from ..files import atomic_path, write_text
from ..graph.vocabulary import UnseenColours, Vocabulary
from ..nn.config import GPNNConfig
from ..nn.model import GPNN
from ..nn.prepare import Prepared
from .checkpoint import CHECKPOINT
from .conformal import LEVEL, Calibration
from .setup import prepare_samples

__all__ = ["CARD", "WEIGHTS", "Loaded", "Member", "load_model", "save_model"]

FORMAT, VERSION = "gpnn-model", 2
WEIGHTS, CARD = "model.safetensors", "model.json"


@dataclass(frozen=True, eq=False)
class Member:
    """One network with what it needs to read and answer.

    Attributes:
        model: in eval mode.
        vocabulary: the colours it knows.
        shift, scale: what turns outputs of a regression into targets, one per target.
    """

    model: GPNN
    vocabulary: Vocabulary
    shift: tuple[float, ...] = ()
    scale: tuple[float, ...] = ()

    def prepare(self, samples: Samples) -> Prepared:
        """The samples partitioned by the model's scheme, in the parts it knows."""
        return prepare_samples(samples, self.model.config, self.vocabulary)

    def unscaled(self, outputs: Tensor) -> Tensor:
        """Outputs in the units of the targets."""
        if not self.scale:
            return outputs
        scale, shift = (
            torch.tensor(part, dtype=outputs.dtype) for part in (self.scale, self.shift)
        )
        return outputs * scale + shift


@dataclass(frozen=True, eq=False)
class Loaded:
    """A fitted model, or several that answer together, with all that is needed to read and answer.

    Attributes:
        members: the networks.
        encoder: the labels they know.
        about: metrics, split, history, versions: what ``model.json`` says beside.
        calibration: how wrong they are, where that was measured.
    """

    members: tuple[Member, ...]
    encoder: Encoder
    about: Mapping[str, Any] = field(default_factory=dict)
    calibration: Calibration | None = None

    @property
    def model(self) -> GPNN:
        """The first network."""
        return self.members[0].model

    @property
    def config(self) -> GPNNConfig:
        return self.model.config

    @property
    def task(self) -> Task:
        return self.encoder.task

    def predict(self, samples: Samples, batch_size: int = 256) -> Tensor:
        """Probabilities [rows, classes] or [rows, tasks], or values [rows, targets]; the mean over
        the networks where there are several."""
        return self.predict_members(samples, batch_size).mean(0)

    def predict_members(self, samples: Samples, batch_size: int = 256) -> Tensor:
        """The answer of every network, [members, rows, outputs]."""
        return torch.stack([self.scores(one) for one in self.outputs(samples, batch_size)])

    def outputs(self, samples: Samples, batch_size: int = 256) -> Tensor:
        """Logits, or values in the units of the targets, of every network, [members, rows,
        outputs]."""
        found, prepared = [], dict[str, Prepared]()
        for member in self.members:
            digest = member.vocabulary.digest
            if digest not in prepared:
                with warnings.catch_warnings():
                    if prepared:  # said once
                        warnings.simplefilter("ignore", UnseenColours)
                    prepared[digest] = member.prepare(samples)
            found.append(self._outputs(member, prepared[digest], batch_size))
        return torch.stack(found)

    def _outputs(self, member: Member, prepared: Prepared, batch_size: int) -> Tensor:
        model = member.model.eval()
        device = next(model.parameters()).device
        with torch.no_grad():
            outputs = [
                model(batch.to(device)).float().cpu() for batch in prepared.batches(size=batch_size)
            ]
        if not outputs:
            return torch.zeros(0, self.config.outputs, dtype=torch.float64)
        # In double precision: probabilities close to 1 would be equal in single.
        return member.unscaled(torch.cat(outputs).double())

    def scores(self, outputs: Tensor) -> Tensor:
        """Answers from outputs in the units of the targets; the probabilities of a target of
        several classes add up to 1."""
        encoder = self.encoder
        if self.calibration is not None:
            outputs = self.calibration.adjust(outputs, self.task)
        if encoder.task is not Task.MIXED:
            return self.task.scores(outputs)
        found = self.task.scores(outputs, torch.tensor(encoder.binary))
        for _, classes, own in encoder.groups:
            if len(classes) > 2:
                found[:, own] /= found[:, own].sum(1, keepdim=True).clamp(min=1e-12)
        return found

    def evaluate(self, samples: Samples, rows: Any = None) -> dict[str, float]:
        """Every metric of the task over all samples, or over the rows given."""
        if samples.y is None:
            raise InputError("Samples without labels cannot be evaluated.")
        chosen = slice(None) if rows is None else torch.as_tensor(np.asarray(rows, np.int64))
        return self.measure(self.predict(samples)[chosen], samples.y[chosen])

    def coverage(self, scores: Tensor, y: Tensor, level: float = LEVEL) -> dict[str, float]:
        """The share of rows whose truth lies in the interval, of every output that has one."""
        if self.calibration is None:
            return {}
        out = {}
        for k, half in enumerate(self.calibration.half_widths(level)):
            error = (scores[:, k] - y[:, k]).abs() if half is not None else torch.zeros(0)
            if half is not None and len(error := error[~torch.isnan(error)]):
                name = f"[{self.encoder.outputs[k]}]" if scores.shape[1] > 1 else ""
                out[f"coverage{name}"] = float((error <= half).double().mean())
        return out

    def measure(self, scores: Tensor, y: Tensor) -> dict[str, float]:
        """Every metric of the task for scores and labels."""
        scale = self.members[0].scale
        encoder = self.encoder
        return self.task.measure(scores, y, scale, encoder.outputs, encoder.binary)


def save_model(folder: str | Path, loaded: Loaded) -> None:
    """Write a model; each file appears whole or not at all."""
    folder = Path(folder)
    if loaded.config.base == "custom":
        raise InputError(
            "A model around a module of your own cannot be saved: its class is not part of gpnn. "
            "Register a function that makes it (gpnn.register_base) and use its name, or keep "
            "model.state_dict()."
        )
    state = {
        f"{number}.{name}": value.contiguous().cpu()
        for number, member in enumerate(loaded.members)
        for name, value in member.model.state_dict().items()
    }
    weights = tensor_bytes(state, metadata={"format": FORMAT})
    card = {
        "format": FORMAT,
        "version": VERSION,
        "weights": hashlib.sha256(weights).hexdigest(),
        "members": [
            {
                "config": member.model.config.to_dict(),
                "vocabulary": member.vocabulary.to_dict(),
                "shift": list(member.shift),
                "scale": list(member.scale),
            }
            for member in loaded.members
        ],
        "encoder": loaded.encoder.to_dict(),
        "calibration": None if loaded.calibration is None else loaded.calibration.to_dict(),
        "versions": versions(),
        "about": dict(loaded.about),
    }
    text = json.dumps(card, ensure_ascii=False, allow_nan=False)
    with atomic_path(folder / WEIGHTS) as temporary:
        temporary.write_bytes(weights)
    write_text(folder / CARD, text)


def load_model(folder: str | Path, device: torch.device | str = "cpu") -> Loaded:
    """Read a model folder (or the ``model.json`` in it)."""
    folder = Path(folder).expanduser()
    folder = folder.parent if folder.name == CARD else folder
    card = _card(folder / CARD)
    try:
        weights = (folder / WEIGHTS).read_bytes()
    except OSError as error:
        raise InputError(
            f"{folder} has no readable {WEIGHTS} ({error.strerror}). Copy both files of the model."
        ) from None
    damaged = f"The model in {folder} is damaged"
    if hashlib.sha256(weights).hexdigest() != card.get("weights"):
        raise InputError(
            f"{damaged}: {WEIGHTS} is not the file that {CARD} was written for. Copy both again, "
            "or train again with --fresh."
        )
    try:
        tensors = read_tensors(weights)
        members = tuple(
            _member(content, {
                name.removeprefix(f"{number}."): value
                for name, value in tensors.items() if name.startswith(f"{number}.")
            }, device, damaged)
            for number, content in enumerate(card["members"])
        )  # fmt: skip
        if not members:
            raise InputError(f"{damaged}: it holds no network. Copy it again.")
        about = {**card["about"], "versions": card["versions"]}
        held = card.get("calibration")
        calibration = None if held is None else Calibration.from_dict(held)
        return Loaded(members, Encoder.from_dict(card["encoder"]), about, calibration)
    except (KeyError, TypeError, AttributeError, SafetensorError) as error:
        raise InputError(f"{damaged}: {error}. Copy it again.") from None


def _member(
    content: dict[str, Any], tensors: dict[str, Tensor], device: torch.device | str, damaged: str
) -> Member:
    config = GPNNConfig.from_dict(content["config"])
    vocabulary = Vocabulary.from_dict(content["vocabulary"])
    with torch.random.fork_rng([]):
        model = GPNN(config, vocabulary=vocabulary)
    shapes = {name: value.shape for name, value in model.state_dict().items()}
    if {name: value.shape for name, value in tensors.items()} != shapes:
        raise InputError(f"{damaged}: the weights do not fit its configuration. Copy it again.")
    model.load_state_dict(tensors)
    shift, scale = tuple(content["shift"]), tuple(content["scale"])
    return Member(model.to(device).eval(), vocabulary, shift, scale)


def _card(path: Path) -> dict[str, Any]:
    if (path.parent / CHECKPOINT).is_file() and not path.is_file():
        raise InputError(
            f"The training in {path.parent} has not finished. Run the same 'gpnn train' again: it "
            "resumes where it stopped."
        )
    if not path.is_file():
        why = f"is not a model: it has no {CARD}" if path.parent.exists() else "does not exist"
        raise InputError(
            f"{path.parent} {why}. Name the folder that 'gpnn train' or the save of an estimator "
            "wrote."
        )
    try:
        card = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} is damaged: not JSON ({error}). Copy the model again.") from None
    if not isinstance(card, dict) or card.get("format") != FORMAT:
        raise InputError(f"{path} was not written by gpnn: it does not say 'format': '{FORMAT}'.")
    version = card.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise InputError(
            f"{path} has format version {version}, and this gpnn reads version {VERSION}. It was "
            "written by a newer one: upgrade gpnn."
        )
    if version < VERSION:
        raise InputError(
            f"{path} has format version {version}, written by gpnn 0.1, whose networks had another "
            "shape. Train the model again, or use gpnn 0.1 for it."
        )
    return card


def versions() -> dict[str, str]:
    """What a model was made with."""
    from .. import __version__

    return {
        "gpnn": __version__,
        "torch": torch.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }
