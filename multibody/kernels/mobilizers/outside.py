"""Kinds of mobilizers from outside the table: their functions are compiled apart, and called by address.

So the kernels need not be compiled anew for a joint of a user, and what is kept of them on the disk stays valid. Each
topology record has the address of a list of kernels, one a role, for floats and for complex numbers. Interpreted
kernels call the functions themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from merganser.framework.native import KernelList, calls_listed
from merganser.multibody.kernels import layout
from merganser.multibody.kernels.mobilizers.kind import MobilizerKind
from merganser.multibody.kernels.mobilizers.table import kind_of

__all__ = ["ROLES", "Role", "calls_of_others", "list_of"]


class Role(NamedTuple):
    """One of the functions of a MobilizerKind.

    Attributes:
        arguments: their names.
        spoiled: which number becomes NaN if a compiled function of a user is left by an exception.
    """

    arguments: tuple[str, ...]
    spoiled: str


ROLES = {
    "set_pose": Role(("node", "fixed", "parameters", "q_in", "R_FM", "p_FoMo_F"), "p_FoMo_F[0]"),
    "set_axes": Role(("node", "fixed", "parameters", "q_in", "body"), 'body["H_PB_W"][0, 0]'),
    "add_bias": Role(("node", "fixed", "parameters", "q_in", "v_in", "body", "Ab_WB_W"), "Ab_WB_W[0]"),
    "set_rates": Role(("node", "q_in", "v_in", "qdot_out"), 'qdot_out[node["q_start"]]'),
    "set_velocities": Role(("node", "q_in", "qdot_in", "v_out"), 'v_out[node["v_start"]]'),
}

_lists: dict[tuple[MobilizerKind, Any], KernelList] = {}  # for good, as topology records have their addresses


def list_of(kind: MobilizerKind, scalar: Any) -> int:
    """The address of the list of the functions of a kind from outside the table; compiled when first asked for.

    Args:
        kind: the kind.
        scalar: float64 or complex128.

    Returns:
        0 if nothing is compiled in this process.
    """
    if (kind, scalar) not in _lists:
        examples = _examples(scalar)
        arguments = [tuple(examples[name] for name in names) for names, _ in ROLES.values()]
        _lists[kind, scalar] = KernelList([getattr(kind, role) for role in ROLES], arguments)
    return _lists[kind, scalar].address


def _examples(scalar: Any) -> dict[str, Any]:
    """Arguments of all functions, of the types that the kernels call them with."""
    records = np.zeros(1, layout.parameter_dtype(scalar))
    vector = np.zeros(1, scalar)
    return {
        "node": np.zeros(1, layout.topology_dtype)[0], "fixed": records[0], "parameters": records,
        "q_in": vector, "v_in": vector, "qdot_in": vector, "qdot_out": vector, "v_out": vector, "Ab_WB_W": vector,
        "R_FM": np.zeros((3, 3), scalar), "p_FoMo_F": vector, "body": np.zeros(1, layout.position_dtype(scalar))[0],
    }  # fmt: skip


def calls_of_others(role: str) -> Any:
    """A function that calls that of a kind from outside the table in this role: call(code, complex_code, arguments).

    It returns a number other than 0 if compiled code was left by an exception.

    Args:
        role: one of ROLES.
    """

    def call_in_python(code: int, complex_code: int, arguments: tuple[Any, ...]) -> int:
        function: Callable[..., None] | None = getattr(kind_of(int(arguments[0]["mobilizer"])), role)
        if function is not None:
            function(*arguments)
        return 0

    return calls_listed(list(ROLES).index(role), call_in_python)
