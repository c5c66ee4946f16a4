"""Expressions of a block as native code: programs for framework/native/operations/expression_operations.py.

This file loads numba; callers import it only when there are expressions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from merganser.framework.core.context.native_code import FAILURE, NativeCode
from merganser.framework.native.operations import expression_operations as code
from merganser.framework.symbolic import nodes
from merganser.framework.symbolic.expression import node_of

_FUNCTIONS = {
    nodes.Ceil if name == "ceiling" else getattr(nodes, name.capitalize()): number
    for number, name in enumerate(code.FUNCTIONS)
}
_RELATIONS = {getattr(nodes, name): number for number, name in enumerate(code.RELATIONS)}
_PAIRS = {
    nodes.Power: code.POWER, nodes.Atan2: code.ARCTAN2, nodes.Maximum: code.MAXIMUM, nodes.Minimum: code.MINIMUM,
}  # fmt: skip
_EXPONENTS = {nodes.Reciprocal: -1.0, nodes.Sqrt: 0.5}
_LISTS = {nodes.And: code.ALL, nodes.Or: code.ANY}
_NOWHERE = 0


def expression_code(
    expressions: Iterable[Any], variables: Sequence[tuple[Any, Sequence[Any]]], target: Any
) -> NativeCode | None:
    """An operation that evaluates expressions; None if they cannot be compiled.

    Args:
        expressions: the expressions.
        variables: placeholders of time, state, input and parameters (see NativeCode), each with its
            Variables.
        target: placeholder of the result.
    """
    program = _Program([group for _, group in variables])
    try:
        for index, expression in enumerate(expressions):
            program.store(index, program.register_of(node_of(expression)))
    except LookupError:
        return None
    places = [place if group in program.groups else _NOWHERE for group, (place, _) in enumerate(variables)]
    num_registers = len(program.constants) + program.num_results
    registers = np.array([*program.constants, *[0.0] * (program.num_results + num_registers)])  # then their slopes
    steps = program.steps()
    return NativeCode("expressions", (FAILURE, registers, *places, target, len(steps), num_registers, *steps))


class _Result(int):
    """The register of a result, counted from the first one that holds no constant."""


class _Program:
    """A growing list of instructions.

    Attributes:
        constants: the numbers that the first registers hold.
        num_results: number of other registers.
        groups: which of time, state, input and parameters occur.
    """

    def __init__(self, groups: Sequence[Sequence[Any]]) -> None:
        self._symbols = {node_of(v): (group, i) for group, list_ in enumerate(groups) for i, v in enumerate(list_)}
        self._registers: dict[Any, int] = {}
        self._steps: list[int] = []
        self.constants: list[float] = []
        self.num_results = 0
        self.groups: set[int] = set()

    def steps(self) -> list[int]:
        """The instructions; the registers of results come after those of constants."""
        shift = len(self.constants)
        return [int(step) + shift if isinstance(step, _Result) else step for step in self._steps]

    def store(self, index: int, register: int) -> None:
        """Element `index` of the output is that register."""
        self._steps += [code.STORE, index, register]

    def register_of(self, root: Any) -> int:
        """Adds what computes a tree; returns the register of its value.

        Raises:
            LookupError: there is no instruction for some part.
        """
        for node in nodes.postorder(root, self._registers):
            if isinstance(node, nodes.Symbol):
                group, index = self._symbols[node]
                self.groups.add(group)
                self._registers[node] = self._add(code.LOAD, group, index)
            elif isinstance(node, nodes.IfThenElse):
                self._registers[node] = self._choice(*node.parts)
            elif isinstance(node, (nodes.Number, nodes.Truth)):
                self._registers[node] = self._constant(float(node.value))
            else:
                self._registers[node] = self._operation(node, [self._registers[part] for part in node.parts])
        return self._registers[root]

    def _add(self, instruction: int, *arguments: int) -> int:
        result = _Result(self.num_results)
        self.num_results += 1
        self._steps += [instruction, result, *arguments]
        return result

    def _constant(self, value: float) -> int:
        if math.isnan(value):
            raise LookupError
        self.constants.append(value)
        return len(self.constants) - 1

    def _operation(self, node: Any, arguments: list[int]) -> int:
        kind = type(node)
        if kind is nodes.Sum:
            terms = [self._multiple(c, a) for c, a in zip(node.terms.values(), arguments)]
            terms = [self._constant(float(node.constant)), *terms] if node.constant else terms
            return self._add(code.SUM, len(terms), *terms) if len(terms) > 1 else terms[0]
        if kind is nodes.Product:
            powers = [self._power(a, e) for a, e in zip(arguments, node.factors.values())]
            return self._add(code.PRODUCT, len(powers), *powers) if len(powers) > 1 else powers[0]
        if kind in _LISTS:
            return self._add(_LISTS[kind], len(arguments), *arguments)
        if kind in _PAIRS:
            return self._add(_PAIRS[kind], *arguments)
        if kind in _EXPONENTS:
            return self._power(arguments[0], _EXPONENTS[kind])
        if kind in _FUNCTIONS:
            return self._add(code.FUNCTION, _FUNCTIONS[kind], *arguments)
        if kind in _RELATIONS:
            return self._add(code.RELATION, _RELATIONS[kind], *arguments)
        if kind is nodes.Not:
            return self._add(code.NOT, *arguments)
        if kind is nodes.IsNan:
            return self._constant(0.0)
        raise LookupError

    def _multiple(self, factor: Any, register: int) -> int:
        return register if factor == 1 else self._add(code.PRODUCT, 2, self._constant(float(factor)), register)

    def _power(self, register: int, exponent: float) -> int:
        return register if exponent == 1 else self._add(code.POWER, register, self._constant(float(exponent)))

    def _choice(self, condition: Any, then: Any, otherwise: Any) -> int:
        """Computes one branch or the other; registers used in only one of them are forgotten after it."""
        result = _Result(self.num_results)
        self.num_results += 1
        self._steps += [code.JUMP_UNLESS, self._registers[condition], 0]
        begin = len(self._steps)
        self._arm(then, result)
        self._steps += [code.JUMP, 0]
        middle = len(self._steps)
        self._steps[begin - 1] = middle - begin
        self._arm(otherwise, result)
        self._steps[middle - 1] = len(self._steps) - middle
        return result

    def _arm(self, tree: Any, result: int) -> None:
        known = self._registers
        self._registers = dict(known)
        self._steps += [code.MOVE, result, self.register_of(tree)]
        self._registers = known
