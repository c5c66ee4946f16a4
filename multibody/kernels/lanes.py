"""Kernels over lanes: one call for the derivatives along many directions.

The complex step takes the derivative of f along one direction d from f(x + i h d) = f(x) + i h f'(x) d + O(h^2). Each
direction is a *lane*: arrays get one more axis in front, and element k of that axis is what the kernel sees in lane k.
By the naming convention of kernels,

    parameters, constants, ..._in    have one, of the length of the number of lanes, or of 1: the same in all lanes
    ..._work, ..._out, ..._io        have one, of the length of the number of lanes
    topology and all others          are the same in all lanes and have no such axis

so that any kernel can be run over lanes, without a word in its source.
"""

from __future__ import annotations

import enum
import functools
import importlib
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from merganser.framework.native import device, kernel


class _Role(enum.Enum):
    """The role of an argument of a kernel."""

    SHARED = enum.auto()
    INPUT = enum.auto()
    WORK = enum.auto()
    OUTPUT = enum.auto()
    CHANGED = enum.auto()  # read and written


_SUFFIXES = {"_in": _Role.INPUT, "_work": _Role.WORK, "_out": _Role.OUTPUT, "_io": _Role.CHANGED}
_RECORDS_OF_PARAMETERS = ("parameters", "constants")


class Places(NamedTuple):
    """Which arguments of a kernel are for what, by their numbers.

    Attributes:
        read: inputs, and what is read and written.
        changed: what is read and written.
        filled: outputs and work.
        written: outputs, and what is read and written.
    """

    read: tuple[int, ...]
    changed: tuple[int, ...]
    filled: tuple[int, ...]
    written: tuple[int, ...]


@functools.cache
def places_of(single: Any) -> Places:
    """The roles of the arguments of a kernel, from their names."""
    roles = [_role(name) for name in inspect.signature(single.interpreted).parameters]

    def places(*wanted: _Role) -> tuple[int, ...]:
        return tuple(place for place, role in enumerate(roles) if role in wanted)

    return Places(
        places(_Role.INPUT, _Role.CHANGED),
        places(_Role.CHANGED),
        places(_Role.OUTPUT, _Role.WORK),
        places(_Role.OUTPUT, _Role.CHANGED),
    )


def _role(name: str) -> _Role:
    if name in _RECORDS_OF_PARAMETERS:
        return _Role.INPUT
    return next((role for suffix, role in _SUFFIXES.items() if name.endswith(suffix)), _Role.SHARED)


@functools.cache
def over_lanes(single: Any) -> Any:
    """The kernel that runs another one in all lanes.

    Args:
        single: the kernel to run in each lane.

    Returns:
        A kernel whose first argument is the number of lanes; then come the arguments of `single`, with the axis of
        the lanes. If `single` returns a status, it returns that of the first lane in which it is not 0.
    """
    function: Callable[..., Any] = device(single.interpreted)
    names = list(inspect.signature(function).parameters)
    lane = ", ".join(_in_lane(name) for name in names)
    has_status = function.__annotations__["return"] in (int, "int")
    body = f"status = function({lane})\n        if status != 0:\n            return status" if has_status else ""
    # Compiled code needs a function of as many parameters as the kernel has; Python makes such only from text.
    name = f"calc_derivatives_of_{function.__name__.removeprefix('calc_')}"
    text = (
        f"def {name}(num_lanes, {', '.join(names)}):\n"
        f"    for lane in range(num_lanes):\n"
        f"        {body or f'function({lane})'}\n"
        f"    return 0\n"
    )
    namespace: dict[str, Any] = {"function": function, "__name__": __name__}
    exec(compile(text, __file__, "exec"), namespace)
    namespace[name].place = f"{function.__module__}:{function.__name__.removeprefix('calc_')}"
    return kernel(namespace[name])


def __getattr__(name: str) -> Any:
    """The result of over_lanes() for the kernel `module:name`; for processes that compile for others."""
    module, _, attribute = name.partition(":")
    if not attribute:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return over_lanes(getattr(importlib.import_module(module), attribute))


def _in_lane(name: str) -> str:
    role = _role(name)
    if role is _Role.INPUT:
        return f"{name}[lane if {name}.shape[0] > 1 else 0]"
    return name if role is _Role.SHARED else f"{name}[lane]"
