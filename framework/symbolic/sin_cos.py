"""Sines and cosines of variables, replaced by variables: sin(q) by s, cos(q) by c.

Angles are sums of integer multiples of the variables q, and of what is free of them:

    sin(a + b) = sin(a) cos(b) + cos(a) sin(b)      cos(a + b) = cos(a) cos(b) - sin(a) sin(b)      (1)

With s = sin(q/2), c = cos(q/2), sin(q) = 2 s c, and cos(q) = 1 - 2 s² or 2 c² - 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from merganser.framework.common.enumeration import Enumeration
from merganser.framework.symbolic import nodes as n
from merganser.framework.symbolic.printing import printable
from merganser.framework.symbolic.trees import applied, expanded, with_parts
from merganser.framework.symbolic.variable import Variable


class SinCosSubstitutionType(Enumeration):
    """Of which angle a SinCos has the sine and the cosine."""

    kAngle = 0
    kHalfAnglePreferSin = 1
    kHalfAnglePreferCos = 2


@dataclass(eq=False)
class SinCos:
    """The variables for the sine and the cosine of an angle q, or of q/2.

    Attributes:
        s: the sine.
        c: the cosine.
        type: kAngle, or, for q/2, whether cos(q) is to be written with s or with c.
    """

    s: Variable
    c: Variable
    type: SinCosSubstitutionType = SinCosSubstitutionType.kAngle


def substitute_sin_cos(root: Any, pairs: Mapping[Any, SinCos], memo: dict[Any, Any]) -> Any:
    """The tree with sines and cosines of the symbols replaced.

    Args:
        root: the tree.
        pairs: what comes for which symbols.
        memo: results for subtrees known so far; grows.

    Raises:
        RuntimeError: an angle is not a sum of integer multiples of the symbols (or of their halves).
    """
    for node in n.postorder(root, memo, lazy=False):
        if type(node) in (n.Sin, n.Cos, n.Tan) and pairs.keys() & n.symbols_of(node):
            sine, cosine = _of_angle(node.parts[0], pairs)
            ratio = n.multiplied(sine, n.reciprocal(cosine)) if type(node) is n.Tan else None
            memo[node] = {n.Sin: sine, n.Cos: cosine, n.Tan: ratio}[type(node)]
        else:
            memo[node] = with_parts(node, [memo[part] for part in node.parts])
    return memo[root]


def _of_angle(angle: Any, pairs: Mapping[Any, SinCos]) -> tuple[Any, Any]:
    """Sine and cosine of an angle, by (1)."""
    constant, terms = n.terms_of(expanded(angle))
    free = [(term, factor) for term, factor in terms.items() if not pairs.keys() & n.symbols_of(term)]
    rest = n.summed(free, constant)
    sine, cosine = applied(n.Sin, rest), applied(n.Cos, rest)
    for term, factor in terms.items():
        if not pairs.keys() & n.symbols_of(term):
            continue
        halves = 1 if term not in pairs or pairs[term].type is SinCosSubstitutionType.kAngle else 2
        if term not in pairs or factor * halves % 1:
            raise RuntimeError(
                f"Substitute: the angle {printable(angle)} has the term {printable(n.scaled(term, factor))}, which is "
                "not an integer multiple of a variable, nor of half of one whose half angle is given."
            )
        sine, cosine = _turned(sine, cosine, *_multiple(pairs[term], int(factor * halves), halves))
    return sine, cosine


def _turned(sine: Any, cosine: Any, s: Any, c: Any) -> tuple[Any, Any]:
    """(1)."""
    above = n.added(n.multiplied(sine, c), n.multiplied(cosine, s))
    return above, n.added(n.multiplied(cosine, c), n.multiplied(sine, s), -1)


def _multiple(pair: SinCos, count: int, halves: int) -> tuple[Any, Any]:
    """Sine and cosine of a multiple of the angle, or of its half, of which the pair has sine and cosine."""
    s: Any = pair.s._node
    c: Any = pair.c._node
    steps, sine, cosine = abs(count), n.ZERO, n.ONE
    if halves == 2 and count % 2 == 0:  # of the whole angle
        prefers_sine = pair.type is SinCosSubstitutionType.kHalfAnglePreferSin
        whole = (
            n.added(n.ONE, n.integer_power(s, 2), -2)
            if prefers_sine
            else n.added(n.scaled(n.ONE, -1), n.integer_power(c, 2), 2)
        )
        s, c, steps = n.scaled(n.multiplied(s, c), 2), whole, steps // 2
    for _ in range(steps):
        sine, cosine = _turned(sine, cosine, s, c)
    return (n.scaled(sine, -1) if count < 0 else sine), cosine
