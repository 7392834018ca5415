"""PyG's GIN, trained as in PyG's examples: the baseline of ``gpnn bench engine``."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GINConv, global_add_pool

from ..data.samples import Samples
from ..nn.config import GPNNConfig
from ..nn.encode import multi_hot
from ..train.replica import IntArray

__all__ = ["PyGGIN", "pyg_run"]


class PyGGIN(nn.Module):
    """The layers of our GIN base and head, built from modules of PyG and PyTorch.

    Shapes: x [n, features], edge_index [2, m], batch [n] → [graphs, outputs].
    """

    def __init__(self, features: int, hidden: int, layers: int, outputs: int, rate: float) -> None:
        super().__init__()
        self.encoder = nn.Linear(features, hidden)
        self.convs = nn.ModuleList(GINConv(_mlp(hidden), train_eps=True) for _ in range(layers))
        self.norms = nn.ModuleList(nn.BatchNorm1d(hidden) for _ in range(layers))
        self.dropout = nn.Dropout(rate)
        self.head = nn.Sequential(
            nn.BatchNorm1d(hidden),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Dropout(rate),
            nn.Linear(hidden, outputs),
        )

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor, graphs: int) -> Tensor:
        h = self.encoder(x)
        for conv, norm in zip(self.convs, self.norms, strict=True):
            h = self.dropout(norm(conv(h, edge_index)).relu())
        out: Tensor = self.head(global_add_pool(h, batch, graphs))
        return out


def _mlp(hidden: int) -> nn.Module:
    return nn.Sequential(
        nn.Linear(hidden, hidden, bias=False),
        nn.BatchNorm1d(hidden),
        nn.ReLU(),
        nn.Linear(hidden, hidden, bias=False),
    )


def pyg_run(
    samples: Samples, stream: list[IntArray], config: GPNNConfig, rate: float, device: torch.device
) -> Callable[[], None]:
    """Return a function that takes one step per batch of a stream. The batches are already on the
    device, with categorical features as multi-hot input of the first layer."""
    batches = _batches(samples, stream, config, device)
    width = int(batches[0].x.shape[1])
    net = (
        PyGGIN(width, config.hidden, config.structure.layers, config.outputs, rate)
        .to(device)
        .train()
    )
    adam = torch.optim.Adam(net.parameters(), 0.01)

    def run() -> None:
        losses = []
        for batch in batches:
            out = net(batch.x, batch.edge_index, batch.batch, batch.num_graphs)
            loss = samples.task.loss(out, batch.y)
            adam.zero_grad()
            loss.backward()
            adam.step()
            losses.append(loss.detach())
        float(torch.stack(losses).mean())

    return run


def _batches(
    samples: Samples, stream: list[IntArray], config: GPNNConfig, device: torch.device
) -> list[Data]:
    graphs, x, y = samples.graphs, samples.x, samples.y
    assert x is not None and y is not None
    sources, targets = graphs.indices.astype("int64"), graphs.rows
    made = []
    for ids in stream:
        for g in ids.tolist():
            first, last = int(graphs.ptr[g]), int(graphs.ptr[g + 1])
            begin, end = int(graphs.indptr[first]), int(graphs.indptr[last])
            both = (sources[begin:end], targets[begin:end])
            index = torch.stack([torch.from_numpy(ends) - first for ends in both])
            made.append(Data(x=x[first:last], edge_index=index, y=y[g : g + 1]))
    batches = []
    for batch in DataLoader(made, batch_size=len(stream[0])):
        if config.codes:
            batch.x = multi_hot(batch.x, config.codes).float()
        batches.append(batch.to(device))
    return batches
