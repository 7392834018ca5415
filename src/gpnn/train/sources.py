"""Sources of batches for the training loop.

A source knows which graphs every replica sees in every step, and collates them: on the CPU
(:class:`HostSource`), or on the device by index arithmetic (:class:`ResidentSource`), where the
whole step can be captured. Both give the same batches. :class:`SampledSource` draws blocks from one
large graph. Other kinds of sources (streamed from disk, say) need no changes of the loop.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map_only

from ..errors import InputError
from ..nn.bases import EDGED
from ..nn.batch import GraphBatch
from ..nn.branch import Branch
from ..nn.collate import collate
from ..nn.ranks import rank, ranks
from ..nn.sampled import Sampler
from .plan import MEASURED, Plan
from .replica import IntArray, Replica, Schedule
from .resident.assembler import Assembler
from .resident.capacity import Capacity
from .setup import Setup

__all__ = ["BatchSource", "HostSource", "ResidentSource", "SampledSource"]

Measured = tuple[GraphBatch, Tensor, Tensor, Tensor]
"""A batch, its labels, and which rows belong to the validation and to the test part."""

KEPT = 2_000_000
"""Maximum number of vertices, over all replicas, up to which measured batches are kept for reuse.
"""


class BatchSource(ABC):
    """Batches of a training, with the labels of every replica, [R, rows(, targets)].

    Attributes:
        stacked: whether batches have a leading replica dimension.
        divided: whether each of several processes measures its own share.
    """

    stacked: bool
    divided = False

    @abstractmethod
    def take(self, step: Tensor) -> tuple[GraphBatch, Tensor]:
        """The batch of a step and its labels; labels outside the training part are missing."""

    def look_ahead(self, step: Tensor) -> None:  # noqa: B027
        """Prepare the next step while this step is computed."""

    def reset(self, step: Tensor) -> None:  # noqa: B027
        """Make ``step`` the next step."""

    @abstractmethod
    def sample(self) -> GraphBatch:
        """Training graphs for batch statistics, always the same."""

    @abstractmethod
    def measured(self) -> Iterator[Measured]:
        """Batches that are measured after an epoch."""

    @property
    @abstractmethod
    def measures(self) -> bool:
        """Whether there is anything to measure."""


class HostSource(BatchSource):
    """Batches that are collated on the CPU on request. A single model has neither padding nor a
    replica dimension."""

    def __init__(
        self,
        setup: Setup,
        replicas: Sequence[Replica],
        schedule: Schedule,
        device: torch.device,
        dtype: torch.dtype,
    ) -> None:
        self.prepared, self.task = setup.prepared, setup.task
        self.replicas, self.schedule = replicas, schedule
        self.device, self.dtype = device, dtype
        self.stacked = len(replicas) > 1
        base = setup.config.base
        self.edges = base in EDGED or not setup.stackable
        self.steps = schedule.steps_of(replicas[0], self.task.node_level)
        longest = max(len(one.valid) + len(one.test) for one in replicas)
        self.pieces = -(-longest // MEASURED)
        if ranks() > 1:
            self._check_ranks()
            least = min(len(one.valid) + len(one.test) for one in replicas)
            self.divided = least >= self.pieces * ranks() > 0
        assert self.prepared.labels is not None
        y = self.prepared.labels
        self.y = y.to(dtype) if y.is_floating_point() else y
        self.missing = torch.nan if y.is_floating_point() else -1
        self.epoch = -1
        self.orders: list[list[IntArray]] = []
        self.kept: list[Measured] | None = None
        self.sampled: GraphBatch | None = None
        self.whole: tuple[GraphBatch, Tensor] | None = None
        if self.task.node_level:
            everything = np.arange(len(self.prepared))
            batch = self._batch([everything] * len(replicas))
            self.whole = batch, self._masked("train")

    def _check_ranks(self) -> None:
        """Raise unless every process gets a share of every batch."""
        if self.task.node_level:
            raise InputError("Several processes share batches of graphs, and here is one graph.")
        least = min(int(self.schedule.sizes(one, self.steps).min()) for one in self.replicas)
        if least < ranks():
            raise InputError(
                f"{ranks()} processes cannot share a batch of {least} graphs. Start fewer, or "
                "raise --batch-size."
            )

    def take(self, step: Tensor) -> tuple[GraphBatch, Tensor]:
        if self.whole is not None:
            return self.whole
        epoch, number = divmod(int(step), self.steps)
        if epoch != self.epoch:
            self.epoch = epoch
            self.orders = [self.schedule.batches(one, epoch, self.steps) for one in self.replicas]
        ids = [order[number][self._own(order[number])] for order in self.orders]
        return self._batch(ids), self._labels(ids)

    def sample(self) -> GraphBatch:
        if self.whole is not None:
            return self.whole[0]
        if self.sampled is None:
            chosen = [self.schedule.sample(one) for one in self.replicas]
            self.sampled = self._batch([ids[self._own(ids)] for ids in chosen])
        return self.sampled

    def measured(self) -> Iterator[Measured]:
        if self.kept is not None:
            yield from self.kept
            return
        if self.whole is not None:
            batch, _ = self.whole
            valid, test = (self._mask(part).to(self.device) for part in ("valid", "test"))
            self.kept = [(batch, self.y.expand(len(self.replicas), *self.y.shape).to(self.device),
                          valid, test)]  # fmt: skip
            yield from self.kept
            return
        made, size = [], 0
        for one in self._parts():
            yield one
            size += one[0].num_nodes * len(self.replicas)
            made.append(one)
        self.kept = made if size <= KEPT else None

    @property
    def measures(self) -> bool:
        return any(len(one.valid) + len(one.test) for one in self.replicas)

    def _parts(self) -> Iterator[Measured]:
        count = self.pieces
        both = [np.array_split(np.concatenate([one.valid, one.test]), count) for one in
                self.replicas]  # fmt: skip
        checks = [np.array_split(np.arange(len(one.valid) + len(one.test)) < len(one.valid), count)
                  for one in self.replicas]  # fmt: skip
        for number in range(count):
            ids = [part[number] for part in both]
            own = [self._own(part) if self.divided else slice(None) for part in ids]
            ids = [part[which] for part, which in zip(ids, own, strict=True)]
            width = max(map(len, ids))
            valid, test = (torch.zeros(len(ids), width, dtype=torch.bool) for _ in range(2))
            for r, check in enumerate(checks):
                mine = torch.from_numpy(check[number][own[r]])
                valid[r, : len(mine)], test[r, : len(mine)] = mine, ~mine
            chosen = valid.to(self.device), test.to(self.device)
            yield self._batch(ids), self._labels(ids), *chosen

    def _own(self, ids: IntArray) -> IntArray | slice:
        """The share of this process in a common batch. Graphs are sorted by size and dealt out in
        alternating order, so that all processes have about the same work."""
        if ranks() == 1:
            return slice(None)
        ptr = self.prepared.graphs.ptr
        by_size = np.argsort(ptr[ids] - ptr[ids + 1], kind="stable")
        turn = np.arange(len(ids)) % (2 * ranks())
        return np.sort(by_size[np.minimum(turn, 2 * ranks() - 1 - turn) == rank()])

    def _batch(self, ids: Sequence[IntArray]) -> GraphBatch:
        batch = collate(self.prepared, ids, self.edges, self.stacked)
        if self.device.type == "cpu" and self.dtype is torch.float32:
            return batch
        return batch.to(self.device, self.dtype)

    def _labels(self, ids: Sequence[IntArray]) -> Tensor:
        width = max(map(len, ids))
        shape = (len(ids), width, *self.y.shape[1:])
        out = torch.full(shape, self.missing, dtype=self.y.dtype)
        for r, own in enumerate(ids):
            out[r, : len(own)] = self.y[torch.from_numpy(own)]
        return out.to(self.device)

    def _mask(self, part: str) -> Tensor:
        out = torch.zeros(len(self.replicas), len(self.y), dtype=torch.bool)
        for r, one in enumerate(self.replicas):
            out[r, torch.from_numpy(getattr(one, part))] = True
        return out

    def _masked(self, part: str) -> Tensor:
        return torch.where(self._mask(part), self.y, self.missing).to(self.device)


class SampledSource(BatchSource):
    """Blocks of one large graph around training vertices, drawn in every step from the seed of the
    replica and the step; the blocks that are measured are the same after every epoch."""

    stacked = False

    def __init__(
        self,
        setup: Setup,
        replica: Replica,
        schedule: Schedule,
        device: torch.device,
        dtype: torch.dtype,
    ) -> None:
        if ranks() > 1:
            raise InputError("Blocks of one graph are drawn in one process. Start gpnn directly.")
        assert schedule.fanout is not None and setup.prepared.labels is not None
        self.sampler, self.y = Sampler(setup.prepared, schedule.fanout), setup.prepared.labels
        self.replica, self.schedule = replica, schedule
        self.device, self.dtype = device, dtype
        self.steps = schedule.steps_of(replica, True)
        self.epoch, self.order = -1, list[IntArray]()

    def take(self, step: Tensor) -> tuple[GraphBatch, Tensor]:
        epoch, number = divmod(int(step), self.steps)
        if epoch != self.epoch:
            self.epoch = epoch
            self.order = self.schedule.batches(self.replica, epoch, self.steps)
        return self._batch(self.order[number], int(step) + 1)

    def sample(self) -> GraphBatch:
        return self._batch(self.schedule.sample(self.replica), 0)[0]

    def measured(self) -> Iterator[Measured]:
        both = np.concatenate([self.replica.valid, self.replica.test])
        checked = torch.arange(len(both)) < len(self.replica.valid)
        for start in range(0, len(both), MEASURED):
            part = slice(start, start + MEASURED)
            own = checked[None, part].to(self.device)
            yield *self._batch(both[part], 0), own, ~own

    @property
    def measures(self) -> bool:
        return len(self.replica.valid) + len(self.replica.test) > 0

    def _batch(self, roots: IntArray, number: int) -> tuple[GraphBatch, Tensor]:
        """The block of some vertices, and their labels, [1, roots]."""
        batch = self.sampler.batch(roots, self.replica.seed * 2**31 + number)
        return batch.to(self.device, self.dtype), self.y[None, roots].to(self.device)


class ResidentSource(BatchSource):
    """Batches that are assembled on the device, with fixed shapes and without reading results back,
    so that a step can be captured. The batch of the next step is assembled during this step."""

    stacked = True

    def __init__(
        self,
        setup: Setup,
        plan: Plan,
        rooms: tuple[Capacity, ...],
        device: torch.device,
        dtype: torch.dtype,
    ) -> None:
        resident, node = setup.resident(device), setup.task.node_level
        y = resident.y.to(dtype) if resident.y.is_floating_point() else resident.y
        missing = torch.full_like(y[:1], torch.nan if y.is_floating_point() else -1)
        self.y = torch.cat([y, missing])
        self.plan, self.measure_plan = plan.train.to(device), plan.measure.to(device)
        self.steps = plan.steps
        self.valid, self.test = plan.valid.to(device), plan.test.to(device)
        self.batches = self.checks = Assembler(resident, rooms[0], dtype)
        if not node:
            self.checks = Assembler(resident, rooms[2], dtype)
        self.whole: GraphBatch | None = None
        first = torch.zeros(1, dtype=torch.int64, device=device)
        if node:
            assert plan.labels is not None
            self.whole = self.batches.batch(self.plan[0])
            self.sampled = self.whole
            self.current = self.whole, torch.where(plan.labels.to(device), self.y[:-1], -1)
        else:
            self.current = tree_map_only(Tensor, Tensor.clone, self.batch_of(first))
            chosen = Assembler(resident, rooms[1], dtype).batch(plan.sample.to(device))
            self.sampled = tree_map_only(Tensor, Tensor.clone, chosen)

    def take(self, step: Tensor) -> tuple[GraphBatch, Tensor]:  # noqa: ARG002
        return self.current

    def look_ahead(self, step: Tensor) -> None:
        if self.whole is not None:
            return
        beside = Branch("next batch", step)
        with beside:  # last, because a captured step is launched in the order it was written
            coming = self.batch_of(step + 1)
        beside.bring(*_on_device(coming, step.device))
        self._hold(coming)

    def reset(self, step: Tensor) -> None:
        if self.whole is None:
            self._hold(self.batch_of(step))

    def batch_of(self, step: Tensor) -> tuple[GraphBatch, Tensor]:
        """The batch of a step, and its labels; the first step follows the last."""
        ids = self.plan.index_select(0, step % len(self.plan)).squeeze(0)
        return self.batches.batch(ids), self.y[ids.long()]

    def sample(self) -> GraphBatch:
        return self.sampled

    def measured(self) -> Iterator[Measured]:
        if self.whole is not None:
            y = self.y[:-1].expand(len(self.valid), *self.y[:-1].shape)
            yield self.whole, y, self.valid, self.test
            return
        width = self.measure_plan.shape[2]
        for number, ids in enumerate(self.measure_plan):
            own = slice(number * width, (number + 1) * width)
            batch = self.checks.batch(ids)
            yield batch, self.y[ids.long()], self.valid[:, own], self.test[:, own]

    @property
    def measures(self) -> bool:
        return self.measure_plan.numel() > 0

    def _hold(self, batch: tuple[GraphBatch, Tensor]) -> None:
        """Copy a batch into its fixed buffers, all tensors of one dtype in one call."""
        here = self.y.device
        pairs = list(zip(_on_device(self.current, here), _on_device(batch, here), strict=True))
        for kind in dict.fromkeys(old.dtype for old, _ in pairs):
            old, new = zip(*(pair for pair in pairs if pair[0].dtype == kind), strict=True)
            torch._foreach_copy_(old, new)


def _on_device(tree: Any, device: torch.device) -> list[Tensor]:
    """The tensors of a batch that are on ``device``; row groups, on the CPU, never change."""
    leaves = (leaf for leaf in tree_leaves(tree) if isinstance(leaf, Tensor))
    return [leaf for leaf in leaves if leaf.device == device]
