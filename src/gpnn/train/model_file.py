"""Model files: ``model.safetensors`` (weights) and ``model.json`` (everything else) in a folder.

The JSON names the SHA-256 of the weights and is written last, so that a torn pair is noticed.
Nothing is pickled.
"""

from __future__ import annotations

import hashlib
import json
import platform
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
from ..data.structure_cache import cached_classes, cached_partition
from ..errors import InputError
from ..files import atomic_path, write_text
from ..graph.vocabulary import Vocabulary
from ..nn.config import GPNNConfig
from ..nn.model import GPNN
from ..nn.prepare import Prepared, prepare

__all__ = ["Loaded", "load_model", "prepare_samples", "save_model"]

FORMAT, VERSION = "gpnn-model", 1
WEIGHTS, CARD = "model.safetensors", "model.json"


@dataclass(frozen=True, eq=False)
class Loaded:
    """A fitted model with all it needs to read and answer.

    Attributes:
        model: the network, in eval mode.
        vocabulary: the colours it knows; ``encoder``: the labels it knows.
        shift, scale: what turns outputs of a regression into targets, one per target.
        about: metrics, split, history, versions: what ``model.json`` says beside.
    """

    model: GPNN
    vocabulary: Vocabulary
    encoder: Encoder
    shift: tuple[float, ...] = ()
    scale: tuple[float, ...] = ()
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def config(self) -> GPNNConfig:
        return self.model.config

    def prepare(self, samples: Samples) -> Prepared:
        """The samples cut by the model's scheme and vocabulary."""
        return prepare_samples(samples, self.config, self.vocabulary)

    def predict(self, samples: Samples, batch_size: int = 256) -> Tensor:
        """Probabilities [rows, classes] or [rows, tasks], or values [rows, targets]."""
        prepared = self.prepare(samples)
        device = next(self.model.parameters()).device
        self.model.eval()
        with torch.no_grad():
            outputs = [
                self.model(batch.to(device)).float().cpu()
                for batch in prepared.batches(np.arange(len(prepared)), batch_size)
            ]
        if not outputs:
            return torch.zeros(0, self.config.outputs)
        return self.scores(torch.cat(outputs))

    def scores(self, outputs: Tensor) -> Tensor:
        """What the outputs of the network mean."""
        if self.scale:
            outputs = outputs * torch.tensor(self.scale) + torch.tensor(self.shift)
        return self.encoder.task.scores(outputs)

    def unscaled(self, y: Tensor) -> Tensor:
        """Labels as the source had them, from those that the network was trained on."""
        return y * torch.tensor(self.scale) + torch.tensor(self.shift) if self.scale else y

    def evaluate(self, samples: Samples, rows: Any = None) -> dict[str, float]:
        """Every metric of the task over all samples, or over the rows given."""
        if samples.y is None:
            raise InputError("Samples without labels cannot be evaluated.")
        chosen = slice(None) if rows is None else torch.as_tensor(np.asarray(rows, np.int64))
        return self.encoder.task.measure(self.predict(samples)[chosen], samples.y[chosen])


def prepare_samples(
    samples: Samples, config: GPNNConfig, vocabulary: Vocabulary | None, y: Tensor | None = None
) -> Prepared:
    """Samples as the network of a configuration reads them."""
    graphs, labels = samples.graphs, samples.edge_labels if config.edge_labels else None
    kind, d, layers, distances = config.interactions, config.d, config.layers, config.distances
    cut = cached_partition(graphs, config.scheme)
    return prepare(
        graphs,
        scheme=config.scheme,
        interactions=kind,
        d=d,
        layers=layers,
        distances=distances,
        vocabulary=vocabulary,
        x=samples.x,
        edge_labels=labels,
        y=y,
        node_level=samples.task.node_level,
        cut=cut,
        classes=cached_classes(graphs, cut.part, kind, d, layers, labels, distances),
    )


def save_model(folder: str | Path, loaded: Loaded) -> None:
    """Write a model; each file appears whole or not at all."""
    folder = Path(folder)
    if loaded.config.base == "custom":
        raise InputError("A model around a module of your own cannot be saved: keep its weights.")
    state = {name: value.contiguous().cpu() for name, value in loaded.model.state_dict().items()}
    weights = tensor_bytes(state, metadata={"format": FORMAT})
    card = {
        "format": FORMAT,
        "version": VERSION,
        "weights": hashlib.sha256(weights).hexdigest(),
        "config": loaded.config.to_dict(),
        "vocabulary": loaded.vocabulary.to_dict(),
        "encoder": loaded.encoder.to_dict(),
        "shift": list(loaded.shift),
        "scale": list(loaded.scale),
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
            "or run the training again: it goes on from its checkpoint."
        )
    try:
        model = GPNN(GPNNConfig.from_dict(card["config"]))
        tensors = read_tensors(weights)
        shapes = {name: value.shape for name, value in model.state_dict().items()}
        if {name: value.shape for name, value in tensors.items()} != shapes:
            raise InputError(f"{damaged}: the weights do not fit its configuration. Copy it again.")
        model.load_state_dict(tensors)
        vocabulary = Vocabulary.from_dict(card["vocabulary"])
        model.vocabulary = vocabulary.digest
        loaded = Loaded(
            model.to(device).eval(),
            vocabulary,
            Encoder.from_dict(card["encoder"]),
            tuple(card["shift"]),
            tuple(card["scale"]),
            {**card["about"], "versions": card["versions"]},
        )
    except (KeyError, TypeError, SafetensorError) as error:
        raise InputError(f"{damaged}: {error}. Copy it again.") from None
    return loaded


def _card(path: Path) -> dict[str, Any]:
    if (path.parent / "checkpoint.safetensors").is_file() and not path.is_file():
        raise InputError(
            f"The training in {path.parent} has not finished. Run the same 'gpnn train' again: it "
            "goes on where it stopped."
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
            f"{path} has format version {version}, and this gpnn reads up to {VERSION}. It was "
            "written by a newer one: upgrade gpnn."
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
