"""The nodes of expressions, and what makes them in a canonical form.

A sum is a number and {term: factor}; a product is {base: exponent} with positive integers, its numerical factor being
that of the sum that it is the one term of. So 2 x y is the sum {x y: 2}, and an affine form is a dictionary of symbols.
A number that multiplies a sum is multiplied into it.

What is simplified is equal wherever it is defined, and defined where it was: quotients are products of reciprocals,
and x y / x stays, as do exp(log(x)) and sin(asin(x)).

Nodes that are neither numbers, sums nor conditions exist once: equal ones are one object. Those of numbers, sums and
conditions compare what is directly under them. So a comparison never walks through a tree, of which equal subtrees are
shared along exponentially many paths (the kinematics of a chain is such a tree).
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
import os
from collections.abc import Callable, Container, Iterable, Mapping
from fractions import Fraction
from typing import Any
from weakref import ref

import numpy as np

from merganser.framework.math.elementary import ELEMENTARY, power

#: Numbers in trees: int, float or Fraction. Whole floats become integers, whose quotients are exact: 3 (x / 2) is 3x/2.
Real = Any

_LARGEST_EXACT_INTEGER = 2.0**53  # every integer up to here is a float


_new = object.__new__


class Node:
    """A node of a tree; `parts` are the nodes directly under it."""

    __slots__ = ("__weakref__",)
    parts: Any = ()


class Number(Node):
    """A constant."""

    __slots__ = ("value",)

    def __init__(self, value: Real) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is Number and self.value == other.value)  # NaN is itself

    def __hash__(self) -> int:
        return hash(self.value)

    def __reduce__(self) -> tuple[Any, ...]:
        return constant, (self.value,)


NAN: Any = Number(math.nan)
ZERO: Any = Number(0)
ONE: Any = Number(1)


class Symbol(Node):
    """A variable in a tree. Symbols of equal names differ."""

    __slots__ = ("index", "variable")

    def __init__(self, variable: Any, index: int) -> None:
        self.variable, self.index = variable, index
        _kept(index, self)

    @property
    def name(self) -> str:
        """The name of the variable."""
        return str(self.variable.get_name())

    def is_truth(self) -> bool:
        """Whether it is a condition, that is, a variable of type BOOLEAN."""
        return bool(self.variable.get_type().name == "BOOLEAN")

    def __reduce__(self) -> tuple[Any, ...]:
        return operator.attrgetter("_node"), (self.variable,)


_BITS_OF_NUMBERS = 56


def _count_from_elsewhere() -> None:
    """Numbers of this process begin where those of no other are, as variables travel between processes in pickles."""
    global _NUMBERS
    _NUMBERS = itertools.count(int.from_bytes(os.urandom(5), "little"))


_NUMBERS: itertools.count[int]
_count_from_elsewhere()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_from_elsewhere)


def new_number(rank: int) -> int:
    """The number of a new variable; those of lesser rank come before it in order."""
    return rank << _BITS_OF_NUMBERS | next(_NUMBERS)


class Sum(Node):
    """A constant and terms, none of them a number or a sum, each with a factor that is not 0."""

    __slots__ = ("_hash", "constant", "terms")
    terms: dict[Node, Real]
    constant: Real
    _hash: int | None

    @property
    def parts(self) -> Any:
        return tuple(self.terms)

    def __eq__(self, other: object) -> bool:
        return type(other) is Sum and self.constant == other.constant and self.terms == other.terms

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((self.constant, frozenset(self.terms.items())))
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return sum_of, (self.terms, self.constant)


class _Reference(ref[Node]):
    __slots__ = ("key",)
    key: Any


#: Nodes in use, by what they consist of; a WeakValueDictionary would take twice as long.
_NODES: dict[Any, _Reference] = {}


def known(key: Any) -> Any:
    """The node in use that consists of this, or the symbol of this number; None where it is not."""
    reference = _NODES.get(key)
    return None if reference is None else reference()


def _kept(key: Any, node: Any) -> Any:
    reference = _Reference(node, _forget)
    reference.key = key
    first = _NODES.setdefault(key, reference)  # of another thread's, where it is not this one
    other = first()
    if other is None:
        _NODES[key] = reference
    return node if other is None else other


def _forget(reference: Any, nodes: dict[Any, _Reference] = _NODES) -> None:
    key = reference.key
    if nodes.get(key) is reference:
        del nodes[key]


class Product(Node):
    """Bases, none of them a number or a product, with positive integers as exponents.

    `degree` is the sum of the exponents if all bases are symbols, else 0.
    """

    __slots__ = ("degree", "factors")
    factors: dict[Node, int]
    degree: int

    @property
    def parts(self) -> Any:
        return tuple(self.factors)

    def __reduce__(self) -> tuple[Any, ...]:
        return product_of, (self.factors,)


class Function(Node):
    """A function of nodes; `data` is the name of an uninterpreted one, and the symbol of a bound one."""

    __slots__ = ("data", "parts")
    parts: tuple[Node, ...]
    data: Any

    @classmethod
    def of(cls, *parts: Node, data: Any = None) -> Any:
        """The one node of this function of these nodes."""
        key = (cls, data, parts)
        node = known(key)
        if node is None:
            node = _new(cls)
            node.parts, node.data = parts, data
            node = _kept(key, node)
        return node

    def __reduce__(self) -> tuple[Any, ...]:
        return functools.partial(type(self).of, data=self.data), self.parts


def _kinds(base: Any, names: str) -> Any:
    return (type(name, (base,), {"__slots__": (), "__module__": __name__}) for name in names.split())


# Of one part. The angle of Acos is in [0, pi], that of Asin in [-pi/2, pi/2]. A Sqrt is not negative.
Abs, Sign, Sin, Cos, Tan, Sinh, Cosh, Tanh, Exp, Log = _kinds(Function, "Abs Sign Sin Cos Tan Sinh Cosh Tanh Exp Log")
Acos, Asin, Atan, Ceil, Floor, Sqrt, Reciprocal = _kinds(Function, "Acos Asin Atan Ceil Floor Sqrt Reciprocal")
# Atan2 is the angle in (-pi, pi] of a point (x, y), of y and x. A Power has an exponent that is no integer, or no
# number. Of a choice, the second part is where the condition, the first, holds, and the third elsewhere.
Atan2, Power, Maximum, Minimum, IfThenElse = _kinds(Function, "Atan2 Power Maximum Minimum IfThenElse")
# Bound is a symbol inside of the formula that it is bound by; it is not free there, nor replaced by substitutions.
Uninterpreted, Bound = _kinds(Function, "Uninterpreted Bound")

#: The kinds of the elementary functions, by their C names.
KIND_OF: dict[str, Any] = {name: globals()[name.capitalize()] for name in ELEMENTARY}


# -- conditions ---------------------------------------------------------------------------------------------------


class Condition(Node):
    """What is true or false."""

    __slots__ = ("parts",)
    parts: tuple[Node, ...]

    def __init__(self, *parts: Node) -> None:
        self.parts = parts

    def _content(self) -> Any:
        return self.parts

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._content() == other._content()

    def __hash__(self) -> int:
        return hash((type(self), self._content()))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self.parts


class Truth(Condition):
    """True or False."""

    __slots__ = ("value",)

    def __init__(self, value: bool) -> None:
        super().__init__()
        self.value = value

    def _content(self) -> Any:
        return self.value

    def __reduce__(self) -> tuple[Any, ...]:
        return truth, (self.value,)


TRUE, FALSE = Truth(True), Truth(False)


def truth(value: Any) -> Truth:
    """True or False as a node."""
    return TRUE if value else FALSE


class Relation(Condition):
    """A comparison of two nodes; it keeps their difference."""

    __slots__ = ("difference",)

    def __init__(self, left: Node, right: Node, difference: Node | None = None) -> None:
        super().__init__(left, right)
        self.difference = added(left, right, -1) if difference is None else difference


Eq, Ne, Lt, Le, Gt, Ge = _kinds(Relation, "Eq Ne Lt Le Gt Ge")


class Joined(Condition):
    """A conjunction or a disjunction of some conditions."""

    __slots__ = ()

    def _content(self) -> Any:
        return frozenset(self.parts)


And, Or = _kinds(Joined, "And Or")
# The first part of ForAll is a condition, the others are bound symbols. IsNan is true only of NaN itself, since no
# evaluation goes through one.
Not, ForAll, IsNan = _kinds(Condition, "Not ForAll IsNan")


class PositiveSemidefinite(Condition):
    """Whether a symmetric matrix, whose entries are the parts row by row, has no negative eigenvalue."""

    def matrix(self, entry: Any) -> Any:
        """The matrix, a function being applied to each of its entries."""
        size = math.isqrt(len(self.parts))
        result = np.empty((size, size), dtype=object)
        result.ravel()[:] = [entry(each) for each in self.parts]
        return result


RELATIONS: dict[Any, Callable[[float, float], bool]] = {
    Eq: operator.eq, Ne: operator.ne, Lt: operator.lt, Le: operator.le, Gt: operator.gt, Ge: operator.ge,
}  # fmt: skip
_OPPOSITE = {Eq: Ne, Ne: Eq, Lt: Ge, Ge: Lt, Gt: Le, Le: Gt}


def decided(relation: Any, a: Node, b: Node) -> Condition:
    """True or False where the two differ by a number, else the relation unchanged."""
    difference = added(a, b, -1)
    if type(difference) is Number and difference is not NAN:
        return truth(RELATIONS[relation](difference.value, 0))
    return relation(a, b, difference)


def joined(kind: Any, conditions: Iterable[Condition]) -> Any:
    """A conjunction or a disjunction, of which what is decided, or occurs twice, is left out."""
    decisive, found = truth(kind is Or), dict[Any, None]()
    for condition in conditions:
        for part in condition.parts if type(condition) is kind else (condition,):
            if part == decisive or negated(part) in found or (isinstance(part, Relation) and opposite(part) in found):
                return decisive
            if type(part) is not Truth:
                found[part] = None
    return truth(kind is And) if not found else next(iter(found)) if len(found) == 1 else kind(*found)


def opposite(condition: Any) -> Any:
    """A relation, a conjunction or a disjunction negated without a negation of the whole."""
    if isinstance(condition, Relation):
        return _OPPOSITE[type(condition)](*condition.parts, condition.difference)
    return joined(Or if type(condition) is And else And, map(negated, condition.parts))


def negated(condition: Any) -> Any:
    """The opposite of a condition."""
    if type(condition) is Truth:
        return truth(not condition.value)
    return condition.parts[0] if type(condition) is Not else Not(condition)


# -- numbers, sums and products -----------------------------------------------------------------------------------


def is_number(value: Any) -> bool:
    """Whether `value` is a Python or numpy number, which expressions take as a constant."""
    return isinstance(value, (float, int, np.floating, np.integer))


def exact(value: Any) -> Real:
    """A number of Python; a whole one is an integer, so that its quotients are exact."""
    value = float(value)
    return int(value) if value.is_integer() and abs(value) < _LARGEST_EXACT_INTEGER else value


def number(value: Any) -> Number:
    """A constant."""
    return constant(exact(value))


def constant(value: Real) -> Number:
    """The node of a number."""
    return Number(value) if value == value else NAN


def is_zero(node: Node) -> bool:
    """Whether a node is the constant zero."""
    return type(node) is Number and node.value == 0


def sum_of(terms: dict[Node, Real], constant: Real) -> Node:
    """A sum of terms with factors that are not 0; infinity is more than all others. It keeps the dictionary."""
    if not terms or constant - constant != 0:
        return Number(constant) if constant == constant else NAN
    if len(terms) == 1 and not constant:
        ((term, factor),) = terms.items()
        if factor == 1:
            return term
    node = _new(Sum)
    node.terms, node.constant, node._hash = terms, constant, None
    return node


def _accumulate(terms: dict[Node, Real], node: Any, factor: Real) -> Real:
    """Adds a multiple of a node to terms; returns the number that it adds to their constant."""
    kind = type(node)
    if kind is Number:
        return node.value * factor
    if kind is not Sum:
        total = terms.get(node, 0) + factor
        if total:
            terms[node] = total
        else:
            del terms[node]
        return 0
    for term, c in node.terms.items():
        total = c * factor
        if term in terms:
            total += terms[term]
        if total:
            terms[term] = total
        else:
            terms.pop(term, None)
        if total != total:
            return math.nan
    return node.constant * factor


def added(a: Node, b: Node, factor: Real = 1) -> Node:
    """a + factor b, the factor not being 0."""
    if type(a) is Sum:
        terms, constant = a.terms.copy(), a.constant
    else:
        terms = {}
        constant = _accumulate(terms, a, 1)
    return sum_of(terms, constant + _accumulate(terms, b, factor))


def summed(nodes: Iterable[tuple[Node, Real]], constant: Real = 0) -> Node:
    """The sum of nodes with factors that are not 0."""
    terms: dict[Node, Real] = {}
    for node, factor in nodes:
        constant += _accumulate(terms, node, factor)
    return sum_of(terms, constant)


def scaled(node: Any, factor: Real) -> Node:
    """A number times a node."""
    kind = type(node)
    if kind is Number:
        return constant(node.value * factor)
    if factor == 1:
        return node
    if factor == 0 or factor != factor:
        return ZERO if factor == 0 else NAN
    if kind is not Sum:
        return sum_of({node: factor}, 0)
    terms = {term: c * factor for term, c in node.terms.items()}
    if 0 in terms.values():  # too small for a float
        terms = {term: c for term, c in terms.items() if c}
    return sum_of(terms, node.constant and node.constant * factor)


def split(node: Node) -> tuple[Real, Node]:
    """The number that a node is a multiple by, and the rest: of a number, 1; of a sum of several, itself."""
    if type(node) is Sum and len(node.terms) == 1 and not node.constant:
        ((term, factor),) = node.terms.items()
        return factor, term
    return (node.value, ONE) if type(node) is Number else (1, node)


def factors_of(node: Node) -> Mapping[Any, int]:
    """The bases of a product and their exponents; of a number, none; of others, themselves."""
    return node.factors if type(node) is Product else {} if type(node) is Number else {node: 1}


def terms_of(node: Node) -> tuple[Real, Mapping[Any, Real]]:
    """The constant of a sum, and its terms with their factors; of others, what they are as a sum."""
    if type(node) is Sum:
        return node.constant, node.terms
    return (node.value, {}) if type(node) is Number else (0, {node: 1})


def multiplied(a: Node, b: Node) -> Node:
    """The product of two nodes; two sums stay as they are."""
    if type(a) is Number:
        return scaled(b, a.value)
    if type(b) is Number:
        return scaled(a, b.value)
    (c, a), (d, b) = split(a), split(b)
    factors: dict[Node, int] = a.factors.copy() if type(a) is Product else {a: 1}
    for base, exponent in factors_of(b).items():
        factors[base] = factors.get(base, 0) + exponent
    product = product_of(factors)
    return product if c == 1 and d == 1 else scaled(product, c * d)


def product_of(factors: dict[Node, int]) -> Node:
    """The one product of powers of bases that are neither numbers nor products. It keeps the dictionary."""
    for base, exponent in factors.items():
        if exponent > 1 and exponent % 2 == 0 and type(base) in (Sqrt, Power) and _is_root_of_squares(base):
            rest = product_of({other: power for other, power in factors.items() if other is not base})
            return multiplied(rest, integer_power(base.parts[0], exponent // 2))
    if len(factors) < 2:
        for base, exponent in factors.items():
            if exponent == 1:
                return base
        if not factors:
            return ONE
    key = frozenset(factors.items())
    node = known(key)
    if node is None:
        node = _new(Product)
        node.factors = factors
        node.degree = 0 if any(type(base) is not Symbol for base in factors) else sum(factors.values())
        node = _kept(key, node)
    return node


def _is_root_of_squares(root: Node) -> bool:
    """Whether a sum of squares is under a root, as in a norm, so that its even powers are defined everywhere."""
    if type(root) is Power and root.parts[1] != Number(0.5):
        return False
    constant, terms = terms_of(root.parts[0])
    return constant >= 0 and all(
        factor > 0 and all(exponent % 2 == 0 for exponent in factors_of(term).values())
        for term, factor in terms.items()
    )


def inverse(value: Real) -> Real:
    """1 over a number that is not 0; of an integer, exactly."""
    if isinstance(value, float):
        return 1.0 / value
    result = Fraction(1, value) if isinstance(value, int) else 1 / value
    return int(result) if result.denominator == 1 else result


def reciprocal(node: Node) -> Node:
    """1 over a node that is not 0; of a product, the product of reciprocals."""
    if type(node) is Number:
        return constant(inverse(node.value))
    factor, rest = split(node)
    return scaled(product_of({Reciprocal.of(b): e for b, e in factors_of(rest).items()}), inverse(factor))


def power_product(powers: Iterable[tuple[Node, int]]) -> Node:
    """The product of powers of any bases."""
    return functools.reduce(multiplied, (integer_power(*each) for each in powers), ONE)


def integer_power(base: Node, exponent: int) -> Node:
    """A power with an exponent that is not negative."""
    if exponent < 2:
        return base if exponent else ONE
    if type(base) is Number:
        is_quotient = isinstance(base.value, Fraction)
        return constant(base.value**exponent) if is_quotient else number(power(base.value, exponent))
    factor, rest = split(base)
    product = product_of({b: e * exponent for b, e in factors_of(rest).items()})
    return product if factor == 1 else scaled(product, factor**exponent)


# -- walks --------------------------------------------------------------------------------------------------------


def symbols_of(*nodes: Node) -> list[Symbol]:
    """All symbols in the trees, in the order in which they were made."""
    seen: set[Node] = set()
    found = []
    pending = list(nodes)
    while pending:
        node = pending.pop()
        if node not in seen:
            seen.add(node)
            if type(node) is Symbol:
                found.append(node)
            else:
                pending += node.terms if type(node) is Sum else node.parts
    return sorted(found, key=operator.attrgetter("index"))


def postorder(root: Node, known: Container[Any], lazy: bool = True) -> list[Any]:
    """Subtrees that are not in `known`, each once and after its parts, without recursion.

    With `lazy`, of a choice the condition is visited and the arms are not, as one of them may be undefined.
    """
    order: list[Any] = []
    seen: set[Node] = set()
    pending = [(root, False)]
    while pending:
        node, parts_are_visited = pending.pop()
        if parts_are_visited:
            order.append(node)
        elif node not in seen and node not in known:
            seen.add(node)
            parts = node.parts
            if not parts:
                order.append(node)
                continue
            pending.append((node, True))
            parts = parts[:1] if lazy and type(node) is IfThenElse else parts
            pending.extend((part, False) for part in parts)
    return order
