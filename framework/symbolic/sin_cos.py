"""Sines and cosines of variables, replaced by variables: sin(q) by s, cos(q) by c.

Angles are sums of integer multiples of the variables q, and of what is free of them:

    sin(a + b) = sin(a) cos(b) + cos(a) sin(b)      cos(a + b) = cos(a) cos(b) - sin(a) sin(b)      (1)

With s = sin(q/2), c = cos(q/2), sin(q) = 2 s c, and cos(q) = 1 - 2 s² or 2 c² - 1.
"""

from __future__ import annotations

__all__ = ["SinCos", "SinCosSubstitutionType", "substitute_sin_cos"]

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from merganser.framework.common.enumeration import Enumeration
from merganser.framework.symbolic._sympy import sympy
from merganser.framework.symbolic.nodes import Symbol
from merganser.framework.symbolic.trees import postorder, printable, rebuilt, symbols_of
from merganser.framework.symbolic.variable import Variable

_ZERO, _ONE = sympy.S.Zero, sympy.S.One


class SinCosSubstitutionType(Enumeration):
    """Of which angle a SinCos has the sine and the cosine."""

    kAngle = 0
    kHalfAnglePreferSin = 1
    kHalfAnglePreferCos = 2


@dataclass(eq=False)
class SinCos:
    """The variables for the sine and the cosine of an angle q, or of q/2.

    Attributes:
        s: stands for the sine.
        c: stands for the cosine.
        type: kAngle, or, for q/2, whether cos(q) is to be written with s or with c.
    """

    s: Variable
    c: Variable
    type: SinCosSubstitutionType = SinCosSubstitutionType.kAngle


def substitute_sin_cos(root: Any, pairs: Mapping[Symbol, SinCos], memo: dict[Any, Any]) -> Any:
    """The tree with sines and cosines of the symbols replaced.

    Args:
        root: the tree.
        pairs: what comes for which symbols.
        memo: results for subtrees known so far; grows.

    Raises:
        RuntimeError: an angle is no sum of integer multiples of the symbols (or of their halves).
    """
    for node in postorder(root, memo, lazy=False):
        if node.func in (sympy.sin, sympy.cos, sympy.tan) and set(symbols_of(node)) & pairs.keys():
            sine, cosine = _of_angle(node.args[0], pairs)
            memo[node] = {sympy.sin: sine, sympy.cos: cosine}.get(node.func, sine / cosine)
        elif not node.args:
            memo[node] = node
        else:
            arguments = [memo[argument] for argument in node.args]
            unchanged = all(new is old for new, old in zip(arguments, node.args))
            memo[node] = node if unchanged else rebuilt(node.func, arguments)
    return memo[root]


def _of_angle(angle: Any, pairs: Mapping[Symbol, SinCos]) -> tuple[Any, Any]:
    """Sine and cosine of an angle, by (1)."""
    terms = angle.expand().as_ordered_terms()
    free = sympy.Add(*(term for term in terms if not set(symbols_of(term)) & pairs.keys()))
    sine, cosine = rebuilt(sympy.sin, [free]), rebuilt(sympy.cos, [free])
    for term in terms:
        inside = [symbol for symbol in symbols_of(term) if symbol in pairs]
        if not inside:
            continue
        factor = sympy.nsimplify(term / inside[0], rational=True) if len(inside) == 1 else None
        halves = 1 if factor is None or pairs[inside[0]].type is SinCosSubstitutionType.kAngle else 2
        if factor is None or symbols_of(factor) or not (factor * halves).is_Integer:
            raise RuntimeError(
                f"Substitute: the angle {printable(angle)} has the term {printable(term)}, which is no integer "
                "multiple of a variable, nor of half of one whose half angle is given."
            )
        s, c = _multiple(pairs[inside[0]], int(factor * halves), halves)
        sine, cosine = sine * c + cosine * s, cosine * c - sine * s
    return sine, cosine


def _multiple(pair: SinCos, count: int, halves: int) -> tuple[Any, Any]:
    """Sine and cosine of a multiple of the angle, or of its half, of which the pair has sine and cosine."""
    s: Any = pair.s._node
    c: Any = pair.c._node
    steps, sine, cosine = abs(count), _ZERO, _ONE
    if halves == 2 and count % 2 == 0:  # of the whole angle
        square = 1 - 2 * s**2 if pair.type is SinCosSubstitutionType.kHalfAnglePreferSin else 2 * c**2 - 1
        s, c, steps = 2 * s * c, square, steps // 2
    for _ in range(steps):
        sine, cosine = sine * c + cosine * s, cosine * c - sine * s
    return (-sine if count < 0 else sine), cosine
