"""``GPNNEstimator``: what the estimators with the interface of scikit-learn share."""

from __future__ import annotations

import tempfile
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from ..arrays import to_numpy
from ..data.encoder import Encoder
from ..data.objects import read_inputs
from ..data.raw import Raw
from ..data.samples import Samples, encode_descriptors, fit_descriptors
from ..data.split import Split, calibration_splits, make_folds, make_split
from ..data.tasks import Task
from ..errors import InputError
from ..options import AUTO
from .atoms import AtomShares, atom_contributions
from .baselines import Contender, compare, trees
from .choose_scheme import choose_scheme
from .device import one_thread
from .effort import MOLECULES, schedule_for
from .fit import fit
from .model_file import Loaded, load_model, save_model
from .scheme_decision import Chosen
from .setup import named_model
from .train_config import TrainConfig

__all__ = ["GPNNEstimator", "python_scalar", "with_parts"]

_STRUCTURE = ("scheme", "interactions", "d", "distances", "labels", "walks", "layers")
_MODEL = ("hidden", "block", "join", "virtual_node", "readout", "gpnn")
_TRAIN = (
    *("epochs", "patience", "batch_size", "lr", "cosine", "weight_decay", "class_weights"),
    "device",
)
_READ_BY = {
    Task.CLASSIFICATION: "GPNNClassifier.load",
    Task.REGRESSION: "GPNNRegressor.load",
    Task.MULTITASK: "GPNNMultiTarget.load",
    Task.MIXED: "GPNNMultiTarget.load",
}
_OF_GPNN = ("scheme", "interactions", "d", "distances", "labels", "join")
_SET_BY_EFFORT = ("d", "distances", "epochs", "patience", "batch_size", "cosine")


