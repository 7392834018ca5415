"""``GPNNClassifier`` and ``GPNNRegressor``: a GPNN with the manners of scikit-learn."""

from __future__ import annotations

import re
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from ..data.encoder import Encoder
from ..data.objects import read_inputs, read_labels
from ..data.raw import Raw
from ..data.samples import Samples, encode_descriptors, fit_descriptors
from ..data.split import Split, calibration_splits, make_folds, make_split
from ..data.targets import check_labels, class_names
from ..data.tasks import Task
from ..errors import InputError
from ..options import AUTO
from .choose_scheme import Chosen, choose_scheme
from .fit import fit
from .model_file import Loaded, load_model, save_model
from .setup import named_model
from .train_config import TrainConfig

__all__ = ["GPNNClassifier", "GPNNEstimator", "GPNNRegressor"]

_STRUCTURE = ("scheme", "interactions", "d", "distances", "labels", "walks", "layers")
_MODEL = ("hidden", "block", "join", "virtual_node", "readout", "gpnn")
_TRAIN = ("epochs", "patience", "batch_size", "lr", "weight_decay", "class_weights", "device")
_READ_BY = {Task.CLASSIFICATION: "GPNNClassifier.load", Task.REGRESSION: "GPNNRegressor.load"}


class GPNNEstimator(BaseEstimator):
    """What :class:`GPNNClassifier` and :class:`GPNNRegressor` share.

    Graphs are given as a list: see :mod:`gpnn.data.objects` for the kinds and for what is read of
    them. A share ``validation`` of them is set aside in ``fit`` to choose the best epoch.

    Args:
        scheme, interactions, d, distances, labels, walks, layers: as in
            :class:`~gpnn.graph.structure.Structure`. ``scheme="auto"`` chooses scheme,
            interactions, d and distances, or the base GNN alone, on inner folds of the graphs
            (:mod:`gpnn.train.choose_scheme`); what differs from the defaults is not chosen.
        minutes: time of that choice, at most.
        hidden, block, join, virtual_node, readout, gpnn: as in
            :class:`~gpnn.nn.config.GPNNConfig`.
        model: ``gpnn``, or another method by name (``cin``, ``esan``, …, see
            :data:`~gpnn.nn.peers.PEERS`), or a base GNN alone; what belongs to GPNN is then unused.
        base: the base GNN by name, or a module of your own, ``None`` for none; ``"auto"`` is
            ``gine`` where edges have labels or features, else ``gin``.
        dropout: ``"auto"`` is 0.5 for a classifier and 0 for a regressor.
        epochs, patience, batch_size, lr, weight_decay, class_weights, device: as in
            :class:`~gpnn.train.train_config.TrainConfig`.
        descriptors: ``rdkit`` and ``morgan``: numbers of whole molecules that are read beside them.
        validation: share of the graphs that choose the epoch.
        ensemble: networks that are trained side by side with seeds that follow each other; their
            mean is the answer.
        folds: cross-validation instead of one validation part: so many networks, each of which
            leaves one fold out; their mean is the answer.
        calibrate: whether the networks of an ensemble of three or more leave rows out that measure
            how wrong they are: probabilities are calibrated, and :meth:`predict_interval` works.
        random_state: of weights, order, dropout and validation part; a number makes ``fit`` give
            the same bits on a CPU every time.

    Attributes:
        model_: the fitted :class:`~gpnn.train.model_file.Loaded`.
        history_: one record per epoch, of the first network; ``best_epoch_``: the one kept.
        out_of_fold_: with ``folds``, the answer for every graph by the network that did not see it.
        fold_scores_: with ``folds``, the metrics of every fold left out.
        choice_: with ``scheme="auto"``, what was chosen and why
            (:class:`~gpnn.train.choose_scheme.Chosen`).
    """

    _task: ClassVar[Task | None] = None

    def __init__(
        self,
        scheme: str = "core-degree",
        interactions: str = "edges",
        d: int = 1,
        distances: bool = False,
        labels: bool = False,
        walks: int = 0,
        layers: int = 3,
        hidden: int = 64,
        block: str = "residual",
        join: str = "beside",
        virtual_node: bool = False,
        model: str = "gpnn",
        base: Any = "auto",
        readout: str = "sum",
        gpnn: bool = True,
        dropout: float | str = "auto",
        epochs: int = 100,
        patience: int = 40,
        batch_size: int = 32,
        lr: float = 0.01,
        weight_decay: float = 0.0,
        class_weights: str = "none",
        descriptors: Any = None,
        validation: float = 0.1,
        ensemble: int = 1,
        folds: int | None = None,
        calibrate: bool = False,
        minutes: float = 10.0,
        device: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.scheme = scheme
        self.interactions = interactions
        self.d = d
        self.distances = distances
        self.labels = labels
        self.walks = walks
        self.layers = layers
        self.hidden = hidden
        self.block = block
        self.join = join
        self.virtual_node = virtual_node
        self.model = model
        self.base = base
        self.readout = readout
        self.gpnn = gpnn
        self.dropout = dropout
        self.epochs = epochs
        self.patience = patience
        self.batch_size = batch_size
        self.lr = lr
        self.weight_decay = weight_decay
        self.class_weights = class_weights
        self.descriptors = descriptors
        self.validation = validation
        self.ensemble = ensemble
        self.folds = folds
        self.calibrate = calibrate
        self.minutes = minutes
        self.device = device
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags

    def save(self, folder: str | Path) -> None:
        """Write the fitted model as ``gpnn train`` does: ``gpnn predict``, ``gpnn explain`` and
        :meth:`load` read it."""
        check_is_fitted(self, "model_")
        save_model(folder, self.model_)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """A fitted estimator from a folder of :meth:`save` or of ``gpnn train``.

        Parameters are those of the model and its training; ``validation``, ``device`` and
        ``random_state`` are the defaults. Classes are what they were; those of ``gpnn train``,
        which reads texts, are numbers where all are whole ones.
        """
        loaded = load_model(folder)
        task = loaded.encoder.task
        if task is not cls._task:
            raise InputError(
                f"The model in {folder} is for {task}, and {cls.__name__} is for {cls._task}. Read "
                f"it with {_READ_BY.get(task, 'gpnn.train.model_file.load_model')}."
            )
        config, run = loaded.config, loaded.about.get("run", {})
        options = {name: getattr(config, name) for name in (*_MODEL, "base")}
        options |= {name: getattr(config.structure, name) for name in _STRUCTURE}
        if config.peer is not None:
            options |= {"model": config.base, "base": "auto", "gpnn": True}
        options["dropout"] = run.get("model", {}).get("dropout", config.dropout)
        options["folds"] = loaded.about.get("folds") or None
        options["ensemble"] = 1 if options["folds"] else len(loaded.members)
        options["calibrate"] = loaded.calibration is not None
        own = loaded.encoder.descriptors
        options["descriptors"] = None if own is None else own.asked
        trained = run.get("train", {})
        made = cls(**options, **{name: trained[name] for name in _TRAIN if name in trained})
        made._keep(loaded)
        made._restore(loaded)
        return made

    def _restore(self, loaded: Loaded) -> None:
        """Set what ``fit`` learns of ``y``: every kind of estimator has its own."""

    def _fit(self, raw: Raw, encoder: Encoder, y: Tensor, **facts: Any) -> None:
        """Train; ``facts`` are kept with the model, for :meth:`_restore`."""
        wanted = self.descriptors or ()
        own, _ = fit_descriptors(raw, [wanted] if isinstance(wanted, str) else list(wanted))
        samples = _samples(raw, replace(encoder, descriptors=own), y)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        options = {name: getattr(self, name) for name in (*_STRUCTURE, *_MODEL)}
        options |= {
            name: getattr(self, name)
            for name in ("base", "dropout")
            if not isinstance(getattr(self, name), str) or getattr(self, name) != "auto"
        }
        options |= named_model(self.model)
        settings = {name: _plain(getattr(self, name)) for name in _TRAIN}
        settings["halve_every"] = max(1, int(settings["epochs"]) // 2)
        folds = None if self.folds is None else make_folds(samples, _plain(self.folds), seed)
        ensemble = _plain(self.ensemble)
        split: Any = _validated(samples, self.validation, seed) if folds is None else folds
        if self.calibrate:
            if folds is not None:
                raise InputError("Give either folds or calibrate, not both.")
            split, ensemble = calibration_splits(samples, split, ensemble, seed), 1
        config = TrainConfig(seed=seed, **settings)
        options = {name: _plain(value) for name, value in options.items()}
        if self.scheme == AUTO:
            self.choice_ = self._chosen(samples, split, options, config)
            options = self.choice_.applied(options)
            facts["choice"] = self.choice_.to_dict()
        fitted = fit(samples, options, config, split, ensemble=ensemble, facts=facts)
        self._keep(fitted.loaded)
        if fitted.out_of_fold is not None:
            self.out_of_fold_ = fitted.out_of_fold.double().numpy()
            self.fold_scores_ = [one["test"] for one in fitted.members]

    def _chosen(
        self, samples: Samples, split: Any, options: dict[str, Any], config: TrainConfig
    ) -> Chosen:
        """The choice of ``scheme="auto"``, on all graphs that train or validate."""
        if not isinstance(split, Split) or self.model != "gpnn" or not self.gpnn:
            raise InputError(
                f"scheme='{AUTO}' chooses on all graphs of fit, the base alone among others: leave "
                "out folds, calibrate, model and gpnn=False."
            )
        usual = GPNNEstimator().get_params()
        free = ("interactions", "d", "distances")
        fixed = {k: v for k, v in options.items() if k not in free or v != usual[k]}
        fixed.pop("scheme")
        pool = np.concatenate([split.train, split.valid])
        with tempfile.TemporaryDirectory(prefix="gpnn-schemes-") as folder:
            return choose_scheme(samples, pool, fixed, config, Path(folder), self.minutes)

    def _keep(self, loaded: Loaded) -> None:
        self.model_ = loaded
        self.history_ = loaded.about.get("histories", [[]])[0]
        self.best_epoch_ = loaded.about.get("best_epochs", [None])[0]

    def _scores(self, graphs: Any) -> NDArray[np.float64]:
        check_is_fitted(self, "model_")
        raw, encoder = read_inputs(graphs), self.model_.encoder
        encoder.check(raw)
        return self.model_.predict(_samples(raw, encoder, None)).double().numpy()


class GPNNClassifier(ClassifierMixin, GPNNEstimator):
    """Classifies graphs. Arguments and attributes: see :class:`GPNNEstimator`, and

    ``classes_``: the classes, ascending, as ``y`` had them.

    >>> from gpnn import GPNNClassifier
    >>> model = GPNNClassifier(random_state=0).fit(graphs, y)  # doctest: +SKIP
    >>> model.predict_proba(others)  # doctest: +SKIP
    """

    _task = Task.CLASSIFICATION

    def fit(self, X: Any, y: Any) -> GPNNClassifier:
        """Learn from a list of graphs and one class per graph: texts or numbers."""
        raw, labels = _read(X, y)
        if labels.ndim != 1:
            raise InputError(f"y must hold one class per graph; got shape {labels.shape}.")
        try:
            kind = type_of_target(labels)
        except (TypeError, ValueError) as error:
            raise InputError(f"y holds no classes: {error}") from None
        if kind == "continuous":
            raise InputError(
                "Unknown label type: y holds continuous numbers, which are no classes. Take "
                "GPNNRegressor for them."
            )
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            only = _plain(self.classes_[0])
            raise InputError(f"y holds only the class {only!r}. There is nothing to learn.")
        names = tuple(map(str, self.classes_.tolist()))
        if self.classes_.dtype.kind == "f":
            names = class_names(self.classes_.astype(np.float64))
        raw = _with_target(raw, "class")
        encoder = Encoder.fit(raw, Task.CLASSIFICATION, names)
        y = torch.from_numpy(codes.astype(np.int64).reshape(-1))
        self._fit(raw, encoder, y, classes=self.classes_.dtype.kind)
        return self

    def _restore(self, loaded: Loaded) -> None:
        self.classes_ = _classes(loaded.encoder.class_names, loaded.about.get("classes"))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities [graphs, classes], in the order of ``classes_``."""
        return self._scores(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """The predicted class of every graph."""
        best = self._scores(X).argmax(axis=1)
        found: NDArray[Any] = self.classes_[best]
        return found


class GPNNRegressor(RegressorMixin, GPNNEstimator):
    """Predicts a number, or several, for every graph; the mean absolute error is minimised.
    Arguments and attributes: see :class:`GPNNEstimator`."""

    _task = Task.REGRESSION

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: Any, y: Any) -> GPNNRegressor:
        """Learn from a list of graphs and a number per graph, or an array [graphs, targets]."""
        raw, labels = _read(X, y)
        try:
            values = labels.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"y must hold numbers: {error}.") from None
        if values.ndim > 2 or not np.isfinite(values).all():
            raise InputError(
                "y holds infinity."
                if values.ndim <= 2
                else f"y must have shape [graphs] or [graphs, targets]; got {values.shape}."
            )
        self._flat = values.ndim == 1
        table = values.reshape(len(values), -1)
        names = (
            ["target"] if table.shape[1] == 1 else [f"target {k + 1}" for k in range(len(table.T))]
        )
        raw = _with_target(raw, *names)
        encoder = Encoder.fit(raw, Task.REGRESSION, ())
        target = torch.from_numpy(table).float()
        if not bool(torch.isfinite(target).all()):
            raise InputError("y holds numbers beyond the range of 32-bit floats. Scale them first.")
        check_labels(target, Task.REGRESSION, (), raw.ids)
        self._fit(raw, encoder, target, flat=self._flat)
        return self

    def _restore(self, loaded: Loaded) -> None:
        self._flat = loaded.about.get("flat", loaded.config.outputs == 1)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The values, [graphs] or [graphs, targets] as ``y`` was."""
        found = self._scores(X)
        return found[:, 0] if self._flat else found

    def predict_interval(self, X: Any, level: float = 0.9) -> NDArray[np.float64]:
        """The ends of intervals that cover the truth of so many rows drawn like those of ``fit``,
        [graphs(, targets), 2]; needs ``calibrate``."""
        found = self._scores(X)
        if self.model_.calibration is None:
            raise InputError("Intervals need GPNNRegressor(ensemble=5, calibrate=True).")
        halves = self.model_.calibration.half_widths(level)
        if None in halves:
            raise InputError(f"There were too few rows to calibrate on for the level {level:g}.")
        ends = found[..., None] + np.array([-1.0, 1.0]) * np.array(halves, np.float64)[:, None]
        return ends[:, 0] if self._flat else ends


def _read(X: Any, y: Any) -> tuple[Raw, NDArray[Any]]:
    """Graphs with their labels, two at least."""
    raw = read_inputs(X)
    labels = read_labels(y, len(raw.graphs))
    if len(labels) < 2:
        raise InputError("X holds one graph (n_samples = 1): too few to learn from.")
    return raw, labels


def _samples(raw: Raw, encoder: Encoder, y: Tensor | None) -> Samples:
    x, edge_labels, edge_features = encoder.encode(raw)
    return Samples(
        raw.graphs, encoder, x, edge_labels, y, raw.ids, raw.rows, edge_features=edge_features,
        descriptors=encode_descriptors(raw, encoder), from_smiles=raw.from_smiles,
    )  # fmt: skip


def _classes(names: tuple[str, ...], kind: str | None) -> NDArray[Any]:
    """Classes of NumPy's kind, from their names; without one, whole numbers are numbers."""
    if kind is None:
        kind = "i" if all(re.fullmatch(r"0|-?[1-9]\d*", name) for name in names) else "U"
    if kind == "b":
        return np.array([name == "True" for name in names])
    if kind in "iu":
        return np.array([int(name) for name in names])
    return np.array(names, np.float64 if kind == "f" else None)


def _plain(value: Any) -> Any:
    """NumPy's numbers, as a grid of parameters may hold them, as Python's."""
    return value.item() if isinstance(value, np.generic) else value


def _with_target(raw: Raw, *names: str) -> Raw:
    return replace(raw, targets={name: np.zeros(len(raw.graphs)) for name in names})


def _validated(samples: Samples, share: float, seed: int) -> Split:
    """Training and validation part; no class is in the validation part alone."""
    count = len(samples)
    split = make_split(samples, seed, valid=share, test=0.0)
    assert samples.y is not None
    if not samples.task.has_classes:
        return split
    y = samples.y.numpy()
    kept = split.valid[np.isin(y[split.valid], y[split.train])]
    if not len(kept):
        repeated = np.bincount(y)[y] > 1
        if not repeated.any():
            raise InputError(
                "Every class of y is seen once: no graph is left to validate with. Add examples."
            )
        kept = np.flatnonzero(repeated)[-1:]
    return Split(np.setdiff1d(np.arange(count), kept), kept, split.test, split.how)
