"""Write the SBOM of an environment as CycloneDX 1.6 in JSON: ``python tools/sbom.py FILE``.

All direct and indirect dependencies of ``gpnn`` are listed with version, licence and their own
dependencies, from the metadata of the installed packages.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

EXTRAS = ("mol",)
"""Extras of gpnn whose dependencies are included."""


def normal(name: str) -> str:
    """Normalise a name as package indexes do."""
    return re.sub(r"[-_.]+", "-", name).lower()


def needed(found: metadata.Distribution, extras: tuple[str, ...]) -> list[str]:
    """Return the names of the dependencies of a package, without those of other extras and
    systems."""
    from packaging.requirements import Requirement

    names = []
    for line in found.requires or ():
        one = Requirement(line)
        wanted = (
            [one.marker.evaluate({"extra": extra}) for extra in ("", *extras)]
            if one.marker
            else [True]
        )
        if any(wanted):
            names.append(normal(one.name))
    return sorted(set(names))


def component(found: metadata.Distribution) -> dict[str, Any]:
    """Describe one package."""
    name = normal(found.metadata["Name"])
    row: dict[str, Any] = {
        "type": "library",
        "bom-ref": f"pkg:pypi/{name}@{found.version}",
        "name": name,
        "version": found.version,
        "purl": f"pkg:pypi/{name}@{found.version}",
    }
    about = found.metadata
    expression = about.get("License-Expression")
    if expression:
        row["licenses"] = [{"expression": expression}]
    elif about.get("License") and len(about["License"]) < 100:
        row["licenses"] = [{"license": {"name": about["License"].strip()}}]
    record = found.read_text("RECORD")
    if record:
        digest = hashlib.sha256(record.encode()).hexdigest()
        row["properties"] = [{"name": "gpnn:sha256-of-RECORD", "value": digest}]
    return row


def bill() -> dict[str, Any]:
    """Return the SBOM of gpnn and all its dependencies."""
    root = metadata.distribution("gpnn")
    queue, seen, edges = ["gpnn"], dict[str, metadata.Distribution](), dict[str, list[str]]()
    while queue:
        name = queue.pop()
        if name in seen:
            continue
        try:
            seen[name] = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue  # not installed here
        edges[name] = needed(seen[name], EXTRAS if name == "gpnn" else ())
        queue += edges[name]
    rows = {name: component(found) for name, found in sorted(seen.items())}
    main = rows.pop("gpnn") | {"type": "application", "version": root.version}
    references = {name: row["bom-ref"] for name, row in {**rows, "gpnn": main}.items()}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": main},
        "components": list(rows.values()),
        "dependencies": [
            {
                "ref": references[name],
                "dependsOn": sorted(references[n] for n in edges[name] if n in references),
            }
            for name in sorted(seen)
        ],
    }


if __name__ == "__main__":
    content = bill()
    Path(sys.argv[1]).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    print(f"wrote {sys.argv[1]}: {len(content['components'])} components")
