"""Tests of the console: text stays in one piece and tables keep to the width."""

import io

from rich.table import Table

from gpnn.cli._console import PlainConsole


def printed(one, width=40):
    stream = io.StringIO()
    PlainConsole(file=stream, width=width, highlight=False, markup=False).print(one)
    return stream.getvalue()


def test_text_is_not_wrapped():
    text = "wrote " + "/".join(["a folder of some length"] * 5)
    assert printed(text) == text + "\n"


def test_a_table_keeps_to_the_width():
    table = Table("what")
    table.add_row("word " * 40)
    lines = printed(table).splitlines()
    assert len(lines) > 4 and max(map(len, lines)) <= 40
