"""PyG's own layers on the splits of the ``node`` protocol, in a plain PyTorch loop.

An independent reference for the base GNNs of ``gpnn reproduce node-classification``: samples and
splits are the same; networks, optimiser and loop are not ours. Two layers of width 64, dropout 0.5,
Adam with weight decay inside the gradient, 200 epochs. Input scaling and weight decay are chosen by
the mean validation accuracy over the splits; the test accuracy is that of the epoch with the best
validation accuracy.

    python tools/node_reference.py CiteSeer Wisconsin [--splits geom-gcn] [--device cuda]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from itertools import product

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv

from gpnn.data.samples import Samples, load_samples
from gpnn.reproduce.protocols.node import geom_splits, random_splits

HIDDEN, EPOCHS, DROPOUT, HEADS = 64, 200, 0.5, 8
LR, DECAYS, SCALED = 0.01, (5e-4, 5e-3, 5e-2), (False, True)


def _gin(width: int, out: int) -> nn.Module:
    return GINConv(nn.Sequential(nn.Linear(width, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, out)))


LAYERS: dict[str, Callable[[int, int], nn.Module]] = {
    "GCN": GCNConv,
    "GAT": lambda width, out: GATConv(
        width, out // HEADS if out == HIDDEN else out, HEADS, concat=out == HIDDEN
    ),
    "GraphSAGE": SAGEConv,
    "GIN": _gin,
}


class Network(nn.Module):
    """Two layers with dropout before each, as in PyG's examples."""

    def __init__(self, kind: str, width: int, classes: int) -> None:
        super().__init__()
        self.first = LAYERS[kind](width, HIDDEN)
        self.second = LAYERS[kind](HIDDEN, classes)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        x = self.first(F.dropout(x, DROPOUT, self.training), edge_index).relu()
        return self.second(F.dropout(x, DROPOUT, self.training), edge_index)


def train(
    network: Network, x: Tensor, edge_index: Tensor, y: Tensor, parts: list[Tensor], decay: float
) -> tuple[float, float]:  # fmt: skip
    """Return validation and test accuracy at the epoch that is best on validation."""
    optimiser = torch.optim.Adam(network.parameters(), lr=LR, weight_decay=decay)
    best = (-1.0, 0.0)
    for _ in range(EPOCHS):
        network.train()
        optimiser.zero_grad()
        F.cross_entropy(network(x, edge_index)[parts[0]], y[parts[0]]).backward()
        optimiser.step()
        network.eval()
        with torch.no_grad():
            hit = (network(x, edge_index).argmax(1) == y).double()
        valid, test = (float(hit[part].mean()) for part in parts[1:])
        if valid > best[0]:
            best = valid, test
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--splits", choices=("random", "geom-gcn"), default="random")
    parser.add_argument("--data")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print("| dataset | layer | row-scaled input | weight decay | validation | test |")
    print("|---|---|---|---:|---:|---:|", flush=True)
    for name in options.datasets:
        samples = load_samples(name, data=options.data)
        if options.splits == "random":
            splits = random_splits(samples, 10)
        else:
            splits = geom_splits(name, options.data, 10)
        for kind in LAYERS:
            cells = _best(kind, samples, splits, options.device)
            print(f"| {name} | {kind} | {cells} |", flush=True)


def _best(kind: str, samples: Samples, splits: list[tuple[np.ndarray, ...]], device: str) -> str:
    """Return the cells of the setting with the best validation accuracy."""
    graphs, y = samples.graphs, torch.as_tensor(samples.y).long().flatten().to(device)
    edges = torch.from_numpy(np.stack([graphs.rows, graphs.indices]).astype(np.int64)).to(device)
    settings = []
    for scaled, decay in product(SCALED, DECAYS):
        x = torch.as_tensor(samples.x).float().to(device)
        if scaled:
            x = x / x.sum(1, keepdim=True).clamp(min=1)
        results = []
        for seed, split in enumerate(splits):
            torch.manual_seed(seed)
            parts = [torch.from_numpy(np.asarray(part)).to(device) for part in split]
            network = Network(kind, x.shape[1], int(y.max()) + 1).to(device)
            results.append(train(network, x, edges, y, parts, decay))
        valid, test = 100 * np.array(results).T
        settings.append((valid.mean(), scaled, decay, test.mean(), test.std(ddof=1)))
    valid, scaled, decay, mean, std = max(settings)
    return f"{'yes' if scaled else 'no'} | {decay:g} | {valid:.2f} | {mean:.2f} ± {std:.2f}"


if __name__ == "__main__":
    main()
