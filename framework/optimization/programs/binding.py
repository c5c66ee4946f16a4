"""An evaluator with the variables that it is applied to."""

from __future__ import annotations

import functools
from typing import Any

from merganser.framework.optimization.arrays import Objects, numbers_of, objects
from merganser.framework.optimization.evaluators.evaluators import EvaluatorBase
from merganser.framework.optimization.programs.texts import text_of


class _BindingOfKind(type):
    """`Binding[Cost]`: makes bindings of costs, and is the type of all bindings whose evaluator is a cost."""

    _kind: type

    def __call__(cls, *args: Any, **kwargs: Any) -> Binding:
        binding = Binding(*args, **kwargs)
        if not isinstance(binding, cls):
            raise TypeError(f"{cls.__name__}: expected a {cls._kind.__name__}, got {binding._evaluator._where()}.")
        return binding

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Binding) and isinstance(instance._evaluator, cls._kind)


class Binding:
    """An evaluator and its variables, in the order of x.

    `Binding[Cost](cost, variables)` is `Binding(cost, variables)` for costs only, and
    `isinstance(binding, Binding[Cost])` says whether the evaluator is a cost.
    """

    __slots__ = ("_evaluator", "_hash", "_variables")
    _evaluator: Any
    _variables: Objects

    def __init__(self, c: Any, v: Any = None) -> None:
        """Makes a binding, or copies one.

        Raises:
            ValueError: there are not as many variables as the evaluator takes.
        """
        if v is None and isinstance(c, Binding):
            c, v = c._evaluator, c._variables
        if not isinstance(c, EvaluatorBase):
            raise TypeError(f"Binding: expected an evaluator (a cost or a constraint), got {type(c).__name__}.")
        self._evaluator = c
        self._variables = objects(v)
        if self._variables.size != c.num_vars():
            raise ValueError(
                f"Binding: {c._where()} takes {c.num_vars()} variables, got {self._variables.size}: "
                f"{[str(each) for each in self._variables[:8]]}."
            )
        self._hash = 0

    @classmethod
    def _of(cls, evaluator: Any, variables: Objects) -> Binding:
        """A binding of as many variables as the evaluator takes, in an array that does not change."""
        binding = object.__new__(cls)
        binding._evaluator, binding._variables, binding._hash = evaluator, variables, 0
        return binding

    @staticmethod
    @functools.cache
    def __class_getitem__(kind: type) -> Any:
        return _BindingOfKind(f"Binding[{kind.__name__}]", (), {"_kind": kind})

    def evaluator(self) -> Any:
        """The cost, constraint or callback; changes of it show in the program."""
        return self._evaluator

    def variables(self) -> Objects:
        """The variables, shape [n]."""
        return self._variables.copy()

    def ToLatex(self, precision: int = 3) -> str:
        """LaTeX of the evaluator with these variables."""
        return self._evaluator.ToLatex(self._variables, precision)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Binding):
            return NotImplemented
        return self._evaluator is other._evaluator and self._places() == other._places()

    def __hash__(self) -> int:
        if not self._hash:  # Bindings of one evaluator mostly differ in their first variable.
            self._hash = hash((id(self._evaluator), *numbers_of(self._variables[:1])))
        return self._hash

    def __deepcopy__(self, memo: Any) -> Binding:
        return type(self)(self)  # of the same evaluator, as bindings of a copied program are

    def _places(self) -> tuple[int, ...]:
        return tuple(numbers_of(self._variables))

    def brief(self) -> str:
        """The kind of evaluator, its description and its variables, for messages."""
        return f"{self._evaluator._where()} of {', '.join(str(v) for v in self._variables)}"

    def __str__(self) -> str:
        return text_of(self._evaluator, self._variables)

    def __repr__(self) -> str:
        return f"<Binding {self.brief()}>"
