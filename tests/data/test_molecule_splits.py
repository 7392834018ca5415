"""Splits of molecules: equal ones stay together, scaffolds too, whatever the seed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpnn.data.samples import Samples, load_samples
from gpnn.data.scaffolds import scaffold_names
from gpnn.data.split import Split, calibration_splits, make_folds, make_split
from gpnn.errors import InputError

Chem = pytest.importorskip("rdkit.Chem", reason="molecules need RDKit")

RINGS = ("c1ccccc1", "C1CCCC1", "c1ccncc1", "C1CCNCC1", "c1ccoc1", "c1ccsc1", "C1CC1", "C1CCC1")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Samples:
    """120 molecules of eight rings, every fifth written a second time in another way."""
    rng = np.random.default_rng(0)
    rows = []
    for k in range(120):
        smiles = "C" * (k // 8) + RINGS[k % 8]
        rows.append((smiles, rng.normal()))
        if k % 5 == 0:
            molecule = Chem.MolFromSmiles(smiles)
            rows.append((Chem.MolToRandomSmilesVect(molecule, 1, k)[0], rng.normal()))
    path = tmp_path_factory.mktemp("tables") / "table.csv"
    path.write_text("smiles,y\n" + "".join(f"{s},{y:.3f}\n" for s, y in rows))
    return load_samples(str(path))


def parts_of(split: Split) -> list[np.ndarray]:
    return [split.train, split.valid, split.test, split.calibration]


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 1000), kind=st.sampled_from([None, "random", "stratified", "scaffold"]))
def test_equal_molecules_are_in_one_part(table: Samples, seed: int, kind: str | None) -> None:
    names = np.array([Chem.CanonSmiles(text) for text in table.ids])
    share = 0.3 if kind == "scaffold" else 0.1  # each of the eight scaffolds is an eighth of all
    split = make_split(table, seed, share, share, kind=kind)
    folds = make_folds(table, 4, seed, None if kind == "random" else kind)
    for one in (split, *folds, *calibration_splits(table, split, 4, seed)):
        sets = [set(names[ids]) for ids in parts_of(one)]
        assert sum(map(len, sets)) == len(set.union(*sets))
    assert sum(map(len, parts_of(split))) == len(table)
    assert "24 rows repeat a molecule and stay with it" in split.how
    tested = np.sort(np.concatenate([one.test for one in folds]))
    assert tested.tolist() == list(range(len(table)))
    assert 0.4 * share * len(table) <= len(split.test) <= 1.5 * share * len(table)


def test_scaffolds_are_in_one_part(table: Samples) -> None:
    names = np.array(scaffold_names(table))
    for one in make_folds(table, 4, 0, "scaffold"):
        assert not set(names[one.test]) & set(names[one.train])
    path_like = make_split(table, 3, valid=0.3, test=0.3, kind="scaffold")
    sets = [set(names[ids]) for ids in parts_of(path_like)]
    assert sum(map(len, sets)) == len(set.union(*sets)) == 8


def test_every_network_is_calibrated_on_rows_that_chose_nothing(table: Samples) -> None:
    split = make_split(table, 1)
    made = calibration_splits(table, split, 5, 1)
    pool = np.sort(np.concatenate([split.train, split.valid]))
    held = np.sort(np.concatenate([one.calibration for one in made]))
    assert held.tolist() == pool.tolist(), "every row calibrates once"
    for k, one in enumerate(made):
        assert one.test.tolist() == split.test.tolist()
        assert one.calibration.tolist() == made[(k + 1) % 5].valid.tolist()
    with pytest.raises(InputError, match=r"3 networks or more; got 2"):
        calibration_splits(table, split, 2)


def test_tenths_of_a_number_are_in_proportion(table: Samples) -> None:
    assert table.y is not None
    y = table.y[:, 0].numpy()
    deviation = []
    for kind in ("random", "stratified"):
        means = [y[make_split(table, seed, kind=kind).test].mean() for seed in range(20)]
        deviation.append(np.std(means))
    assert deviation[1] < 0.8 * deviation[0]


def test_refusals(table: Samples) -> None:
    with pytest.raises(InputError, match=r"split cannot be 'fair'. Choose one of random, scaf"):
        make_split(table, kind="fair")
    with pytest.raises(InputError, match=r"no column that splits the rows"):
        make_split(table, kind="column")
    with pytest.raises(InputError, match=r"Scaffolds need molecules given as SMILES"):
        make_split(load_samples("MUTAG"), kind="scaffold")


def test_an_official_split_that_knows_answers_is_told(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("smiles,y,split\nCCO,1.5,train\nOCC,2,test\nCCC,3,valid\nCCN,4,train\n")
    split = make_split(load_samples(str(path)))
    assert "1 molecules lie in two parts, which flatters the result" in split.how
    assert "official" not in make_split(load_samples(str(path)), kind="random").how
