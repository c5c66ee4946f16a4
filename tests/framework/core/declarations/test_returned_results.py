"""Callbacks write results into their arguments; one that returns them instead is refused by name, file and line."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import (
    BasicVector,
    LeafSystem,
    RandomGenerator,
    System,
    Value,
    ValueProducer,
    VectorSystem,
)
from merganser.framework.core.declarations.events import DiscreteUpdateEvent
from merganser.framework.native import native

RESULT = np.array([1.0, 2.0])


def returns(*_arguments: Any) -> Any:
    return RESULT


def returns_vector(*_arguments: Any) -> Any:
    return BasicVector(RESULT)


def returns_number(*_arguments: Any) -> Any:
    return 1.5


def returns_text(*_arguments: Any) -> Any:
    return "text"


def returns_box(*_arguments: Any) -> Any:
    return Value("text")


class Block(LeafSystem):
    """Two state variables."""

    def __init__(self) -> None:
        super().__init__()
        self.DeclareContinuousState(2)
        self.DeclareDiscreteState(2)

    def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
        derivatives.SetFromVector([0.0, 0.0])


def block(method: str) -> Any:
    """A block with a method that returns what it should write."""
    return type("Block", (Block,), {method: returns})()


def with_declaration(declare: Callable[[Any], Any]) -> Any:
    system = Block()
    declare(system)
    return system


def evaluate_output(system: System) -> None:
    system.get_output_port().Eval(system.CreateDefaultContext())


def evaluate_cache_entry(calc: Callable[..., Any], value: Any) -> None:
    system = Block()
    entry = system.DeclareCacheEntry("entry", ValueProducer(lambda: Value(value), calc))
    entry.Eval(system.CreateDefaultContext())


class Vectors(VectorSystem):
    def __init__(self, name: str, is_discrete: bool) -> None:
        super().__init__(2, 2)
        if is_discrete:
            self.DeclareDiscreteState(2)
            self.DeclarePeriodicDiscreteUpdateEvent(0.1, 0.0, self.CalcDiscreteUpdate)
        else:
            self.DeclareContinuousState(2)
        setattr(self, name, returns)


def simulate_vectors(name: str, is_discrete: bool = False) -> None:
    system = Vectors(name, is_discrete)
    simulator = Simulator(system)
    system.get_input_port().FixValue(simulator.get_mutable_context(), [0.0, 0.0])
    if name == "DoCalcVectorOutput":
        system.get_output_port().Eval(simulator.get_context())
    simulator.AdvanceTo(0.2)


def evaluate_residual() -> None:
    system = block("DoCalcImplicitTimeDerivativesResidual")
    context = system.CreateDefaultContext()
    system.CalcImplicitTimeDerivativesResidual(context, system.AllocateTimeDerivatives())


def evaluate_constraint() -> None:
    system = with_declaration(lambda s: s.DeclareEqualityConstraint(returns, 2, "equal"))
    system.get_constraint(0).Calc(system.CreateDefaultContext())


def set_random(system: System) -> None:
    system.SetRandomContext(system.CreateDefaultContext(), RandomGenerator(0))


def update(kind: str) -> None:
    def declare(system: LeafSystem) -> None:
        if kind == "event":
            system.DeclarePeriodicEvent(0.1, 0.0, DiscreteUpdateEvent(returns))
        else:
            getattr(system, f"DeclarePeriodic{kind}UpdateEvent")(0.1, 0.0, returns)

    Simulator(with_declaration(declare)).AdvanceTo(0.2)


@native
def doubled(xc: Any, y: Any) -> Any:
    return 2.0 * xc


MISTAKES: dict[str, Callable[[], Any]] = {
    "time derivatives": lambda: Simulator(block("DoCalcTimeDerivatives")).AdvanceTo(0.1),
    "vector output": lambda: evaluate_output(with_declaration(lambda s: s.DeclareVectorOutputPort("y", 2, returns))),
    "vector output, as a BasicVector": lambda: evaluate_output(
        with_declaration(lambda s: s.DeclareVectorOutputPort("y", 2, returns_vector))
    ),
    "vector output of another size": lambda: evaluate_output(
        with_declaration(lambda s: s.DeclareVectorOutputPort("y", 3, returns))
    ),
    "vector output, as a number": lambda: evaluate_output(
        with_declaration(lambda s: s.DeclareVectorOutputPort("y", 1, returns_number))
    ),
    "abstract output": lambda: evaluate_output(
        with_declaration(lambda s: s.DeclareAbstractOutputPort("y", lambda: Value(""), returns_text))
    ),
    "abstract output, in a box": lambda: evaluate_output(
        with_declaration(lambda s: s.DeclareAbstractOutputPort("y", lambda: Value(""), returns_box))
    ),
    "cache entry": lambda: evaluate_cache_entry(returns, np.zeros(2)),
    "cache entry of a number": lambda: evaluate_cache_entry(returns_number, 0.0),
    "constraint": lambda: evaluate_constraint(),
    "residual": evaluate_residual,
    "default state": lambda: block("SetDefaultState").CreateDefaultContext(),
    "default parameters": lambda: block("SetDefaultParameters").CreateDefaultContext(),
    "random state": lambda: set_random(block("SetRandomState")),
    "random parameters": lambda: set_random(block("SetRandomParameters")),
    "discrete update": lambda: update("Discrete"),
    "unrestricted update": lambda: update("Unrestricted"),
    "update event": lambda: update("event"),
    "output of a VectorSystem": lambda: simulate_vectors("DoCalcVectorOutput"),
    "derivatives of a VectorSystem": lambda: simulate_vectors("DoCalcVectorTimeDerivatives"),
    "update of a VectorSystem": lambda: simulate_vectors("DoCalcVectorDiscreteVariableUpdates", is_discrete=True),
    "native function": lambda: with_declaration(lambda s: s.DeclareVectorOutputPort("y", 2, doubled)),
}


@pytest.mark.parametrize("kind", MISTAKES)
def test_a_callback_that_returns_its_result_is_refused_with_its_place_and_the_remedy(kind: str) -> None:
    with pytest.raises(TypeError) as caught:
        MISTAKES[kind]()
    text = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", ())])
    assert "system '::" in text
    assert re.search(r"(returns\w*|doubled)'? \(\S*test_returned_results\.py:\d+\)", text), text
    assert re.search(r"[Ww]rite .* into (its|the) (last )?(argument|parameter)", text), text


@pytest.mark.parametrize("returned", [None, True, (None, None), "written", {"status": 1}])
def test_a_callback_that_writes_its_result_may_return_something_else(returned: Any) -> None:
    """Such as the tuple of a lambda that does two things, or what it has written."""

    def calc(context: Any, output: BasicVector) -> Any:
        output.SetFromVector(RESULT)
        return output.CopyToVector() if returned == "written" else returned

    system = with_declaration(lambda s: s.DeclareVectorOutputPort("y", 2, calc))
    np.testing.assert_array_equal(system.get_output_port().Eval(system.CreateDefaultContext()), RESULT)


def test_a_callback_may_return_the_object_that_it_has_filled_in() -> None:
    def calc(context: Any, output: Any) -> Any:
        content = output.get_mutable_value()
        content.append(1)
        return content

    system = with_declaration(lambda s: s.DeclareAbstractOutputPort("y", lambda: Value([]), calc))
    assert system.get_output_port().Eval(system.CreateDefaultContext()) == [1]
