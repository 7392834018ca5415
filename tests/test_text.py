"""Texts of users in messages, terminals, CSV and Markdown."""

from __future__ import annotations

import io

import pytest

from gpnn.cli._console import PlainConsole
from gpnn.errors import InputError
from gpnn.text import csv_cell, did_you_mean, markdown, plural, printable, shortened


def test_control_characters_are_written_as_escapes() -> None:
    assert printable("a\x1b[31m\x07\u202eb\ud800\tc\n") == "a\\x1b[31m\\x07\\u202eb\\ud800\tc\n"
    assert printable("λ ⋆ é") == "λ ⋆ é"
    sink = io.StringIO()
    PlainConsole(file=sink, markup=False, width=80).print("smiles:c1cc[nH]c1 \x1b[2J")
    assert sink.getvalue().strip() == "smiles:c1cc[nH]c1 \\x1b[2J"


def test_messages_do_not_repeat_long_inputs() -> None:
    said = str(InputError(f"There is no file {'a' * 5000}. Check the path."))
    assert len(said) < 400 and said.startswith("There is no file aaa")
    assert said.endswith("Check the path.")
    assert len(str(InputError("x y " * 5000))) < 2100
    assert shortened("short") == "short"


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("=1+1", "'=1+1"), ("@x", "'@x"), ("-x", "'-x"), ("+x", "'+x"), ("\t=1", "'\t=1"),
        ("-1", "-1"), ("+1.5e3", "+1.5e3"), (-1, -1), ("C=O", "C=O"), (None, ""), ("", ""),
    ],
)  # fmt: skip
def test_a_cell_is_no_formula(value: object, cell: object) -> None:
    assert csv_cell(value) == cell


def test_a_text_has_no_markup_of_its_own() -> None:
    assert markdown("a|b`c[d](e)<b>\n") == r"a\|b\`c\[d](e)\<b> "
    assert markdown("PTC_MR") == "PTC_MR"


def test_close_names_are_named() -> None:
    assert did_you_mean("cor", ["core", "degree"]) == " Did you mean core?"
    assert did_you_mean("xyz", ["core"]) == ""


def test_one_has_no_s() -> None:
    assert [plural(n, "epoch") for n in (0, 1, 2_000)] == ["0 epochs", "1 epoch", "2,000 epochs"]
