"""Permutation-invariant graph partitions and structural interactions for graph learning.

====================================  =========================================================
to partition and compare graphs       :func:`partition`, :func:`compare`, :class:`AddPartition`
to build a network in PyG             :class:`GPNN`, :class:`GPNNConv`, :func:`prepare`
to train on your data                 :func:`load_dataset`, :func:`fit`, :class:`GPNNClassifier`,
                                      :class:`GPNNRegressor`, :class:`GPNNMultiTarget`,
                                      :func:`search_estimator`
to use a trained model                :func:`load_model`, :func:`explain`
to add your own components            :func:`register_scheme`, :func:`register_base`,
                                      :func:`register_dataset`
====================================  =========================================================

>>> import gpnn
>>> found = gpnn.partition([[0, 1, 2, 2], [1, 2, 0, 3]], scheme="core")
>>> found.labels, found.sizes.tolist()
(['1', '2'], [1, 3])
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"
RESULTS = "0.2.0"
"""The version since which equal trainings give equal results, up to rounding and to what its tests
hold equal. A change of arithmetic raises it, to ``0.2.0.1`` between versions: logs and records
carry it, and results that differ in it are neither compared nor resumed."""

_HOMES = {
    "AddPartition": "nn.transform",
    "GPNN": "nn.model",
    "GPNNClassifier": "train.estimators",
    "GPNNConfig": "nn.config",
    "GPNNConv": "nn.conv",
    "GPNNMultiTarget": "train.multi_target",
    "GPNNRegressor": "train.estimators",
    "Graphs": "graph.graphs",
    "InputError": "errors",
    "Partition": "graph.partition",
    "Scheme": "graph.schemes",
    "Structure": "graph.structure",
    "TrainConfig": "train.fit",
    "UnseenColours": "graph.vocabulary",
    "Vocabulary": "graph.vocabulary",
    "as_graphs": "graph.convert",
    "check_invariance": "graph.invariance",
    "compare": "lab.compare",
    "explain": "train.explain",
    "fit": "train.fit",
    "get_scheme": "graph.schemes",
    "list_schemes": "graph.schemes",
    "load_dataset": "data.samples",
    "load_model": "train.model_file",
    "partition": "graph.partition",
    "prepare": "nn.prepare",
    "register_base": "nn.bases",
    "register_dataset": "data.catalogue",
    "register_scheme": "graph.schemes",
    "search_estimator": "reproduce.table_search",
}

__all__ = ["__version__", *sorted(_HOMES)]

if TYPE_CHECKING:
    from .data.catalogue import register_dataset as register_dataset
    from .data.samples import load_dataset as load_dataset
    from .errors import InputError as InputError
    from .graph.convert import as_graphs as as_graphs
    from .graph.graphs import Graphs as Graphs
    from .graph.invariance import check_invariance as check_invariance
    from .graph.partition import Partition as Partition
    from .graph.partition import partition as partition
    from .graph.schemes import Scheme as Scheme
    from .graph.schemes import get_scheme as get_scheme
    from .graph.schemes import list_schemes as list_schemes
    from .graph.schemes import register_scheme as register_scheme
    from .graph.structure import Structure as Structure
    from .graph.vocabulary import UnseenColours as UnseenColours
    from .graph.vocabulary import Vocabulary as Vocabulary
    from .lab.compare import compare as compare
    from .nn.bases import register_base as register_base
    from .nn.config import GPNNConfig as GPNNConfig
    from .nn.conv import GPNNConv as GPNNConv
    from .nn.model import GPNN as GPNN
    from .nn.prepare import prepare as prepare
    from .nn.transform import AddPartition as AddPartition
    from .reproduce.table_search import search_estimator as search_estimator
    from .train.estimators import GPNNClassifier as GPNNClassifier
    from .train.estimators import GPNNRegressor as GPNNRegressor
    from .train.explain import explain as explain
    from .train.fit import fit as fit
    from .train.model_file import load_model as load_model
    from .train.multi_target import GPNNMultiTarget as GPNNMultiTarget
    from .train.train_config import TrainConfig as TrainConfig


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that torch and numba are loaded only if needed."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'gpnn' has no attribute '{name}'")
    value = getattr(import_module(f"gpnn.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
