"""Odd bytes, values, arrays and structures, all from one random generator."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

import numpy as np

__all__ = ["array", "bytes_", "number", "rarely", "text", "tree", "value"]

TOKENS = (
    b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\r\n", b"\n\n", b",,", b'"', b"''", b"\t",
    b"#", b"%", b":",
    b"-1", b"0", b"1e999", b"nan", b"inf", b"99999999999999999999", b"9223372036854775807", b"1_0",
    b"2147483648", b"~~~~~~~~", b"<!DOCTYPE a>", b"&lt;", b"<graph>", b"null", b"[[[[", b"{}",
    b"../x",
    b"=1+1", b"$\\x$", "é\u202e".encode(), b"\x1b[31m", b" " * 300, b"A" * 400,
)  # fmt: skip
NUMBERS = (
    0,
    1,
    -1,
    2,
    3,
    7,
    2**31 - 1,
    2**31,
    -(2**31),
    2**53,
    2**63 - 1,
    2**63,
    -(2**63),
    2**64,
    10**30,
)
FLOATS = (0.0, -0.0, 0.5, 1.0, -1.5, 1e-308, 1e308, 1e39, float("nan"), float("inf"), -float("inf"))
TEXTS = (
    "", " ", "a", "0", "1", "-1", "C", "c1ccccc1", "core", "None", "\x00", "\x1b[2J", "\ud800", "é",
    "=1+1",
    "$\\x$", "[bold]x", "../x", "~nobody/x", "a" * 5000, "(" * 2000, "MUTAG", "MUTAG:5", "g6:DqK",
    "core+core",
    "wl-99999999999999999999", "ego-9", "smiles:C", "1_0", "９", "‮abc", "a\nb", "|x|", "`", "<b>",
)  # fmt: skip
KINDS = ("i1", "i2", "<i4", ">i4", "<i8", ">i8", "u1", "u8", "f2", "<f4", ">f4", "f8",
         ">f8", "g", "c8",
         "?", "O", "U3", "S3", "M8[s]")  # fmt: skip


def rarely(rng: Random, share: float = 0.2) -> bool:
    return rng.random() < share


def number(rng: Random) -> Any:
    return rng.choice((rng.choice(NUMBERS), rng.choice(FLOATS), rng.randint(-3, 12)))


def text(rng: Random) -> str:
    made = rng.choice(TEXTS)
    if rarely(rng, 0.3):
        made += rng.choice(TEXTS)[:50]
    if rarely(rng, 0.3):
        made = "".join(
            chr(rng.choice((rng.randint(0, 126), 955))) for _ in range(rng.randint(0, 12))
        )
    return made


def value(rng: Random, deep: int = 0) -> Any:
    """Anything that JSON or Python may hold."""
    kinds = 9 if deep < 3 else 6
    match rng.randrange(kinds):
        case 0:
            return None
        case 1:
            return rng.random() < 0.5
        case 2 | 3:
            return number(rng)
        case 4 | 5:
            return text(rng)
        case 6:
            return [value(rng, deep + 1) for _ in range(rng.randint(0, 3))]
        case 7:
            return {text(rng)[:20]: value(rng, deep + 1) for _ in range(rng.randint(0, 3))}
        case _:
            nested: Any = []
            for _ in range(rng.choice((3, 60))):
                nested = [nested]
            return nested


def bytes_(rng: Random, raw: bytes, most: int = 4) -> bytes:
    """The bytes with some of them flipped, cut, doubled, moved or replaced."""
    for _ in range(rng.randint(1, most)):
        at, end = sorted(rng.randint(0, len(raw)) for _ in range(2))
        end = min(end, at + rng.choice((1, 2, 8, 64, 4096)))
        match rng.randrange(7):
            case 0 if raw:
                place = rng.randrange(len(raw))
                raw = raw[:place] + bytes([raw[place] ^ (1 << rng.randrange(8))]) + raw[place + 1 :]
            case 1:
                raw = raw[:at] + raw[end:]
            case 2:
                raw = raw[:end] + raw[at:end] + raw[end:]
            case 3:
                raw = raw[: rng.randint(0, len(raw))]
            case 4:
                raw = raw[:at] + rng.choice(TOKENS) + raw[at:]
            case 5:
                raw = raw[:at] + rng.choice(TOKENS) + raw[end:]
            case _:
                lines = raw.split(b"\n")
                rng.shuffle(lines)
                raw = b"\n".join(lines)
    return raw


def tree(rng: Random, content: Any, most: int = 2) -> Any:
    """A structure of JSON with some places replaced, removed, doubled or renamed."""
    content = copy.deepcopy(content)
    for _ in range(rng.randint(1, most)):
        places = list(_places(content))
        if not places:
            return value(rng)
        holder, key = rng.choice(places)
        match rng.randrange(5):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, dict):
                holder[text(rng)[:20]] = holder.pop(key)
            case 2 if isinstance(holder, list):
                holder.insert(key, copy.deepcopy(holder[key]))
            case 3 if isinstance(holder[key], int | float) and not isinstance(holder[key], bool):
                holder[key] = holder[key] + rng.choice((1, -1, 0.5, 2**40))
            case _:
                holder[key] = value(rng)
    return content


def _places(content: Any) -> Any:
    keys = (
        list(content)
        if isinstance(content, dict)
        else range(len(content))
        if isinstance(content, list)
        else ()
    )
    for key in keys:
        yield content, key
        yield from _places(content[key])


def array(rng: Random, shape: tuple[int, ...], high: int) -> Any:
    """Numbers 0 … high - 1 of an odd kind, sometimes odd themselves."""
    generator = np.random.default_rng(rng.getrandbits(32))
    values: Any = generator.integers(0, max(high, 1), shape)
    kind = rng.choice(KINDS)
    with np.errstate(all="ignore"):
        try:
            values = values.astype(kind)
            if values.size and rarely(rng, 0.3):
                values.flat[rng.randrange(values.size)] = number(rng)
        except (OverflowError, ValueError, TypeError):
            pass
    match rng.randrange(6):
        case 0:
            return values.tolist()
        case 1:
            return np.asfortranarray(values)
        case 2 if values.size and values.dtype.kind in "iuf":
            return np.ma.MaskedArray(values, mask=generator.random(values.shape) < 0.1)
        case _:
            return values
