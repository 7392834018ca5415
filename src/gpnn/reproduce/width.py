"""Networks with a given number of parameters, such as a base GNN as large as a GPNN."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from ..data.samples import Samples
from ..graph.partition import partition
from ..graph.structure import Structure
from ..graph.vocabulary import Vocabulary
from ..nn.mixture import make_gpnn
from ..train.seeded import undrawn
from ..train.setup import base_alone, model_config
from .jobs import Job

__all__ = ["count_parameters", "sized_options", "widen"]

WIDEST = 4096


def count_parameters(samples: Samples, options: Mapping[str, Any]) -> int:
    """Count the parameters of a network for these samples without allocating them."""
    options = base_alone(options)
    scheme = Structure.split(options)[0].scheme
    cells = _cells(samples, scheme)
    config = model_config(samples, cells.size + 1, options)
    with undrawn():
        net = make_gpnn(replace(config, dropout=0.0), None, cells)
    return sum(p.numel() for p in net.parameters())


@lru_cache(maxsize=4)
def _cells(samples: Samples, scheme: str) -> Vocabulary:
    return Vocabulary.fit(partition(samples.graphs, scheme))


def sized_options(samples: Samples, job: Job) -> dict[str, Any]:
    """Return the fields of a job's network, with the width that its recipe or rival requires."""
    wanted = job.recipe.parameters
    if job.rival is not None:
        wanted = count_parameters(samples, job.rival)
    return widen(samples, job.options, wanted) if wanted else job.options


def widen(samples: Samples, options: Mapping[str, Any], wanted: int) -> dict[str, Any]:
    """Return the options with the width that gives the closest number of parameters."""

    def count(hidden: int) -> int:
        return count_parameters(samples, {**options, "hidden": hidden})

    low, high = 1, int(options["hidden"])
    while count(high) < wanted and high < WIDEST:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if count(middle) < wanted else (low, middle)
    nearest = min((low, high), key=lambda hidden: abs(count(hidden) - wanted))
    return {**options, "hidden": nearest}
