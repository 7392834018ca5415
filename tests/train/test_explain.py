from __future__ import annotations

import copy
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest
import torch

from gpnn.data.samples import Samples, encode_samples
from gpnn.data.split import make_split
from gpnn.data.tasks import Task
from gpnn.errors import InputError
from gpnn.graph.graphs import Graphs
from gpnn.nn.batch import GraphBatch
from gpnn.nn.model import GPNN
from gpnn.train.explain import MAX_PARTS, explain, part_sums
from gpnn.train.fit import fit
from gpnn.train.model_file import Loaded, Member
from gpnn.train.shapley import shapley
from gpnn.train.train_config import TrainConfig
from train.cycles import raw, samples

pytestmark = pytest.mark.usefixtures("one_thread")


def trained(data: Samples, **options: Any) -> Loaded:
    shape = {"layers": 2, "hidden": 6, "scheme": "degree", **options}
    return fit(data, shape, TrainConfig(epochs=2, device="cpu")).loaded


def tailed() -> Samples:
    """Rings with a chord and a tail: parts by degree 1, 2 and 3, and two components of some."""
    data = raw(16)
    graphs = []
    for graph in data.graphs:
        n = graph.num_nodes
        src, dst = graph.edges()
        graphs.append(
            Graphs.from_edges(
                np.append(src, [0, n]),
                np.append(dst, [n, n + 1]),
                n + 2,
                node_labels=np.arange(n + 2) % 3,
            )
        )
    joined = Graphs.concatenate(graphs)
    assert joined.node_labels is not None
    return encode_samples(replace(data, graphs=joined, nodes=joined.node_labels[:, None]))


def by_vertices(model: GPNN, batch: GraphBatch, parts: set[int]) -> torch.Tensor:
    """The definition, vertex by vertex: rows of h outside the parts set to zero."""
    h = model.embed(batch)
    kept = torch.tensor([int(part) in parts for part in batch.part])
    counts = batch.components.clone()
    for part in range(counts.shape[1]):
        if part not in parts:
            counts[0, part] = 0
    out: torch.Tensor = model.head([h * kept[:, None]], replace(batch, components=counts))[0]
    return out


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"readout": "mean"},
        {"component_feature": False},
        {"base": None},
        {"base": "gin", "interactions": "cross", "jump": "last"},
    ],
)
def test_values_are_those_of_the_definition(options: dict[str, Any]) -> None:
    data = tailed()
    loaded = trained(data, **options)
    model = loaded.model.double().eval()
    for graph in (0, 3):
        found = explain(loaded, data, graph, "1")
        batch = loaded.members[0].prepare(data).batch([graph]).to("cpu", torch.float64)
        occurring = sorted(set(batch.part.tolist()))
        with torch.no_grad():
            value = {
                frozenset(some): float(by_vertices(model, batch, set(some))[1])
                for length in range(len(occurring) + 1)
                for order in permutations(occurring, length)
                for some in [sorted(order)]
            }
            whole = float(model(batch)[0, 1])
        assert found.full == pytest.approx(whole, abs=1e-9)
        assert found.full == pytest.approx(value[frozenset(occurring)], abs=1e-9)
        assert found.empty == pytest.approx(value[frozenset()], abs=1e-9)
        orders = list(permutations(occurring))
        for number, part in enumerate(occurring):
            gains = [
                value[frozenset(order[: order.index(part) + 1])]
                - value[frozenset(order[: order.index(part)])]
                for order in orders
            ]
            assert found.parts[number].shapley == pytest.approx(np.mean(gains), abs=1e-9)
        total = sum(part.shapley for part in found.parts)
        assert total == pytest.approx(found.full - found.empty, abs=1e-10)
        assert len(found.parts) == len(occurring) > 1


@pytest.mark.parametrize("readout", ["sum", "mean"])
def test_contributions_add_up_to_what_enters_the_head(readout: str) -> None:
    data = tailed()
    loaded = trained(data, readout=readout)
    model = loaded.model.double().eval()
    batch = loaded.members[0].prepare(data).batch([1]).to("cpu", torch.float64)
    seen: list[torch.Tensor] = []
    handle = model.head.norm.register_forward_hook(lambda _, given, __: seen.append(given[0]))
    with torch.no_grad():
        model(batch)
        handle.remove()
        occurring, sums = part_sums(model, batch)
    width = sums.shape[1]
    torch.testing.assert_close(sums.sum(0), seen[0][0, :width], rtol=1e-12, atol=1e-12)
    found = explain(loaded, data, 1)
    assert sum(part.share for part in found.parts) == pytest.approx(1)
    z = torch.cat([seen[0][0], batch.components[0].double()])
    for number, part in enumerate(found.parts):
        own = torch.zeros_like(z)
        own[:width] = sums[number]
        own[width + occurring[number]] = part.components
        assert part.norm == pytest.approx(float(own.norm()))
        assert part.share == pytest.approx(float(own @ z / (z @ z)))
    assert sum(part.vertices for part in found.parts) == data.graphs[1].num_nodes


