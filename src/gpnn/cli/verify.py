"""``gpnn verify``: check the paper's claims."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ._shared import Data, Json, command_line, emit, notes, show, styled

__all__ = ["verify"]


def verify(
    claim: Annotated[
        list[str] | None, typer.Option("--claim", "-c", help="Only this claim; may be repeated.")
    ] = None,
    on: Annotated[
        list[str] | None,
        typer.Option(
            "--on", help="Domain: atlas, graph8c, sr, brec, csl, exp or all; may be repeated."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Also write the report as Markdown.")
    ] = None,
    data: Data = None,
    json: Json = False,
) -> None:
    """Check every proposition, theorem and lemma of the paper on all pairs of graphs of a domain
    (default: all graphs with up to 7 vertices)."""
    from ..errors import InputError
    from ..files import write_text
    from ..lab.verify import DOMAINS, select_claims, to_markdown
    from ..lab.verify import verify as run

    domains = list(DOMAINS) if on and "all" in on else on or ["atlas"]
    for name in domains:
        if name not in DOMAINS:
            raise InputError(
                f"There is no domain '{name}'. Choose one of: {', '.join(DOMAINS)}, all."
            )
    claims = select_claims(claim)
    console = notes()
    with console.status("verifying …") as status:
        result = run(domains, claims, data, lambda text: status.update(styled(text, "")))
    if out is not None:
        write_text(out, to_markdown(result, command_line("--out", "-o", "--data")))
        console.print(f"wrote {out}")
    if json:
        emit(result)
    else:
        _show(result)


def _show(result: dict[str, Any]) -> None:
    from rich.table import Table

    from ..lab.verify import verdict

    table = Table("claim", "domain", "pairs", "cases", "verdict", title_justify="left")
    styles = {True: "green", False: "bold red", None: "yellow"}
    for row in result["rows"]:
        word = styled(verdict(row), styles[row["holds"]])
        table.add_row(row["claim"], row["domain"], f"{row['pairs']:,}", str(row["cases"]), word)
    show(table)
    if any(row["holds"] is False for row in result["rows"]):
        show("FAILS: a claim of the paper has counterexamples here; gpnn works as it should. The "
             "page 'expressivity' of the documentation discusses every such claim.")  # fmt: skip
    for row in result["rows"]:
        wrong = [example for example in row["examples"] if example["holds"] is False]
        if wrong:
            first = wrong[0]
            show(
                f"{row['claim']} on {row['domain']}: {row['statement']}\n"
                f"  counterexample ({first['case']}): {first['left']} and {first['right']}: "
                f"{first['detail']}"
            )
