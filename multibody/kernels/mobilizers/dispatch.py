"""The one place that looks which kind a mobilizer is: a function for each role of MobilizerKind.

Each is the chain of branches that the table stands for, as text, because compiled code knows its functions when it is
compiled:

    def set_pose(node, fixed, parameters, q_in, R_FM, p_FoMo_F):
        kind = node["mobilizer"]
        if kind == 0:
            ...
        elif kind == 6 or kind == 7:
            ...
        elif call_other(node["code"], node["complex_code"], (node, fixed, parameters, q_in, R_FM, p_FoMo_F)):
            p_FoMo_F[0] = np.nan

An unknown kind is an error in interpreted kernels, and never gets to compiled ones: `set_kind` makes topology records.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import numpy as np

from merganser.framework.native import device, inlined
from merganser.multibody.kernels.mobilizers.kind import MobilizerKind
from merganser.multibody.kernels.mobilizers.outside import ROLES, calls_of_others, list_of
from merganser.multibody.kernels.mobilizers.table import MOBILIZERS, carries_mask, number_of

__all__ = ["add_bias", "set_axes", "set_kind", "set_pose", "set_rates", "set_velocities"]


def set_kind(node: Any, kind: MobilizerKind) -> None:
    """Makes a topology record that of a mobilizer of some kind: its number, sizes, and where its code stands.

    Raises:
        TypeError: it is no MobilizerKind.
    """
    node["mobilizer"] = number_of(kind)
    node["num_q"], node["num_v"] = len(kind.positions), len(kind.velocities)
    node["carries"] = carries_mask(kind)
    node["code"] = node["complex_code"] = 0
    if kind.number is None:
        node["code"], node["complex_code"] = list_of(kind, np.float64), list_of(kind, np.complex128)


def _chain(role: str) -> Callable[..., None]:
    """The function that calls, of the kind of a mobilizer, the function of a role."""
    arguments = ", ".join(ROLES[role].arguments)
    numbers: dict[Callable[..., None] | None, list[int]] = {}
    for number, kind in enumerate(MOBILIZERS):
        numbers.setdefault(getattr(kind, role), []).append(number)
    lines = [f"def {role}({arguments}):", '    kind = node["mobilizer"]']
    space: dict[str, Any] = {"__name__": __name__, "call_other": calls_of_others(role), "np": np}
    for function, of_function in numbers.items():
        name = f"{role}_{of_function[0]}"
        space[name] = function
        lines += [
            f"    {'if' if len(lines) == 2 else 'elif'} {' or '.join(f'kind == {k}' for k in of_function)}:",
            "        pass" if function is None else f"        {name}({arguments})",
        ]
    lines += [
        f'    elif call_other(node["code"], node["complex_code"], ({arguments})):',
        f"        {ROLES[role].spoiled} = np.nan",
    ]
    file = f"<{__name__}.{role}>"
    text = "\n".join(lines) + "\n"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file  # for tracebacks
    exec(compile(text, file, "exec"), space)
    function = space[role]
    function.__doc__ = f"{role} of the kind of a mobilizer, see MobilizerKind."
    chain: Callable[..., None] = function
    return chain


set_pose = inlined(_chain("set_pose"))
set_axes = inlined(_chain("set_axes"))
add_bias = device(_chain("add_bias"))
set_rates = device(_chain("set_rates"))
set_velocities = device(_chain("set_velocities"))
