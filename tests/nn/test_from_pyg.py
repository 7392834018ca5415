"""PyG data in: the documented table column by column, and PyG's own loaders."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy, one_hot
from torch.utils.data import Subset
from torch_geometric.data import Batch, Data, HeteroData
from torch_geometric.datasets import TUDataset
from torch_geometric.loader import DataLoader

from gpnn.data.datasets import find
from gpnn.errors import InputError
from gpnn.graph.vocabulary import UnseenColours
from gpnn.nn.model import GPNN
from gpnn.nn.prepare import prepare
from gpnn.nn.transform import AddPartition


def path(values: list[float] | None = None, **extra: object) -> Data:
    """A path 0 – 1 – 2 with both directions, edge attributes given per undirected edge."""
    edge_index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    given = {"x": torch.eye(3), "edge_index": edge_index, "y": torch.tensor([1]), **extra}
    data = Data(**given)
    if values is not None:
        a, b = values
        data.edge_attr = torch.tensor([a, a, b, b])
    return data


def test_a_training_step_on_a_list_and_on_a_batch():
    items = [path([1, 2]), path([2, 2])]
    for source in (items, Batch.from_data_list(items)):
        ready = prepare(source, layers=2)
        assert ready.classes.merged and len(ready) == 2
        model = GPNN(base="gin", outputs=2, **ready.options)
        batch = next(ready.batches(size=2))
        loss = cross_entropy(model(batch), batch.y)
        loss.backward()
        assert torch.isfinite(loss)


def test_integers_and_one_hot_rows_are_labels():
    kinds = torch.tensor([0, 0, 2, 2])
    hot, plain, column = path(), path(), path()
    hot.edge_attr = one_hot(kinds, 5).float()
    plain.edge_attr, column.edge_attr = kinds, kinds[:, None]
    found = [prepare(item, layers=1) for item in (hot, plain, column)]
    assert [one.edge_label.tolist() for one in found] == [[1, 1, 3, 3]] * 3
    assert [one.options["edge_labels"] for one in found] == [5, 3, 3]


def test_floats_take_the_direct_path_with_edges_in_place():
    ready = prepare([path([0.5, 0.25])], layers=1)
    assert not ready.classes.merged
    assert ready.edge_features.flatten().tolist() == [0.5, 0.5, 0.25, 0.25]
    wrong = path()
    wrong.edge_attr = torch.tensor([0.5, 0.1, 0.25, 0.25])
    with pytest.raises(InputError, match="different features"):
        prepare([wrong])


def test_node_labels_and_bad_items():
    item = path()
    item.y = torch.tensor([0, 1, 0])
    assert prepare(item, node_level=True, layers=1).batch().y.tolist() == [0, 1, 0]
    with pytest.raises(InputError, match="Item 1 has no edge_attr"):
        prepare([path([1, 2]), path()])
    with pytest.raises(InputError, match=r"Turn HeteroData into one with data.to_homogeneous"):
        prepare(HeteroData())
    with pytest.raises(InputError, match=r"Item 1 is HeteroData"):
        prepare([path(), HeteroData()])
    with pytest.raises(InputError, match=r"y of item 0 has 3 rows where a graph has one label"):
        prepare(item)
    with pytest.raises(InputError, match=r"y of item 0 has 1 rows, and the graph has 3 vertices"):
        prepare(path(), node_level=True)


def test_lengths_are_checked_graph_by_graph():
    """2 and 4 rows for two graphs of 3 vertices are right in total and wrong in both."""

    def two(name: str, *lengths: int) -> list[Data]:
        return [path(num_nodes=3, **{name: torch.zeros(length, 2)}) for length in lengths]

    with pytest.raises(InputError, match=r"x of item 0 has 2 rows, and the graph has 3 vertices"):
        prepare(two("x", 2, 4))
    with pytest.raises(InputError, match=r"edge_attr of item 0 has 3 rows, .* has 4 edges"):
        prepare(two("edge_attr", 3, 5))
    with pytest.raises(InputError, match=r"y of item 1 has 2 rows where a graph has one label"):
        prepare([path(), path(y=torch.tensor([0, 1]))])
    with pytest.raises(InputError, match=r"x differs in width"):
        prepare([path(), path(x=torch.zeros(3, 2))])
    with pytest.raises(InputError, match=r"x holds floats in some graphs"):
        prepare([path(), path(x=torch.zeros(3, 3, dtype=torch.long))])


def test_kinds_of_features():
    wide = prepare(path(x=torch.eye(3, dtype=torch.float64)), layers=1)
    assert wide.x.dtype == torch.float32
    assert GPNN(outputs=1, **wide.options)(wide.batch()).shape == (1, 1)
    flat = prepare(path(x=torch.tensor([0, 2, 1])), layers=1)
    assert flat.options["codes"] == (3,) and flat.batch().x.tolist() == [[0], [2], [1]]
    with pytest.raises(InputError, match=r"edge_attr has 2 columns of whole numbers. Join them"):
        prepare(path(edge_attr=torch.tensor([[1, 2]] * 4)))
    with pytest.raises(InputError, match=r"x must have shape"):
        prepare(path(x=torch.zeros(3, 2, 2)))
    with pytest.raises(InputError, match="complex"):
        prepare(path(x=torch.zeros(3, 2, dtype=torch.complex64)))


def test_a_batch_is_like_one_of_pyg():
    items = [path(pos=torch.rand(3, 2), mask=torch.tensor([True, False, True]), name=f"p{k}",
                  hub_index=torch.tensor([2])) for k in range(4)]  # fmt: skip
    ready, theirs = prepare(items, layers=1), Batch.from_data_list([items[2], items[0]])
    ours = ready.batch([2, 0])
    for name in ("x", "y", "batch", "ptr", "pos", "mask", "hub_index"):
        assert torch.equal(getattr(ours, name), getattr(theirs, name)), name
    assert ours.name == theirs.name == ["p2", "p0"]
    assert (ours.num_nodes, ours.num_graphs) == (theirs.num_nodes, theirs.num_graphs) == (6, 2)
    edges, others = (set(map(tuple, one.edge_index.T.tolist())) for one in (ours, theirs))
    assert edges == others
    moved = ours.to("cpu", non_blocking=True)
    assert torch.equal(moved.pos, ours.pos)
    text = "x=[6, 3], edge_index=[2, 8], y=[2], hub_index=[2], mask=[6], pos=[6, 2], num_graphs=2"
    assert repr(ours) == f"GraphBatch({text})"
    with pytest.raises(AttributeError, match="This batch has no 'colour'"):
        _ = ours.colour


def test_what_is_prepared_is_indexed_like_a_dataset():
    items = [path(y=torch.tensor([k])) for k in range(6)]
    ready = pickle.loads(pickle.dumps(prepare(items, layers=1)))
    assert len(ready) == 6 and ready[4].y.tolist() == [4] and ready[-1].y.tolist() == [5]
    mask = np.array([True, False, True, False, False, True])
    for index in (mask, torch.from_numpy(mask), [0, 2, 5], [0, 2, -1], np.array([0, 2, 5])):
        assert ready[index].y.tolist() == ready.batch(index).y.tolist() == [0, 2, 5]
    part = ready[1:5]
    assert len(part) == 4 and part[::2].y.tolist() == [1, 3] and part[-1].y.tolist() == [4]
    assert [batch.y.tolist() for batch in part.batches(size=3)] == [[1, 2, 3], [4]]
    assert [one.y.item() for one in part] == [1, 2, 3, 4]
    assert ready.batch([]).num_graphs == 0
    with pytest.raises(InputError, match=r"A mask needs one entry per graph, 6 in all; got 5"):
        ready.batch(mask[:5])
    with pytest.raises(InputError, match=r"named by whole numbers; got .*0.5"):
        ready.batch([0.5])
    with pytest.raises(InputError, match=r"There is no graph 6: there are 6"):
        ready[6]
    with pytest.raises(InputError, match=r"There is no graph 4: there are 4"):
        part.batch([4])
    with pytest.raises(InputError, match="size must be a whole number"):
        next(ready.batches(size=0))


def test_fields_by_name_or_a_config():
    ready = prepare([path()], layers=1)
    model = GPNN(base=None, outputs=1, **ready.options)
    assert model.config.base is None
    with pytest.raises(InputError, match="not both"):
        GPNN(model.config, outputs=2)
    with pytest.raises(InputError, match=r"like= brings scheme: leave them out"):
        prepare([path()], like=ready, scheme="core")
    with pytest.raises(InputError, match=r"Unknown option depth"):
        prepare([path()], depth=2)
    with pytest.raises(InputError, match=r"a model that knows its parts"):
        prepare([path()], like=GPNN(outputs=1, parts=3))


@pytest.fixture(scope="module")
def mutag(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """PyG's own MUTAG, from the embedded files."""
    folder = tmp_path_factory.mktemp("pyg")
    raw = folder / "MUTAG" / "raw"
    raw.mkdir(parents=True)
    for file in find("MUTAG").parent.iterdir():
        (raw / file.name).write_bytes(file.read_bytes())
    return lambda **more: TUDataset(str(folder), "MUTAG", **more)


