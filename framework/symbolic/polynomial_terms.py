"""Expression trees multiplied out: sums of products of powers of *atoms*, each with a number.

Atoms are the symbols, and subtrees that are neither sums nor products nor positive integer powers: sin(a), 1/b. With
exponents of all atoms in a tuple, sums and products are those of dictionaries {exponents: number}.
"""

from __future__ import annotations

__all__ = ["Ring", "terms_of"]

import operator
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from merganser.framework.symbolic._sympy import sympy
from merganser.framework.symbolic.monomial import Monomial
from merganser.framework.symbolic.nodes import Symbol, number
from merganser.framework.symbolic.trees import postorder, printable, symbols_of

Sparse = dict[tuple[int, ...], float]


def terms_of(root: Any, indeterminates: Collection[Symbol]) -> dict[Monomial, Any]:
    """The coefficients, which are trees, of a tree that is a polynomial in some symbols, by monomial.

    Raises:
        RuntimeError: it is not a polynomial.
    """
    ring = Ring([root], indeterminates)
    return ring.terms(ring.read(root))


class Ring:
    """Sums of products of powers of the atoms of some trees.

    Args:
        roots: the trees.
        indeterminates: symbols that may be in atoms only by themselves.

    Raises:
        RuntimeError: a tree is no polynomial in the indeterminates.
    """

    def __init__(self, roots: Iterable[Any], indeterminates: Collection[Symbol]) -> None:
        self._indeterminates = set(indeterminates)
        self._places: dict[Any, int] = {}
        seen: set[Any] = set()
        for root in roots:
            self._collect(root, seen)
        self._memo: dict[Any, Sparse] = {}
        self._one = (0,) * len(self._places)

    def _collect(self, root: Any, seen: set[Any]) -> None:
        pending = [root]
        while pending:
            node = pending.pop()
            if node in seen:
                continue
            seen.add(node)
            if _is_joined(node):
                pending.extend(node.args[:1] if node.is_Pow else node.args)
            elif not _is_constant(node):
                self._check(node)
                self._places.setdefault(node, len(self._places))

    def _check(self, atom: Any) -> None:
        if isinstance(atom, Symbol) or not self._indeterminates & set(symbols_of(atom)):
            return
        if atom.is_Pow:
            raise RuntimeError(
                f"{printable(atom)} is no polynomial: its exponent, {printable(atom.exp)}, must be a positive integer."
            )
        names = ", ".join(symbol.name for symbol in sorted(self._indeterminates, key=lambda s: s.dummy_index))
        raise RuntimeError(f"The term {printable(atom)} is no polynomial in {{{names}}}: of these it must be free.")

    def read(self, root: Any) -> Sparse:
        """A tree, multiplied out."""
        for node in postorder(root, self._memo, lazy=False, into=_is_joined):
            if node in self._places:
                place = self._places[node]
                exponents = (*self._one[:place], 1, *self._one[place + 1 :])
                self._memo[node] = {exponents: 1.0}
            elif not _is_joined(node):
                self._memo[node] = {self._one: float(node)}
            elif node.is_Add:
                self._memo[node] = self._sum([self._memo[term] for term in node.args])
            elif node.is_Mul:
                self._memo[node] = self._product_of([self._memo[factor] for factor in node.args])
            else:
                self._memo[node] = self._power(self._memo[node.base], int(node.exp))
        return self._memo[root]

    def read_terms(self, terms: Mapping[Monomial, Any]) -> Sparse:
        """The terms of a polynomial, {monomial: expression}."""
        return self._sum(
            [self.product(self.read(m.ToExpression()._node), self.read(c._node)) for m, c in terms.items()]
        )

    def product(self, left: Sparse, right: Sparse) -> Sparse:
        """The terms of a product."""
        found: Sparse = {}
        for a, x in left.items():
            for b, y in right.items():
                exponents = tuple(map(operator.add, a, b))
                found[exponents] = found.get(exponents, 0.0) + x * y
        return found

    def _sum(self, parts: list[Sparse]) -> Sparse:
        found: Sparse = {}
        for part in parts:
            for exponents, x in part.items():
                found[exponents] = found.get(exponents, 0.0) + x
        return found

    def _product_of(self, factors: list[Sparse]) -> Sparse:
        result = factors[0]
        for factor in factors[1:]:
            result = self.product(result, factor)
        return result

    def _power(self, base: Sparse, exponent: int) -> Sparse:
        result: Sparse = {self._one: 1.0}
        while exponent:
            if exponent % 2:
                result = self.product(result, base)
            exponent //= 2
            base = self.product(base, base) if exponent else base
        return result

    def terms(self, sparse: Sparse) -> dict[Monomial, Any]:
        """Coefficients by monomial in the indeterminates; those that are 0 are left out."""
        chosen = [(atom.variable, i) for atom, i in self._places.items() if atom in self._indeterminates]
        others = [(atom, i) for atom, i in self._places.items() if atom not in self._indeterminates]
        grouped: dict[tuple[int, ...], list[Any]] = {}
        for exponents, x in sparse.items():
            if x != 0.0:
                factors = [atom ** exponents[i] for atom, i in others if exponents[i]]
                key = tuple(exponents[i] for _, i in chosen)
                grouped.setdefault(key, []).append(sympy.Mul(number(x), *factors) if factors else number(x))
        return {
            Monomial._of({variable: power for (variable, _), power in zip(chosen, key)}): sympy.Add(*parts)
            for key, parts in grouped.items()
        }


def _is_joined(node: Any) -> bool:
    """Whether a tree is a sum, a product, or a positive integer power, of what its arguments are."""
    return bool(node.is_Add or node.is_Mul or (node.is_Pow and node.exp.is_Integer and node.exp > 0))


def _is_constant(node: Any) -> bool:
    return bool(node.is_Number or node.is_NumberSymbol)
