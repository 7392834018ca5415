from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
import torch

from gpnn.data import cache, structure_cache
from gpnn.data.structure_cache import cached_classes, cached_partition
from gpnn.graph.class_tables import RoundTable
from gpnn.graph.classes import InteractionClasses, interaction_classes
from gpnn.graph.graphs import Graphs
from gpnn.graph.partition import partition
from gpnn.graph.registry import _registry, register_scheme
from gpnn.graph.structure import Structure
from gpnn.nn.batch import GraphBatch
from gpnn.train.setup import model_config, prepare_samples
from train.cycles import samples


@pytest.fixture(autouse=True)
def keep_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPNN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "WORTH", 0.0)
    monkeypatch.setattr(structure_cache, "SMALL", 0)


@pytest.fixture
def read_only(monkeypatch: pytest.MonkeyPatch) -> object:
    """Call it to forbid computing from then on."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("it was computed again")

    def forbid() -> None:
        monkeypatch.setattr(structure_cache, "interaction_classes", refuse)
        monkeypatch.setattr(structure_cache, "partition", refuse)

    return forbid


def check_equal(left: object, right: object) -> None:
    assert type(left) is type(right)
    if isinstance(left, np.ndarray):
        assert (left.dtype, left.shape) == (right.dtype, right.shape)
        assert np.array_equal(left, right)
    elif isinstance(left, tuple):
        for one, other in zip(left, right, strict=True):
            check_equal(one, other)
    elif isinstance(left, InteractionClasses | RoundTable):
        for field in fields(left):
            check_equal(getattr(left, field.name), getattr(right, field.name))
    else:
        assert left == right


@pytest.mark.parametrize("interactions", ["cross", "edges", "pairs"])
@pytest.mark.parametrize(("labelled", "distances", "d"), [(True, False, 1), (False, True, 2)])
def test_classes_come_back_as_they_were(
    interactions: str, labelled: bool, distances: bool, d: int, read_only: object
) -> None:
    held = samples()
    graphs, labels = held.graphs, held.edge_labels if labelled else None
    part = partition(graphs, "core-degree").part
    structure = Structure("core-degree", interactions, d, 2, distances)
    truth = interaction_classes(graphs, part, structure, labels)
    arguments = (graphs, part, structure, labels)
    check_equal(cached_classes(*arguments), truth)
    read_only()
    again = cached_classes(*arguments)
    check_equal(again, truth)


def test_other_inputs_are_other_classes() -> None:
    held = samples()
    graphs, labels = held.graphs, held.edge_labels
    part = partition(graphs, "degree").part
    other = Graphs(graphs.ptr, graphs.indptr, graphs.indices[::-1].copy())
    cases = [
        (graphs, part, Structure("degree", "edges", 1, 2, False), labels),
        (graphs, part * 2, Structure("degree", "edges", 1, 2, False), labels),
        (graphs, part, Structure("degree", "cross", 1, 2, False), labels),
        (graphs, part, Structure("degree", "edges", 2, 2, False), labels),
        (graphs, part, Structure("degree", "edges", 1, 1, False), labels),
        (graphs, part, Structure("degree", "edges", 1, 2, False), None),
        (graphs, part, Structure("degree", "edges", 1, 2, True), labels),
        (samples(seed=1).graphs, partition(samples(seed=1).graphs, "degree").part,
         Structure("degree", layers=2), samples(seed=1).edge_labels),
    ]  # fmt: skip
    for case in cases:
        cached_classes(*case)
    assert cache.usage()[0] == len(cases)
    alias = Structure("degree", "diamond", 1, 2, False)  # of edges
    cached_classes(graphs, part, alias, labels)
    assert cache.usage()[0] == len(cases)
    assert cache.key_of("x", structure_cache._arrays(other)) != cache.key_of(
        "x", structure_cache._arrays(graphs)
    )


@pytest.mark.parametrize("scheme", ["core-onion", "orbit", "core+triangle"])
def test_partitions_come_back_as_they_were(scheme: str, read_only: object) -> None:
    graphs = samples().graphs
    truth = partition(graphs, scheme)
    cached_partition(graphs, scheme)
    read_only()
    again = cached_partition(graphs, scheme)
    for name in ("colours", "parts", "part"):
        check_equal(getattr(again, name), getattr(truth, name))
    assert again.labels == truth.labels


def test_a_scheme_of_the_user_is_never_kept() -> None:
    graphs = samples().graphs
    register_scheme("mine", lambda graphs: graphs.degree * 0)
    try:
        assert cached_partition(graphs, "core+mine").num_parts == 1
        assert cache.usage()[0] == 0
        register_scheme("mine", lambda graphs: graphs.degree)
        assert cached_partition(graphs, "core+mine").num_parts == 2
    finally:
        del _registry["mine"]


def test_small_sets_are_not_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structure_cache, "SMALL", 10**6)
    graphs = samples().graphs
    cut = cached_partition(graphs, "core")
    cached_classes(graphs, cut.part, Structure("core", layers=2), None)
    assert cache.usage()[0] == 0


def test_batches_do_not_depend_on_the_cache(read_only: object) -> None:
    held = samples()
    config = model_config(held, 9, {"layers": 2, "interactions": "pairs"})
    first = prepare_samples(held, config, None).batch([1, 5, 2])
    assert cache.usage()[0] == 2
    read_only()
    second = prepare_samples(held, config, None).batch([1, 5, 2])
    left, right = (list(tensors(batch)) for batch in (first, second))
    assert len(left) > 20
    for one, other in zip(left, right, strict=True):
        assert torch.equal(one, other)


def tensors(held: object) -> list[torch.Tensor]:
    if isinstance(held, torch.Tensor):
        return [held]
    if isinstance(held, tuple | list):
        return [tensor for part in held for tensor in tensors(part)]
    if isinstance(held, GraphBatch) or hasattr(held, "__dataclass_fields__"):
        return [t for field in fields(held) for t in tensors(getattr(held, field.name))]  # type: ignore[arg-type]
    return []