def test_vertices_keep_their_order_and_labels_name_the_colours() -> None:
    data = tailed()
    found = explain(trained(data), data, 2)
    degree = data.graphs[2].degree
    labels = [found.parts[part].label for part in found.part.tolist()]
    assert labels == [str(number) for number in degree]
    assert found.output in ("0", "1")
    assert 0.5 <= found.score <= 1
    document = found.to_dict()
    assert document["part"] == found.part.tolist()
    assert document["parts"][0]["label"] == found.parts[0].label


def test_regression_is_explained_in_its_own_units() -> None:
    data = raw(16)
    sizes = np.diff(data.graphs.ptr) * 100.0
    numbers = encode_samples(replace(data, targets={"size": sizes}), Task.REGRESSION)
    split = make_split(numbers, 0)
    loaded = fit(
        numbers, {"layers": 1, "hidden": 6}, TrainConfig(epochs=2, device="cpu"), split
    ).loaded
    found = explain(loaded, numbers, 5)
    assert (found.kind, found.output) == ("value", "size")
    assert found.full == pytest.approx(float(loaded.predict(numbers)[5, 0]), rel=1e-4)
    assert found.score == pytest.approx(found.full, rel=1e-4)
    total = sum(part.shapley for part in found.parts)
    assert total == pytest.approx(found.full - found.empty, abs=1e-6)


def test_shapley_of_known_games() -> None:
    worth = np.array([1.0, -2.0, 5.0])
    member = np.arange(8)[:, None] >> np.arange(3) & 1
    np.testing.assert_allclose(shapley(member @ worth), worth)
    gloves = (member[:, 0] & (member[:, 1] | member[:, 2])).astype(float)
    np.testing.assert_allclose(shapley(gloves), [2 / 3, 1 / 6, 1 / 6])
    assert shapley(np.array([3.0])).tolist() == []


def test_refusals() -> None:
    data = samples(12)
    loaded = trained(data)
    with pytest.raises(InputError, match="There is no graph 12: the input holds 0 to 11"):
        explain(loaded, data, 12)
    with pytest.raises(InputError, match=r"has no class 'x'\. Choose one of 0, 1"):
        explain(loaded, data, 0, "x")
    spider = Graphs.from_edges(*_spider(MAX_PARTS + 1))
    kinds = encode_samples(
        replace(raw(2), graphs=spider, nodes=spider.degree[:, None], ids=("s",),
                rows=np.arange(1), targets={}),
        like=replace(data.encoder, edges=()), labelled=False,
    )  # fmt: skip
    one = Member(_wide(loaded, spider), _every_degree(spider))
    many = replace(loaded, members=(one,))
    with pytest.raises(InputError, match=rf"the limit is {MAX_PARTS}\. Train with a coarser"):
        explain(many, kinds)
    empty = replace(data, graphs=Graphs.from_edges([], [], 0), x=data.x[:0] if data.x is not None
                    else None, edge_labels=np.zeros(0, np.int64))  # fmt: skip
    with pytest.raises(InputError, match="no vertices"):
        explain(loaded, empty)


def _spider(kinds: int) -> tuple[np.ndarray, np.ndarray, int]:
    """A graph with vertices of the degrees 1 … kinds: a path of hubs with leaves."""
    src, dst, n = [], [], kinds
    for hub in range(kinds - 1):
        src.append(hub)
        dst.append(hub + 1)
    for hub in range(kinds):
        for _ in range(max(0, hub - 1 + (hub in (0, kinds - 1)))):
            src.append(hub)
            dst.append(n)
            n += 1
    return np.array(src), np.array(dst), n


def _every_degree(graph: Graphs) -> Any:
    from gpnn.graph.partition import partition
    from gpnn.graph.vocabulary import Vocabulary

    return Vocabulary.fit(partition(graph, "degree"))


def _wide(loaded: Loaded, graph: Graphs) -> GPNN:
    parts = len(np.unique(graph.degree)) + 1
    config = replace(loaded.config, parts=parts, edge_labels=0, base="gin")
    return GPNN(config, vocabulary=_every_degree(graph))


def test_several_networks_are_explained_by_their_mean() -> None:
    data = tailed()
    shape = {"layers": 2, "hidden": 6, "scheme": "degree"}
    loaded = fit(data, shape, TrainConfig(epochs=2, device="cpu"), ensemble=3).loaded
    apart = [explain(loaded, data, 2, "1", member=k) for k in range(3)]
    found = explain(loaded, data, 2, "1")
    assert found.full == pytest.approx(np.mean([one.full for one in apart]))
    assert found.score == pytest.approx(float(loaded.predict(data)[2, 1]))
    for number, part in enumerate(found.parts):
        own = [one.parts[number].shapley for one in apart]
        assert part.shapley == pytest.approx(np.mean(own)) and len(set(own)) == 3
    with pytest.raises(InputError, match="There is no network 3: the model has 0 to 2"):
        explain(loaded, data, 2, member=3)
    fewer = copy.deepcopy(loaded.members[1])
    fewer.model.keep_parts(torch.tensor([0, 2, fewer.model.config.parts - 1]))
    cut = replace(fewer, vocabulary=fewer.model.vocabulary)
    mixed = replace(loaded, members=(loaded.members[0], cut))
    with pytest.raises(InputError, match=r"know different parts of graphs. Choose one"):
        explain(mixed, data, 2)
