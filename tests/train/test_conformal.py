"""Intervals cover what they promise, probabilities become frequencies, contributions add up."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from gpnn import GPNNClassifier, GPNNRegressor
from gpnn.data.encoder import Encoder
from gpnn.data.samples import Samples, load_samples
from gpnn.data.split import calibration_splits, make_split
from gpnn.data.tasks import Task
from gpnn.errors import InputError
from gpnn.train.atoms import atom_contributions
from gpnn.train.conformal import Calibration, calibrate, quantile_rank
from gpnn.train.explain import explain
from gpnn.train.fit import fit
from gpnn.train.model_file import load_model, save_model
from gpnn.train.replica import Replica
from gpnn.train.setup import set_up
from gpnn.train.train_config import TrainConfig

Chem = pytest.importorskip("rdkit.Chem", reason="molecules need RDKit")
pytestmark = pytest.mark.usefixtures("one_thread")

TINY = {"layers": 2, "hidden": 8}
RINGS = ("c1ccccc1", "C1CCCC1", "c1ccncc1", "C1CCNCC1", "c1ccoc1", "C1CC1")


def molecules(count: int) -> list[str]:
    rng = np.random.default_rng(0)
    chains = ["".join(rng.choice(["C", "N", "O"], rng.integers(1, 9))) for _ in range(4 * count)]
    names = dict.fromkeys(
        Chem.CanonSmiles(f"C{chain}C{RINGS[k % 6]}") for k, chain in enumerate(chains)
    )
    return list(names)[:count]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Samples:
    rng = np.random.default_rng(1)
    path = tmp_path_factory.mktemp("tables") / "table.csv"
    lines = [f"{s},{s.count('N') - s.count('O') + rng.normal():.4f}" for s in molecules(400)]
    path.write_text("smiles,y\n" + "\n".join(lines) + "\n")
    return load_samples(str(path))


def test_the_finite_sample_quantile() -> None:
    assert quantile_rank(9, 0.9) == 8  # the largest of nine
    assert quantile_rank(8, 0.9) is None
    assert quantile_rank(99, 0.9) == 89
    with pytest.raises(InputError, match=r"level must be above 0 and below 1; got 1"):
        quantile_rank(9, 1)


@pytest.mark.parametrize("kind", ["linear", "tree"])
def test_intervals_cover_nine_in_ten_over_twenty_splits(table: Samples, kind: str) -> None:
    """Quick models of the letters instead of networks, as ignorant of their calibration rows: one
    that gains nothing from averaging, one that gains much."""
    assert table.y is not None
    y = table.y[:, 0].double().numpy()
    rng = np.random.default_rng(0)
    letters = [[text.count(letter) for letter in "CNOcno"] for text in table.ids]
    x = np.hstack([np.array(letters, np.float64), rng.normal(size=(len(y), 4))])
    covered = []
    for seed in range(20):
        splits = calibration_splits(table, make_split(table, seed, test=0.3), 5, seed)
        models = [
            LinearRegression() if kind == "linear" else DecisionTreeRegressor(random_state=seed)
            for _ in splits
        ]
        outputs = [
            torch.from_numpy(model.fit(x[one.train], y[one.train]).predict(x))[:, None]
            for model, one in zip(models, splits, strict=True)
        ]
        found = torch.stack(outputs)
        known = calibrate(table.encoder, found, table.y, [one.calibration for one in splits])
        half, test = known.half_widths(0.9)[0], splits[0].test
        assert half is not None and known.rows == len(table) - len(test)
        covered.append(np.mean(np.abs(found.mean(0)[test, 0].numpy() - y[test]) <= half))
    assert 0.88 <= np.mean(covered) <= 0.92


def encoder_of(task: Task, **more: object) -> Encoder:
    return Encoder("labels", task, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("task", [Task.CLASSIFICATION, Task.MULTITASK])
def test_probabilities_become_frequencies(task: Task) -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=4000)
    positive = rng.random(4000) < 1 / (1 + np.exp(-(0.5 * z - 1)))
    steep = torch.from_numpy(3 * z)
    if task is Task.CLASSIFICATION:
        outputs = torch.stack([torch.zeros_like(steep), steep], 1)
        encoder = encoder_of(task, class_names=("no", "yes"))
        y = torch.from_numpy(positive.astype(np.int64))
    else:
        outputs, encoder = steep[:, None], encoder_of(task, target_names=("toxic",))
        y = torch.from_numpy(positive.astype(np.float32))[:, None]
    known = calibrate(encoder, outputs[None], y, [np.arange(4000)])
    assert known.slopes[-1] == pytest.approx(0.5 / 3, rel=0.2)
    assert known.offsets[-1] == pytest.approx(-1, abs=0.1)
    scores = task.scores(known.adjust(outputs, task))[:, -1].numpy()
    for low in (0.1, 0.2, 0.3, 0.4):
        own = (scores >= low) & (scores < low + 0.1)
        assert positive[own].mean() == pytest.approx(scores[own].mean(), abs=0.06)


def test_temperature_of_three_classes() -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=(3000, 3))
    p = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    y = torch.from_numpy(np.array([rng.choice(3, p=row) for row in p]))
    encoder = encoder_of(Task.CLASSIFICATION, class_names=("a", "b", "c"))
    known = calibrate(encoder, torch.from_numpy(4 * z)[None], y, [np.arange(3000)])
    assert known.slopes == pytest.approx((0.25,) * 3, rel=0.15) and known.offsets == (0, 0, 0)


def test_too_few_rows_are_told() -> None:
    encoder = encoder_of(Task.REGRESSION, target_names=("y",))
    known = calibrate(encoder, torch.zeros(1, 5, 1), torch.ones(5, 1), [np.arange(5)])
    assert known.half_widths(0.9) == [None] and known.half_widths(0.8) == [1.0]
    assert "too few calibration rows for y" in known.warned[0]
    classes = encoder_of(Task.CLASSIFICATION, class_names=("no", "yes"))
    known = calibrate(classes, torch.randn(1, 20, 2), torch.arange(20) % 2, [np.arange(20)])
    assert known.slopes == (1.0, 1.0) and "left as they are" in known.warned[0]
    again = Calibration.from_dict(known.to_dict())
    assert again == known
    for damage, answer in (
        ({"errors": 3}, "calibration.errors must be a list"),
        ({"slopes": ["steep"]}, r"calibration.slopes\[0\] must be a finite number"),
        ({"errors": [[2.0, 1.0]]}, "must rise"),
        ({"slopes": [1.0]}, "different numbers of outputs"),
        ({"rows": -1}, "calibration.rows must be"),
    ):
        with pytest.raises(InputError, match=answer):
            Calibration.from_dict({**known.to_dict(), **damage})


@pytest.mark.parametrize("options", [{}, {"readout": "mean"}, {"head": "linear"}, {"gpnn": False}])
def test_contributions_of_atoms_add_up(table: Samples, options: dict[str, object]) -> None:
    some = table.take(np.arange(len(table)) < 60)
    fitted = fit(some, {**TINY, **options}, TrainConfig(epochs=2, device="cpu"), ensemble=2)
    shares = atom_contributions(fitted.loaded, some)
    sums = np.add.reduceat(shares.values, shares.ptr[:-1])
    assert np.allclose(sums, shares.full - shares.empty, atol=1e-9)
    assert np.allclose(shares.full, fitted.loaded.predict(some)[:, 0].numpy(), atol=1e-4)
    one = explain(fitted.loaded, some, 7)
    assert math.isclose(one.full, shares.full[7], abs_tol=1e-9)
    assert math.isclose(one.empty, shares.empty[7], abs_tol=1e-9)


def test_contributions_are_the_limit_of_small_steps(table: Samples) -> None:
    """Integrated gradients of the head along the readout, summed in steps."""
    some = table.take(np.arange(len(table)) < 20)
    fitted = fit(some, TINY, TrainConfig(epochs=2, device="cpu"))
    member = fitted.loaded.members[0]
    model = member.model.double().eval()
    batch = member.prepare(some).batch().to("cpu", torch.float64)
    h = model.embed(batch).detach()
    total, steps = torch.zeros_like(h), 2000
    for k in range(steps):
        t = (k + 0.5) / steps
        at = (t * h).requires_grad_()
        scaled = replace(batch, components=batch.components.double() * t)
        total += torch.autograd.grad(model.head([at], scaled).sum(), at)[0] / steps
    slow = (total * h).sum(1)[batch.order.source.long()].numpy() * member.scale[0]
    fast = atom_contributions(fitted.loaded, some)
    owner = np.repeat(np.arange(20), np.diff(fast.ptr))
    whole = np.add.reduceat(slow, fast.ptr[:-1])
    # the counts of components are the rest, which is shared by the atoms of a part
    rest = (fast.full - fast.empty) - whole
    parts = np.array([len(np.unique(fast.parts_of(g))) for g in range(20)])
    single = parts[owner] == 1
    share = (rest / np.diff(fast.ptr))[owner]
    assert np.allclose(fast.values[single], (slow + share)[single], atol=2e-3)
    sums = np.add.reduceat(fast.values, fast.ptr[:-1])
    assert np.allclose(sums, whole + rest, atol=1e-9)


def test_a_calibrated_model_is_kept_and_read(table: Samples, tmp_path: Path) -> None:
    splits = calibration_splits(table, make_split(table, 0), 3)
    fitted = fit(table, TINY, TrainConfig(epochs=2, device="cpu"), splits, folder=tmp_path)
    assert "coverage" in fitted.metrics["test"] and len(fitted.members) == 3
    again = load_model(tmp_path)
    assert again.calibration == fitted.loaded.calibration
    assert torch.equal(again.predict(table), fitted.loaded.predict(table))
    save_model(tmp_path / "copy", again)
    resumed = fit(table, TINY, TrainConfig(epochs=2, device="cpu"), splits, folder=tmp_path)
    assert resumed.metrics == fitted.metrics and resumed.resumed == 2


def test_descriptors_reach_the_network(table: Samples, tmp_path: Path) -> None:
    texts = list(table.ids[:80])
    y = np.array([Chem.MolFromSmiles(text).GetNumAtoms() for text in texts], np.float64)
    model = GPNNRegressor(
        **TINY, epochs=3, device="cpu", random_state=0, descriptors=["rdkit"], ensemble=3,
        calibrate=True,
    ).fit(texts, y)  # fmt: skip
    ends = model.predict_interval(texts[:5], 0.8)
    found = model.predict(texts[:5])
    assert ends.shape == (5, 2) and np.allclose(ends.mean(1), found)
    model.save(tmp_path)
    again = GPNNRegressor.load(tmp_path)
    assert again.descriptors == ("rdkit",) and again.calibrate
    assert np.array_equal(again.predict(texts[:5]), found)
    one, other = (again.predict([texts[0], text])[0] for text in texts[1:3])
    assert math.isclose(one, other, rel_tol=1e-5), "a molecule is answered on its own"
    head = again.model_.model.head
    assert head.given is not None and head.given.weight.abs().sum() > 0
    with pytest.raises(InputError, match="Intervals need"):
        GPNNRegressor(**TINY, epochs=1, device="cpu").fit(texts, y).predict_interval(texts)


def test_weights_of_classes_are_inverse_to_their_counts(table: Samples) -> None:
    texts = list(table.ids[:60])
    y = ["rare" if k % 10 == 0 else "frequent" for k in range(60)]
    shares = []
    for weights in ("none", "balanced"):
        model = GPNNClassifier(
            **TINY, epochs=5, dropout=0.0, device="cpu", random_state=0, class_weights=weights
        ).fit(texts, y)
        shares.append(model.predict_proba(texts)[:, 1].mean())
    assert shares[1] > shares[0]
    with pytest.raises(InputError, match="class_weights cannot be 'much'"):
        GPNNClassifier(**TINY, class_weights="much").fit(texts, y)
    labels = torch.tensor([int(kind == "rare") for kind in y])
    encoder = replace(table.encoder, task=Task.CLASSIFICATION, class_names=("frequent", "rare"))
    some = replace(table.take(np.arange(len(table)) < 60), y=labels, encoder=encoder)
    one = Replica(np.arange(50), [], [])
    found = set_up(some, TINY, [one], balanced=True).class_weights(one)
    assert found is not None and found.tolist() == pytest.approx([50 / (2 * 45), 50 / (2 * 5)])
    with pytest.raises(InputError, match="class_weights need classes"):
        set_up(table, TINY, [one], balanced=True)