OPTIONS = {"outputs": 2, "hidden": 8, "layers": 2, "base": "gine"}


def outputs(model: GPNN, loader: Any) -> torch.Tensor:
    with torch.no_grad():
        return torch.cat([model(data) for data in loader])


@pytest.mark.parametrize(
    "way", ["transform", "no transform", "subset", "workers", "spawned workers", "pin"]
)
def test_pygs_loader_gives_what_prepared_graphs_give(mutag: Any, way: str) -> None:
    dataset = mutag(transform=None if way == "no transform" else AddPartition("core-degree"))
    ready = prepare(mutag()[:60], scheme="core-degree", layers=2)
    model = GPNN.for_data(dataset[:60], **OPTIONS).double().eval()
    given = Subset(dataset, list(range(60))) if way == "subset" else dataset[:60]
    more: dict[str, Any] = {"pin_memory": way == "pin"}
    if "workers" in way:
        more = {
            "num_workers": 2,
            "multiprocessing_context": "fork" if way == "workers" else "spawn",
        }
    found = outputs(model, DataLoader(given, batch_size=16, **more))
    batches = (batch.to("cpu", torch.float64) for batch in ready.batches(size=16))
    assert torch.allclose(found, outputs(model, batches), atol=1e-10, rtol=1e-10)