class GPNNEstimator(BaseEstimator):
    """Base class of the estimators in :mod:`gpnn.train.estimators` and
    :mod:`gpnn.train.multi_target`.

    Graphs are given as a list: :mod:`gpnn.data.objects` lists the supported types and what is read
    from them. ``fit`` sets a share ``validation`` of them aside to choose the best epoch, or the
    graphs that its argument ``parts`` marks as ``valid`` (``train`` or ``valid`` for every graph).
    On a CPU one thread is used, which is fastest for small graphs; several estimators can be fitted
    in parallel, as with ``n_jobs`` of scikit-learn.

    Args:
        scheme, interactions, d, distances, labels, walks, layers: as in
            :class:`~gpnn.graph.structure.Structure`. ``scheme="auto"`` chooses scheme,
            interactions, d and distances, or the base GNN alone, on inner folds of the graphs
            (:mod:`gpnn.train.choose_scheme`); arguments that differ from their defaults stay fixed.
        minutes: maximum time for that choice.
        hidden, block, join, virtual_node, readout, gpnn: as in
            :class:`~gpnn.nn.config.GPNNConfig`.
        model: ``gpnn``, or another method by name (``cin``, ``esan``, …, see
            :data:`~gpnn.nn.peers.PEERS`), or a base GNN alone; arguments of GPNN then keep their
            defaults.
        base: the base GNN by name, your own module, or ``None`` for none; ``"auto"`` is
            ``gine`` where edges have labels or features, else ``gin``.
        dropout: ``"auto"`` is 0.5 for a classifier and 0 for a regressor.
        epochs, patience, batch_size, lr, cosine, weight_decay, class_weights, device: as in
            :class:`~gpnn.train.train_config.TrainConfig`.
        descriptors: ``rdkit``, ``morgan`` and columns of a table (see ``X``): numbers of whole
            molecules that the network reads in addition to the graphs.
        effort: ``quick`` or ``standard``: the presets of ``gpnn train`` for molecules. It sets d,
            distances, epochs, patience, batch_size and cosine, which must not be given as well,
            and adds RDKit's descriptors unless others, or ``[]``, are given. The search of
            ``thorough`` is :func:`~gpnn.reproduce.table_search.search_estimator`.
        validation: share of the graphs used to choose the epoch.
        split: how the validation part or the folds are drawn: ``random``, ``stratified`` or
            ``scaffold``, see :func:`~gpnn.data.split.make_split`.
        ensemble: number of networks trained side by side with consecutive seeds; their mean is the
            prediction.
        folds: cross-validation instead of one validation part: number of networks, each of which
            leaves one fold out; their mean is the prediction.
        calibrate: whether the networks of an ensemble of three or more leave out rows that measure
            their errors: probabilities are calibrated, and :meth:`predict_interval` works.
        random_state: random seed for weights, batch order, dropout and validation part; a fixed
            number makes ``fit`` bit-identical on a CPU.

    Attributes:
        model_: the fitted :class:`~gpnn.train.model_file.Loaded`.
        history_: one record per epoch of the first network; ``best_epoch_``: the epoch kept.
        out_of_fold_: with ``folds``, the prediction for every graph by the network that did not see
            it; NaN for a graph without labels.
        fold_scores_: with ``folds``, the metrics of every fold left out.
        choice_: with ``scheme="auto"``, what was chosen and why
            (:class:`~gpnn.train.scheme_decision.Chosen`).
    """

    _tasks: ClassVar[tuple[Task, ...]] = ()

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
        cosine: bool = False,
        weight_decay: float = 0.0,
        class_weights: str = "none",
        descriptors: Any = None,
        effort: str | None = None,
        validation: float = 0.1,
        split: str | None = None,
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
        self.cosine = cosine
        self.weight_decay = weight_decay
        self.class_weights = class_weights
        self.descriptors = descriptors
        self.effort = effort
        self.validation = validation
        self.split = split
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
        """Write the fitted model in the format of ``gpnn train``, for ``gpnn predict``,
        ``gpnn explain`` and :meth:`load`."""
        check_is_fitted(self, "model_")
        save_model(folder, self.model_)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Load a fitted estimator from a folder of :meth:`save` or of ``gpnn train``.

        Parameters are those of the model and its training; ``validation``, ``device`` and
        ``random_state`` have their defaults. Classes keep their type. ``gpnn train`` reads classes
        as texts; they become numbers where all of them are whole numbers.
        """
        loaded = load_model(folder)
        task = loaded.encoder.task
        if task not in cls._tasks:
            tasks = " and ".join(map(str, cls._tasks))
            raise InputError(
                f"The model in {folder} is for {task}, and {cls.__name__} is for {tasks}. Read "
                f"it with {_READ_BY.get(task, 'gpnn.train.model_file.load_model')}."
            )
        config, run = loaded.config, loaded.about.get("run", {})
        options = {name: getattr(config, name) for name in (*_MODEL, "base")}
        options |= {name: getattr(config.structure, name) for name in _STRUCTURE}
        if not config.gpnn:
            options = {k: v for k, v in options.items() if k not in _OF_GPNN}
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
        """Restore the attributes that ``fit`` derives from ``y``; depends on the estimator."""

    def prepare(self, X: Any, y: Any, parts: Any = None) -> tuple[Samples, dict[str, Any]]:
        """The samples that ``fit`` trains on, and the facts that it stores with the model."""
        raise NotImplementedError

    def _prepared(self, raw: Raw, encoder: Encoder, y: Tensor, parts: Any) -> Samples:
        raw = with_parts(raw, parts)
        own, _ = fit_descriptors(raw, self._descriptors())
        return _samples(raw, replace(encoder, descriptors=own), y)

    def _descriptors(self) -> list[str] | None:
        """Names of the descriptors; ``None`` for those that ``effort`` adds."""
        wanted = self.descriptors or ()
        if self.descriptors is None and self.effort is not None:
            return None
        return [wanted] if isinstance(wanted, str) else list(wanted)

    def _train(self, samples: Samples, **facts: Any) -> None:
        """Train; ``facts`` are stored with the model, for :meth:`_restore`."""
        split, ensemble, options, config = self.plan(samples)
        if self.scheme == AUTO:
            with one_thread():
                choice = self._chosen(samples, split, options, config)
            options = choice.applied(options)
            facts["choice"] = choice.to_dict()
            if not choice.complete:
                warnings.warn(
                    f"{choice.reason}. The choice was stopped after {self.minutes:g} "
                    "minutes: give more with minutes=.",
                    stacklevel=3,
                )
        with one_thread():
            fitted = fit(samples, options, config, split, ensemble=ensemble, facts=facts)
        self._keep(fitted.loaded)
        if fitted.out_of_fold is not None:
            answers = fitted.out_of_fold.double().numpy()
            every = np.full((len(samples) + len(samples.skipped), *answers.shape[1:]), np.nan)
            every[samples.rows] = answers
            self.out_of_fold_ = every
            self.fold_scores_ = [one["test"] for one in fitted.members]

    def plan(
        self, samples: Samples
    ) -> tuple[Split | list[Split], int, dict[str, Any], TrainConfig]:
        """The split or splits, the number of networks per split, the options of the network, and
        the training configuration."""
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        folds = None
        if self.folds is not None:
            if samples.split is not None:
                raise InputError("Give either folds or parts, not both.")
            folds = make_folds(samples, python_scalar(self.folds), seed, self.split)
        ensemble = python_scalar(self.ensemble)
        split: Any = (
            _validated(samples, self.validation, seed, self.split) if folds is None else folds
        )
        if self.calibrate:
            if folds is not None:
                raise InputError("Give either folds or calibrate, not both.")
            split, ensemble = calibration_splits(samples, split, ensemble, seed), 1
        first = split if isinstance(split, Split) else split[0]
        return split, ensemble, *self._settings(samples, len(first.train), seed)

    def _settings(
        self, samples: Samples, train: int, seed: int
    ) -> tuple[dict[str, Any], TrainConfig]:
        """Options of the network, and the training configuration for ``train`` samples."""
        options = {name: getattr(self, name) for name in (*_STRUCTURE, *_MODEL)}
        options |= {
            name: getattr(self, name)
            for name in ("base", "dropout")
            if not isinstance(getattr(self, name), str) or getattr(self, name) != "auto"
        }
        options |= named_model(self.model)
        if not options["gpnn"] and self.scheme != AUTO:
            self._check_idle()
        settings = {name: python_scalar(getattr(self, name)) for name in _TRAIN}
        if self.effort is None:
            settings["halve_every"] = max(1, int(settings["epochs"]) // 2)
            config = TrainConfig(seed=seed, **settings)
        else:
            self._check_effort(samples)
            options |= MOLECULES if options["gpnn"] and self.scheme != AUTO else {}
            settings = {k: v for k, v in settings.items() if k not in _SET_BY_EFFORT}
            settings |= schedule_for(train, self.effort)
            config = TrainConfig.sized(train, seed=seed, **settings)
        return {name: python_scalar(value) for name, value in options.items()}, config

    def _check_idle(self) -> None:
        """Refuse arguments of GPNN for a model without it."""
        usual = type(self)()
        given = [name for name in _OF_GPNN if getattr(self, name) != getattr(usual, name)]
        if given:
            what = "gpnn=False" if self.model == "gpnn" else f"model={self.model!r}"
            raise InputError(f"{what} trains without GPNN: leave out {', '.join(given)}.")

    def _check_effort(self, samples: Samples) -> None:
        if not samples.from_smiles:
            raise InputError("effort is for molecules given as SMILES. Set epochs for others.")
        if self.effort == "thorough":
            raise InputError(
                "effort='thorough' is a search: gpnn.search_estimator(estimator, X, y, minutes=10) "
                "gives an estimator with the best setting. Here effort is quick or standard."
            )
        usual = type(self)()
        for name in _SET_BY_EFFORT:
            if getattr(self, name) != getattr(usual, name):
                raise InputError(f"effort={self.effort!r} sets {name}. Give one of the two.")

    def _chosen(
        self, samples: Samples, split: Any, options: dict[str, Any], config: TrainConfig
    ) -> Chosen:
        """The choice of ``scheme="auto"``, on all training and validation graphs."""
        if not isinstance(split, Split):
            given = "folds" if self.folds is not None else "calibrate"
            raise InputError(
                f"scheme='{AUTO}' chooses with all graphs of fit, and {given} would measure on "
                f"them: leave out {given}. cross_val_score measures the choice."
            )
        if self.model != "gpnn" or not self.gpnn:
            given = "gpnn=False" if self.model == "gpnn" else f"model={self.model!r}"
            raise InputError(
                f"scheme='{AUTO}' searches among GPNNs and the base GNN alone: leave out {given}."
            )
        usual = GPNNEstimator().get_params()
        free = ("interactions", "d", "distances")
        fixed = {k: v for k, v in options.items() if k not in free or v != usual[k]}
        fixed.pop("scheme")
        pool = np.concatenate([split.train, split.valid])
        with tempfile.TemporaryDirectory(prefix="gpnn-schemes-") as folder:
            kind = self.split if self.split == "scaffold" else None
            return choose_scheme(
                samples, pool, fixed, config, Path(folder), self.minutes, kind=kind
            )

    def _keep(self, loaded: Loaded) -> None:
        self.model_ = loaded
        self.history_ = loaded.about.get("histories", [[]])[0]
        self.best_epoch_ = loaded.about.get("best_epochs", [None])[0]
        self.__dict__.pop("choice_", None)
        if "choice" in loaded.about:
            self.choice_ = Chosen.from_dict(loaded.about["choice"])

    def atom_contributions(self, X: Any, output: str | None = None) -> AtomShares:
        """Contribution of every vertex to an output, see :mod:`gpnn.train.atoms`."""
        return atom_contributions(self.model_, self._read(X), output)

    def compare(self, X: Any, y: Any, others: Any, truth: Any) -> list[dict[str, Any]]:
        """Compare this fitted model with its base GNN alone, gradient boosting on RDKit descriptors
        and a random forest on Morgan fingerprints. The baselines are fitted to the molecules ``X``
        and ``y``; all models are evaluated on ``others`` with the labels ``truth``, as in
        :func:`~gpnn.train.baselines.compare`."""
        known, asked = self._read(X), self._read(others)
        labels = [self._encoded(*one) for one in ((y, len(known)), (truth, len(asked)))]
        ids = known.ids + asked.ids
        rows = np.arange(len(ids))
        samples = replace(known, ids=ids, rows=rows, y=torch.cat(labels))
        split = Split(rows[1 : len(known)], rows[:1], rows[len(known) :], "as given")
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        own = Contender(type(self).__name__, torch.from_numpy(self._scores(others)), 0.0)
        rivals = trees(samples, split, seed)
        if self.gpnn and self.model == "gpnn":
            usual = type(self)().get_params()
            plain = {name: usual[name] for name in _OF_GPNN}
            started = time.perf_counter()
            base = clone(self).set_params(gpnn=False, **plain).fit(X, y)
            scores, seconds = torch.from_numpy(base._scores(others)), time.perf_counter() - started
            rivals.insert(0, Contender(f"{base.model_.config.base} alone", scores, seconds))
        return compare(samples, split, [own, *rivals], seed)

    def _encoded(self, y: Any, count: int) -> Tensor:
        """Labels as the network reads them."""
        raise NotImplementedError

    def _half_widths(self, level: float) -> list[float | None]:
        """Half width of the interval of every output."""
        if self.model_.calibration is None:
            raise InputError(f"Intervals need {type(self).__name__}(ensemble=5, calibrate=True).")
        halves = self.model_.calibration.half_widths(level)
        numbers = [not flag for flag in self.model_.encoder.binary] or [True] * len(halves)
        if any(own is None and flag for own, flag in zip(halves, numbers, strict=True)):
            raise InputError(f"There were too few rows to calibrate on for the level {level:g}.")
        return halves

    def _read(self, graphs: Any) -> Samples:
        check_is_fitted(self, "model_")
        raw, encoder = read_inputs(graphs), self.model_.encoder
        encoder.check(raw)
        return _samples(raw, encoder, None)

    def _scores(self, graphs: Any) -> NDArray[np.float64]:
        samples = self._read(graphs)
        with one_thread():
            return self.model_.predict(samples).double().numpy()


def _samples(raw: Raw, encoder: Encoder, y: Tensor | None) -> Samples:
    x, edge_labels, edge_features = encoder.encode(raw)
    return Samples(
        raw.graphs, encoder, x, edge_labels, y, raw.ids, raw.rows, split=raw.split,
        edge_features=edge_features, descriptors=encode_descriptors(raw, encoder),
        from_smiles=raw.from_smiles,
    )  # fmt: skip


def python_scalar(value: Any) -> Any:
    """Convert NumPy scalars, such as those of a parameter grid, to Python scalars."""
    return value.item() if isinstance(value, np.generic) else value


def with_parts(raw: Raw, parts: Any) -> Raw:
    """Graphs with a split from ``parts``, one word per graph: ``train`` or ``valid``."""
    if parts is None:
        return raw
    words = to_numpy(parts, "parts", text=True).astype(str)
    wrong = sorted(set(words.reshape(-1).tolist()) - {"train", "valid"})
    if words.shape != (len(raw.graphs),) or wrong:
        got = f"{wrong[0]!r}" if wrong else f"shape {words.shape}"
        raise InputError(
            f"parts takes train or valid for each of the {len(raw.graphs):,} graphs; got {got}."
        )
    named = {part: np.flatnonzero(words == part) for part in ("train", "valid", "test")}
    return replace(raw, split=named)


def _validated(samples: Samples, share: float, seed: int, kind: str | None) -> Split:
    """Training and validation part; every class of the validation part is also in training."""
    count = len(samples)
    if kind is not None and samples.split is not None:
        raise InputError("Give either split or parts, not both.")
    split = make_split(samples, seed, valid=share, test=0.0, kind=kind)
    assert samples.y is not None
    if not samples.task.has_classes or samples.split is not None:
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
