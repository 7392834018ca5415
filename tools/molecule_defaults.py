"""Measure settings of ``gpnn train`` on tables that are not in docs/howto/molecules.md.

    python tools/molecule_defaults.py [--splits 1] [--out settings.jsonl] [SETTING …]

The tables are samples of 600 molecules of ogbg-moltox21, ogbg-moltoxcast (its ten targets with
the most labels, a tenth to a half of them active), ogbg-molhiv (a fifth active) and ZINC-12k, from
their archives in $GPNN_DATA, split 60/10/30. Two networks are trained for every setting, table
and split. The mean metric of single networks and the metric of both together are printed: MAE for
ZINC and ROC-AUC for the others. Runs in ``--out`` are not repeated.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
import os
import random
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import torch

from gpnn.data.samples import load_samples
from gpnn.data.split import make_split
from gpnn.train.fit import fit
from gpnn.train.train_config import TrainConfig

ROWS, NETWORKS, EPOCHS = 600, 2, 45
HOPS: dict[str, Any] = {"d": 3, "distances": True}
SETTINGS: dict[str, tuple[dict[str, Any], dict[str, Any], tuple[str, ...]]] = {
    "base": ({"gpnn": False}, {}, ()),
    "neighbours": ({}, {}, ()),
    "hops": (HOPS, {}, ()),
    "hops cosine": (HOPS, {"cosine": True}, ()),
    "hops rdkit": (HOPS, {}, ("rdkit",)),
    "hops rdkit cosine": (HOPS, {"cosine": True}, ("rdkit",)),
    "base rdkit cosine": ({"gpnn": False}, {"cosine": True}, ("rdkit",)),
    "inside rdkit cosine": ({**HOPS, "join": "inside"}, {"cosine": True}, ("rdkit",)),
    "neighbours rdkit cosine": ({}, {"cosine": True}, ("rdkit",)),
    "hops rdkit cosine narrow": ({**HOPS, "hidden": 32}, {"cosine": True}, ("rdkit",)),
}
"""Setting → fields of the network, fields of the training, and descriptors."""


def tables() -> Iterator[tuple[str, list[list[str]]]]:
    """Yield the name and the rows of every table, with the header first."""
    rng, folder = random.Random(0), Path(os.environ["GPNN_DATA"])
    for name in ("moltox21", "moltoxcast", "molhiv"):
        with ZipFile(folder / "OGB" / f"ogbg_{name}.zip") as archive:
            packed = archive.read(f"ogbg_{name}/mapping/mol.csv.gz")
        head, *rows = csv.reader(io.StringIO(gzip.decompress(packed).decode()))
        chosen = [k for k, word in enumerate(head) if word not in ("smiles", "mol_id")]
        if name == "moltoxcast":
            chosen = _frequent(rows, chosen)
        picked = rng.sample(rows, ROWS)
        if name == "molhiv":
            active = [row for row in rows if float(row[chosen[0]]) == 1]
            rest = [row for row in rows if float(row[chosen[0]]) == 0]
            picked = rng.sample(active, ROWS // 5) + rng.sample(rest, ROWS - ROWS // 5)
        chosen = [head.index("smiles"), *chosen]
        yield name, [["" if row[k] == "nan" else row[k] for k in chosen] for row in (head, *picked)]
    with ZipFile(folder / "ZINC" / "ZINC12k.zip") as archive:
        text = archive.read("ZINC12k/smiles.csv").decode()
    head, *rows = csv.reader(io.StringIO(text))
    yield "zinc", [["smiles", "y"], *(row[1:3] for row in rng.sample(rows, ROWS))]


def _frequent(rows: list[list[str]], columns: list[int]) -> list[int]:
    """Return the ten targets with the most labels among those with a tenth to a half active."""
    labels = {k: [row[k] for row in rows if row[k] not in ("", "nan")] for k in columns}
    fair = [k for k, own in labels.items()
            if len(own) > 2_000 and 0.1 < sum(map(float, own)) / len(own) < 0.5]  # fmt: skip
    return sorted(fair, key=lambda k: -len(labels[k]))[:10]


def measure(path: Path, setting: str, seed: int) -> dict[str, float]:
    """Return the mean metric of single networks and the metric of all together on the test part."""
    model, train, descriptors = SETTINGS[setting]
    samples = load_samples(str(path), descriptors=descriptors)
    split = make_split(samples, seed, valid=0.1, test=0.3)
    train = {"epochs": EPOCHS, "patience": EPOCHS, "device": "cpu", "seed": seed, **train}
    started = time.process_time()
    fitted = fit(
        samples, model, TrainConfig.sized(len(split.train), **train), split, ensemble=NETWORKS
    )
    metric = "mae" if path.stem == "zinc" else "roc_auc"
    return {
        "one": float(np.mean([own["test"][metric] for own in fitted.members])),
        "all": fitted.metrics["test"][metric],
        "best_epoch": float(np.mean(fitted.best_epochs)),
        "cpu_seconds": time.process_time() - started,
    }


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("settings", nargs="*", metavar="SETTING", default=list(SETTINGS))
    words.add_argument("--splits", type=int, default=1)
    words.add_argument("--out", type=Path, default=Path("settings.jsonl"))
    words.add_argument("--only", nargs="*", help="tables")
    asked = words.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    kept = asked.out.read_text().splitlines() if asked.out.exists() else []
    runs = {tuple(run["key"]): run for run in map(json.loads, kept)}
    with tempfile.TemporaryDirectory() as folder:
        made = dict(tables())
        for name, rows in made.items():
            with (Path(folder) / f"{name}.csv").open("w", newline="") as file:
                csv.writer(file).writerows(rows)
        for setting in asked.settings:
            for name in asked.only or made:
                for seed in range(asked.splits):
                    key = (setting, name, seed)
                    if key not in runs:
                        found = measure(Path(folder) / f"{name}.csv", setting, seed)
                        runs[key] = {"key": key, **found}
                        with asked.out.open("a") as file:
                            file.write(json.dumps(runs[key]) + "\n")
    print("| setting | " + " | ".join(made) + " |\n|---|" + "---|" * len(made))
    for setting in asked.settings:
        cells = []
        for name in made:
            own = [run for (s, n, _), run in runs.items() if (s, n) == (setting, name)]
            both = [f"{np.mean([run[k] for run in own]):.3f}" for k in ("one", "all")]
            cells.append(" / ".join(both) if own else "–")
        print(f"| {setting} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