def test_as_a_pre_transform_and_pickled(mutag: Any, tmp_path: Path) -> None:
    source = mutag()
    from torch_geometric.data import InMemoryDataset

    class Kept(InMemoryDataset):
        def __init__(self, root: str) -> None:
            super().__init__(root, pre_transform=AddPartition("core-degree"))
            self.load(self.processed_paths[0])

        raw_file_names = ()
        processed_file_names = "kept.pt"

        def process(self) -> None:
            items = [self.pre_transform(source[k]) for k in range(30)]
            self.save(items, self.processed_paths[0])

    dataset = Kept(str(tmp_path))
    model = GPNN.for_data(source[:30], **OPTIONS).eval()
    found = outputs(model, DataLoader(dataset, batch_size=8))
    assert torch.allclose(found, outputs(model, DataLoader(source[:30], batch_size=30)), atol=1e-4)
    again = pickle.loads(pickle.dumps(AddPartition("core+triangle")))
    assert again.scheme.name == "core+triangle"


def test_an_own_loop_learns(mutag: Any) -> None:
    dataset = mutag(transform=AddPartition())
    torch.manual_seed(0)
    model = GPNN.for_data(dataset[:64], **OPTIONS)
    optimiser = torch.optim.Adam(model.parameters(), 0.01)
    losses = []
    for _ in range(12):
        for data in DataLoader(dataset[:64], batch_size=32, shuffle=True):
            optimiser.zero_grad()
            loss = cross_entropy(model(data), data.y)
            loss.backward()
            optimiser.step()
            losses.append(loss.item())
    assert np.mean(losses[-4:]) < 0.7 * np.mean(losses[:4])


def test_what_a_model_refuses_of_pyg(mutag: Any) -> None:
    model = GPNN.for_data(mutag()[:20], **OPTIONS)
    other = next(iter(DataLoader(mutag(transform=AddPartition("degree"))[:4], batch_size=4)))
    with pytest.raises(InputError, match=r"another scheme than the model's, 'core-degree'. Use"):
        model(other)
    with pytest.raises(InputError, match=r"reads batches of prepared graphs, .*got a Tensor"):
        model(torch.zeros(2))
    with pytest.raises(InputError, match=r"has no vocabulary of colours"):
        GPNN(outputs=2, parts=4, features=7)(mutag()[0])
    apart = [data for data in mutag() if data.num_edges > 2 * data.num_nodes]
    far = GPNN.for_data([path()], outputs=1).eval()
    item = apart[0] if apart else mutag()[0]
    item = Data(x=item.x[:, :3], edge_index=item.edge_index)
    with pytest.warns(UnseenColours):
        far(item)


def test_a_base_of_ones_own_gets_edges_if_it_asks(mutag: Any) -> None:
    seen: list[Any] = []

    class Mine(torch.nn.Module):
        out_channels = 8

        def forward(self, x: Any, edge_index: Any, edge_attr: Any) -> Any:
            seen.append((x.shape, edge_index, edge_attr))
            return x

    dataset = mutag()
    batch = next(iter(DataLoader(dataset[:5], batch_size=5)))
    model = GPNN.for_data(dataset[:20], **{**OPTIONS, "base": Mine()})
    assert model(batch).shape == (5, 2)
    shape, edge_index, edge_attr = seen[0]
    assert shape == (batch.num_nodes, 8)
    assert edge_attr.shape == (batch.num_edges, 4) and (edge_attr.sum(1) == 1).all()
    counts = torch.bincount(edge_attr.argmax(1), minlength=4)
    assert counts.tolist() == batch.edge_attr.sum(0).tolist()
    assert edge_index.shape == (2, batch.num_edges)


def test_what_is_not_read_of_batches_is_said_once() -> None:
    items = [Data(edge_index=torch.tensor([[0, 0, 1], [0, 1, 0]]), x=torch.rand(2, 3),
                  edge_weight=torch.ones(3)) for _ in range(6)]  # fmt: skip
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = GPNN.for_data(items, outputs=2, hidden=4, layers=1)
    assert sum("edge_weight is not read" in str(one.message) for one in told) <= 2
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for batch in DataLoader(items, batch_size=2):
            model(batch)
    messages = [str(one.message) for one in told]
    assert len(messages) == len(set(messages)) <= 2
    assert any("edge_weight is not read" in message for message in messages)
