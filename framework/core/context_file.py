"""Contexts in files: one NumPy archive with all values, and a description of the structure that they fit.

The archive holds the entry `header`, a JSON text, and arrays. Abstract values are kept as JSON (numbers, strings,
lists, dictionaries, arrays, and objects that offer `_plain_state`); only others need `pickle`, which must be asked for.
"""

from __future__ import annotations

import json
import os
import pickle
import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.context_values import ContextValues, put_values, take_values
from merganser.framework.core.plain_values import Unplain, from_plain, to_plain
from merganser.framework.core.values import AbstractValue, Value

if TYPE_CHECKING:
    from merganser.framework.core.context import Context
    from merganser.framework.core.system import System

__all__ = ["LoadContext", "save_context"]

_FORMAT = "merganser context"
_VERSION = 1
_HEADER = "header"

Array = NDArray[Any]


def save_context(context: Context, path: str | os.PathLike[str], allow_pickle: bool) -> None:
    """Writes all values of a root context to a file; see `Context.Save`."""
    values = take_values(context)
    arrays: dict[str, Array] = {"time": np.array(values.time)}
    if context._store.flat.dtype == object:
        raise TypeError("Context.Save keeps numbers; this context holds other scalars, such as expressions.")
    arrays.update((f"numbers_{i}", array) for i, array in enumerate(values.numbers))
    where = _names_of_abstract(context)
    boxes = [*values.abstract, *values.kept]
    header = {
        "format": _FORMAT,
        "version": _VERSION,
        "structure": _structure(context._system),
        "accuracy": values.accuracy,
        "abstract": [_encoded(b.get_value(), arrays, w, allow_pickle) for b, w in zip(boxes, where)],
        "fixed": [
            [number, index, _encoded_input(context, number, index, value, arrays, allow_pickle)]
            for number, index, value in values.fixed
        ],
    }
    arrays[_HEADER] = np.array(json.dumps(header))
    temporary = f"{os.fspath(path)}.part"
    try:
        with open(temporary, "wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
        os.replace(temporary, path)
    finally:
        if os.path.exists(temporary):
            os.remove(temporary)


def LoadContext(system: System, path: str | os.PathLike[str], allow_pickle: bool = False) -> Context:
    """Returns a new context of `system` with the values that `Context.Save` has written.

    Args:
        system: of the same structure as the one whose context was saved: names of subsystems, sizes of state and
            parameters, input ports.
        path: the file.
        allow_pickle: whether to accept abstract values that were saved with `allow_pickle=True`. Unpickling can run
            any code: allow it only for files that you trust.

    Raises:
        ValueError: the file is no saved context, was written by a later version, needs `allow_pickle`, or is of a
            system of another structure; the message says where they differ.
        FileNotFoundError: there is no such file.
    """
    arrays, header = _read(path)
    _compare(header["structure"], _structure(system), path)
    context = system.AllocateContext()
    values = take_values(context)
    try:
        boxes = [*values.abstract, *values.kept]
        loaded: list[AbstractValue] = [
            Value(_decoded(plain, arrays, box.get_value(), path, allow_pickle))
            for plain, box in zip(header["abstract"], boxes)
        ]
        fixed = [
            (number, index, _decoded_input(plain, arrays, path, allow_pickle))
            for number, index, plain in header["fixed"]
        ]
        numbers = [arrays[f"numbers_{i}"] for i in range(len(values.numbers))]
        time = arrays["time"][()]
    except (KeyError, IndexError, TypeError) as error:
        raise ValueError(f"LoadContext: '{os.fspath(path)}' is damaged: {error!r}.") from error
    if time.dtype != context._store.flat.dtype:
        context = system._make_context(time.dtype)
    count = len(values.abstract)
    put_values(context, ContextValues(time, header["accuracy"], numbers, loaded[:count], fixed, loaded[count:]))
    return context


# ---------------------------------------------------------------------- structure


def _structure(system: System) -> list[dict[str, Any]]:
    """What must agree between the system of a saved context and the one that loads it; one entry for each system."""
    layout = system._get_layout()
    skipped = len(system.GetSystemPathname())
    structure = []
    for part in layout.systems:
        block: Any = part.system
        entry: dict[str, Any] = {
            "system": block.GetSystemPathname()[skipped:] or "the system itself",
            "input ports": [[port.get_name(), port._size] for port in block._input_ports],
        }
        if block._subsystems() is None:
            entry["continuous state"] = list(block._continuous_sizes)
            entry["discrete state"] = [model.size() for model in block._discrete_models]
            entry["numeric parameters"] = [model.size() for model in block._numeric_parameter_models]
            entry["abstract state"] = len(block._abstract_state_models)
            entry["abstract parameters"] = len(block._abstract_parameter_models)
            entry["stored values"] = sum(cache_entry.is_storage for cache_entry in block._cache_entries)
        structure.append(entry)
    return structure


def _compare(saved: list[dict[str, Any]], wanted: list[dict[str, Any]], path: Any) -> None:
    where = f"LoadContext: '{os.fspath(path)}' does not fit the system"
    for theirs, mine in zip(saved, wanted):
        name = mine["system"]
        if theirs["system"] != name:
            raise ValueError(f"{where}: where it has subsystem '{name}', the file has '{theirs['system']}'.")
        for what, value in mine.items():
            if theirs.get(what) != value:
                raise ValueError(f"{where}: the {what} of '{name}' are {value}, those in the file {theirs.get(what)}.")
    if len(saved) != len(wanted):
        raise ValueError(f"{where}: it consists of {len(wanted)} systems, the one in the file of {len(saved)}.")


def _names_of_abstract(context: Context) -> list[str]:
    """What to call each abstract value in messages."""
    leaves: list[Any] = [leaf.system for leaf in context._layout.root.leaf_list]
    names = []
    for attribute, what in (("_abstract_state_models", "state"), ("_abstract_parameter_models", "parameter")):
        for leaf in leaves:
            models = getattr(leaf, attribute)
            names += [f"abstract {what} {i} of system '{leaf.GetSystemPathname()}'" for i in range(len(models))]
    names += [slot.entry.describe() for slot in context._store.slots if slot.entry.is_storage]
    return names


# ---------------------------------------------------------------------- reading and writing of values


def _encoded(value: Any, arrays: dict[str, Array], where: str, allow_pickle: bool) -> Any:
    try:
        return {"plain": to_plain(value, arrays)}
    except Unplain as error:
        if not allow_pickle:
            raise TypeError(
                f"Context.Save: {where} holds {error}, which can only be saved by pickling: pass allow_pickle=True."
            ) from None
    name = f"pickle_{len(arrays)}"
    arrays[name] = np.frombuffer(pickle.dumps(value), dtype=np.uint8)
    return {"pickle": name}


def _encoded_input(
    context: Context, number: int, index: int, value: Any, arrays: dict[str, Array], allow_pickle: bool
) -> Any:
    if not isinstance(value, AbstractValue):
        return {"vector": to_plain(value, arrays)}
    port = context._all_contexts()[number]._system._input_ports[index]
    return _encoded(value.get_value(), arrays, f"the fixed value of {port.GetFullDescription()}", allow_pickle)


def _decoded(encoded: Any, arrays: dict[str, Array], current: Any, path: Any, allow_pickle: bool) -> Any:
    if "plain" in encoded:
        return from_plain(encoded["plain"], arrays, current)
    if not allow_pickle:
        raise ValueError(
            f"LoadContext: '{os.fspath(path)}' contains pickled values. Unpickling can run any code; if you trust the "
            "file, pass allow_pickle=True."
        )
    return pickle.loads(arrays[encoded["pickle"]].tobytes())


def _decoded_input(encoded: Any, arrays: dict[str, Array], path: Any, allow_pickle: bool) -> Any:
    if "vector" in encoded:
        return from_plain(encoded["vector"], arrays, None)
    return Value(_decoded(encoded, arrays, None, path, allow_pickle))


def _read(path: str | os.PathLike[str]) -> tuple[dict[str, Array], dict[str, Any]]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        header = json.loads(str(arrays[_HEADER]))
        if header["format"] != _FORMAT:
            raise ValueError(f"its format is {header['format']!r}")
        version = header["version"]
    except (zipfile.BadZipFile, ValueError, KeyError, TypeError, AttributeError, EOFError) as error:
        raise ValueError(f"LoadContext: '{os.fspath(path)}' is not a saved context: {error}.") from error
    if version != _VERSION:
        raise ValueError(
            f"LoadContext: '{os.fspath(path)}' has version {version} of the format; this program reads version "
            f"{_VERSION}. Load it with the version of merganser that wrote it."
        )
    return arrays, header
