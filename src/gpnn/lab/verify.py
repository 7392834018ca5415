"""Checks the claims on the domains and reports the results as rows or as a page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from typing import Any

from ..errors import InputError
from .claims import CLAIMS, Claim, Outcome
from .domain import Domain
from .suites import load_suite

__all__ = ["DOMAINS", "select_claims", "to_markdown", "verify"]

DOMAINS = ("atlas", "graph8c", "sr", "brec", "csl", "exp")


def select_claims(names: Sequence[str] | None) -> list[Claim]:
    """The claims with these names, or all."""
    known = {claim.name: claim for claim in CLAIMS}
    for name in names or ():
        if name not in known:
            raise InputError(f"There is no claim '{name}'. Choose one of: {', '.join(known)}.")
    return [known[name] for name in names or known]


def verify(
    domains: Sequence[str],
    claims: Sequence[Claim],
    data: str | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Check every claim on every domain: ``{"rows": […], "holds": …}``.

    A row is one claim on one domain with all its cases; ``holds`` is false if any case has a
    counterexample, and null if no case applies or no example was found.
    """
    rows = []
    for name in domains:
        progress(f"reading {name}")
        suite = load_suite(name, data)
        domain = Domain(name, suite.graphs)
        for claim in claims:
            progress(f"{name}: {claim.name}")
            rows.append(_row(claim, domain, list(claim.check(domain))))
    return {"rows": rows, "holds": all(row["holds"] is not False for row in rows)}


def _row(claim: Claim, domain: Domain, outcomes: list[Outcome]) -> dict[str, Any]:
    failed = [outcome for outcome in outcomes if outcome.holds is False]
    decided = [outcome for outcome in outcomes if outcome.holds is not None]
    return {
        "claim": claim.name,
        "source": claim.source,
        "statement": claim.statement,
        "domain": domain.name,
        "graphs": len(domain.graphs),
        "pairs": domain.pairs,
        "cases": len(outcomes),
        "failed": len(failed),
        "holds": False if failed else True if decided else None,
        "undecided": [outcome.case for outcome in outcomes if outcome.holds is None],
        "examples": [
            {
                "case": outcome.case,
                "holds": outcome.holds,
                "left": outcome.example.left,
                "right": outcome.example.right,
                "detail": outcome.example.detail,
            }
            for outcome in outcomes
            if outcome.example is not None
        ],
    }


def verdict(row: dict[str, Any]) -> str:
    """The outcome of a row in words."""
    if row["holds"] is None:
        return "no case here"
    if not row["holds"]:
        return f"FAILS in {row['failed']} of {row['cases']} cases"
    missing = len(row["undecided"])
    return f"holds ({row['cases'] - missing} of {row['cases']} cases)" if missing else "holds"


def to_markdown(result: dict[str, Any], command: str) -> str:
    """The whole report as a Markdown page, with the command that creates it."""
    lines = [
        "# The paper's claims, checked",
        "",
        f"Made by `{command}` on {date.today().isoformat()}. Every claim is checked on all pairs",
        "of graphs of a domain; examples are graph6.",
        "",
        "| claim | domain | pairs | cases | verdict |",
        "|---|---|---:|---:|---|",
    ]
    lines += [
        f"| {row['claim']} | {row['domain']} | {row['pairs']:,} | {row['cases']} | {verdict(row)} |"
        for row in result["rows"]
    ]
    for name in dict.fromkeys(row["claim"] for row in result["rows"]):
        rows = [row for row in result["rows"] if row["claim"] == name]
        lines += ["", f"## {name}", "", f"{rows[0]['source']}: {rows[0]['statement']}"]
        for row in rows:
            lines += ["", f"**{row['domain']}**: {verdict(row)}."]
            if row["undecided"]:
                lines.append(f"No example for {', '.join(row['undecided'])}.")
            if row["examples"]:
                lines.append("")
            for example in row["examples"][:SHOWN]:
                kind = "counterexample" if example["holds"] is False else "example"
                lines.append(
                    f"- {example['case']}, {kind}: `{example['left']}` and `{example['right']}` "
                    f"({example['detail']})"
                )
            if len(row["examples"]) > SHOWN:
                lines.append(f"- … and {len(row['examples']) - SHOWN} more (`--json` has all)")
    return "\n".join(lines) + "\n"


SHOWN = 8
