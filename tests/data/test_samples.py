from __future__ import annotations

import json
import warnings
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch

from gpnn.data.encoder import Encoder, UnseenLabels
from gpnn.data.raw import FEATURES
from gpnn.data.samples import Samples, encode_samples, load_samples
from gpnn.data.split import make_split
from gpnn.data.targets import class_names, column, infer_task
from gpnn.data.tasks import Task
from gpnn.errors import InputError
from gpnn.graph.readers import InputNote
from train.cycles import raw, samples

pytest.importorskip("rdkit")


def table(path: Path, header: str, *lines: str) -> str:
    path.write_text("\n".join((header, *lines)) + "\n")
    return str(path)


MOLECULES = ("CCO", "CCN", "c1ccccc1", "CC(=O)O", "CCCl", "C1CC1", "CCBr", "CN")


def test_csv_of_classes(tmp_path: Path) -> None:
    rows = [f"{k},{text},{'yes' if k % 2 else 'no'}" for k, text in enumerate(MOLECULES)]
    found = load_samples(table(tmp_path / "a.csv", "id,smiles,active", *rows))
    assert found.task is Task.CLASSIFICATION
    assert found.target_names == ("active",)
    assert found.counts() == {"no": 4, "yes": 4}
    assert found.y is not None
    assert found.y.tolist() == [0, 1] * 4
    assert found.ids == MOLECULES
    assert found.encoder.codes[0] == 5  # C, N, O, Cl, Br
    assert found.encoder.smiles == "smiles"


def test_csv_of_numbers_is_a_regression_and_of_bits_a_multitask(tmp_path: Path) -> None:
    rows = [f"{text};{k / 3};{k % 2};" for k, text in enumerate(MOLECULES)]
    path = table(tmp_path / "a.csv", "smiles;size;bit;empty", *rows)
    assert load_samples(path, target="size").task is Task.REGRESSION
    assert load_samples(path, target="bit").task is Task.CLASSIFICATION
    rows = [f"{text},{k % 2},{'' if k < 3 else 1 - k % 2}" for k, text in enumerate(MOLECULES)]
    found = load_samples(table(tmp_path / "b.csv", "mol,one,two", *rows))
    assert found.task is Task.MULTITASK
    assert found.target_names == ("one", "two")
    assert found.counts() == {"one": 8, "two": 5}
    with pytest.raises(InputError, match=r"several columns that could be the target: size, bit"):
        load_samples(path)


def test_a_split_column_that_is_not_understood_is_refused(tmp_path: Path) -> None:
    """Rows that are meant to be tested on must never be trained on in silence."""

    def write(parts: list[str]) -> str:
        rows = [f"{part},{smiles},{k % 2}" for k, (part, smiles) in enumerate(
            zip(parts, MOLECULES, strict=False))]  # fmt: skip
        return str(table(tmp_path / "s.csv", "Split,smiles,y", *rows))

    with pytest.raises(InputError, match=r"s.csv, line 4: the column 'Split' holds 'tset'"):
        load_samples(write(["train", "train", "tset", "test", "train", "valid"]))
    with pytest.raises(InputError, match=r"holds ''. It decides which rows train"):
        load_samples(write(["train", "", "test", "test", "train", "valid"]))
    with pytest.raises(InputError, match=r"leaves no row to train on"):
        load_samples(write(["test"] * 6))
    found = load_samples(write(["train"] * 5 + ["test"]))
    split = make_split(found)
    assert split.test.tolist() == [5] and len(split.valid) == 1
    assert sorted([*split.train, *split.valid]) == [0, 1, 2, 3, 4]
    assert split.how == "official, valid drawn from train"


def test_a_split_column_is_the_split(tmp_path: Path) -> None:
    parts = ["train"] * 6 + ["val", "test"]
    rows = [f"{part},{text},{k / 7}" for k, (part, text) in enumerate(zip(parts, MOLECULES))]  # noqa: B905
    found = load_samples(table(tmp_path / "a.csv", "split,smiles,y", *rows))
    assert found.split is not None
    assert {part: ids.tolist() for part, ids in found.split.items()} == {
        "train": [0, 1, 2, 3, 4, 5], "valid": [6], "test": [7],
    }  # fmt: skip


def test_bad_rows_are_skipped_with_a_count_or_refused(tmp_path: Path) -> None:
    lines = [f"{text},{k % 2}" for k, text in enumerate(MOLECULES)]
    lines[2], lines[5], lines[6] = "nonsense,1", "C1CC1,", "CCBr"
    path = table(tmp_path / "a.csv", "smiles,y", *lines)
    with pytest.warns(InputNote, match=r"3 of 8 rows of .* are skipped .row 3: 'nonsense' is not"):
        found = load_samples(path)
    assert found.rows.tolist() == [0, 1, 3, 4, 7]
    assert [(item.row, item.reason) for item in found.skipped] == [
        (2, "'nonsense' is not SMILES that RDKit can read"),
        (5, "no label in 'y'"),
        (6, "1 of 2 columns"),
    ]
    assert len(found.graphs) == len(found) == 5
    with pytest.raises(InputError, match=r"3 of 8 rows of .* cannot be used"):
        load_samples(path, strict=True)


