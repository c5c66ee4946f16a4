"""Kinds of mobilizers from outside the table: their functions are compiled apart, and called by address.

So the kernels need not be compiled anew for a joint of a user, and what is kept of them on the disk stays valid. Each
topology record has the address of a list of addresses, one a role, for floats and for complex numbers. Interpreted
kernels call the functions themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native import kernel, kernel_address
from merganser.framework.native.extending import cgutils, intrinsic, ir, types
from merganser.multibody.kernels import layout
from merganser.multibody.kernels.mobilizers.kind import MobilizerKind
from merganser.multibody.kernels.mobilizers.table import kind_of

__all__ = ["ROLES", "addresses_of", "calls_by_address"]

# The functions of a MobilizerKind, with the names of their arguments.
ROLES = {
    "set_pose": ("node", "fixed", "parameters", "q_in", "R_FM", "p_FoMo_F"),
    "set_axes": ("node", "fixed", "parameters", "q_in", "body"),
    "add_bias": ("node", "fixed", "parameters", "q_in", "v_in", "body", "Ab_WB_W"),
    "set_rates": ("node", "q_in", "v_in", "qdot_out"),
    "set_velocities": ("node", "q_in", "qdot_in", "v_out"),
}

_lists: dict[tuple[MobilizerKind, Any], NDArray[np.int64]] = {}


def addresses_of(kind: MobilizerKind, scalar: Any) -> int:
    """Where the list of the addresses of the functions of a kind stands; compiled when first asked for.

    Args:
        kind: from outside the table.
        scalar: float64 or complex128.

    Returns:
        0 if nothing is compiled in this process.
    """
    if (kind, scalar) not in _lists:
        addresses = np.zeros(len(ROLES), np.int64)
        examples = _examples(scalar)
        for place, (role, names) in enumerate(ROLES.items()):
            function = getattr(kind, role)
            if function is not None:
                compiled = kernel(function)
                if compiled is function:  # nothing is compiled here
                    return 0
                addresses[place] = kernel_address(compiled, *(examples[name] for name in names))
                _kernels.append(compiled)
        _lists[kind, scalar] = addresses
    return int(_lists[kind, scalar].__array_interface__["data"][0])


_kernels: list[Any] = []  # whose code must stay where it is


def _examples(scalar: Any) -> dict[str, Any]:
    """Arguments of all functions, of the types that the kernels call them with."""
    records = np.zeros(1, layout.parameter_dtype(scalar))
    vector = np.zeros(1, scalar)
    return {
        "node": np.zeros(1, layout.topology_dtype)[0], "fixed": records[0], "parameters": records,
        "q_in": vector, "v_in": vector, "qdot_in": vector, "qdot_out": vector, "v_out": vector, "Ab_WB_W": vector,
        "R_FM": np.zeros((3, 3), scalar), "p_FoMo_F": vector, "body": np.zeros(1, layout.position_dtype(scalar))[0],
    }  # fmt: skip


def calls_by_address(role: str) -> Any:
    """A function of compiled code that calls the function of a kind in this role: call(code, complex_code, arguments).

    Args:
        role: one of ROLES.
    """
    place = list(ROLES).index(role)

    def call(typingctx: Any, code: Any, complex_code: Any, arguments: Any) -> Any:
        argtypes = tuple(map(_checked, arguments))
        is_complex = any(getattr(kind, "dtype", None) == types.complex128 for kind in argtypes)

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            from merganser.framework.native.numba_inside import call_at

            integer = ir.IntType(64)
            addresses = values[1 if is_complex else 0]
            with cgutils.if_likely(builder, cgutils.is_not_null(builder, addresses)):
                address = builder.load(
                    builder.gep(builder.inttoptr(addresses, integer.as_pointer()), [integer(place)])
                )
                with cgutils.if_likely(builder, cgutils.is_not_null(builder, address)):
                    given = cgutils.unpack_tuple(builder, values[2], len(argtypes))
                    call_at(context, builder, address, types.none, argtypes, given)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, arguments), generate

    def call_in_python(code: int, complex_code: int, arguments: tuple[Any, ...]) -> None:
        function: Callable[..., None] | None = getattr(kind_of(int(arguments[0]["mobilizer"])), role)
        if function is not None:
            function(*arguments)

    return intrinsic(call, call_in_python)


def _checked(kind: Any) -> Any:
    """The type of an argument, which stands in memory as those of `_examples` do."""
    if isinstance(kind, types.Record):
        return kind
    if isinstance(kind, types.Array) and kind.layout == "C":
        return kind.copy(readonly=False)
    raise TypeError(f"Functions of mobilizers take records and contiguous arrays, not {kind}.")
