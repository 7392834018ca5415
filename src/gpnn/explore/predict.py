"""The prediction of a trained model for a graph of the page, and the contribution of every part."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from ..graph.registry import get_scheme, install_scheme, mixed_schemes
from .request import MAX_EDGES, MAX_VERTICES, fields, read_graph, text

__all__ = ["Predictor"]

_CARD = ("node_labels", "edge_labels", "smiles")


class Predictor:
    """A loaded model folder; torch is imported only here in the explorer."""

    def __init__(self, folder: Path) -> None:
        from ..train.model_file import load_model

        self.name = folder.name
        self.loaded = load_model(folder)
        if self.loaded.encoder.task.node_level:
            raise InputError(f"{folder} predicts vertices; the explorer explains graphs.")
        scheme = self.loaded.config.structure.scheme
        if "+" in scheme or mixed_schemes(scheme):
            install_scheme(get_scheme(scheme))  # offered in addition to the others

    def about(self) -> dict[str, Any]:
        """Return what the page shows about the model before any prediction."""
        structure, encoder = self.loaded.config.structure, self.loaded.encoder
        return {
            "name": self.name,
            "scheme": structure.scheme,
            "interactions": structure.interactions,
            "gpnn": self.loaded.config.gpnn,
            "reads": encoder.kind,
            "task": str(encoder.task),
        }

    def predict(self, request: dict[str, Any]) -> dict[str, Any]:
        """Map ``{"graph", "output"}`` to the scores of all outputs and the explanation of one.

        The graph is ``{"n", "edges"}`` with ``smiles`` for a model of molecules, or
        ``node_labels`` and ``edge_labels`` (one per edge) for a model of labelled graphs.
        ``output`` names a class or target; the predicted class by default.
        """
        from ..train.explain import explain

        given = fields(request, "the request", needed=("graph",), known=("output",))
        wanted = given.get("output")
        wanted = None if wanted is None else text(wanted, "output")
        with warnings.catch_warnings(record=True) as noted:
            warnings.simplefilter("always", UserWarning)
            samples = self._samples(given["graph"])
            scores = self.loaded.predict(samples)[0].tolist()
            explanation = explain(self.loaded, samples, 0, wanted)
        encoder = self.loaded.encoder
        names = encoder.outputs
        return {
            "scores": [
                {"name": name, "score": score} for name, score in zip(names, scores, strict=True)
            ],
            "explanation": explanation.to_dict(),
            "notes": sorted({str(item.message) for item in noted}),
        }

    def _samples(self, document: Any) -> Any:
        from ..data.benchmark_readers import plain
        from ..data.raw import MOLECULE
        from ..data.samples import encode_samples

        encoder = self.loaded.encoder
        graph = read_graph(document, "the graph", also=_CARD)
        if encoder.kind == MOLECULE:
            raw = self._molecule(document, graph.num_nodes)
        else:
            raw = plain(_labelled(document, graph))
        return encode_samples(raw, like=encoder, labelled=False, source="the graph")

    def _molecule(self, document: dict[str, Any], n: int) -> Any:
        from ..data.table import read_molecules

        if "smiles" not in document:
            raise InputError(
                "The model reads molecules: type a SMILES. A drawn graph has no atoms and bonds."
            )
        raw = read_molecules([text(document["smiles"], "smiles", 2_000)])
        if raw.skipped:
            raise InputError(f"{raw.skipped[0].reason}.")
        if raw.graphs.num_nodes != n:
            raise InputError(
                f"The SMILES has {raw.graphs.num_nodes} atoms, the graph {n} vertices."
            )
        return raw


def _labelled(document: dict[str, Any], graph: Any) -> Any:
    """Return the graph with the labels in the request."""
    from ..graph.graphs import Graphs

    ends = np.array(document["edges"], np.int64).reshape(-1, 2)
    return Graphs.from_edges(
        ends[:, 0].copy(),
        ends[:, 1].copy(),
        graph.num_nodes,
        node_labels=_labels(document, "node_labels", graph.num_nodes, MAX_VERTICES),
        edge_labels=_labels(document, "edge_labels", len(ends), MAX_EDGES),
    )


def _labels(document: dict[str, Any], name: str, count: int, most: int) -> list[int] | None:
    listed = document.get(name)
    if listed is None:
        return None
    if not isinstance(listed, list) or len(listed) != count or len(listed) > most:
        raise InputError(f"{name} must be a list of {count} whole numbers.")
    if not all(type(value) is int and abs(value) < 2**31 for value in listed):
        raise InputError(f"{name} must be whole numbers below 2^31.")
    return listed
