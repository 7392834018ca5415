"""Conversion of array-likes to plain NumPy arrays; only lossless conversions are accepted.

Accepted: NumPy arrays of any byte order, lists, and torch tensors on any device; tensors are
recognised without importing torch. Refused: complex numbers, dates, masked values, sparse,
quantised and meta tensors, ragged lists, and Python objects that are not numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import InputError

__all__ = ["is_a", "native", "to_numpy", "whole_numbers"]


def is_a(source: object, package: str, name: str) -> bool:
    """Whether ``source`` is an instance of the named class of a package; imports nothing."""
    return any(
        base.__name__ == name and f"{base.__module__}.".startswith(f"{package}.")
        for base in type(source).__mro__
    )


def native(array: NDArray[Any]) -> NDArray[Any]:
    """Convert an array to the native byte order."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def to_numpy(values: Any, what: str = "The array", text: bool = False) -> NDArray[Any]:
    """Convert to an array of integers, 32- or 64-bit floats, or booleans. CPU tensors and arrays
    of these types are not copied. With ``text``, strings and other labels are kept unchanged."""
    if is_a(values, "torch", "Tensor"):
        return _tensor(values, what)
    try:
        array = native(np.asarray(values))
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(f"{what} is ragged or holds no numbers: {error}.") from None
    if isinstance(values, np.ma.MaskedArray) and np.ma.getmaskarray(values).any():
        raise InputError(f"{what} has masked values. Fill or drop them first.")
    if array.dtype.kind == "O" and not text:
        array = _from_objects(array, what)
    if array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):
        array = array.astype(np.float32 if array.dtype.itemsize < 4 else np.float64)
    if array.dtype == np.uint64 and array.max(initial=0) >= 2**63:
        raise InputError(f"{what} holds {array.max()}, which is too large for an index or label.")
    if array.dtype.kind not in "iufb" and not text:
        raise InputError(f"{what} must hold numbers; got dtype {array.dtype}.")
    return array


def _from_objects(array: NDArray[Any], what: str) -> NDArray[Any]:
    """Convert an object array of Python numbers to a numeric array."""
    items = array.reshape(-1).tolist()
    if not all(isinstance(item, int | float | np.number | np.bool_) for item in items):
        strange = next(i for i in items if not isinstance(i, int | float | np.number | np.bool_))
        raise InputError(f"{what} must hold numbers; it holds {strange!r}.")
    numbers = np.array(items)
    if numbers.dtype.kind == "O" or (
        numbers.dtype.kind == "f" and not any(isinstance(i, float | np.floating) for i in items)
    ):
        raise InputError(f"{what} holds numbers beyond 64 bits.")
    return numbers.reshape(array.shape)


def _tensor(tensor: Any, what: str) -> NDArray[Any]:
    if str(tensor.layout) != "torch.strided":
        raise InputError(
            f"{what} is a sparse torch tensor ({tensor.layout}), which is not read. Give its edge "
            "array: tensor.to_sparse_coo().coalesce().indices()."
        )
    if tensor.is_meta:
        raise InputError(f"{what} is a meta tensor: it has a shape and no values.")
    if tensor.is_quantized or tensor.is_complex():
        raise InputError(f"{what} must hold plain numbers; got {tensor.dtype}.")
    if hasattr(tensor, "as_tensor"):  # PyG's EdgeIndex and Index wrap a plain tensor
        tensor = tensor.as_tensor()
    if tensor.is_floating_point() and str(tensor.dtype) not in ("torch.float32", "torch.float64"):
        tensor = tensor.float()
    array: NDArray[Any] = tensor.detach().cpu().numpy()
    return array


def whole_numbers(values: Any, what: str) -> NDArray[np.int64]:
    """Convert an array-like to a one-dimensional array of integers of up to 64 bits."""
    array = to_numpy(values, f"The array of {what}")
    if array.ndim > 1:
        raise InputError(f"The {what} must be one flat array; got shape {array.shape}.")
    if array.size == 0:
        array = array.astype(np.int64)
    if array.dtype.kind == "f":
        if not np.isfinite(array).all():
            raise InputError(f"The {what} hold NaN or infinity. Give whole numbers.")
        bad = (array != np.floor(array)) | (np.abs(array) >= 2**53)
        if bad.any():
            raise InputError(f"The {what} hold {array[bad].flat[0]}, not whole numbers.")
        array = array.astype(np.int64)
    if array.dtype.kind == "u":
        array = array.astype(np.int64)
    if array.dtype.kind != "i":
        raise InputError(f"The {what} must be whole numbers; got dtype {array.dtype}.")
    return np.atleast_1d(array)
