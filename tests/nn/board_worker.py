"""A process of tests/nn/test_board.py: ``FILE STORE RANK RANKS [stop]``."""

from __future__ import annotations

import sys

import torch
from torch.distributed import FileStore

from gpnn.errors import InputError
from gpnn.nn import board


def main(store: str, rank: int, ranks: int, stop: bool) -> None:
    shared = board.Board.join(FileStore(store, ranks), rank, ranks)
    assert shared is not None
    if stop and rank == 1:
        return
    board.WATCH = 0.1
    generator = torch.Generator().manual_seed(0)
    try:
        for size in (1, 200, 3, board.SLOT // 4 + 17, 5):
            for kind in (torch.float32, torch.float64, torch.int32, torch.int64):
                every = (torch.rand(ranks, size, generator=generator) * 1_000).to(kind)
                total, own = every[0].clone(), every[rank].clone()
                for other in every[1:]:
                    total += other
                shared.add_up(own)
                assert torch.equal(own, total), (size, kind)
    except InputError as error:
        print(error)
    else:
        print("summed")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), "stop" in sys.argv)
