"""Masks of stacked dropout: reproducible, of the right rate, and every replica's own."""

from __future__ import annotations

import pytest
import torch

from gpnn.nn.dropout import CALLS, MASK, Draw, Dropout, kept, mix

ROWS = torch.arange(400).expand(3, -1)


def draw(seeds=(1, 2, 3), step: int = 0, rates=(0.5, 0.5, 0.5), site: int = 0) -> Draw:
    rate = torch.tensor(rates, dtype=torch.float64)
    return Draw(torch.tensor(seeds), torch.tensor([step]), rate, site)


def masks(given: Draw, call: int = 0, rows=ROWS) -> torch.Tensor:
    return kept(given, call, rows[: len(given.seed)], 32, torch.float64)


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.5, 0.9])
def test_the_share_that_is_dropped(rate: float) -> None:
    found = masks(draw(rates=(rate,) * 3))
    assert (found == 0).double().mean().item() == pytest.approx(rate, abs=0.01)
    assert torch.unique(found[found > 0]).item() == pytest.approx(1 / (1 - rate))
    by_column = (found == 0).double().mean((0, 1))
    by_row = (found == 0).double().mean((0, 2))
    assert (by_column - rate).abs().max() < 0.06 and (by_row - rate).abs().max() < 0.3


def agreement(one: torch.Tensor, other: torch.Tensor) -> float:
    return ((one > 0) == (other > 0)).double().mean().item()


def test_masks_of_two_seeds_steps_sites_or_calls_are_unrelated() -> None:
    base = masks(draw())
    assert agreement(base[0], base[1]) == pytest.approx(0.5, abs=0.02)
    for other in (
        masks(draw(step=1)),
        masks(draw(site=1)),
        masks(draw(), call=1),
        masks(draw((4, 5, 6))),
        masks(draw(), rows=ROWS + 400),
    ):
        for r in range(3):
            assert agreement(base[r], other[r]) == pytest.approx(0.5, abs=0.025)


def test_a_mask_does_not_depend_on_the_company() -> None:
    together = masks(draw((1, 2, 3), rates=(0.5, 0.2, 0.7)))
    for r, (seed, rate) in enumerate(((1, 0.5), (2, 0.2), (3, 0.7))):
        assert torch.equal(masks(draw((seed,), rates=(rate,)))[0], together[r])
    turned = masks(draw((3, 1, 2), rates=(0.7, 0.5, 0.2)))
    assert torch.equal(turned, together[[2, 0, 1]])


def test_a_mask_goes_with_the_row_wherever_it_lies() -> None:
    order = torch.randperm(400)
    assert torch.equal(masks(draw(), rows=ROWS[:, order]), masks(draw())[:, order])


def test_the_module() -> None:
    module, x = Dropout(0.5), torch.ones(3, 400, 32, dtype=torch.float64, requires_grad=True)
    module.draw = draw()
    out = module(x, ROWS)
    assert torch.equal(out, masks(draw()))
    (slope,) = torch.autograd.grad(out.sum(), x)
    assert torch.equal(slope, out)
    assert torch.equal(module(x, ROWS, 2), masks(draw(), call=2))
    module.draw.step += 1
    assert torch.equal(module(x, ROWS), masks(draw(step=1)))
    assert module.eval()(x, ROWS) is x


def test_without_a_draw_it_is_that_of_pytorch() -> None:
    module, x = Dropout(0.3), torch.ones(50, 8)
    torch.manual_seed(0)
    ours = module(x)
    torch.manual_seed(0)
    assert torch.equal(ours, torch.nn.Dropout(0.3)(x))


def test_the_hash_is_murmurs_finaliser() -> None:
    def plain(x: int) -> int:
        x ^= x >> 16
        x = x * 0x85EBCA6B & MASK
        x ^= x >> 13
        x = x * 0xC2B2AE35 & MASK
        return x ^ (x >> 16)

    numbers = [0, 1, 2**31, 2**32 - 1, 0xDEADBEEF]
    assert mix(torch.tensor(numbers)).tolist() == [plain(x) for x in numbers]
    assert mix(torch.tensor([-1])).item() == plain(MASK)
    assert plain(1) == 0x514E28B7  # a published value


def test_sites_do_not_run_into_each_other() -> None:
    """Calls of one module are at most 32 layers and the head."""
    assert CALLS > 33
