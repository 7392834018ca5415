"""``gpnn explain``: the contribution of every part of a graph to a prediction."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError
from ._learn import Device, Model, Smiles, samples_of
from ._shared import Data, Json, Source, emit, notes, show, working

if TYPE_CHECKING:
    from rich.table import Table

    from ..data.samples import Samples
    from ..train.explain import Explanation

__all__ = ["DESCRIPTORS_APART", "explain", "explanation_table", "summary"]

DESCRIPTORS_APART = (
    "The model also reads descriptors of the whole molecule, which no atom or part shares. Train "
    "with --descriptors none to explain all of it."
)

ELEMENTS = (
    *("H", "He", "Li", "Be", "B", "C", "N", "O", "F", "Ne", "Na", "Mg", "Al", "Si", "P", "S"),
    *("Cl", "Ar", "K", "Ca", "Sc", "Ti", "V", "Cr", "Mn", "Fe", "Co", "Ni", "Cu", "Zn", "Ga"),
    *("Ge", "As", "Se", "Br", "Kr", "Rb", "Sr", "Y", "Zr", "Nb", "Mo", "Tc", "Ru", "Rh", "Pd"),
    *("Ag", "Cd", "In", "Sn", "Sb", "Te", "I", "Xe"),
)


def explain(
    model: Model,
    source: Source,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Picture to write: .png, .svg or .pdf.")
    ] = Path("explanation.png"),
    output: Annotated[
        str | None,
        typer.Option(
            "--class", "-c", help="Class or target to explain. Default: the predicted class."
        ),
    ] = None,
    graph: Annotated[
        int | None, typer.Option("--graph", "-g", help="Number of the graph to explain, from 0.")
    ] = None,
    row: Annotated[
        int | None,
        typer.Option("--row", "-r", help="Row to explain, numbered as by 'gpnn predict'."),
    ] = None,
    member: Annotated[
        int | None,
        typer.Option("--member", help="Network to explain, from 0. Default: the mean of all."),
    ] = None,
    smiles: Smiles = None,
    device: Device = "cpu",
    data: Data = None,
    json: Json = False,
) -> None:
    """Explain a prediction by the parts of the graph.

    The Shapley value of a part is computed exactly over all subsets of parts; the values sum to the
    logit minus the logit without any part.
    """
    from ..plots.explain import draw_explanation
    from ..plots.save import check_format, save
    from ..train.atoms import atom_contributions
    from ..train.device import pick_device
    from ..train.explain import explain as explained
    from ..train.explain import pick_graph
    from ..train.model_file import load_model

    check_format(out)
    loaded = load_model(model, pick_device(device))
    samples = samples_of(
        source, None, smiles, None, data, strict=False, like=loaded.encoder, labelled=False
    )
    number = _pick(samples, source, graph, row)
    several = len({one.vocabulary.digest for one in loaded.members}) > 1
    if member is None and several:
        member = 0
        notes().print("the networks know different parts of graphs: explaining the first "
                      "(--member chooses another)")  # fmt: skip
    if loaded.encoder.descriptors is not None:
        notes().print(DESCRIPTORS_APART)
    with working("trying all sets of parts …"):
        explanation = explained(loaded, samples, number, output, member)
        molecule = None
        if samples.from_smiles:
            own = loaded if member is None else replace(loaded, members=(loaded.members[member],))
            shares = atom_contributions(own, pick_graph(samples, number), explanation.output)
            molecule = samples.ids[number], shares.values
    name = source
    if len(samples.graphs) > 1:
        name = f"{source}, row {samples.rows[number] + 1} ({samples.ids[number]})"
        notes().print(f"explaining {name}")
    if json:
        atoms = {} if molecule is None else {"atoms": molecule[1].tolist()}
        emit({"model": str(model), "source": name, "out": str(out)} | explanation.to_dict() | atoms)
    else:
        show(explanation_table(explanation), *summary(explanation))
    names = vertex_names(samples, number)
    what = "class" if loaded.encoder.task.has_classes else "target"
    title = f"{name}: {what} {explanation.output}, {_score(explanation)}"
    save(draw_explanation(samples.graphs[number], explanation, title, names, molecule), out)
    notes().print(f"wrote {out}")


def _pick(samples: Samples, source: str, graph: int | None, row: int | None) -> int:
    """Return the index of the graph among those that could be read."""
    count = len(samples.graphs)
    if row is not None and graph is not None:
        raise InputError("Give either --row or --graph, not both.")
    if row is not None:
        rows = (samples.rows + 1).tolist()
        if row not in rows:
            raise InputError(f"Row {row} of '{source}' is not there or could not be read.")
        return rows.index(row)
    if graph is None and count != 1:
        raise InputError(
            f"'{source}' holds {count:,} graphs, and one is explained. Pick it with --row, "
            "numbered as 'gpnn predict' does, or with --graph, counted from 0 over readable ones."
        )
    return graph or 0


def explanation_table(found: Explanation) -> Table:
    """Return a table with one line per part."""
    from rich.table import Table
    from rich.text import Text

    table = Table()
    table.add_column(Text(f"part ({found.scheme})"))
    for heading in ("vertices", "components", "contribution", "share", "Shapley value"):
        table.add_column(heading, justify="right")
    for part in found.parts:
        table.add_row(
            Text(part.label),
            f"{part.vertices:,}",
            f"{part.components:,}",
            f"{part.norm:.3f}",
            f"{part.share:.1%}",
            f"{part.shapley:+.4f}",
        )
    return table


def summary(found: Explanation) -> list[Any]:
    """Return three rows that show how the values sum up, and the meaning of the columns."""
    from rich.table import Table
    from rich.text import Text

    total = sum(part.shapley for part in found.parts)
    sums = Table(show_header=False, box=None, pad_edge=False)
    sums.add_column()
    sums.add_column(justify="right")
    sums.add_row(Text(f"{found.kind} of {found.output} without any part"), f"{found.empty:+.4f}")
    sums.add_row("Shapley values of all parts together", f"{total:+.4f}")
    sums.add_row(Text(f"{found.kind} of {found.output}"), f"{found.full:+.4f}  ({_score(found)})")
    return [
        sums,
        "The Shapley value is what a part adds to the output. Contribution is the norm of the "
        "vector that\nit adds to the input of the head, share the projection of that vector onto "
        "the input.",
    ]


def _score(found: Explanation) -> str:
    if found.kind == "value":
        return f"value {found.score:.5g}"
    return f"probability {found.score:.4f}"


def vertex_names(samples: Samples, graph: int) -> list[str] | None:
    """Return the names of the vertices: elements, or labels as in the source."""
    from ..data.raw import LABELS, MOLECULE

    encoder = samples.encoder
    if encoder.kind not in (LABELS, MOLECULE) or samples.x is None:
        return None
    low, high = samples.graphs.ptr[graph : graph + 2].tolist()
    seen: dict[int, Any] = dict(enumerate(encoder.columns[0]))
    values = [seen.get(code) for code in samples.x[low:high, 0].tolist()]
    return [_name(value, encoder.kind == MOLECULE) for value in values]


def _name(value: int | None, element: bool) -> str:
    if value is None:
        return "?"
    return ELEMENTS[value] if element and value < len(ELEMENTS) else str(value)