def test_labels_nothing_can_be_learned_from(tmp_path: Path) -> None:
    def load(*words: str) -> Samples:
        lines = [f"{text},{word}" for text, word in zip(MOLECULES, words, strict=False)]
        return load_samples(table(tmp_path / "a.csv", "smiles,y", *lines))

    with pytest.raises(InputError, match=r"The class 'b' is seen once .c1ccccc1.: a class needs"):
        load("a", "a", "b", "a")
    with pytest.raises(InputError, match=r"only the class 'a'. There is nothing to distinguish"):
        load("a", "a", "a")
    with pytest.raises(InputError, match=r"All values of the target are 0.5"):
        load("0.5", "0.5", "0.5")
    with pytest.raises(InputError, match=r"holds 1 labelled graph: too few"):
        load("a")
    with pytest.warns(InputNote), pytest.raises(InputError, match=r"holds 1 labelled graph"):
        load("a", "")
    with pytest.raises(InputError, match=r"No row of .* can be used"):
        load("", "")
    with pytest.raises(InputError, match=r"the target 'y' holds text, such as 'a'"):
        load_samples(table(tmp_path / "b.csv", "smiles,y", "CC,a", "CO,b"), task="regression")


def test_columns_that_are_not_there(tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", "smiles,y", "CC,1", "CO,0")
    with pytest.raises(InputError, match=r"has no column 'z' to learn or check; its columns are"):
        load_samples(path, target="z")
    with pytest.raises(InputError, match=r"has no column 'w'; its columns are smiles, y"):
        load_samples(path, smiles="w")
    with pytest.raises(InputError, match=r"two columns named 'y'. Rename one"):
        load_samples(table(tmp_path / "b.csv", "smiles,y,y", "CC,1,2"))
    with pytest.raises(InputError, match=r"has no column of SMILES; its columns are a, b"):
        load_samples(table(tmp_path / "c.csv", "a,b", "hello,1", "you,2"))
    with pytest.raises(
        InputError, match=r"'nowhere' is no file or folder, no dataset, .*There is no d"
    ):
        load_samples("nowhere")


def test_tasks_are_told_by_labels() -> None:
    assert infer_task({"y": column(["a", "b"])}) is Task.CLASSIFICATION
    assert infer_task({"y": column(["1", "2", "NA"] * 20)}) is Task.CLASSIFICATION
    assert infer_task({"y": column([str(k) for k in range(30)])}) is Task.REGRESSION
    assert infer_task({"y": column(["0.5", "1"])}) is Task.REGRESSION
    assert class_names(column(["10", "9", "", "9"])) == ("9", "10")
    assert infer_task({"a": column(["1.5"]), "b": column(["x"])}) is Task.MIXED
    assert infer_task({"a": column(["1.5"]), "b": column(["0"])}) is Task.MIXED
    assert infer_task({"a": column(["1.5"]), "b": column(["2.5"])}) is Task.REGRESSION


def test_mutag_is_read_with_its_labels() -> None:
    found = load_samples("MUTAG")
    assert (len(found), found.encoder.codes, len(found.encoder.edges)) == (188, (7,), 4)
    assert found.counts() == {"-1": 63, "1": 125}
    one = load_samples("MUTAG:5", like=found.encoder)
    low, high = found.graphs.ptr[5], found.graphs.ptr[6]
    assert found.x is not None and one.x is not None and one.y is not None and found.y is not None
    assert torch.equal(one.x, found.x[low:high])
    assert one.y.tolist() == found.y[5:6].tolist()
    assert one.ids == ("5",)
    with pytest.raises(InputError, match=r"MUTAG has no graph '188' of its own"):
        load_samples("MUTAG:188")


def test_folder_of_graphs_by_subfolder_and_by_list(tmp_path: Path) -> None:
    for name, graphs in (
        ("ring", [nx.cycle_graph(5), nx.cycle_graph(6)]),
        ("path", [nx.path_graph(4)]),
    ):
        (tmp_path / name).mkdir()
        lines = b"".join(nx.to_graph6_bytes(graph, header=False) for graph in graphs)
        (tmp_path / name / "some.g6").write_bytes(lines)
    nx.write_edgelist(nx.path_graph(3), tmp_path / "path" / "three.edges", data=False)
    found = load_samples(str(tmp_path))
    assert found.class_names == ("path", "ring")
    assert found.ids == ("path/some.g6", "path/three.edges", "ring/some.g6:0", "ring/some.g6:1")
    assert found.encoder.kind == "degree"
    (tmp_path / "labels.csv").write_text(
        "file,label\nring/some.g6,0.5\npath/three.edges,0.7\ngone.g6,1\n"
    )
    with pytest.warns(InputNote, match=r"1 of 4 rows .* There is no file or folder"):
        found = load_samples(str(tmp_path))
    assert found.task is Task.REGRESSION
    assert found.y is not None
    assert found.y[:, 0].tolist() == pytest.approx([0.5, 0.5, 0.7])


def test_folders_without_labels(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no graph files, TU collection"):
        load_samples(str(tmp_path))
    nx.write_edgelist(nx.path_graph(3), tmp_path / "three.edges", data=False)
    with pytest.raises(InputError, match=r"has no labels to learn from"):
        load_samples(str(tmp_path))
    like = encode_samples(raw(node_level=False)).encoder
    with pytest.raises(InputError, match=r"The model reads graphs with integer vertex labels, and"):
        load_samples(str(tmp_path), like=like, labelled=False)


def test_encoder_reads_unseen_graphs_in_the_same_way() -> None:
    whole = samples()
    encoder = Encoder.from_dict(json.loads(json.dumps(whole.encoder.to_dict())))
    assert encoder == whole.encoder
    again = encode_samples(raw(), like=encoder)
    assert again.x is not None and whole.x is not None
    assert torch.equal(again.x, whole.x)
    assert again.digest() == whole.digest()
    assert encoder.codes == (3,)
    strange = raw(2)
    nodes = strange.nodes.copy()
    nodes[0, 0], nodes[3, 0] = -7, 99
    with pytest.warns(UnseenLabels, match=r"2 of .* vertices and 0 edges have labels"):
        found = encode_samples(raw(2, nodes=nodes), like=encoder)
    assert found.x is not None
    assert found.x[[0, 3], 0].tolist() == [3, 3]


def test_no_warning_where_nothing_is_unseen() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encode_samples(raw(), like=samples().encoder)


def test_features_of_another_width_or_with_nan() -> None:
    floats = np.ones((raw().graphs.num_nodes, 2))
    encoder = samples(nodes=floats, kind=FEATURES).encoder
    assert encoder.features == 2
    wide = np.ones((len(floats), 3))
    with pytest.raises(
        InputError, match=r"trained with 2 features per vertex, and the source has 3"
    ):
        encode_samples(raw(nodes=wide, kind=FEATURES), like=encoder)
    floats[4, 1] = np.nan
    with pytest.raises(InputError, match=r"vertex features of the input hold NaN"):
        samples(nodes=floats, kind=FEATURES)


def test_a_class_the_model_does_not_know() -> None:
    encoder = samples().encoder
    other = raw(targets={"chord": np.array([0.0, 2.0, 1.0, 1.0] * 6)})
    with pytest.warns(InputNote, match=r"6 of 24 rows .* class '2' is not in the model"):
        found = encode_samples(other, like=encoder)
    assert len(found) == 18


def test_an_encoder_of_a_newer_version() -> None:
    content = samples().encoder.to_dict() | {"magic": 1}
    with pytest.raises(InputError, match=r"encoder.magic is unknown to this version"):
        Encoder.from_dict(content)
    with pytest.raises(InputError, match=r"encoder.kind is missing"):
        Encoder.from_dict({"task": "regression"})


@pytest.mark.data
def test_benchmarks(data_dir: Path) -> None:
    sizes = {
        "IMDB-BINARY": (1000, Task.CLASSIFICATION, "degree"),
        "ZINC12k": (12000, Task.REGRESSION, "labels"),
        "ogbg-moltox21": (7831, Task.MULTITASK, "molecule"),
        "Cora": (2708, Task.NODE_CLASSIFICATION, "features"),
        "Texas": (183, Task.NODE_CLASSIFICATION, "features"),
    }
    for name, (count, task, kind) in sizes.items():
        found = load_samples(name, data=data_dir)
        assert (len(found), found.task, found.encoder.kind) == (count, task, kind), name
    tox = load_samples("ogbg-moltox21", data=data_dir)
    assert tox.split is not None
    assert [len(ids) for ids in tox.split.values()] == [6264, 783, 784]
    assert tox.target_names[0] == "NR-AR"


@pytest.mark.data
@pytest.mark.filterwarnings("ignore::gpnn.graph.readers.InputNote")
def test_smiles_and_ogb_files_give_the_same_features(data_dir: Path) -> None:
    from gpnn.data.datasets import find

    marker = find("ogbg-moltox21", data_dir)
    files = load_samples("ogbg-moltox21", data=data_dir)
    texts = load_samples(str(marker.parents[1] / "mapping" / "mol.csv.gz"), like=files.encoder)
    assert texts.target_names == files.target_names
    assert files.x is not None and texts.x is not None
    rows = np.isin(np.arange(len(files.graphs)), texts.rows)
    same = files.x[torch.from_numpy(np.repeat(rows, np.diff(files.graphs.ptr)))]
    assert same.shape == texts.x.shape
    assert int((same != texts.x).any(1).sum()) <= 20  # atoms that versions of RDKit see differently
