"""Training on a GPU, captured, against one model at a time in float64 on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import GINConv

from gpnn.nn.model import GPNN
from gpnn.nn.prepare import prepare
from gpnn.train.fit import fit
from gpnn.train.loop import train_replicas, train_staged, uses_resident
from gpnn.train.replica import Schedule
from gpnn.train.setup import set_up
from gpnn.train.stage import stage
from gpnn.train.train_config import TrainConfig
from train.reference import train_one_by_one
from train.sets import edge_featured, node_samples, replica, samples

pytestmark = pytest.mark.skipif(
    not torch.cuda.is_available(), reason="PyTorch finds no CUDA device here"
)
SCHEDULE = Schedule(epochs=3, batch_size=10, halve_every=2)
SMALL: dict[str, Any] = {"hidden": 16, "layers": 2}
CLOSE = 2e-3
"""Three epochs in single precision."""


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize(
    ("task", "model"),
    [
        ("classification", {"base": "gin", "gpnn": False}),
        ("multitask", {"base": "gine", "interactions": "edges"}),
        ("regression", {"base": "gin", "interactions": "cross", "d": 2, "distances": True}),
        ("classification", {"base": None, "interactions": "pairs"}),
    ],
)
def test_curves_of_graph_tasks(task: str, model: dict[str, Any], count: int) -> None:
    data = samples(task)
    replicas = [replica(len(data), seed, lr=1e-3, weight_decay=1e-2) for seed in range(count)]
    found = train_replicas(data, SMALL | model, replicas, SCHEDULE, device="cuda")
    expected = train_one_by_one(data, SMALL | model, replicas, SCHEDULE)
    assert found.about["captured"]
    np.testing.assert_allclose(found.loss, expected.loss, rtol=CLOSE, atol=CLOSE)


@pytest.mark.parametrize("count", [1, 3])
def test_curves_of_node_tasks_and_edge_features(count: int) -> None:
    for data in (node_samples(), edge_featured()):
        replicas = [replica(len(data), seed, lr=1e-3) for seed in range(count)]
        found = train_replicas(data, SMALL, replicas, SCHEDULE, device="cuda")
        expected = train_one_by_one(data, SMALL, replicas, SCHEDULE)
        np.testing.assert_allclose(found.loss, expected.loss, rtol=CLOSE, atol=CLOSE)


class OwnBase(nn.Module):
    """A base of a user's own, with a normalisation that must not see padding."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.out_channels = width
        self.convs = nn.ModuleList(GINConv(nn.Linear(width, width)) for _ in range(2))
        self.norms = nn.ModuleList(nn.BatchNorm1d(width) for _ in range(2))

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        for conv, norm in zip(self.convs, self.norms, strict=True):
            x = norm(conv(x, edge_index)).relu()
        return x


def test_a_base_of_the_users_own() -> None:
    data = samples()
    one = replica(len(data), 0, lr=1e-3, dropout=0.3)
    torch.manual_seed(0)
    setup = set_up(data, SMALL | {"base": OwnBase()}, [one])
    curves = []
    for device in (torch.device("cuda"), torch.device("cpu")):
        staged = stage(setup, [one], SCHEDULE, resident=uses_resident(setup, device))
        curves.append(train_staged(staged, device, keep_best=True).curves)
    np.testing.assert_allclose(curves[0].loss, curves[1].loss, rtol=CLOSE, atol=CLOSE)


@pytest.mark.parametrize("ensemble", [1, 2])
def test_a_model_that_is_kept(ensemble: int) -> None:
    """The best epoch is kept inside the captured step: what was measured there is what the network
    that comes back gives on the CPU."""
    data = samples()
    config = TrainConfig(epochs=4, patience=2, batch_size=10, lr=1e-3, device="cuda")
    fitted = fit(data, SMALL, config, ensemble=ensemble)
    answers = fitted.loaded.predict_members(data)
    assert len(answers) == ensemble
    for r, (split, best) in enumerate(zip(fitted.splits, fitted.best_epochs, strict=True)):
        rows = torch.from_numpy(split.valid)
        loss = -answers[r][rows].gather(1, data.y[rows, None]).log().mean()
        told = fitted.histories[r][best - 1]["valid_loss"]
        assert float(loss) == pytest.approx(told, rel=CLOSE)


def test_a_network_alone() -> None:
    """Not stacked, as a PyG user calls it: forward and gradients."""
    data = samples()
    options = {"scheme": "core-degree", "interactions": "edges", "layers": 2}
    prepared = prepare(data.graphs, **options)
    torch.manual_seed(0)
    net = GPNN(outputs=2, hidden=16, dropout=0.0, **prepared.options)
    found = []
    for device, dtype in (("cpu", torch.float64), ("cuda", torch.float32)):
        own = net.to(device, dtype)
        own.zero_grad()
        out = own(prepared.batch().to(device, dtype))
        out.square().sum().backward()
        slopes = [p.grad.cpu().double().clone() for p in own.parameters() if p.grad is not None]
        found.append([out.detach().cpu().double(), *slopes])
    for expected, ours in zip(*found, strict=True):
        scale = expected.abs().max().clamp(min=1e-3)
        assert ((expected - ours).abs().max() / scale) < 1e-3
