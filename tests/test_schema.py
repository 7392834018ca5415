"""Files that we wrote and somebody edited or damaged: refused by the field, with its place."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from gpnn.errors import InputError
from gpnn.options import Flag, Number, Whole
from gpnn.schema import Anything, ListOf, Maybe, Numbers, Table, Text, read_json, read_lines

RULE = Table(
    {"name": Text(), "rows": ListOf(Table({"value": Number(-math.inf)}, more=Anything()), least=1)},
    {"seed": Maybe(Whole(0)), "ids": Numbers(0), "quick": Flag(), "key": Text(4)},
)
GOOD: dict[str, Any] = {"name": "a", "rows": [{"value": 1.5, "x": None}], "seed": None}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": 7}, "name must be a text; got 7"),
        ({"rows": []}, "rows must be a list of 1 or more"),
        ({"rows": [{"value": 1}, {}]}, r"rows\[1\].value is missing"),
        ({"rows": [{"value": "1"}]}, r"rows\[0\].value must be"),
        ({"rows": [{"value": 1e999}]}, r"not JSON \(Infinity|rows\[0\].value must be"),
        ({"rows": "abc"}, "rows must be a list"),
        ({"seed": -1}, "seed must be a whole number of at least 0; got -1"),
        ({"seed": True}, "seed must be a whole number"),
        ({"ids": [1, 2.5]}, "ids must be a list of whole numbers"),
        ({"ids": [1, 2**63]}, "ids holds 1 to 9223372036854775808: out of range"),
        ({"quick": 1}, "quick must be True or False"),
        ({"key": "abc"}, "key must be a text of 4 characters"),
        ({"magic": 1}, "magic is unknown to this version"),
    ],
)
def test_the_place_is_named(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(GOOD))
    assert read_json(path, RULE, "Fix it.") == GOOD
    path.write_text(json.dumps(GOOD | change))
    with pytest.raises(InputError, match=f"a.json is damaged: {said}.* Fix it."):
        read_json(path, RULE, "Fix it.")


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"{", "not JSON"), (b"[" * 100_000, "nested too deeply"), (b"\xff\xfe\x00", "not JSON"),
     (b"7", "must be a table"), (b"", "not JSON"), (b"1" * 5000, "not JSON")],
)  # fmt: skip
def test_what_is_no_json(content: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(InputError, match=said):
        read_json(tmp_path / "a.json", RULE, "")


def test_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"head": 1}\n{"name": "a"}\n{"na')
    found = read_lines(path, (Table({"head": Whole(1)}), Table({"name": Text()})), "")
    assert found.rows == [{"head": 1}, {"name": "a"}] and found.torn == 4
    path.write_text('{"head": 1}\n{"name": 2}\n')
    with pytest.raises(InputError, match=r"Line 2 of .*: name must be a text"):
        read_lines(path, (Table({"head": Whole(1)}), Table({"name": Text()})), "")
    with pytest.raises(InputError, match="no file"):
        read_lines(tmp_path / "b", RULE, "")
