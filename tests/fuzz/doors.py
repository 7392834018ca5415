"""The doors through which input comes, each with a generator and an oracle.

A door makes a case from a random generator and a folder of its own, and gives back a function that
enters: it must return, or raise ``InputError`` (or ``TypeError`` where Python calls it that). What
it returns is compared with an independent implementation. Anything else is a defect.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import itertools
import json
import math
import re
import sys
import warnings
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from random import Random
from typing import Any

import networkx as nx
import numpy as np
import scipy.sparse

from fuzz.mutate import array, bytes_, number, rarely, text, tree, value
from gpnn.errors import InputError
from gpnn.graph.convert import as_graphs
from gpnn.graph.graphs import Graphs
from gpnn.graph.partition import partition
from gpnn.graph.readers import read_graphs

__all__ = ["DOORS", "Enter"]

Enter = Callable[[], None]
Door = Callable[[Random, Path], Enter]
DOORS: dict[str, Door] = {}


def door(make: Door) -> Door:
    DOORS[make.__name__] = make
    return make


# What graphs must be, and what they are compared with.


def simple(edges: Sequence[tuple[Any, Any]], n: int) -> nx.Graph:
    """A plain graph, by networkx."""
    graph = nx.Graph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from((u, v) for u, v in edges if u != v)
    return graph


def same(found: Graphs, expected: nx.Graph | None) -> None:
    """The graph is sound, and the one expected, with the parts that networkx gives it."""
    assert (np.diff(found.ptr) >= 0).all() and found.ptr[-1] == found.num_nodes
    assert len(found.indices) == 0 or (
        found.indices.min() >= 0 and found.indices.max() < found.num_nodes
    )
    rows = found.rows
    assert (rows != found.indices).all(), "a self-loop"
    for labels, count in ((found.node_labels, found.num_nodes), (found.edge_labels, len(rows))):
        assert labels is None or len(labels) == count
    assert (found.graph_of[rows] == found.graph_of[found.indices]).all()
    if expected is None or found.num_nodes > 5_000:
        return
    assert found.num_nodes == expected.number_of_nodes()
    wanted = sorted(tuple(sorted(edge)) for edge in expected.edges())
    assert [tuple(edge) for edge in found.edges().T.tolist()] == wanted
    core = nx.core_number(expected)
    assert partition(found, "core").colours[:, 0].tolist() == [core[v] for v in range(len(core))]


def random_edges(rng: Random, n: int, most: int = 12) -> list[tuple[int, int]]:
    return [(rng.randrange(n), rng.randrange(n)) for _ in range(rng.randint(0, most))] if n else []


# Files of graphs.


@door
def graph6(rng: Random, folder: Path) -> Enter:
    n = rng.choice((0, 1, 3, 7, 20, 63, 70))
    graph = simple(random_edges(rng, n), n)
    write = nx.to_sparse6_bytes if rarely(rng, 0.4) else nx.to_graph6_bytes
    raw, changed = write(graph, header=rarely(rng)), rarely(rng, 0.75)
    if changed:
        raw = bytes_(rng, raw)
    path = folder / "a.g6"
    path.write_bytes(raw)

    def enter() -> None:
        try:
            found = read_graphs(path)
        except InputError:
            assert changed
            raise
        same(found, None if changed else graph)
        lines = [line.strip() for line in raw.split(b"\n") if line.strip()]
        if changed and len(lines) == 1 and len(found) == 1:
            bare = re.sub(rb"\A>>(graph6|sparse6)<<", b"", lines[0])
            read = nx.from_sparse6_bytes if bare.startswith(b":") else nx.from_graph6_bytes
            other = read(bare)
            same(found, simple([edge[:2] for edge in other.edges()], len(other)))

    return enter


@door
def edge_list(rng: Random, folder: Path) -> Enter:
    names = rng.choice(
        ([str(k) for k in range(9)], list("abcdefg"), ["10", "2", "007", "x y", "é"])
    )
    comma = rng.choice((" ", ",", "\t", ", "))
    lines = [
        comma.join(rng.choices(names, k=rng.choice((2, 2, 2, 1, 3))))
        for _ in range(rng.randint(0, 9))
    ]
    if rarely(rng):
        lines.insert(0, rng.choice(("source,target", "# note", "u v", "graph,from,to", "a,b")))
    raw = "\n".join(lines).encode() + b"\n" * rng.randint(0, 2)
    if rarely(rng, 0.6):
        raw = bytes_(rng, raw)
    path = folder / rng.choice(("a.edges", "a.csv", "a.txt"))
    path.write_bytes(raw)
    plain = re.fullmatch(rb"(\d{1,9}[ \t]\d{1,9}\n)+", raw)

    def enter() -> None:
        found = read_graphs(path)
        expected = None
        if plain and len(found) == 1:
            pairs = [tuple(map(int, line.split())) for line in raw.decode().splitlines()]
            order = {name: k for k, name in enumerate(sorted({v for pair in pairs for v in pair}))}
            expected = simple([(order[u], order[v]) for u, v in pairs], len(order))
        same(found, expected)

    return enter


@door
def graphml(rng: Random, folder: Path) -> Enter:
    graph = simple(random_edges(rng, 7), 7)
    if rarely(rng, 0.3):
        graph = graph.to_directed()
    raw = "\n".join(nx.generate_graphml(graph)).encode()
    changed = rarely(rng, 0.8)
    if changed:
        raw = bytes_(rng, raw, 2)
    if rarely(rng, 0.1):
        raw = (
            b'<?xml version="1.0" encoding="'
            + rng.choice((b"koi9", b"utf-7", b"cp500"))
            + b'"?>'
            + raw
        )
    path = folder / "a.graphml"
    path.write_bytes(raw)

    def enter() -> None:
        found = read_graphs(path)
        same(found, None if changed else nx.Graph(graph))
        if not changed or len(found) != 1:
            return
        try:
            other = nx.Graph(nx.parse_graphml(raw.decode()))
        except Exception:
            return  # networkx reads attributes too, and is stricter with them
        assert found.num_nodes == other.number_of_nodes()
        other.remove_edges_from(list(nx.selfloop_edges(other)))
        assert found.num_edges == other.number_of_edges()

    return enter


@door
def npz(rng: Random, folder: Path) -> Enter:
    n = rng.randint(1, 8)
    path = folder / "a.npz"
    if rarely(rng, 0.3):
        kind = rng.choice(("csr", "csc", "coo", "dia", "bsr"))
        matrix = scipy.sparse.random_array((n, n), density=0.3, rng=rng.getrandbits(31)).asformat(
            kind
        )
        scipy.sparse.save_npz(path, matrix)
        arrays = dict(np.load(path))
    else:
        arrays = {"edge_index": array(rng, (2, rng.randint(0, 9)), n)}
        if rarely(rng, 0.6):
            arrays[rng.choice(("num_nodes", "x_shape", "x", "y"))] = rng.choice(
                (n, [n, 3], number(rng))
            )
    if rarely(rng, 0.3):
        arrays[rng.choice([*arrays, "shape"])] = array(rng, rng.choice(((), (2,), (3, 3))), 5)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            np.savez_compressed(path, **arrays)
    except (ValueError, OverflowError, TypeError):
        path.write_bytes(b"")
    if rarely(rng, 0.4):
        path.write_bytes(bytes_(rng, path.read_bytes(), 2))

    def enter() -> None:
        found = read_graphs(path)
        same(found, None)
        with contextlib.suppress(ValueError), np.load(path) as file:
            if "edge_index" in file and file["edge_index"].shape == (
                2,
                file["edge_index"].shape[-1],
            ):
                edges = [tuple(map(int, pair)) for pair in file["edge_index"].T.tolist()]
                same(found, simple(edges, found.num_nodes))

    return enter


@door
def smiles(rng: Random, _: Path) -> Enter:
    from rdkit import Chem, rdBase

    words = ["C", "CC", "c1ccccc1", "C[NH3+]", "[nH]1cccc1", "C1CC1.O", "CC(=O)O", "F/C=C/F"]
    made = rng.choice(words)
    if rarely(rng, 0.7):
        made = bytes_(rng, made.encode(), 3).decode(errors="replace")

    def enter() -> None:
        from gpnn.data.sources import resolve

        found = resolve(f"smiles:{made}")
        with rdBase.BlockLogs():
            atoms = Chem.MolFromSmiles(made)
        same(
            found,
            simple(
                [(b.GetBeginAtomIdx(), b.GetEndAtomIdx()) for b in atoms.GetBonds()],
                atoms.GetNumAtoms(),
            ),
        )

    return enter


@door
def table(rng: Random, folder: Path) -> Enter:
    words = ["C", "CC", "CCO", "c1ccccc1", "C[NH3+]", "CC(=O)O", "N", "C1CC1", "x)", ""]
    labels = rng.choice(
        (
            ["0", "1"],
            ["yes", "no"],
            ["1.5", "-2", "3e2", "7"],
            ["9007199254740992", "9007199254740993"],
        )
    )
    head = ["smiles", rng.choice(("target", "y", "a"))] + (["split"] if rarely(rng) else [])
    rows = [
        [
            rng.choice(words),
            rng.choice(labels),
            *([rng.choice(("train", "val", "test"))] if len(head) > 2 else []),
        ]
        for _ in range(rng.randint(0, 14))
    ]
    comma = rng.choice((",", ";", "\t"))
    raw = "\n".join(comma.join(row) for row in [head, *rows]).encode() + b"\n"
    if rarely(rng, 0.7):
        raw = bytes_(rng, raw, 3)
    path = folder / "a.csv"
    path.write_bytes(raw)

    def enter() -> None:
        from gpnn.data.samples import load_samples

        found = load_samples(str(path))
        try:
            decoded = raw.decode("utf-8-sig")
        except UnicodeDecodeError:
            decoded = raw.decode("latin-1")
        first = decoded.lstrip("\r\n").split("\n", 1)[0]
        mark = max(("\t", ";", ","), key=first.count)
        full = list(csv.reader(io.StringIO(decoded), delimiter=mark))
        start = next(k for k, row in enumerate(full) if row)
        names = [name.strip() for name in full[start]]
        at = names.index(found.target_names[0])
        assert found.y is not None
        for row, id_, y in zip(found.rows.tolist(), found.ids, found.y.tolist(), strict=True):
            cells = [cell.strip() for cell in full[start + 1 + row]]
            assert id_ in cells and not any(cells[len(names) :]), (id_, cells)
            if len(found.target_names) == 1:
                told = found.class_names[y] if found.task.has_classes else y[0]
                if isinstance(told, str):
                    assert told == cells[at] or float(told) == float(cells[at])
                else:
                    assert math.isclose(told, np.float32(float(cells[at])), rel_tol=1e-6)

    return enter


@door
def molecule_files(rng: Random, folder: Path) -> Enter:
    """SDF and gzipped tables. Unharmed, their rows are those that were written; harmed, no row has
    a target that was not."""
    words = [rng.choice(("C", "CCO", "c1ccccc1", "C[NH3+]", "C1CC1")) for _ in range(12)]
    values = [f"{rng.randint(-99, 99)}.5" for _ in words]
    kind = rng.choice((".sdf", ".sdf.gz", ".csv.gz"))
    if kind == ".csv.gz":
        raw = "\n".join(["smiles,y", *map(",".join, zip(words, values, strict=True))]).encode()
    else:
        raw = _sdf(words, values)
    harmed = rarely(rng, 0.7)
    if harmed and rarely(rng, 0.7):
        raw = bytes_(rng, raw, 3)
    packed = gzip.compress(raw, mtime=0) if kind.endswith(".gz") else raw
    if harmed and rarely(rng, 0.3):
        packed = bytes_(rng, packed, 2)
    path = folder / f"a{kind}"
    path.write_bytes(packed)
    whole = not harmed

    def enter() -> None:
        from rdkit import Chem

        from gpnn.data.samples import load_samples

        found = load_samples(str(path), "y", task="regression")
        assert found.y is not None
        if whole:
            assert len(found) == len(words)
            for name, word in zip(found.ids, words, strict=True):
                assert Chem.CanonSmiles(name) == Chem.CanonSmiles(word)
            assert found.y[:, 0].tolist() == [float(one) for one in values]
        else:
            text_ = raw.decode("latin-1").replace(",", ".")
            for y in found.y[:, 0].tolist():
                assert re.search(re.escape(f"{abs(y):g}"), text_) or not math.isclose(y % 1, 0.5)

    return enter


def _sdf(words: Sequence[str], values: Sequence[str]) -> bytes:
    from rdkit import Chem

    out = io.StringIO()
    writer = Chem.SDWriter(out)
    for word, told in zip(words, values, strict=True):
        molecule = Chem.MolFromSmiles(word)
        molecule.SetProp("y", told)
        writer.write(molecule)
    writer.close()
    return out.getvalue().encode()


def tu_files(rng: Random) -> tuple[dict[str, str], list[nx.Graph]]:
    graphs, owner, lines = [], [], []
    first = 1
    for g in range(rng.randint(1, 4)):
        n = rng.randint(1, 5)
        edges = [edge for edge in random_edges(rng, n, 6) if edge[0] != edge[1]]
        graphs.append(simple(edges, n))
        lines += [f"{first + u}, {first + v}" for u, v in edges]
        owner += [str(g + 1)] * n
        first += n
    files = {"A": "\n".join(lines), "graph_indicator": "\n".join(owner)}
    files["graph_labels"] = "\n".join(str(rng.choice((1, -1, 0))) for _ in graphs)
    if rarely(rng, 0.5):
        files["node_labels"] = "\n".join(str(rng.randint(0, 3)) for _ in owner)
    if rarely(rng, 0.3):
        files["node_attributes"] = "\n".join(f"{rng.random()}, {rng.random()}" for _ in owner)
    if rarely(rng, 0.3):
        files["graph_attributes"] = "\n".join(f"{rng.random()}" for _ in graphs)
    return files, graphs


@door
def tu(rng: Random, folder: Path) -> Enter:
    files, graphs = tu_files(rng)
    changed = rng.choice([*files, None, None])
    for name, content in files.items():
        raw = content.encode() + b"\n"
        (folder / f"X_{name}.txt").write_bytes(bytes_(rng, raw, 2) if name == changed else raw)

    def enter() -> None:
        found = read_graphs(folder)
        same(found, None)
        if changed is None:
            for one, expected in zip(found, graphs, strict=True):
                same(one, expected)
        from gpnn.data.benchmark_readers import read_tu_folder

        raw = read_tu_folder(folder, regression=rarely(rng))
        assert len(raw.nodes) == found.num_nodes
        assert all(len(values) == len(found) for values in raw.targets.values())

    return enter


@door
def ogb(rng: Random, folder: Path) -> Enter:
    sizes = [rng.randint(1, 4) for _ in range(rng.randint(1, 3))]
    edges = [[edge for edge in random_edges(rng, n, 3) if edge[0] < edge[1]] for n in sizes]
    bonds = [edge for one in edges for edge in dict.fromkeys(one)]
    edges = [list(dict.fromkeys(one)) for one in edges]
    files = {
        "num-node-list": [[n] for n in sizes],
        "num-edge-list": [[len(one)] for one in edges],
        "edge": bonds,
        "edge-feat": [[rng.randint(0, 3), 0, 1] for _ in bonds],
        "node-feat": [[rng.randint(0, 5)] * 9 for _ in range(sum(sizes))],
        "graph-label": [[rng.randint(0, 1)] for _ in sizes],
    }
    changed = rng.choice([*files, None])
    (folder / "raw").mkdir()
    for name, rows in files.items():
        raw = "".join(",".join(map(str, row)) + "\n" for row in rows).encode()
        raw = bytes_(rng, raw, 2) if name == changed else raw
        packed = gzip.compress(raw, mtime=0)
        if name == changed and rarely(rng, 0.3):
            packed = bytes_(rng, packed)
        (folder / "raw" / f"{name}.csv.gz").write_bytes(packed)

    def enter() -> None:
        from gpnn.data.benchmark_readers import read_ogb_folder

        raw = read_ogb_folder(folder)
        same(raw.graphs, None)
        if changed is None:
            for one, own, n in zip(raw.graphs, edges, sizes, strict=True):
                same(one, simple(own, n))

    return enter


@door
def graphsat(rng: Random, folder: Path) -> Enter:
    graphs = [
        simple(random_edges(rng, n), n)
        for n in (rng.randint(1, 5) for _ in range(rng.randint(0, 3)))
    ]
    lines = [str(len(graphs))]
    for graph in graphs:
        lines.append(f"{len(graph)} 1")
        lines += [f"0 {graph.degree(v)} {' '.join(map(str, graph[v]))}".strip() for v in graph]
    raw, changed = "\n".join(lines).encode(), rarely(rng, 0.7)
    if changed:
        raw = bytes_(rng, raw, 2)
    path = folder / "GRAPHSAT.txt"
    path.write_bytes(raw)

    def enter() -> None:
        from gpnn.graph.readers.graphsat import read_graphsat

        found, labels = read_graphsat(path)
        same(found, None)
        assert len(labels) == len(found)
        if not changed:
            for one, expected in zip(found, graphs, strict=True):
                same(one, expected)

    return enter


@door
def archive(rng: Random, folder: Path) -> Enter:
    files, _ = tu_files(rng)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as pack, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, content in files.items():
            pack.writestr(f"X/X_{name}.txt", content)
        if rarely(rng, 0.3):
            pack.writestr(
                rng.choice(("../evil", "/evil", "X/../../evil", "a\\..\\..\\evil", "C:/evil")), "x"
            )
        if rarely(rng, 0.1):
            pack.writestr("X/zeros", bytes(100_000_000))
    raw = buffer.getvalue()
    if rarely(rng, 0.5):
        raw = bytes_(rng, raw, 2)
    path = folder / "a.zip"
    path.write_bytes(raw)

    def enter() -> None:
        try:
            same(read_graphs(path), None)
        finally:
            assert not (folder / "evil").exists() and not (folder.parent / "evil").exists()

    return enter


# Objects of Python.


def odd_graph(rng: Random) -> tuple[Any, nx.Graph | None]:
    n = rng.randint(1, 7)
    edges = random_edges(rng, n)
    plain = simple(edges, n)
    match rng.randrange(7):
        case 0:
            made = rng.choice((nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph))()
            made.add_nodes_from(range(n))
            made.add_edges_from(edges)
            for v in made:
                if rarely(rng, 0.4):
                    made.nodes[v]["label"] = value(rng)
            return made, plain
        case 1:
            names = dict(
                zip(
                    range(n),
                    rng.sample([*"abcdefg", 1.5, (1, 2), -3, "\x1b", "$x$"], n),
                    strict=True,
                )
            )
            return nx.relabel_nodes(plain, names), plain
        case 2:
            matrix = np.zeros((n, n), rng.choice(("i4", "f8", ">f8", "?", "c16", "O")))
            for u, v in edges:
                matrix[u, v] = 1
            try:
                return scipy.sparse.csr_array(matrix), plain
            except (ValueError, TypeError):
                return None, None
        case 3:
            return scipy.sparse.coo_array((rng.choice((n, 2**31, 10**12)), n)), None
        case 4:
            made = array(rng, (2, len(edges)), n)
            return made, None
        case 5:
            return [[u for u, _ in edges], [v for _, v in edges]], simple(
                edges, max(itertools.chain(*edges), default=-1) + 1
            )
        case _:
            return value(rng), None


@door
def objects(rng: Random, _: Path) -> Enter:
    made, expected = odd_graph(rng)
    several = rarely(rng, 0.2)
    source = [made, made] if several else made
    n = rng.choice((None, None, None, number(rng)))

    def enter() -> None:
        found = as_graphs(source, n)
        same(found, expected if not several and n is None else None)
        if isinstance(made, np.ndarray) and made.ndim == 2 and len(made) == 2 and not several:
            same(
                found, simple([tuple(map(int, pair)) for pair in made.T.tolist()], found.num_nodes)
            )

    return enter


def odd_data(rng: Random) -> tuple[Any, nx.Graph | None]:
    """A ``Data`` that is sound or not, and its graph where it is."""
    import torch
    from torch_geometric.data import Data

    n = rng.randint(1, 6)
    edges = random_edges(rng, n, 8)
    both = [*edges, *((v, u) for u, v in edges)]
    index: Any = torch.tensor(both, dtype=torch.long).reshape(-1, 2).T
    rows = n if rarely(rng, 0.85) else rng.randint(0, 7)
    content: dict[str, Any] = {"edge_index": index, "num_nodes": n}
    if rarely(rng, 0.6):
        content["x"] = torch.rand(rows, 2) if rarely(rng, 0.5) else torch.randint(0, 3, (rows, 1))
    if rarely(rng, 0.4):
        length = len(both) if rarely(rng, 0.85) else rng.randint(0, 20)
        content["edge_attr"] = torch.ones(length, rng.choice((1, 2)))
    if rarely(rng, 0.7):
        content["y"] = rng.choice(
            (torch.tensor([rng.randint(0, 1)]), torch.rand(1, 2), 3, "a", torch.rand(n))
        )
    sound = rows == n and ("edge_attr" not in content or len(content["edge_attr"]) == len(both))
    if rarely(rng, 0.5):
        name = rng.choice([*content, "batch", "ptr", "edge_weight", "x", "part_colour"])
        content[name] = rng.choice((
            lambda: value(rng), lambda: array(rng, (rows,), n),
            lambda: array(rng, (2, len(both)), n),
            lambda: torch.empty(2, 3, device="meta"), lambda: torch.rand(2, 3).to(torch.bfloat16),
            lambda: torch.zeros(3, 3).to_sparse(), lambda: torch.tensor([0, 0, 2**40]),
            lambda: torch.rand(n, 2, dtype=torch.complex64), lambda: [0] * n, lambda: None,
            lambda: torch.full((n, 1), 1e39, dtype=torch.float64),
        ))()  # fmt: skip
        sound = False
    return Data(**content), simple(edges, n) if sound else None


@door
def pyg_graphs(rng: Random, _: Path) -> Enter:
    from torch_geometric.data import Batch

    made = [odd_data(rng) for _ in range(rng.randint(1, 3))]
    source: Any = [data for data, _ in made]
    if rarely(rng, 0.3):
        with contextlib.suppress(Exception):
            source = Batch.from_data_list(source)
    elif rarely(rng, 0.3):
        source, made = source[0], made[:1]

    def enter() -> None:
        found = as_graphs(source)
        same(found, None)
        if all(expected is not None for _, expected in made):
            for one, (_, expected) in zip(found, made, strict=True):
                same(one, expected)

    return enter


@door
def pyg_network(rng: Random, _: Path) -> Enter:
    made = [odd_data(rng) for _ in range(rng.randint(1, 3))]

    def enter() -> None:
        from gpnn.nn.prepare import prepare

        ready = prepare([data for data, _ in made])
        same(ready.graphs, None)
        for g, (data, expected) in enumerate(made):
            if expected is not None:
                same(ready.graphs[g], expected)
                low, high = ready.graphs.ptr[g : g + 2].tolist()
                if data.x is not None and ready.x is not None and data.x.is_floating_point():
                    assert np.allclose(ready.x[low:high].numpy(), data.x.numpy())

    return enter


@door
def estimator(rng: Random, _: Path) -> Enter:
    pick = rng.choice((odd_data, odd_graph))
    made = [pick(rng) for _ in range(rng.randint(1, 4))]
    graphs: Any = [one for one, _ in made]
    if rarely(rng, 0.15):
        graphs = rng.choice(
            (value(rng), [text(rng) for _ in range(3)], graphs[0], np.array(["C", "CC"]))
        )
    y = rng.choice((
        lambda: [rng.choice((0, 1)) for _ in made], lambda: [value(rng) for _ in made],
        lambda: array(rng, (len(made),), 3), lambda: array(rng, (len(made), 2), 3),
        lambda: value(rng),
    ))()  # fmt: skip

    def enter() -> None:
        from gpnn.data.objects import read_inputs, read_labelled, read_labels
        from gpnn.data.samples import encode_samples

        raw = read_inputs(graphs)
        same(raw.graphs, None)
        assert len(raw.nodes) == raw.graphs.num_nodes
        for one, (_, expected) in zip(raw.graphs, made, strict=False):
            if expected is not None and isinstance(graphs, list) and len(graphs) == len(made):
                same(one, expected)
        with contextlib.suppress(InputError):
            read_labels(y, len(raw.graphs))
        with contextlib.suppress(InputError):
            encode_samples(read_labelled((graphs, y)))

    return enter


# Texts that people type, and requests of the explorer.


@door
def source_text(rng: Random, _: Path) -> Enter:
    start = rng.choice(("", "", "g6:", "smiles:", "MUTAG:", "file:", "~", "/"))
    typed = start + text(rng)

    def enter() -> None:
        from gpnn.data.sources import resolve

        same(resolve(typed), None)

    return enter


@door
def planted_source(rng: Random, _: Path) -> Enter:
    """Against networkx: three edges leave the ring in class 1 of ``core``, and one in class 0."""
    family = rng.choice(("core", "core", "degree", "triangle", "none", text(rng)))
    count = rng.choice((4, 5, 9, text(rng), number(rng)))
    count = 6 if isinstance(count, int) and count > 50 else count
    more = rng.choice(("", f",graphs={count}", f",seed={number(rng)}", f",{text(rng)}"))
    typed = f"planted:{family},graphs=4{more}" if rarely(rng, 0.5) else f"planted:{family}{more}"

    def enter() -> None:
        from gpnn.data.generated import read_generated

        raw = read_generated(typed)
        classes = raw.targets["class"]
        assert len(raw.graphs) == len(classes) and abs(2 * classes.sum() - len(classes)) <= 1
        if typed.startswith("planted:core"):
            graph = nx.Graph(list(zip(*(e.tolist() for e in raw.graphs[0].edges()), strict=True)))
            core = nx.core_number(graph)
            cut = sum(core[u] != core[v] for u, v in graph.edges)
            assert cut == (3 if classes[0] else 1)

    return enter


@door
def counts_source(rng: Random, _: Path) -> Enter:
    """Against networkx: triangles, and cycles as long as the pattern says."""
    pattern = rng.choice(("triangle", "4-cycle", "5-cycle", "tailed-triangle", text(rng)))
    more = rng.choice(("", f",seed={number(rng)}", f",graphs={text(rng)}", f":{number(rng)}"))
    typed = f"counts:{pattern},graphs=4{more}"

    def enter() -> None:
        from gpnn.data.counted import SCALE
        from gpnn.data.generated import read_generated

        raw = read_generated(typed)
        assert len(raw.graphs) == len(raw.targets[pattern])
        length = {"triangle": 3, "4-cycle": 4, "5-cycle": 5}.get(pattern)
        if length is not None:
            graph = nx.Graph(list(zip(*(e.tolist() for e in raw.graphs[0].edges()), strict=True)))
            cycles = nx.simple_cycles(graph, length_bound=length)
            count = sum(len(cycle) == length for cycle in cycles)
            assert abs(raw.targets[pattern][0] * SCALE[pattern] - count) < 1e-9

    return enter


@door
def learned_scheme(rng: Random, _: Path) -> Enter:
    """The content of a model file, against the formula row by row."""
    from gpnn.graph.learned import LearnedScheme, profile

    shapes = ((6,), (6,), (6, 3), (3,), (3, 2), (2,))
    names = ("shift", "scale", "first", "first_bias", "second", "second_bias")
    draw = np.random.default_rng(rng.randrange(2**32))
    drawn = {name: draw.normal(size=shape) for name, shape in zip(names, shapes, strict=True)}
    drawn["scale"] = np.abs(drawn["scale"]) + 0.1
    content: Any = {name: value.tolist() for name, value in drawn.items()}
    changed = tree(rng, content) if rarely(rng, 0.8) else content
    n = rng.randint(1, 6)
    graph = simple(random_edges(rng, n), n)

    def enter() -> None:
        with np.errstate(all="ignore"):
            found = LearnedScheme.from_dict(changed)
            graphs = as_graphs(graph)
            parts = found(graphs)
            assert len(parts) == n and ((parts >= 0) & (parts < found.parts)).all()
            if changed == content:
                for row, part in zip(profile(graphs), parts, strict=True):
                    x = (np.log(1.0 + row) - drawn["shift"]) / drawn["scale"]
                    hidden = np.maximum(0, x @ drawn["first"] + drawn["first_bias"])
                    scores = hidden @ drawn["second"] + drawn["second_bias"]
                    assert scores[part] >= scores.max() - 1e-9

    return enter


@door
def scheme_name(rng: Random, _: Path) -> Enter:
    names = ("core", "degree", "wl-2", "ego-1", "learned-3", text(rng))
    typed = rng.choice(
        (text(rng), "+".join(rng.choices(names, k=3)), "mix:" + ",".join(rng.choices(names, k=2)))
    )

    def enter() -> None:
        found = partition([[0, 1, 2], [1, 2, 0]], typed)
        assert found.num_parts >= 1 and len(set(found.part.tolist())) == found.num_parts

    return enter


@door
def options(rng: Random, _: Path) -> Enter:
    from gpnn.graph.structure import Structure
    from gpnn.nn.config import GPNNConfig
    from gpnn.reproduce.recipe import Recipe
    from gpnn.train.train_config import TrainConfig

    kind, base = rng.choice((
        (Structure, {}), (GPNNConfig, {"outputs": 2, "parts": 3}), (TrainConfig, {}),
        (Recipe, {"name": "a", "dataset": "MUTAG"}),
    ))  # fmt: skip
    names = [field.name for field in fields(kind) if field.name not in ("structure", "nested")]
    given = {**base, **{rng.choice(names): value(rng) for _ in range(rng.randint(1, 2))}}

    def enter() -> None:
        kind(**given)

    return enter


@door
def explorer(rng: Random, _: Path) -> Enter:
    from gpnn.explore.api import Api

    n = rng.randint(1, 6)
    graph = {"n": n, "edges": [list(edge) for edge in random_edges(rng, n)]}
    documents: dict[str, Any] = {
        "/api/analyse": {
            "graphs": [graph], "scheme": "core", "interactions": "edges", "d": 1,
            "methods": ["1-wl"],
        },
        "/api/place": {"graph": graph},
        "/api/parse": {
            "kind": rng.choice(("edges", "graph6", "smiles", "file")),
            "name": rng.choice(("a.g6", "a.edges", text(rng))),
            "text": rng.choice(("0 1\n1 2", "DqK", "C[nH]", text(rng))), "index": 0,
        },
    }  # fmt: skip
    path = rng.choice(list(documents))
    document = tree(rng, documents[path]) if rarely(rng, 0.9) else documents[path]

    def enter() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = Api().post[path](document)
        json.dumps(answer, allow_nan=False)

    return enter


# Files that we wrote.


def model(folder: Path) -> tuple[bytes, bytes, Any]:
    """A small model: its two files, and its answer for two graphs; made once in a process."""
    if not _MODEL:
        import torch

        from gpnn import GPNNClassifier

        graphs = [nx.cycle_graph(k) for k in range(3, 9)] + [nx.path_graph(k) for k in range(2, 8)]
        made = GPNNClassifier(epochs=2, hidden=4, layers=2, random_state=0, ensemble=2)
        torch.set_num_threads(1)
        made.fit(graphs, ["ring"] * 6 + ["path"] * 6)
        made.save(folder)
        files = [(folder / name).read_bytes() for name in ("model.json", "model.safetensors")]
        _MODEL.extend([*files, made.predict_proba(graphs[:2])])
        for name in ("model.json", "model.safetensors"):
            (folder / name).unlink()
    return _MODEL[0], _MODEL[1], _MODEL[2]


_MODEL: list[Any] = []


@door
def model_files(rng: Random, folder: Path) -> Enter:
    card, weights, answer = model(folder)
    signed = rarely(rng, 0.5)
    if rarely(rng, 0.25):
        weights = bytes_(rng, weights, 2)
    elif rarely(rng, 0.3):
        card = bytes_(rng, card, 2)
    else:
        content = json.loads(card)
        content = {"members": content["members"], "encoder": content["encoder"]}
        content = json.loads(card) | tree(rng, content)
        if signed:  # somebody who edits the file on purpose
            content.pop("sha256")
        try:
            card = json.dumps(content).encode()
        except (ValueError, TypeError):
            card = b""
    (folder / "model.json").write_bytes(card)
    (folder / "model.safetensors").write_bytes(weights)

    def enter() -> None:
        from gpnn import GPNNClassifier
        from gpnn.cli._shared import scheme_rule

        found = GPNNClassifier.load(folder).predict_proba([nx.cycle_graph(3), nx.cycle_graph(4)])
        assert partition([[0, 1], [1, 2]], scheme_rule(str(folder))).num_parts >= 1
        if b'"sha256"' in card:
            assert np.array_equal(found, answer)
        assert len(found) == 2 and np.isfinite(found).all()

    return enter


@door
def checkpoint(rng: Random, folder: Path) -> Enter:
    import torch

    from gpnn.train.checkpoint import CHECKPOINT, Checkpoint

    state = {"a": torch.rand(3, 2), "b": torch.arange(4), "c": torch.zeros(0)}
    run = {"seed": 0, "model": {"hidden": 4}}
    Checkpoint(folder, run).keep(state, 3, 1.5)
    path = folder / CHECKPOINT
    path.write_bytes(bytes_(rng, path.read_bytes(), 2))

    def enter() -> None:
        there = {name: torch.zeros_like(tensor) for name, tensor in state.items()}
        try:
            epochs, seconds = Checkpoint(folder, run).restore(there)
        except InputError:
            assert all(not tensor.any() for tensor in there.values()), "restored by halves"
            raise
        assert (epochs, seconds) == (3, 1.5)
        assert all(torch.equal(there[name], state[name]) for name in state)

    return enter


@door
def records(rng: Random, folder: Path) -> Enter:
    from gpnn.reproduce.runs import Runs
    from gpnn.train.search_log import LOG, TrialLog

    values = [{"fold": 0, "seed": 1, "value": 0.5}]
    one = {"key": "a:tu-1", "mean": 0.5, "std": 0.1, "values": values, "seconds": 1.0}
    one |= {"protocol": "tu-1", "recipe": {}, "quick": False}
    trial = {"number": 1, "rung": 1, "epochs": 2, "values": {"lr": 0.1}, "value": 0.5, "std": None,
             "epoch": 1, "parameters": 9, "seconds": 0.1, "reason": ""}  # fmt: skip
    log = rarely(rng, 0.5)
    rows: list[Any] = (
        [{"search": {"a": 1}}, trial, trial | {"number": 2}] if log else [one, one | {"key": "b"}]
    )
    lines = [json.dumps(tree(rng, row) if rarely(rng, 0.4) else row).encode() for row in rows]
    raw = b"\n".join(lines) + b"\n"
    if rarely(rng, 0.5):
        raw = bytes_(rng, raw, 2)
    (folder / (LOG if log else "runs.jsonl")).write_bytes(raw)

    def enter() -> None:
        if log:
            for found in TrialLog(folder, {"a": 1}).trials:
                assert found.number >= 1 and isinstance(found.reason, str)
            return
        runs = Runs(folder)
        for key, record in runs.read().items():
            assert key == record["key"]
            assert "mean" not in record or all(v["value"] <= 1e308 for v in record["values"])
        runs.append({**one, "key": "new"})
        assert "new" in runs.read()

    return enter


@door
def recipe(rng: Random, folder: Path) -> Enter:
    from gpnn.reproduce.recipe import load_recipe, read_recipe

    raw = load_recipe(rng.choice(("MUTAG", "Cora", "ZINC-edge-features"))).to_toml().encode()
    if rarely(rng, 0.1):
        raw = b"lr = " + b"[" * 5000
    path = folder / "a.toml"
    path.write_bytes(bytes_(rng, raw, 2))

    def enter() -> None:
        read_recipe(path).schedule()

    return enter


@door
def cache(rng: Random, folder: Path) -> Enter:
    from gpnn.array_files import read_arrays, write_arrays

    arrays = {"a": np.arange(12).reshape(3, 4), "b": np.array([0.5, np.nan]), "c": np.array("text")}
    path = folder / "a.npz"
    write_arrays(path, arrays, packed=rarely(rng, 0.5))
    raw = path.read_bytes()
    if rarely(rng, 0.9):
        path.write_bytes(bytes_(rng, raw, 2))

    def enter() -> None:
        found = read_arrays(path)
        for name in found:
            if name in arrays:
                assert np.array_equal(found[name], arrays[name], equal_nan=name == "b")

    return enter


@door
def node_file(rng: Random, folder: Path) -> Enter:
    from gpnn.data.node_file import read_node_file
    from gpnn.data.samples import encode_samples

    n = rng.randint(1, 8)
    path = folder / "a.npz"
    count = rng.randint(0, 9)
    edges = [[rng.randrange(n) for _ in range(count)] for _ in range(2)]
    arrays: dict[str, Any] = {
        "edge_index": np.array(edges, np.int64),
        "num_nodes": np.array(n),
        "y": np.array([rng.randint(-1, 2) for _ in range(n)]),
    }
    if rarely(rng, 0.5):
        part = np.array([rng.randrange(3) for _ in range(n)])
        masks = ("train_mask", "val_mask", "test_mask")
        arrays |= {name: part == k for k, name in enumerate(masks)}
    odd = (("edge_index", (2, 5)), ("y", (n,)), ("x", (n, 2)), ("train_mask", (n,)),
           ("val_mask", (n,)), ("test_mask", (n,)), ("num_nodes", ()))  # fmt: skip
    for name, shape in odd:
        if rarely(rng, 0.1):
            arrays[name] = array(rng, shape, n)
    if rarely(rng, 0.2):
        arrays[rng.choice([*arrays])] = array(rng, rng.choice(((), (2,), (3, 3))), 5)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            np.savez_compressed(path, **arrays)
    except (ValueError, OverflowError, TypeError):
        path.write_bytes(b"")

    def enter() -> None:
        raw = read_node_file(path)
        simple_, y = raw.graphs, np.load(path)["y"].reshape(-1)
        known = ~np.isnan(raw.targets["y"])
        assert len(y) == simple_.num_nodes == len(raw.nodes)
        assert (raw.targets["y"][known] == y[known]).all() and (y[~known] < 0).all()
        encode_samples(raw)

    return enter


# The command line.


@door
def command_line(rng: Random, folder: Path) -> Enter:
    (folder / "a.edges").write_text("0 1\n1 2\n2 0\n$\\x$ =1\n")
    (folder / "[b]$.g6").write_text("DqK\n")
    sources = [
        str(folder / "a.edges"),
        str(folder / "[b]$.g6"),
        "MUTAG:2",
        "smiles:c1cc[nH]c1",
        text(rng),
        text(rng),
    ]
    schemes = ["core", "degree", "triangle", text(rng)]
    words = [rng.choice(("partition", "partition", "stats", "schemes", text(rng)[:20]))]
    if words[0] in ("partition", "stats"):
        words += [rng.choice(sources), "--scheme", rng.choice(schemes)]
        if words[0] == "partition" and rarely(rng, 0.5):
            words += [
                "--out",
                rng.choice(
                    (str(folder / "o.csv"), str(folder / "o.npz"), str(folder), text(rng) + ".csv")
                ),
            ]
    if rarely(rng, 0.3):
        words.append("--json")
    words = [word.replace("\0", "") for word in words]  # an argument cannot hold one

    def enter() -> None:
        from gpnn.cli import main

        out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
        before = sys.argv, sys.stdout, sys.stderr, Path.cwd(), warnings.showwarning
        import os

        try:
            os.chdir(folder)
            sys.argv, sys.stdout, sys.stderr = ["gpnn", *words], out, err
            with warnings.catch_warnings():
                try:
                    main()
                    code = 0
                except SystemExit as end:
                    code = end.code if isinstance(end.code, int) else int(end.code is not None)
        finally:
            sys.argv, sys.stdout, sys.stderr, _, warnings.showwarning = before
            os.chdir(before[3])
        err.flush()
        told = err.buffer.getvalue().decode()
        assert code in (0, 2), (code, told)
        assert "Traceback" not in told and "\x1b" not in told and len(told) < 10_000, told
        assert not [p for p in folder.iterdir() if p.name.startswith(".writing-")]

    return enter
