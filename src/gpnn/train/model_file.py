"""Model files: ``model.safetensors`` (weights) and ``model.json`` (everything else) in a folder.

A folder holds one network or an ensemble. The JSON holds the SHA-256 of the weights and of its own
content and is written last, so that mismatched files and flipped bits are detected. Nothing is
pickled.
"""

from __future__ import annotations

import hashlib
import json
import math
import platform
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load as read_tensors
from safetensors.torch import save as tensor_bytes
from torch import Tensor

from ..data.encoder import Encoder
from ..data.samples import Samples
from ..data.tasks import Task
from ..errors import InputError
from ..files import reading, user_path, write_bytes, write_text
from ..graph.learned import LearnedScheme, known_learned
from ..graph.vocabulary import UnseenColours, Vocabulary
from ..nn.bases import BASES
from ..nn.config import GPNNConfig
from ..nn.mixture import make_gpnn
from ..nn.model import GPNN
from ..nn.prepare import Prepared
from ..nn.sampled import Sampler, check_fanout, read_fanout
from ..options import Choice, Number, Whole
from ..schema import Anything, ListOf, Maybe, Numbers, Table, Text, read_json
from .checkpoint import CHECKPOINT
from .conformal import LEVEL, Calibration
from .setup import prepare_samples

__all__ = ["CARD", "WEIGHTS", "Loaded", "Member", "load_model", "save_model"]

IntArray = NDArray[np.int64]
FORMAT, VERSION = "gpnn-model", 2
WEIGHTS, CARD = "model.safetensors", "model.json"
EXACT, ROOTS = 100_000, 1_024
"""Maximum number of vertices of a graph that a model trained on blocks reads as a whole, and the
number of roots per block for larger graphs."""


