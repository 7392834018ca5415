"""Fixtures and settings of the whole suite."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Compiling a kernel takes seconds the first time, so a deadline would measure the compiler.
settings.register_profile(
    "gpnn",
    deadline=None,
    max_examples=60,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("gpnn")


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder with the benchmark data."""
    folder = os.environ.get("GPNN_DATA")
    if not folder:
        pytest.skip("GPNN_DATA does not name the folder with the benchmark data")
    return Path(folder)


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """Small training runs are faster, and the same everywhere, on one thread."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
