"""Checks whether a network distinguishes the graphs that the exact refinement distinguishes, with
its initial weights and after training by BREC's protocol.

Every pair (G, H) has its own network with 16 outputs, in double precision. It has one layer more
than the exact refinement needs rounds (within limits), because a difference of the last round would
pass the ReLU of Equation 3 only once and may vanish there; a pair that the refinement cannot
distinguish gets up to ``BLIND_LAYERS``. The network reads 32 relabelled copies of each graph and 32
more of G, in random order. They are evaluated in one batch, as usual in the library: α is computed
once per class of pairs, so copies share it. (Peers share nothing, and are evaluated in batches of
16, which takes less memory.) Relabelling permutes vertices; the rows of graphs are
sorted, so the order of edges follows. The settings are the same for all pairs: pairwise messages in
residual blocks, sines in Equation 2, normalisation statistics from one pass over the pair, large ε
in the normalisations, so that nearly constant features are not amplified, and outputs multiplied by
``SCALE``. The component feature, which adds expressive power, is off.

**Untrained**: the network keeps its initial weights. The pair counts as distinguished if the
outputs of G and H differ by more than 1,000 times the largest difference between copies of one
graph.

**Trained**: the network is trained to make the outputs of G and H differ (cosine loss), and
evaluated by Hotelling's test of the 32 differences D_i = f(G_i) - f(H_i):

    T² = 32 · D̄ᵀ (S + εI)⁻¹ D̄ > 72.34,

the 95 % critical value for 16 dimensions and 32 samples. ε = 1e-7 prevents rounding noise from
counting as a difference. The same test between relabelled copies of one graph must stay below this
value; otherwise the pair counts as a failure of reliability and not as distinguished.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .. import RESULTS
from ..errors import LimitError
from ..graph.graphs import Graphs
from ..graph.partition import partition
from ..graph.refine import fwl, wl
from ..graph.refine import gpnn as exact_gpnn
from ..nn.model import GPNN
from ..nn.norm import WeightedBatchNorm
from ..nn.peers import peer_of
from ..nn.prepare import Prepared, prepare
from .pair_log import THRESHOLD, PairLog, PairResult
from .suites import GIN, Suite, quoted_of

__all__ = ["THRESHOLD", "PairResult", "hotelling", "realise", "realise_suite"]

COPIES = 32
OUTPUTS = 16
EPSILON = 1e-7
LEAST_LAYERS, BLIND_LAYERS, MOST_LAYERS = 2, 6, 24
PEER_LAYERS, PEER_BATCH = 6, 16
MARGIN = 100.0
"""Training ends early once T² exceeds the threshold by this factor."""
VERTEX_EPS, PAIR_EPS = 1.0, 0.1
SCALE = 100.0


def hotelling(left: Tensor, right: Tensor) -> float:
    """T² of the differences of two samples of outputs, [copies, outputs] each."""
    difference = (left - right).double()
    mean = difference.mean(0)
    spread = torch.cov(difference.t()) + EPSILON * torch.eye(difference.shape[1]).to(difference)
    return float(len(difference) * mean @ torch.linalg.solve(spread, mean))


def realise(
    left: Graphs,
    right: Graphs,
    scheme: str = "trivial",
    interactions: str = "edges",
    d: int = 1,
    *,
    gpnn: bool = True,
    model: str | None = None,
    hidden: int = 32,
    epochs: int = 10,
    lr: float = 1e-3,
    seed: int = 0,
    device: str = "cpu",
) -> PairResult:
    """Evaluate one network on one pair, before and after training. Without ``gpnn`` it is a GIN,
    whose exact counterpart is 1-WL, or a peer (``model``), which has no exact counterpart, except
    for PPGN, whose counterpart is 3-WL."""
    exact, layers = _needed(left, right, scheme, interactions, d, gpnn, model)
    rng = np.random.default_rng(seed)
    place = rng.permutation(3 * COPIES)  # mix the graphs, so that batches contain both
    first, second, again = place[:COPIES], place[COPIES : 2 * COPIES], place[2 * COPIES :]
    copies = [left] * (3 * COPIES)
    for at in second:
        copies[at] = right
    graphs = Graphs.concatenate([one.relabelled(rng.permutation(one.num_nodes)) for one in copies])
    ready = prepare(
        graphs, peer=model, scheme=scheme, interactions=interactions, d=d, layers=layers
    )
    net = _network(ready, hidden, seed, None if gpnn and model is None else model or GIN).to(device)
    batches = [
        ready.batch(np.concatenate([first[i : i + 8], second[i : i + 8]])).to(device, torch.float64)
        for i in range(0, COPIES, 8)
    ]
    with torch.no_grad():
        net(batches[0])  # in training mode: sets the statistics of the normalisations
    outputs = _outputs(net, ready, device)
    same = np.concatenate([first, again]), second
    signal = _gap(outputs[same[0]].mean(0), outputs[same[1]].mean(0))
    noise = max(_gap(outputs[own], outputs[own[0]]) for own in same)
    optimiser = torch.optim.Adam(net.parameters(), lr=lr)
    statistic, epoch = 0.0, 0
    while epoch < epochs and statistic <= MARGIN * THRESHOLD:
        epoch += 1
        net.train()
        for batch in batches:
            out_left, out_right = net(batch).chunk(2)
            loss = torch.relu(torch.cosine_similarity(out_left, out_right)).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        outputs = _outputs(net, ready, device)
        statistic = hotelling(outputs[first], outputs[second])
    reliability = hotelling(outputs[first], outputs[again])
    return PairResult(exact, layers, signal, noise, statistic, reliability, epoch)


def _network(ready: Prepared, hidden: int, seed: int, alone: str | None) -> GPNN:
    """Create a GPNN, or a base GNN or peer without GPNN."""
    torch.manual_seed(seed)
    model = GPNN(
        outputs=OUTPUTS,
        hidden=hidden,
        base=alone,
        gpnn=alone is None,
        component_feature=False,
        pair_activation="sine",
        **ready.options,
    ).double()
    for name, module in model.named_modules():
        if isinstance(module, WeightedBatchNorm):
            module.momentum = 1.0  # all batches contain the same graphs
            module.eps = PAIR_EPS if ".phi." in name or ".psi." in name else VERTEX_EPS
    with torch.no_grad():
        model.head.second.weight.mul_(SCALE)
    return model


def _gap(left: Tensor, right: Tensor) -> float:
    return float((left - right).abs().max())


def _needed(
    left: Graphs, right: Graphs, scheme: str, kind: str, d: int, gpnn: bool, model: str | None
) -> tuple[bool | None, int]:
    """Whether the exact refinement distinguishes the pair, and the number of layers to use."""
    both = Graphs.concatenate([left, right])
    if model is not None:
        if model != "ppgn":
            return None, PEER_LAYERS
        refinement = fwl(both)
        first = refinement.first_difference(0, 1)
        rounds = refinement.stable.max() if first is None else first + 1
        return first is not None, int(np.clip(rounds, LEAST_LAYERS, PEER_LAYERS))
    refinement = exact_gpnn(both, partition(both, scheme).colours, kind, d) if gpnn else wl(both)
    first = refinement.first_difference(0, 1)
    if first is None:
        return False, int(np.clip(refinement.stable.max(), LEAST_LAYERS, BLIND_LAYERS))
    return True, int(np.clip(first + 1, LEAST_LAYERS, MOST_LAYERS))


def _outputs(model: GPNN, ready: Prepared, device: str) -> Tensor:
    """The outputs of all copies, computed in one batch; in several for a peer."""
    model.eval()
    size = len(ready) if model.config.peer is None else PEER_BATCH
    with torch.no_grad():
        rows = [
            model(ready.batch(ids).to(device, torch.float64)).cpu()
            for ids in np.split(np.arange(len(ready)), range(size, len(ready), size))
        ]
    return torch.cat(rows)


def _one(work: tuple[tuple[Any, ...], dict[str, Any]]) -> PairResult | str:
    """The result of one pair; the reason, if the graphs are too large for a peer."""
    torch.set_num_threads(1)
    try:
        return realise(*work[0], **work[1])
    except LimitError as error:
        return str(error)


@contextmanager
def _pool(jobs: int) -> Iterator[Callable[..., Iterable[PairResult | str]]]:
    """``map`` in this process or over several."""
    if jobs == 1:
        yield map
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield pool.map


def realise_suite(
    suite: Suite,
    scheme: str = "trivial",
    interactions: str = "edges",
    d: int = 1,
    *,
    gpnn: bool = True,
    model: str | None = None,
    pairs: Sequence[int] | None = None,
    jobs: int = 1,
    seed: int = 0,
    device: str = "cpu",
    log: PairLog | None = None,
    progress: Callable[[int, PairResult | str], None] = lambda *_: None,
) -> dict[str, Any]:
    """Run the protocol on all pairs of a suite (or on ``pairs``), ``jobs`` at a time; returns one
    row of the report. Pairs in ``log`` are not run again.

    ``distinguished`` and ``by_category`` count the trained networks, ``untrained`` those with
    initial weights. ``lost`` are pairs that the exact refinement distinguishes and the trained
    network does not; ``beyond`` is the converse and can only be due to rounding. ``refused`` are
    pairs that are too large for a peer (too many rings or orderings); they count as not
    distinguished.
    ``published`` and ``bound`` are :func:`~gpnn.lab.suites.quoted_of` a peer.
    """
    chosen = list(range(suite.size)) if pairs is None else list(pairs)
    own = None if model is None else str(peer_of(model))
    method = {"suite": suite.name, "graphs": suite.digest, "gpnn": gpnn, "model": own}
    method |= {"seed": seed, "device": device, "version": RESULTS}
    if model is None and gpnn:
        method |= {"scheme": scheme, "interactions": interactions, "d": d}
    log = PairLog() if log is None else log
    every = {p: result for p, result in log.of(method).items() if p in set(chosen)}
    for p, result in every.items():
        progress(p, result)
    missing = [p for p in chosen if p not in every]
    work = [
        (suite.graphs[2 * p], suite.graphs[2 * p + 1], scheme, interactions, d) for p in missing
    ]
    same = {"device": device, "gpnn": gpnn, "model": model}
    options = [{"seed": seed + p, **same} for p in missing]
    with _pool(jobs) as run:
        for p, result in zip(missing, run(_one, zip(work, options, strict=True)), strict=True):
            log.add(method, p, result)
            every[p] = result
            progress(p, result)
    results = {p: one for p in chosen if isinstance(one := every[p], PairResult)}
    refused = [p for p in chosen if p not in results]
    by_category: dict[str, int] = {suite.categories[p]: 0 for p in chosen}
    for p, result in results.items():
        category = suite.categories[p]
        by_category[category] = by_category.get(category, 0) + result.distinguishes
    known = any(result.exact is not None for result in results.values())
    return {
        "test": model or ("gpnn" if gpnn else GIN),
        "scheme": scheme,
        "interactions": interactions,
        "d": d,
        "distinguished": sum(result.distinguishes for result in results.values()),
        "exact": sum(bool(one.exact) for one in results.values()) if known else None,
        "untrained": sum(result.untrained for result in results.values()),
        "untrained_lost": [p for p, one in results.items() if one.exact and not one.untrained],
        "untrained_beyond": [
            p for p, one in results.items() if one.untrained and one.exact is False
        ],
        "unreliable": sum(not result.reliable for result in results.values()),
        "lost": [p for p, result in results.items() if result.exact and not result.distinguishes],
        "beyond": [p for p, one in results.items() if one.exact is False and one.distinguishes],
        "by_category": by_category,
        **({} if model is None else {"refused": refused, **quoted_of(model, len(chosen))}),
    }
