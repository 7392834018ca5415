from __future__ import annotations

import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

from gpnn.data import cache
from gpnn.data.cache import Arrays, CacheNote, key_of, recall

KEY = "a" * 64


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPNN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "WORTH", 0.0)


def content() -> Arrays:
    return {
        "wide": np.array([[2**40, -1], [0, 5]]),
        "narrow": np.arange(300),
        "part": np.array([1, 2, 3], np.int32),
        "empty.0": np.zeros((0, 3), np.int64),
        "real": np.array([0.5, np.nan]),
    }


def forbidden() -> Arrays:
    raise AssertionError("it was computed again")


def same(left: Arrays, right: Arrays) -> bool:
    return left.keys() == right.keys() and all(
        left[name].dtype == right[name].dtype
        and left[name].shape == right[name].shape
        and left[name].tobytes() == right[name].tobytes()
        for name in left
    )


def kept(key: str = KEY) -> Path:
    recall(key, content)
    return cache.folder() / f"{key}.npz"


def test_what_is_kept_comes_back_bit_for_bit_and_small() -> None:
    path = kept()
    assert same(recall(KEY, forbidden), content())
    with np.load(path) as file:
        assert file["narrow"].dtype == np.int16
        assert file["wide"].dtype == np.int64
    assert cache.usage() == (1, path.stat().st_size)


def test_what_is_fast_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "WORTH", 60.0)
    assert same(recall(KEY, content), content())
    assert cache.usage() == (0, 0)


def test_every_damaged_byte_is_noticed_or_harmless() -> None:
    path = kept()
    sound = path.read_bytes()
    rng = np.random.default_rng(0)
    noticed = 0
    for place in rng.choice(len(sound), 400, replace=False).tolist():
        damaged = bytearray(sound)
        damaged[place] ^= int(rng.integers(1, 256))
        path.write_bytes(bytes(damaged))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            assert same(recall(KEY, content), content())
        noticed += any(issubclass(w.category, CacheNote) for w in said)
    assert noticed > 200


@pytest.mark.parametrize("cut", [0, 10, 0.5, -1])
def test_a_truncated_file_is_computed_again(cut: float) -> None:
    path = kept()
    sound = path.read_bytes()
    end = int(cut * len(sound)) if isinstance(cut, float) else cut
    path.write_bytes(sound[:end])
    with pytest.warns(CacheNote, match=r"is truncated.*It is computed again"):
        assert same(recall(KEY, content), content())
    assert same(recall(KEY, forbidden), content())


def test_a_file_of_another_key_is_not_used() -> None:
    path = kept("b" * 64)
    path.rename(cache.folder() / f"{KEY}.npz")
    with pytest.warns(CacheNote, match="another key"):
        assert same(recall(KEY, content), content())


def test_the_least_recently_used_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [letter * 64 for letter in "abc"]
    for age, key in enumerate(keys):
        path = kept(key)
        os.utime(path, (time.time() - 100 + age, time.time() - 100 + age))
    recall(keys[0], forbidden)
    monkeypatch.setattr(cache, "LIMIT", 2.5 * path.stat().st_size)
    kept("d" * 64)
    there = sorted(path.name[0] for path in cache.folder().glob("*.npz"))
    assert there == ["a", "d"]
    assert cache.usage()[1] <= cache.LIMIT
    monkeypatch.setattr(cache, "LIMIT", 10)
    kept("e" * 64)
    assert not (cache.folder() / f"{'e' * 64}.npz").exists()


def test_what_a_killed_process_left_is_removed() -> None:
    cache.folder().mkdir(parents=True)
    dead = subprocess.Popen(["true"])
    dead.wait()
    old, new = (cache.folder() / f".writing-{pid}-0.npz" for pid in (dead.pid, os.getppid()))
    old.write_bytes(b"half")
    new.write_bytes(b"half")
    kept()
    assert (old.exists(), new.exists()) == (False, True)
    assert cache.usage()[0] == 1


def test_a_cache_that_cannot_be_written_costs_a_note_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GPNN_CACHE", str(tmp_path / "file"))
    with pytest.warns(CacheNote, match=r"Nothing is kept .*Set GPNN_CACHE to a folder of yours"):
        assert same(recall(KEY, content), content())


def test_the_key_tells_all_inputs_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    one = np.arange(4)
    keys = {
        key_of("x", {"a": one}, d=1),
        key_of("y", {"a": one}, d=1),
        key_of("x", {"b": one}, d=1),
        key_of("x", {"a": one}, d=2),
        key_of("x", {"a": one.astype(np.int32)}, d=1),
        key_of("x", {"a": one.reshape(2, 2)}, d=1),
        key_of("x", {"a": one[:3]}, d=1),
        key_of("x", {"a": None}, d=1),
        key_of("x", {"a": one, "b": None}, d=1),
    }
    assert len(keys) == 9
    assert key_of("x", {"a": one[::1].copy()}, d=1) in keys
    monkeypatch.setattr(cache, "code", lambda: "other code")
    assert key_of("x", {"a": one}, d=1) not in keys


RACE = """
import sys, time
from pathlib import Path
import numpy as np
from gpnn.data import cache

cache.WORTH = 0.0
signal = Path(sys.argv[1])
(signal / sys.argv[2]).touch()
while len(list(signal.iterdir())) < 2:
    time.sleep(0.002)
for k in range(40):
    made = cache.recall(f"{k:064d}", lambda: {"x": np.arange(20_000) * (k + 1)})
    assert np.array_equal(made["x"], np.arange(20_000) * (k + 1))
"""


def test_two_processes_may_keep_the_same_at_once(tmp_path: Path) -> None:
    signal = tmp_path / "signal"
    signal.mkdir()
    both = [
        subprocess.Popen([sys.executable, "-W", "error", "-c", RACE, str(signal), name])
        for name in ("one", "two")
    ]
    assert [process.wait(60) for process in both] == [0, 0]
    assert cache.usage()[0] == 40
    assert not list(cache.folder().glob(".*"))
    for k in range(40):
        assert recall(f"{k:064d}", forbidden)["x"][-1] == 19_999 * (k + 1)
