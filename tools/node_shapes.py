"""Two architectures and four weight decays of base GNNs, alone and with GPNN, on the splits of the
``node`` protocol.

*full* has an encoder, normalisations and a head with a hidden layer; *plain* is a stack of the base
GNN's layers under a linear head. Every model has the same eight settings. Two ways to choose:

- *all splits*: one setting, by the mean validation accuracy over the splits. The recipes of node
  sets take that of the base GNN. The splits overlap, so that most test vertices of a split are
  validation vertices of another.
- *own split*: a setting for every split, by its own validation vertices. Gains are paired by split,
  with the correction of Nadeau and Bengio for overlapping splits.

    python tools/node_shapes.py Wisconsin Texas [--device cuda] > docs/benchmarks/node-shapes.md
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from gpnn.reproduce.jobs import Job, Row
from gpnn.reproduce.protocols import get_protocol
from gpnn.reproduce.protocols.official import choose_on_validation
from gpnn.reproduce.recipe import Recipe, load_recipe
from gpnn.reproduce.run_job import prepare_job
from gpnn.train.loop import train_staged
from gpnn.train.paired import paired, student_p

BASES = ("GCN", "GAT", "GraphSAGE", "GIN")
SHAPES = {
    "full": {"head": "mlp", "encoder": "linear", "norm": "batch"},
    "plain": {"head": "linear", "encoder": "none", "norm": "none"},
}
DECAYS = (0.1, 1.0, 5.0, 20.0)
SETTINGS = list(product(SHAPES, DECAYS))
HEAD = """\
# Settings of base GNNs and GPNN on {names}

Made by `python tools/node_shapes.py {names}`. Test accuracy in per cent over ten random splits,
mean ± standard deviation. Every model has the same eight settings: *full* (encoder, normalisations,
head with a hidden layer) or *plain*, and a weight decay of 0.1, 1, 5 or 20. *All splits*: the one
setting with the best mean validation accuracy, as in the recipes. *Own split*: chosen in every
split by its own validation vertices; the gain over the base GNN is paired by split, ± standard
error with the correction for overlapping splits; p of Student's t, two-sided, not corrected for
several models.

| dataset | model | setting | all splits | own split | gain over the base | p |
|---|---|---|---:|---:|---:|---:|"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--data")
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    print(HEAD.format(names=" ".join(options.datasets)), flush=True)
    for name, base in product(options.datasets, BASES):
        alone: list[float] = []
        for row in (Row(base), Row(base, "core", "cross"), Row(base, "core", "edges")):
            valid, test = _trained(name, row, options.data, options.device)
            best = int(valid.mean(axis=1).argmax())
            own = 100 * test[valid.argmax(axis=0), np.arange(test.shape[1])]
            alone = alone or own.tolist()
            shape, decay = SETTINGS[best]
            cells = [
                name,
                row.title,
                f"{shape}, {decay:g}",
                _spread(100 * test[best]),
                _spread(own),
            ]
            print(f"| {' | '.join([*cells, *_gain(own.tolist(), alone)])} |", flush=True)


def _trained(
    name: str, row: Row, data: str | None, device: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return validation and test accuracy, [settings, splits]."""
    valid, test = [], []
    for shape, decay in SETTINGS:
        recipe: Recipe = replace(load_recipe(name), bases={}, weight_decay=decay, **SHAPES[shape])
        job = prepare_job(Job(recipe, row, "node"), data, device)
        (members,) = job.pieces
        curves = train_staged(job.staged(0), job.device).curves
        valid.append(curves.valid.max(axis=1))
        test.append([one.value for one in choose_on_validation(members, curves)])
    return np.array(valid), np.array(test)


def _spread(values: NDArray[np.float64]) -> str:
    return f"{values.mean():.1f} ± {values.std(ddof=1):.1f}"


def _gain(own: list[float], alone: list[float]) -> list[str]:
    if own == alone:
        return ["", ""]
    gain, error = paired(own, alone, True, get_protocol("node").overlap)
    assert error is not None
    p = student_p(gain, error, len(own) - 1, sides=2)
    return [f"{gain:+.1f} ± {error:.1f}", f"{p:.2g}"]


if __name__ == "__main__":
    main()
