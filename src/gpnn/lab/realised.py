"""Does a trained network distinguish what the exact refinement distinguishes? BREC's protocol.

For every pair (G, H) a fresh network of output dimension 16 is trained on 32 relabelled copies of
each graph to make the outputs of G and H differ (cosine loss), and judged by Hotelling's test of
the 32 differences D_i = f(G_i) - f(H_i):

    T² = 32 · D̄ᵀ (S + εI)⁻¹ D̄ > 72.34,

the 95 % value for 16 dimensions and 32 samples. ε = 1e-7 and double precision keep rounding noise
from looking like a difference. The same test between relabelled copies of one graph must stay below
the value, or the pair counts as a failure of reliability and not as distinguished.

The network gets as many layers as the exact refinement needs rounds to distinguish the pair (within
limits; a pair it cannot distinguish gets up to ``BLIND_LAYERS``). The component feature, which adds
power of its own, is off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..graph.graphs import Graphs
from ..graph.partition import partition
from ..graph.refine import gpnn as exact_gpnn
from ..nn.model import GPNN
from ..nn.prepare import Prepared, prepare
from .suites import Suite

__all__ = ["THRESHOLD", "PairResult", "hotelling", "realise", "realise_suite"]

COPIES = 32
OUTPUTS = 16
THRESHOLD = 72.34
EPSILON = 1e-7
LEAST_LAYERS, BLIND_LAYERS, MOST_LAYERS = 2, 6, 24
MARGIN = 100.0
"""Training ends early once T² exceeds the threshold by this factor."""


@dataclass(frozen=True)
class PairResult:
    """One pair: what the exact refinement says, and what the network came to."""

    exact: bool
    layers: int
    statistic: float
    reliability: float
    epochs: int

    @property
    def reliable(self) -> bool:
        return self.reliability < THRESHOLD

    @property
    def distinguishes(self) -> bool:
        return self.reliable and self.statistic > THRESHOLD


def hotelling(left: Tensor, right: Tensor) -> float:
    """T² of the differences of two samples of outputs, [copies, outputs] each."""
    difference = (left - right).double()
    mean = difference.mean(0)
    spread = torch.cov(difference.t()) + EPSILON * torch.eye(difference.shape[1]).to(difference)
    return float(len(difference) * mean @ torch.linalg.solve(spread, mean))


def realise(
    left: Graphs,
    right: Graphs,
    scheme: str,
    interactions: str,
    d: int = 1,
    *,
    hidden: int = 32,
    epochs: int = 10,
    lr: float = 1e-3,
    seed: int = 0,
    device: str = "cpu",
) -> PairResult:
    """Train and judge one network on one pair."""
    exact, layers = _needed(left, right, scheme, interactions, d)
    rng = np.random.default_rng(seed)
    copies = [left] * COPIES + [right] * COPIES + [left] * COPIES
    graphs = Graphs.concatenate([one.relabelled(rng.permutation(one.num_nodes)) for one in copies])
    ready = prepare(graphs, scheme=scheme, interactions=interactions, d=d, layers=layers)
    torch.manual_seed(seed)
    model = GPNN(
        outputs=OUTPUTS,
        hidden=hidden,
        base=None,
        component_feature=False,
        combine="linear",
        **ready.options,
    ).to(device, torch.float64)
    both = np.arange(COPIES), np.arange(COPIES, 2 * COPIES)
    batches = [
        ready.batch(np.concatenate([both[0][i : i + 8], both[1][i : i + 8]])).to(
            device, torch.float64
        )
        for i in range(0, COPIES, 8)
    ]
    optimiser = torch.optim.Adam(model.parameters(), lr=lr)
    statistic, epoch = 0.0, 0
    while epoch < epochs and statistic <= MARGIN * THRESHOLD:
        epoch += 1
        model.train()
        for batch in batches:
            out_left, out_right = model(batch).chunk(2)
            loss = torch.relu(torch.cosine_similarity(out_left, out_right)).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        outputs = _outputs(model, ready, device)
        statistic = hotelling(outputs[both[0]], outputs[both[1]])
    reliability = hotelling(outputs[both[0]], outputs[2 * COPIES :])
    return PairResult(exact, layers, statistic, reliability, epoch)


def _needed(left: Graphs, right: Graphs, scheme: str, kind: str, d: int) -> tuple[bool, int]:
    """Whether the exact refinement distinguishes the pair, and the layers to give the network."""
    both = Graphs.concatenate([left, right])
    found = exact_gpnn(both, partition(both, scheme).colours, kind, d)
    first = found.first_difference(0, 1)
    if first is None:
        return False, int(np.clip(found.stable.max(), LEAST_LAYERS, BLIND_LAYERS))
    return True, int(np.clip(first, LEAST_LAYERS, MOST_LAYERS))


def _outputs(model: GPNN, ready: Prepared, device: str) -> Tensor:
    model.eval()
    with torch.no_grad():
        chunks = [
            model(batch.to(device, torch.float64)).cpu() for batch in ready.batches(size=COPIES)
        ]
    return torch.cat(chunks)


def _one(work: tuple[tuple[Any, ...], dict[str, Any]]) -> PairResult:
    torch.set_num_threads(1)
    return realise(*work[0], **work[1])


@contextmanager
def _pool(jobs: int) -> Iterator[Callable[..., Iterable[PairResult]]]:
    """``map``, in this process or over several."""
    if jobs == 1:
        yield map
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield pool.map


def realise_suite(
    suite: Suite,
    scheme: str,
    interactions: str,
    d: int = 1,
    *,
    pairs: list[int] | None = None,
    jobs: int = 1,
    seed: int = 0,
    device: str = "cpu",
    progress: Callable[[int, PairResult], None] = lambda *_: None,
) -> dict[str, Any]:
    """The protocol on all pairs of a suite (or some), ``jobs`` at a time: one row of the report.

    ``lost`` are pairs that the exact refinement distinguishes and the network does not; ``beyond``,
    the other way round, can only be rounding.
    """
    chosen = list(range(suite.size)) if pairs is None else pairs
    work = [(suite.graphs[2 * p], suite.graphs[2 * p + 1], scheme, interactions, d) for p in chosen]
    options = [{"seed": seed + p, "device": device} for p in chosen]
    results: dict[int, PairResult] = {}
    with _pool(jobs) as run:
        for p, result in zip(chosen, run(_one, zip(work, options, strict=True)), strict=True):
            results[p] = result
            progress(p, result)
    by_category: dict[str, int] = {}
    for p, result in results.items():
        category = suite.categories[p]
        by_category[category] = by_category.get(category, 0) + result.distinguishes
    return {
        "test": "gpnn-realised",
        "scheme": scheme,
        "interactions": interactions,
        "d": d,
        "distinguished": sum(result.distinguishes for result in results.values()),
        "exact": sum(result.exact for result in results.values()),
        "unreliable": sum(not result.reliable for result in results.values()),
        "lost": [p for p, result in results.items() if result.exact and not result.distinguishes],
        "beyond": [p for p, result in results.items() if not result.exact and result.distinguishes],
        "by_category": by_category,
    }
