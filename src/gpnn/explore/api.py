"""Which function answers which path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from ..graph.registry import SchemeFamily
from ..graph.schemes import PAPER_SCHEMES, list_schemes
from .analyse import analyse
from .gallery import gallery
from .parse import parse
from .positions import place
from .predict import Predictor
from .request import MAX_D, MAX_EDGES, MAX_PAIRWISE, MAX_VERTICES, METHODS

__all__ = ["Api", "schemes"]

Answer = dict[str, Any]


@dataclass(frozen=True)
class Api:
    """The functions of one server.

    Attributes:
        start: the graphs that the page opens with (see :func:`~gpnn.explore.graph_json.card`), at
            most two.
        predictor: the model, if one was given.
    """

    start: Sequence[Answer] = ()
    predictor: Predictor | None = None
    get: dict[str, Callable[[], Answer]] = field(init=False)
    post: dict[str, Callable[[Any], Answer]] = field(init=False)

    def __post_init__(self) -> None:
        questions: dict[str, Callable[[], Answer]] = {
            "/api/start": self.about,
            "/api/gallery": gallery,
            "/api/schemes": schemes,
        }
        tasks: dict[str, Callable[[Any], Answer]] = {
            "/api/analyse": analyse,
            "/api/parse": parse,
            "/api/place": place,
        }
        if self.predictor is not None:
            tasks["/api/predict"] = self.predictor.predict
        object.__setattr__(self, "get", questions)
        object.__setattr__(self, "post", tasks)

    def about(self) -> Answer:
        """Return what the page needs at the start."""
        return {
            "graphs": list(self.start),
            "methods": [{"name": name, "title": title} for name, title in METHODS.items()],
            "model": None if self.predictor is None else self.predictor.about(),
            "smiles": find_spec("rdkit") is not None,
            "limits": {
                "vertices": MAX_VERTICES, "edges": MAX_EDGES, "pairwise": MAX_PAIRWISE, "d": MAX_D,
            },
        }  # fmt: skip


def schemes() -> Answer:
    """Return every scheme that a selector can offer; of a family, the common members."""
    rows = []
    for entry in list_schemes():
        names = [entry.name]
        if isinstance(entry, SchemeFamily):
            hole = entry.name.split("-")[1]
            names = [entry.name.replace(f"-{hole}", f"-{number}") for number in (1, 2, 3)]
        rows += [
            {
                "name": name,
                "definition": entry.definition,
                "cost": entry.cost,
                "power": entry.power,
                "in_paper": name in PAPER_SCHEMES,
            }
            for name in names
        ]
    return {"schemes": rows}
