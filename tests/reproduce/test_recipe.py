"""Recipes: what is read, what is refused, and that a written one reads back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gpnn.errors import InputError
from gpnn.nn.config import GPNNConfig
from gpnn.reproduce.jobs import Job, Row, quick_recipe
from gpnn.reproduce.recipe import Recipe, Space, list_recipes, load_recipe, read_recipe


@pytest.mark.parametrize("name", list_recipes())
def test_every_recipe_of_the_package_is_sound(name: str, tmp_path: Path) -> None:
    recipe = load_recipe(name)
    recipe.schedule()
    copy = tmp_path / f"{name}.toml"
    copy.write_text(recipe.to_toml(), encoding="utf-8")
    assert read_recipe(copy) == recipe
    if name.startswith("ZINC"):
        assert recipe.title.startswith("ZINC-12k, resampled train")


@pytest.mark.parametrize(("name", "most"), [("layers", 32), ("d", 5), ("walks", 64)])
def test_a_recipe_allows_what_a_network_takes(name: str, most: int) -> None:
    said = f"{name} must be a whole number from [01] to {most}; got {most + 1}"
    Recipe("A", "MUTAG", **{name: most})
    GPNNConfig.make(outputs=1, parts=2, **{name: most})
    with pytest.raises(InputError, match=said):
        Recipe("A", "MUTAG", **{name: most + 1})
    with pytest.raises(InputError, match=said):
        GPNNConfig.make(outputs=1, parts=2, **{name: most + 1})


def test_a_file_extends_another(tmp_path: Path) -> None:
    (tmp_path / "_below.toml").write_text("layers = 2\nlr = 1\n[nested]\ntrials = 3\nseeds = 1\n")
    (tmp_path / "X.toml").write_text(
        'extends = "_below"\nlr = 0.5\n[nested]\ntrials = 4\n[bases.gcn]\nhidden = 7\n'
    )
    recipe = read_recipe(tmp_path / "X.toml")
    assert (recipe.name, recipe.dataset, recipe.title) == ("X", "X", "X")
    assert (recipe.layers, recipe.lr) == (2, 0.5)
    assert (recipe.nested.trials, recipe.nested.seeds) == (4, 1)
    assert recipe.for_base("gcn").hidden == 7
    assert recipe.for_base("gin").hidden == recipe.hidden == 32


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("depth = 3", "depth is not a field of a recipe. Fields are"),
        ("scheme = 'auto'", "a recipe has no scheme.*gpnn bench schemes DATASET -m auto"),
        ("layers = 0", "layers must be a whole number from 1 to 32; got 0"),
        ("d = 9", "d must be a whole number from 1 to 5; got 9"),
        ("hidden = 0", "hidden must be a whole number of at least 1; got 0"),
        ("distances = 3", "distances must be True or False; got 3"),
        ("layers = true", "layers must be a whole number"),
        ("lr = 'fast'", "lr must be above 0; got 'fast'"),
        ("dropout = 1.0", "dropout must be at least 0 and below 1; got 1.0"),
        ("readout = 'max'", "readout cannot be 'max'. Choose one of sum, mean"),
        ("edge_labels = 1", "edge_labels must be True or False"),
        ("[nested]\nlr = 0.1", "nested.lr must be a list"),
        ("[nested]\ntrials = 11", "nested.trials must be a whole number from 1 to 10; got 11"),
        ("[nested]\nwidth = [1]", "width is not a field of nested"),
        ("[bases.gcn]\ndataset = 'x'", "dataset is not a field of bases.gcn"),
        ("[bases.gcn]\nhidden = 0", "hidden must be a whole number"),
        ("extends = 'bad'", "was not found"),
        ("extends = 'absent'", "was not found: no other absent.toml"),
        ("layers = ", "is not TOML"),
    ],
)
def test_what_is_wrong_is_said(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=said):
        read_recipe(path)


def test_an_unknown_name_lists_the_choices() -> None:
    with pytest.raises(InputError, match=r"no recipe 'MUTAGG'. Did you mean MUTAG. There are BZR"):
        load_recipe("MUTAGG")


def test_a_key_is_what_decides_the_outcome() -> None:
    recipe, row = Recipe("A", "MUTAG"), Row("GIN", "core", "cross")
    key = Job(recipe, row, "tu").key
    assert key == Job(Recipe("B", "MUTAG", title="other"), row, "tu").key
    assert key == Job(Recipe("A", "MUTAG", nested=Space(trials=2)), row, "tu").key
    for other in (
        Job(Recipe("A", "MUTAG", lr=0.1), row, "tu"),
        Job(Recipe("A", "MUTAG", hidden=8), row, "tu"),
        Job(recipe, row, "tu-nested"),
        Job(recipe, row, "tu", quick=True),
        Job(recipe, row.plain, "tu"),
        Job(recipe, row.widened, "tu"),
        Job(recipe, Row("GIN", "core", "edges"), "tu"),
    ):
        assert other.key != key
    # A base alone does not care how GPNN would be built; a widened one does.
    wider = Recipe("A", "MUTAG", component_feature=False)
    assert Job(wider, row.plain, "tu").key == Job(recipe, row.plain, "tu").key
    assert Job(wider, row.widened, "tu").key != Job(recipe, row.widened, "tu").key


def test_quick_recipes_are_small() -> None:
    for name in list_recipes():
        quick = quick_recipe(load_recipe(name))
        assert quick.epochs <= 4 and quick.seeds <= 2 and quick.hidden <= 16


def test_a_recipe_of_ones_own_extends_the_packages(tmp_path: Path) -> None:
    """The one beside it goes first; its own name leads to the package's."""
    path = tmp_path / "MUTAG.toml"
    path.write_text('extends = "MUTAG"\nepochs = 3\n', encoding="utf-8")
    changed, packaged = read_recipe(path), load_recipe("MUTAG")
    assert changed.epochs == 3 and replace(changed, epochs=packaged.epochs) == packaged
