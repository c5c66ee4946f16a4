"""All values of a Context that do not follow from others: taken out of it and put back, pickled, and in files.

A Checkpoint has those that events may change, where a call that fails returns to.

A file is one NumPy archive with all values, and a description of the structure that they fit. It holds the entry
`header`, a JSON text, and arrays. Abstract values are kept as JSON (numbers, strings, lists, dictionaries, arrays, and
objects that offer `_plain_state`); only others need `pickle`, which must be asked for.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import pickle
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.common.saving import saved
from merganser.framework.core.context.store import FixedInputPortValue
from merganser.framework.core.values.plain_values import Loading, Unplain, from_plain, to_plain
from merganser.framework.core.values.values import AbstractValue, BasicVector, Value

if TYPE_CHECKING:
    from merganser.framework.core.context.context import Context
    from merganser.framework.core.system.system import System


Array = NDArray[Any]


@dataclasses.dataclass
class ContextValues:
    """What determines everything else in a root Context.

    Attributes:
        time: [s].
        accuracy: what results should have, if anybody asked for one.
        numbers: continuous state, discrete groups and numeric parameter groups, in this order.
        abstract: abstract state variables, then abstract parameters.
        fixed: (number of the context depth first, input port, value) of each fixed input.
        kept: values that are stored with the Context, such as logs.
    """

    time: Any
    accuracy: float | None
    numbers: list[Array]
    abstract: list[AbstractValue]
    fixed: list[tuple[int, int, Any]]
    kept: list[AbstractValue]


def take_values(context: Context) -> ContextValues:
    """The values of a root context; arrays are copies, abstract values are shared with it."""
    fixed = [
        (number, index, source.value._values.copy() if isinstance(source.value, BasicVector) else source.value)
        for number, part in enumerate(context.parts())
        for index, source in enumerate(part.sources)
        if isinstance(source, FixedInputPortValue) and source.context is part
    ]
    return ContextValues(
        time=context.store.flat[0],
        accuracy=context.store.accuracy,
        numbers=[array.copy() for array in context._numbers()],
        abstract=_abstract_boxes(context),
        fixed=fixed,
        kept=kept_boxes(context),
    )


def put_values(context: Context, values: ContextValues) -> None:
    """Overwrites the values of a new root context of a system of the same structure; takes over abstract values."""
    store = context.store
    for array, numbers in zip(context._numbers(), values.numbers):
        array[:] = numbers
    boxes, taken = _abstract_boxes(context) + kept_boxes(context), values.abstract + values.kept
    for box, value in zip(boxes, taken):
        box.set_value(value.get_value())
    parts = context.parts()
    for number, index, value in values.fixed:
        parts[number].fix_input(index, value)
    store.accuracy = values.accuracy
    store.flat[0] = values.time
    store.change((1 << store.layout.num_entries) - 1, context)


def reduce_context(context: Context) -> tuple[Any, ...]:
    """How `pickle` takes a Context apart: its system, and its values; one of a subsystem, by its whole."""
    parent = context.parent
    if parent is not None:
        return _part_of, (parent, parent._children.index(context))
    return _rebuilt, (context.system, context.store.flat.dtype, take_values(context))


def _part_of(context: Any, index: int) -> Context:
    return context._children[index]


def _rebuilt(system: Any, dtype: Any, values: ContextValues) -> Context:
    context = system._make_context(dtype)
    put_values(context, values)
    return context


def _abstract_boxes(context: Context) -> list[AbstractValue]:
    return [*context._abstract_state._items, *context._parameters._abstract._items]


def kept_boxes(context: Context) -> list[Any]:
    """What is stored with a root context, such as logs."""
    return [slot.value for slot in context.store.slots if slot.entry.is_storage]


class Checkpoint:
    """What events may change in a root context: its numbers, its abstract state, and the samples in its logs.

    Args:
        context: as it is now.
        with_abstract_state: whether the abstract state may change.
    """

    __slots__ = ("_abstract_state", "_context", "_log_lengths", "_numbers")

    def __init__(self, context: Context, with_abstract_state: bool) -> None:
        self._context = context
        self._numbers = context.store.flat.copy()
        self._abstract_state = context._abstract_state.Clone() if with_abstract_state else None
        self._log_lengths: list[tuple[Any, int]] = []
        for box in kept_boxes(context):
            log = box.get_value()
            if hasattr(log, "keep_first"):
                self._log_lengths.append((log, log.num_samples()))

    def restore(self) -> None:
        """Makes the context what it was; samples that were added are taken out of the logs."""
        store = self._context.store
        store.flat[:] = self._numbers
        if self._abstract_state is not None:
            self._context._abstract_state.SetFrom(self._abstract_state)
        for log, length in self._log_lengths:
            log.keep_first(length)
        store.change((1 << store.layout.num_entries) - 1, self._context)


_FORMAT = "merganser context"
_VERSION = 1
_HEADER = "header"
_SCALARS = (np.dtype(np.float64), np.dtype(np.complex128))


def save_context(context: Context, path: str | os.PathLike[str], allow_pickle: bool) -> None:
    """Writes all values of a root context to a file; see `Context.Save`."""
    values = take_values(context)
    arrays: dict[str, Array] = {"time": np.array(values.time)}
    if context.store.flat.dtype == object:
        raise TypeError("Context.Save keeps numbers; this context holds other scalars, such as expressions.")
    arrays.update((f"numbers_{i}", array) for i, array in enumerate(values.numbers))
    where = _names_of_abstract(context)
    boxes = [*values.abstract, *values.kept]
    header = {
        "format": _FORMAT,
        "version": _VERSION,
        "structure": _structure(context.system),
        "accuracy": values.accuracy,
        "abstract": [_encoded(_held(b), arrays, w, allow_pickle) for b, w in zip(boxes, where)],
        "fixed": [
            [number, index, _encoded_input(context, number, index, value, arrays, allow_pickle)]
            for number, index, value in values.fixed
        ],
    }
    arrays[_HEADER] = np.array(json.dumps(header))
    # Writes an archive; `path`, even after a power failure, holds either this one or the old one
    with saved(path, survives_power_failure=True) as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


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
            system of another structure, and the message says where they differ; or it is damaged, and the message
            says which entry is wrong.
        OSError: the file is not there or cannot be read.
    """
    return _Reader(path, allow_pickle).context_of(system)


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
            "input ports": [[port.get_name(), port._size] for port in block._sys_input_ports],
        }
        if block._sys_subsystems() is None:
            entry["continuous state"] = list(block._sys_continuous_sizes)
            entry["discrete state"] = [model.size() for model in block._sys_discrete_models]
            entry["numeric parameters"] = [model.size() for model in block._sys_numeric_parameter_models]
            entry["abstract state"] = len(block._sys_abstract_state_models)
            entry["abstract parameters"] = len(block._sys_abstract_parameter_models)
            entry["stored values"] = sum(cache_entry.is_storage for cache_entry in block._sys_cache_entries)
        structure.append(entry)
    return structure


def _names_of_abstract(context: Context) -> list[str]:
    """What to call each abstract value in messages."""
    leaves: list[Any] = [leaf.system for leaf in context.layout.root.leaf_list]
    names = []
    for attribute, what in (("_sys_abstract_state_models", "state"), ("_sys_abstract_parameter_models", "parameter")):
        for leaf in leaves:
            models = getattr(leaf, attribute)
            names += [f"abstract {what} {i} of system '{leaf.GetSystemPathname()}'" for i in range(len(models))]
    names += [slot.entry.describe() for slot in context.store.slots if slot.entry.is_storage]
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
    port = context.parts()[number].system._sys_input_ports[index]
    return _encoded(value.get_value(), arrays, f"the fixed value of {port.GetFullDescription()}", allow_pickle)


class _Reader:
    """Reads a file that may be damaged or forged: nothing is put into a context that does not belong there.

    Args:
        path: of the file.
        allow_pickle: whether to unpickle what was pickled.
    """

    def __init__(self, path: str | os.PathLike[str], allow_pickle: bool) -> None:
        self._name = f"LoadContext: '{os.fspath(path)}'"
        self._allow_pickle = allow_pickle
        with open(path, "rb") as file:
            try:
                with np.load(file, allow_pickle=False) as archive:
                    self._arrays: dict[str, Array] = {name: archive[name] for name in archive.files}
                self._header = json.loads(str(self._arrays[_HEADER]))
                if self._header["format"] != _FORMAT:
                    raise ValueError(f"its format is {self._header['format']!r}")
                version = self._header["version"]
            except Exception as error:  # of nearly any type: from zipfile, zlib, struct, numpy or json
                raise ValueError(f"{self._name} is not a saved context: {error}.") from error
        if version != _VERSION:
            raise ValueError(
                f"{self._name} has version {version!r} of the format; this program reads version {_VERSION}. Load it "
                "with the version of merganser that wrote it."
            )

    def context_of(self, system: System) -> Context:
        """A new context of a system, with the values of the file."""
        with self._entry("structure"):
            saved = [dict(entry) for entry in self._header["structure"]]
        self._compare(saved, _structure(system))
        with self._entry("time"):
            time = self._arrays["time"]
            if time.shape != () or time.dtype not in _SCALARS:
                raise ValueError(f"expected one number, float64 or complex128; it is {_kind(time)}")
        context = system._make_context(time.dtype)
        system.SetDefaultContext(context)  # objects that take over what was saved are those of a default context
        with self._entry("time"):
            context.SetTime(time.item())
        with self._entry("accuracy"):
            accuracy = self._header["accuracy"]
            context.SetAccuracy(None if accuracy is None else accuracy * 1.0)
        self._loading = Loading(context.store.flat.dtype)
        old = take_values(context)
        numbers = [self._numbers(f"numbers_{i}", array) for i, array in enumerate(old.numbers)]
        abstract = self._abstract(old, context)
        with self._entry("fixed"):
            saved_inputs = list(self._header["fixed"])
        fixed = [self._fixed(i, entry, context) for i, entry in enumerate(saved_inputs)]
        count = len(old.abstract)
        put_values(
            context,
            ContextValues(time.item(), context.store.accuracy, numbers, abstract[:count], fixed, abstract[count:]),
        )
        return context

    @contextlib.contextmanager
    def _entry(self, name: str) -> Iterator[None]:
        """Whatever is wrong here is the fault of an entry of the file."""
        try:
            yield
        except _NeedsPickle:
            raise ValueError(
                f"{self._name} contains pickled values ({name}). Unpickling can run any code; if you trust the file, "
                "pass allow_pickle=True."
            ) from None
        except Exception as error:
            what = f"{type(error).__name__}: {error}" if isinstance(error, (KeyError, AttributeError)) else error
            raise ValueError(f"{self._name} is damaged: {name}: {what}.") from error

    def _numbers(self, name: str, expected: Array) -> Array:
        with self._entry(name):
            array = self._arrays[name]
            if array.shape != expected.shape or array.dtype != expected.dtype:
                raise ValueError(f"the system has {_kind(expected)}, the file {_kind(array)}")
            return array

    def _abstract(self, old: ContextValues, context: Context) -> list[AbstractValue]:
        """All abstract values; parameters first, as they may define identifiers for this program."""
        boxes = [*old.abstract, *old.kept]
        with self._entry("abstract"):
            saved = list(self._header["abstract"])
            if len(saved) != len(boxes):
                raise ValueError(f"the system has {len(boxes)} abstract values, the file {len(saved)}")
        names, first = _names_of_abstract(context), len(context._abstract_state._items)
        values: dict[int, AbstractValue] = {}
        for i in (*range(first, len(boxes)), *range(first)):
            with self._entry(names[i]):
                value = self._value(saved[i], _held(boxes[i]))
                values[i] = Value(value.get_value() if value is boxes[i] else value)
        return [values[i] for i in range(len(boxes))]

    def _fixed(self, index: int, entry: Any, context: Context) -> tuple[int, int, Any]:
        """The number of the subcontext, the port, and the value of an input that was fixed."""
        with self._entry(f"fixed input {index}"):
            number, port_index, encoded = entry
            parts = context.parts()
            if type(number) is not int or not 0 <= number < len(parts):
                raise ValueError(f"there is no subsystem {number!r}")
            ports = parts[number].system._sys_input_ports
            if type(port_index) is not int or not 0 <= port_index < len(ports):
                raise ValueError(f"there is no input port {port_index!r}")
            port = ports[port_index]
        with self._entry(f"the fixed value of {port.GetFullDescription()}"):
            if ("vector" in encoded) != (port._size is not None):
                raise ValueError("a vector port takes a vector, an abstract port none")
            if "vector" not in encoded:
                return number, port_index, Value(self._value(encoded, None))
            scalar = self._loading.scalar
            vector = from_plain(encoded["vector"], self._arrays, None, self._loading)
            if not isinstance(vector, np.ndarray) or vector.shape != (port._size,) or vector.dtype != scalar:
                raise ValueError(f"expected an array of {scalar} and shape {(port._size,)}")
            return number, port_index, vector

    def _value(self, encoded: Any, current: Any) -> Any:
        if "plain" in encoded:
            return from_plain(encoded["plain"], self._arrays, current, self._loading)
        name = encoded["pickle"]
        if not self._allow_pickle:
            raise _NeedsPickle
        return pickle.loads(self._arrays[name].tobytes())

    def _compare(self, saved: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> None:
        where = f"{self._name} does not fit the system"
        for theirs, mine in zip(saved, wanted):
            name = mine["system"]
            if theirs.get("system") != name:
                raise ValueError(f"{where}: where it has subsystem '{name}', the file has '{theirs.get('system')}'.")
            for what, value in mine.items():
                if theirs.get(what) != value:
                    raise ValueError(
                        f"{where}: the {what} of '{name}' are {value}, those in the file {theirs.get(what)}."
                    )
        if len(saved) != len(wanted):
            raise ValueError(f"{where}: it consists of {len(wanted)} systems, the one in the file of {len(saved)}.")


def _held(box: AbstractValue) -> Any:
    """What is to be saved: a value, or a box that knows more about it."""
    return box if hasattr(box, "_plain_state") else box.get_value()


class _NeedsPickle(Exception):
    """Raised for a pickled value that is not to be unpickled."""


def _kind(array: Array) -> str:
    """How an array is described in messages."""
    return f"{array.dtype} of shape {array.shape}"
