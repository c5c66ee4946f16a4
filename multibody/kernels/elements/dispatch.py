"""The one place that looks which kind a force element is.

Functions of kinds from outside the table are compiled apart, and called by address
(framework/native/listed_kernels.py); interpreted kernels call them as they are. An unknown kind is an error in
interpreted kernels, and never gets to compiled ones: `set_element_kind` makes element records.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from merganser.framework.native import KernelList, calls_listed, device
from merganser.multibody.kernels import layout
from merganser.multibody.kernels.branches import chain_of_branches
from merganser.multibody.kernels.elements.kind import FINE, ForceElementKind
from merganser.multibody.kernels.elements.table import ELEMENTS, element_kind_of, element_number_of

__all__ = ["add_energy", "add_forces", "set_element_kind"]

_STATE = ("element", "constant", "q_in", "v_in", "position_in", "velocity_in")
_ROLES = {"add_forces": (*_STATE, "tau_out", "F_out"), "add_energy": (*_STATE, "energy_out")}

_lists: dict[tuple[ForceElementKind, Any], KernelList] = {}  # for good, as element records have their addresses


def set_element_kind(element: Any, kind: ForceElementKind) -> None:
    """Makes an element record that of a kind: its number, and where its code stands.

    Raises:
        TypeError: it is no ForceElementKind.
    """
    element["kind"] = element_number_of(kind)
    element["code"] = element["complex_code"] = 0
    if kind.number is None:
        element["code"], element["complex_code"] = (_list_of(kind, scalar) for scalar in (np.float64, np.complex128))


def _list_of(kind: ForceElementKind, scalar: Any) -> int:
    """The address of the list of the functions of a kind, compiled when first asked for."""
    if (kind, scalar) not in _lists:
        vector = np.zeros(1, scalar)
        examples = {
            "element": np.zeros(1, layout.element_dtype)[0], "constant": np.zeros(1, layout.constant_dtype(scalar))[0],
            "q_in": vector, "v_in": vector, "tau_out": vector, "energy_out": vector, "F_out": np.zeros((1, 6), scalar),
            "position_in": np.zeros(1, layout.position_dtype(scalar)),
            "velocity_in": np.zeros(1, layout.velocity_dtype(scalar)),
        }  # fmt: skip
        arguments = [tuple(examples[name] for name in names) for names in _ROLES.values()]
        _lists[kind, scalar] = KernelList([getattr(kind, role) for role in _ROLES], arguments)
    return _lists[kind, scalar].address


def _calls_of_others(role: str) -> Any:
    """A function that calls that of a kind from outside the table: call(code, complex_code, arguments)."""

    def call_in_python(code: int, complex_code: int, arguments: tuple[Any, ...]) -> int:
        function = getattr(element_kind_of(int(arguments[0]["kind"])), role)
        return FINE if function is None else int(function(*arguments))

    return calls_listed(list(_ROLES).index(role), call_in_python, has_status=True)


def _chain(role: str) -> Callable[..., int]:
    functions = [getattr(kind, role) for kind in ELEMENTS]
    return chain_of_branches(role, _ROLES[role], "kind", functions, _calls_of_others(role))


add_forces = device(_chain("add_forces"))
add_energy = device(_chain("add_energy"))
