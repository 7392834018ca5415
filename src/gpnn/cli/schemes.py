"""``gpnn schemes``: the partitioning schemes."""

from __future__ import annotations

from ._shared import Json, emit, show, styled

__all__ = ["schemes"]


def schemes(json: Json = False) -> None:
    """List the partitioning schemes: definition, cost, and power relative to 1-WL."""
    from ..graph.schemes import PAPER_SCHEMES, list_schemes

    found = list_schemes()
    if json:
        rows = [
            {
                "scheme": scheme.name,
                "definition": scheme.definition,
                "cost": scheme.cost,
                "power": scheme.power,
                "in_paper": scheme.name in PAPER_SCHEMES,
            }
            for scheme in found
        ]
        emit({"schemes": rows})
        return
    from rich.table import Table

    table = Table("scheme", "colour of a vertex", "cost", "against 1-WL", show_lines=True)
    for scheme in found:
        table.add_row(styled(scheme.name, "bold"), scheme.definition, scheme.cost, scheme.power)
    show(table, "Put a number for k or r (wl-3, ego-2). Join schemes with '+': core+triangle.")
