from __future__ import annotations

from pathlib import Path

import pytest

from gpnn.errors import InputError
from gpnn.reproduce.recipe import Recipe
from gpnn.reproduce.search_space import PAPER_SPACE, Range, SearchSpace, read_space

RECIPE = Recipe("toy", "toy")


def read(tmp_path: Path, text: str) -> SearchSpace:
    path = tmp_path / "space.toml"
    path.write_text(text)
    return read_space(path, RECIPE)


def test_the_default_is_what_the_paper_states() -> None:
    found = read_space(None, RECIPE)
    assert found.dimensions == {
        "layers": (1, 2, 3, 4, 5),
        "d": (1, 2, 3, 4, 5),
        "dropout": (0.0, 0.1, 0.2, 0.5, 0.6),
        "lr": (0.009, 0.01),
        "batch_size": (32, 64, 128),
        "hidden": (32, 64, 100),
        "epochs": (100, 200, 300, 500),
    }
    assert found.to_dict() == PAPER_SPACE


def test_a_file_of_choices_and_ranges(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        'readout = ["sum", "mean"]\ndropout = [0, 0.5]\nhidden = {low = 8, high = 64}\n'
        "lr = {low = 1e-4, high = 1e-2, log = true}\n",
    )
    assert found.dimensions == {
        "readout": ("sum", "mean"),
        "dropout": (0.0, 0.5),
        "hidden": Range(8, 64),
        "lr": Range(1e-4, 1e-2, True),
    }
    assert "lr 0.0001 to 0.01 (log)" in str(found)
    assert SearchSpace.parse(found.to_dict(), RECIPE) == found
    assert "lr" not in found.without("lr", "d").dimensions


def test_what_is_drawn_lies_in_the_space(tmp_path: Path) -> None:
    space = read(
        tmp_path,
        "layers = [1, 3]\nhidden = {low = 8, high = 64}\n"
        "lr = {low = 1e-4, high = 1e-2, log = true}\n",
    )
    drawn = space.draw(30, 0, RECIPE)
    assert len(drawn) == 30 and all(space.holds(values) for values in drawn)
    assert all(isinstance(values["hidden"], int) for values in drawn)
    assert sum(values["lr"] < 1e-3 for values in drawn) in range(8, 23)  # evenly in the logarithm


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it is empty"),
        ("layers = 3", "layers must be a list of different values"),
        ("layers = []", "layers must be a list of different values"),
        ("layers = [2, 2]", "layers must be a list of different values"),
        ("layers = [0, 1]", "layers must be a whole number from 1 to 32; got 0"),
        ("d = {low = 4, high = 9}", "d must be a whole number from 1 to 5; got 9"),
        ("dropout = [1.5]", "dropout must be at least 0"),
        ('readout = ["max"]', "readout cannot be 'max'"),
        ("width = [3]", "width is not a field of a search space"),
        ("seeds = [3]", "seeds is not a field of a search space"),
        ("lr = {low = 0.1}", "needs the numbers low and high"),
        ("lr = {low = 0.1, high = 0.01}", "low below high"),
        ("dropout = {low = 0.0, high = 0.5, log = true}", "low above 0 where log = true"),
        ("hidden = {low = 1.5, high = 4}", "needs whole numbers"),
        ("readout = {low = 1, high = 4}", "readout has no range"),
        ("lr = {low = 0.1, high = 0.2, step = 1}", "step is not a field of the range of lr"),
        ("lr = [", "is not TOML"),
    ],
)
def test_refused(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"space\.toml") as error:
        read(tmp_path, text)
    assert said in str(error.value)


def test_an_absent_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Cannot read the search space"):
        read_space(tmp_path / "none.toml", RECIPE)
