"""PyG data in, batches out: the documented table, column by column."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Batch, Data

from gpnn.errors import InputError
from gpnn.nn.from_data import prepare_data
from gpnn.nn.model import GPNN


def path(values: list[float] | None = None, **extra: object) -> Data:
    """A path 0 – 1 – 2 with both directions, edge attributes given per undirected edge."""
    edge_index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    data = Data(x=torch.eye(3), edge_index=edge_index, y=torch.tensor([1]), **extra)
    if values is not None:
        a, b = values
        data.edge_attr = torch.tensor([a, a, b, b])
    return data


def test_a_training_step_on_a_list_and_on_a_batch():
    items = [path([1, 2]), path([2, 2])]
    for source in (items, Batch.from_data_list(items)):
        ready = prepare_data(source, layers=2)
        assert ready.classes.merged and len(ready) == 2
        model = GPNN(base="gin", outputs=2, parts=ready.parts, features=3, edge_labels=3, layers=2)
        batch = next(ready.batches(range(2), size=2))
        loss = torch.nn.functional.cross_entropy(model(batch), batch.y)
        loss.backward()
        assert torch.isfinite(loss)


def test_integers_and_one_hot_rows_are_labels():
    kinds = torch.tensor([0, 0, 2, 2])
    hot = path()
    hot.edge_attr = torch.nn.functional.one_hot(kinds, 3).float()
    plain, column = path(), path()
    plain.edge_attr, column.edge_attr = kinds, kinds[:, None]
    found = [prepare_data(item, layers=1).edge_label.tolist() for item in (hot, plain, column)]
    assert found == [[1, 1, 3, 3]] * 3


def test_floats_take_the_direct_path_with_edges_in_place():
    ready = prepare_data([path([0.5, 0.25])], layers=1)
    assert not ready.classes.merged
    assert ready.edge_features.flatten().tolist() == [0.5, 0.5, 0.25, 0.25]
    wrong = path()
    wrong.edge_attr = torch.tensor([0.5, 0.1, 0.25, 0.25])
    with pytest.raises(InputError, match="different features"):
        prepare_data([wrong])


def test_node_labels_and_bad_items():
    item = path()
    item.y = torch.tensor([0, 1, 0])
    assert prepare_data(item, node_level=True, layers=1).batch().y.tolist() == [0, 1, 0]
    with pytest.raises(InputError, match="Item 1 is no PyG Data"):
        prepare_data([path(), "graph"])
    with pytest.raises(InputError, match="Item 1 has no edge_attr"):
        prepare_data([path([1, 2]), path()])


def test_fields_by_name_or_a_config():
    ready = prepare_data([path()], layers=1)
    model = GPNN(base=None, outputs=1, parts=ready.parts, features=3, layers=1)
    assert model.config.base is None
    with pytest.raises(InputError, match="not both"):
        GPNN(model.config, outputs=2)
