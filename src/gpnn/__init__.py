"""Permutation-invariant graph partitions and structural interactions for graph learning.

>>> import gpnn
>>> cut = gpnn.partition([[0, 1, 2, 2], [1, 2, 0, 3]], scheme="core")
>>> cut.labels, cut.sizes.tolist()
(['1', '2'], [1, 3])
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "AddPartition": "nn.transform",
    "GPNN": "nn.model",
    "GPNNClassifier": "train.estimators",
    "GPNNConfig": "nn.config",
    "GPNNConv": "nn.conv",
    "GPNNRegressor": "train.estimators",
    "Graphs": "graph.graphs",
    "InputError": "errors",
    "Partition": "graph.partition",
    "Scheme": "graph.schemes",
    "UnseenColours": "graph.vocabulary",
    "Vocabulary": "graph.vocabulary",
    "as_graphs": "graph.convert",
    "check_invariance": "graph.invariance",
    "get_scheme": "graph.schemes",
    "list_schemes": "graph.schemes",
    "load_graphs": "data.datasets",
    "partition": "graph.partition",
    "prepare": "nn.prepare",
    "prepare_data": "nn.from_data",
    "register_scheme": "graph.schemes",
}

__all__ = ["__version__", *sorted(_HOMES)]

if TYPE_CHECKING:
    from .data.datasets import load_graphs as load_graphs
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
    from .graph.vocabulary import UnseenColours as UnseenColours
    from .graph.vocabulary import Vocabulary as Vocabulary
    from .nn.config import GPNNConfig as GPNNConfig
    from .nn.conv import GPNNConv as GPNNConv
    from .nn.from_data import prepare_data as prepare_data
    from .nn.model import GPNN as GPNN
    from .nn.prepare import prepare as prepare
    from .nn.transform import AddPartition as AddPartition
    from .train.estimators import GPNNClassifier as GPNNClassifier
    from .train.estimators import GPNNRegressor as GPNNRegressor


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that torch and numba load only if needed."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'gpnn' has no attribute '{name}'")
    value = getattr(import_module(f"gpnn.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
