"""Chains of branches, for compiled code that does something else for each kind of thing in a table.

Compiled code knows its functions when it is compiled. So a table is turned into source:

    def set_pose(node, fixed, parameters, q_in, R_FM, p_FoMo_F):
        kind = node["mobilizer"]
        if kind == 0:
            set_pose_0(node, fixed, parameters, q_in, R_FM, p_FoMo_F)
        elif kind == 6 or kind == 7:
            set_pose_6(node, fixed, parameters, q_in, R_FM, p_FoMo_F)
        elif call_other(node["code"], node["complex_code"], (node, fixed, parameters, q_in, R_FM, p_FoMo_F)) != 0:
            p_FoMo_F[0] = np.nan
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

__all__ = ["chain_of_branches"]


def chain_of_branches(
    name: str,
    arguments: Sequence[str],
    kind: str,
    functions: Sequence[Callable[..., Any] | None],
    call_other: Any,
    *,
    spoiled: str | None = None,
) -> Callable[..., Any]:
    """Returns the function that calls, of the kind of a thing, what the table has for it.

    Args:
        name: of the function.
        arguments: names of what it takes, and hands on; the first one is the record that has the kind.
        kind: field of that record: the number of the kind. Its fields code and complex_code are for call_other.
        functions: by kinds; None where there is nothing to do.
        call_other: a function of calls_listed(), for kinds from outside the table.
        spoiled: what becomes NaN where a function of another kind was left by an exception; None if all functions
            return a status, which the chain then returns. Of nothing to do it is 0.
    """
    record, given = arguments[0], ", ".join(arguments)
    answer = "return " if spoiled is None else ""
    numbers: dict[Callable[..., Any] | None, list[int]] = {}
    for number, function in enumerate(functions):
        numbers.setdefault(function, []).append(number)
    lines = [f"def {name}({given}):", f'    kind = {record}["{kind}"]']
    space: dict[str, Any] = {"__name__": __name__, "call_other": call_other, "np": np}
    for function, of_function in numbers.items():
        called = f"{name}_{of_function[0]}"
        space[called] = function
        nothing = "return 0" if spoiled is None else "pass"
        lines += [
            f"    {'if' if len(lines) == 2 else 'elif'} {' or '.join(f'kind == {k}' for k in of_function)}:",
            f"        {nothing}" if function is None else f"        {answer}{called}({given})",
        ]
    called = f'call_other({record}["code"], {record}["complex_code"], ({given}))'
    if spoiled is None:
        lines.append(f"    return {called}")
    else:
        lines += [f"    {'elif' if functions else 'if'} {called} != 0:", f"        {spoiled} = np.nan"]
    file = f"<{__name__}.{name}>"
    text = "\n".join(lines) + "\n"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file  # for tracebacks
    exec(compile(text, file, "exec"), space)
    made: Callable[..., Any] = space[name]
    made.__doc__ = f"{name} of a kind, see {functions[0].__module__ if functions and functions[0] else __name__}."
    return made