@dataclass(frozen=True, eq=False)
class Member:
    """One network with its vocabulary and scaling.

    Attributes:
        model: in eval mode.
        vocabulary: the colours it knows.
        shift, scale: convert outputs of a regression to targets, one per target.
    """

    model: GPNN
    vocabulary: Vocabulary
    shift: tuple[float, ...] = ()
    scale: tuple[float, ...] = ()

    def prepare(self, samples: Samples) -> Prepared:
        """The samples, partitioned by the model's scheme into the parts it knows."""
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
    """A fitted network or ensemble, with everything needed to read inputs and predict.

    Attributes:
        members: the networks.
        encoder: the labels they know.
        about: further content of ``model.json``: metrics, split, history, versions.
        calibration: calibration of the predictions, or ``None``.
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

    @property
    def fanout(self) -> tuple[int, ...] | None:
        """Number of neighbours sampled in training on blocks of one graph. Predictions for vertices
        of graphs with more than :data:`EXACT` vertices use such blocks, the same every time;
        predictions for smaller graphs use all neighbours."""
        run = self.about.get("run", {})
        return read_fanout(run.get("train", {}).get("fanout"))

    def predict(self, samples: Samples, batch_size: int = 256) -> Tensor:
        """Probabilities [rows, classes] or [rows, tasks], or values [rows, targets]; averaged over
        the networks of an ensemble."""
        return self.predict_members(samples, batch_size).mean(0)

    def predict_members(
        self, samples: Samples, batch_size: int = 256, graphs: IntArray | None = None
    ) -> Tensor:
        """The prediction of every network, [members, rows, outputs]."""
        return torch.stack([self.scores(one) for one in self.outputs(samples, batch_size, graphs)])

    def outputs(
        self, samples: Samples, batch_size: int = 256, graphs: IntArray | None = None
    ) -> Tensor:
        """Logits, or values in the units of the targets, of every network, [members, rows,
        outputs]; for all graphs, or for those given."""
        outputs, prepared = [], dict[str, Prepared]()
        for member in self.members:
            digest = member.vocabulary.digest
            if digest not in prepared:
                with warnings.catch_warnings():
                    if prepared:  # warn only once
                        warnings.simplefilter("ignore", UnseenColours)
                    prepared[digest] = member.prepare(samples)
            outputs.append(self._outputs(member, prepared[digest], batch_size, graphs))
        return torch.stack(outputs)

    def _outputs(
        self, member: Member, prepared: Prepared, batch_size: int, graphs: IntArray | None
    ) -> Tensor:
        model = member.model.eval()
        device = next(model.parameters()).device
        batches, fanout = prepared.batches(graphs, size=batch_size), self.fanout
        if fanout is not None and prepared.graphs.num_nodes > EXACT:
            check_fanout(fanout, model.config)
            batches = Sampler(prepared, fanout).batches(ROOTS)
        with torch.no_grad():
            outputs = [model(batch.to(device)).float().cpu() for batch in batches]
        if not outputs:
            return torch.zeros(0, self.config.outputs, dtype=torch.float64)
        # Double precision, because probabilities close to 1 would be equal in single precision.
        return member.unscaled(torch.cat(outputs).double())

    def scores(self, outputs: Tensor) -> Tensor:
        """Predictions from outputs in the units of the targets; the probabilities of a target with
        several classes sum to 1."""
        encoder = self.encoder
        if self.calibration is not None:
            outputs = self.calibration.adjust(outputs, self.task)
        if encoder.task is not Task.MIXED:
            return self.task.scores(outputs)
        scores = self.task.scores(outputs, torch.tensor(encoder.binary))
        for _, classes, own in encoder.groups:
            if len(classes) > 2:
                scores[:, own] /= scores[:, own].sum(1, keepdim=True).clamp(min=1e-12)
        return scores

    def evaluate(self, samples: Samples, rows: Any = None) -> dict[str, float]:
        """Every metric of the task over all samples, or over the given rows."""
        if samples.y is None:
            raise InputError("Samples without labels cannot be evaluated.")
        chosen = slice(None) if rows is None else torch.as_tensor(np.asarray(rows, np.int64))
        return self.measure(self.predict(samples)[chosen], samples.y[chosen])

    def coverage(self, scores: Tensor, y: Tensor, level: float = LEVEL) -> dict[str, float]:
        """The share of rows with the true value in the interval, for every output that has one."""
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
    """Write a model; each file is written atomically."""
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
                **_learned(member),
            }
            for member in loaded.members
        ],
        "encoder": loaded.encoder.to_dict(),
        "calibration": None if loaded.calibration is None else loaded.calibration.to_dict(),
        "versions": versions(),
        "about": dict(loaded.about),
    }
    card["sha256"] = _digest(card)
    text = json.dumps(card, ensure_ascii=False, allow_nan=False)
    write_bytes(folder / WEIGHTS, weights)
    write_text(folder / CARD, text)


def _learned(member: Member) -> dict[str, Any]:
    """The definition of the scheme of a network, if it was learned, for use in other processes."""
    learned = known_learned(member.model.config.structure.scheme)
    return {} if learned is None else {"learned": learned.to_dict()}


def load_model(folder: str | Path, device: torch.device | str = "cpu") -> Loaded:
    """Read a model folder (or the ``model.json`` in it)."""
    folder = user_path(folder)
    folder = folder.parent if folder.name == CARD else folder
    card = _card(folder / CARD)
    if not (folder / WEIGHTS).is_file():
        raise InputError(f"{folder} has no {WEIGHTS}. Copy both files of the model.")
    with reading(folder / WEIGHTS):
        weights = (folder / WEIGHTS).read_bytes()
    damaged = f"The model in {folder} is damaged"
    if hashlib.sha256(weights).hexdigest() != card["weights"]:
        raise InputError(
            f"{damaged}: {WEIGHTS} is not the file that {CARD} was written for. Copy both again, "
            "or train again with --fresh."
        )
    try:
        tensors = read_tensors(weights)
    except SafetensorError as error:
        raise InputError(f"{damaged}: {error}. Copy it again.") from None
    try:
        encoder = Encoder.from_dict(card["encoder"])
        members = tuple(
            _member(content, {
                name.removeprefix(f"{number}."): value
                for name, value in tensors.items() if name.startswith(f"{number}.")
            }, device)
            for number, content in enumerate(card["members"])
        )  # fmt: skip
        fields = card.get("calibration")
        calibration = None if fields is None else Calibration.from_dict(fields)
        _check_fit(encoder, members, calibration)
    except InputError as error:
        raise InputError(f"{damaged}: {error} Copy it again.") from None
    about = {**card["about"], "versions": card["versions"]}
    return Loaded(members, encoder, about, calibration)


def _member(
    content: dict[str, Any], tensors: dict[str, Tensor], device: torch.device | str
) -> Member:
    """Build a network; shapes are compared with those of the weights before it is allocated."""
    config = GPNNConfig.from_dict(content["config"])
    if "learned" in content:
        learned = LearnedScheme.from_dict(content["learned"]).scheme.name
        if learned != config.structure.scheme:
            raise InputError(f"its scheme is {config.structure.scheme}, and {learned} is learned.")
    vocabulary = Vocabulary.from_dict(content["vocabulary"])
    if config.gpnn and config.parts != vocabulary.size + 1:
        raise InputError(f"{config.parts} parts in a vocabulary of {vocabulary.size} colours.")
    _check_size(config, tensors)
    if config.base in (None, *BASES):  # a user-defined factory may compute with its tensors
        with torch.device("meta"), torch.random.fork_rng([]):
            _check_shapes(_made(config, vocabulary), tensors)
    with torch.random.fork_rng([]):
        model = _made(config, vocabulary)
    _check_shapes(model, tensors)
    model.load_state_dict(tensors)
    shift, scale = tuple(content["shift"]), tuple(content["scale"])
    if len(shift) != len(scale) or len(scale) not in (0, config.outputs):
        raise InputError(f"{len(scale)} scales for {config.outputs} outputs.")
    return Member(model.to(device).eval(), vocabulary, shift, scale)


def _check_shapes(model: GPNN, tensors: Mapping[str, Tensor]) -> None:
    wanted = {name: (value.shape, value.dtype) for name, value in model.state_dict().items()}
    if {name: (value.shape, value.dtype) for name, value in tensors.items()} != wanted:
        raise InputError("the weights do not fit its configuration.")


def _check_size(config: GPNNConfig, tensors: Mapping[str, Tensor]) -> None:
    """Reject sizes that exceed the number of weights, before anything of that size is allocated."""
    there = sum(value.numel() for value in tensors.values())
    sizes = {"hidden": config.hidden, "outputs": config.outputs, "features": config.features,
             "parts": config.parts if config.gpnn else 0, "edge_features": config.edge_features,
             "edge_labels": config.edge_labels, "codes": sum(config.codes)}  # fmt: skip
    for name, size in sizes.items():
        if size > there:
            raise InputError(f"{name} is {size:,}, and the weights are {there:,} numbers.")


def _made(config: GPNNConfig, vocabulary: Vocabulary) -> GPNN:
    try:
        return make_gpnn(config, None, vocabulary)
    except (RuntimeError, TypeError, ValueError, OverflowError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"its configuration makes no network ({error}).") from None


def _check_fit(
    encoder: Encoder, members: Sequence[Member], calibration: Calibration | None
) -> None:
    """Raise unless inputs and outputs of the networks match the encoder."""
    wanted = len(encoder.outputs)
    for member in members:
        config = member.model.config
        read = (config.outputs, config.features, tuple(config.codes), config.edge_labels)
        given = (wanted, encoder.features, encoder.codes, len(encoder.edges))
        if read != given or config.edge_features != encoder.edge_features:
            raise InputError("its networks do not fit its encoder.")
    if calibration is not None and len(calibration.errors) != wanted:
        raise InputError(f"its calibration is of {len(calibration.errors)} outputs, not {wanted}.")


_CARD = Table(
    {
        "format": Choice((FORMAT,)),
        "version": Whole(VERSION, VERSION),
        "weights": Text(64),
        "members": ListOf(
            Table(
                {
                    "config": Table({"structure": Table(more=Anything())}, more=Anything()),
                    "vocabulary": Table(
                        {"scheme": Text(), "colours": ListOf(Numbers()), "pairs": Maybe(Numbers(0))}
                    ),
                    "shift": ListOf(Number(-math.inf)),
                    "scale": ListOf(Number(above=True)),
                },
                {"learned": Table(more=Anything())},
            ),
            least=1,
        ),
        "encoder": Table(more=Anything()),
        "versions": Table(more=Anything()),
        "about": Table(more=Anything()),
    },
    {"sha256": Text(64), "calibration": Maybe(Table(more=Anything()))},
)
"""Schema of ``model.json``; the configurations of the networks are checked separately."""


def _card(path: Path) -> dict[str, Any]:
    if (path.parent / CHECKPOINT).is_file() and not path.is_file():
        raise InputError(
            f"The training in {path.parent} has not finished. Run the same 'gpnn train' again: it "
            "resumes where it stopped."
        )
    if not path.is_file():
        why = f"is not a model: it has no {CARD}" if path.parent.exists() else "does not exist"
        raise InputError(
            f"{path.parent} {why}. Name the folder of 'gpnn train --out', or of an estimator's "
            "method save."
        )
    copy = "Copy the model again."
    card = read_json(path, Anything(), copy)
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
    try:
        checked: dict[str, Any] = _CARD.read("", card)
    except InputError as error:
        raise InputError(f"{path} is damaged: {error} {copy}") from None
    if "sha256" in card and card["sha256"] != _digest(card):
        raise InputError(f"{path} is damaged: it is not what was saved. {copy}")
    return checked


def _digest(card: Mapping[str, Any]) -> str:
    """A hash of the file content without the hash itself."""
    rest = {name: value for name, value in card.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def versions() -> dict[str, str]:
    """Versions of the software that a model was made with."""
    from .. import __version__

    return {
        "gpnn": __version__,
        "torch": torch.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }
