"""Peak memory of Equation 2 over a million tuples, in chunks and at once; run as a script.

The tests before it leave freed memory with the allocator of their process, so that what a call
takes anew is seen in a fresh process alone.
"""

from __future__ import annotations

import json
from pathlib import Path
from unittest.mock import patch

import numpy as np
import torch

from gpnn.bench.memory import _status
from gpnn.nn.batch import AlphaRound
from gpnn.nn.layer import InteractionLayer
from gpnn.nn.segments import Segments

CLASSES, ROWS, WIDTH = 1_000, 500, 16


def alpha_round(tuples: int) -> AlphaRound:
    draw, number = np.random.default_rng(0), np.arange(tuples)
    ends = (2 * draw.integers(0, ROWS, (2, tuples)) + np.array([[0], [1]])).T.ravel()
    return AlphaRound(
        previous=Segments.build(np.arange(CLASSES), np.arange(CLASSES) % ROWS, CLASSES, ROWS),
        met=Segments.build(number.repeat(2), ends, tuples, 2 * ROWS),
        tuples=Segments.build(number % CLASSES, number, CLASSES, tuples, np.ones(tuples)),
        weight=torch.ones(CLASSES),
        tuple_weight=torch.ones(tuples),
        part=torch.zeros(0),
        pairs=Segments.build(number[:1], number[:1], 1, 1),
        groups=torch.zeros(0, 3),
    )


def main() -> None:
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)
    layer, alpha = InteractionLayer(WIDTH, torch.arange(2)), torch.randn(ROWS, WIDTH)

    def measured(pairs: AlphaRound, chunk: int | None) -> tuple[int, list[torch.Tensor]]:
        with patch("gpnn.nn.layer.tuple_chunk", lambda *_: chunk):
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
            before = _status("VmRSS")
            out = layer.interact(alpha, pairs)
            slopes = torch.autograd.grad(out.sin().sum(), list(layer.phi.parameters()))
            return _status("VmHWM") - before, [out.detach(), *slopes]

    measured(alpha_round(1_000), 300)  # compiles the kernels
    pairs = alpha_round(1_000_000)
    (chunked, ours), (whole, theirs) = measured(pairs, 20_000), measured(pairs, None)
    equal = all(
        torch.allclose(a, b, rtol=1e-7, atol=1e-9) for a, b in zip(ours, theirs, strict=True)
    )
    print(json.dumps({"chunked": chunked, "whole": whole, "equal": equal}))


if __name__ == "__main__":
    main()
