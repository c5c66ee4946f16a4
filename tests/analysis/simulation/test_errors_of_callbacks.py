"""Mistakes in callbacks: errors name the system, the port or event, what was expected and what came."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder, LeafSystem, WitnessFunctionDirection

WHERE = "::plan of day::block"


class Block(LeafSystem):
    """One kind of callback, which does something wrong."""

    def __init__(self, kind: str, act: Callable[..., Any]) -> None:
        super().__init__()
        self.set_name("block")
        self._act = act
        if kind == "output":
            self.DeclareVectorOutputPort("y", 2, self._call, {self.time_ticket()})
            self.DeclarePerStepPublishEvent(lambda context: self.get_output_port().Eval(context) is None or None)
        elif kind == "discrete update":
            self.DeclareDiscreteState(2)
            self.DeclarePeriodicDiscreteUpdateEvent(0.1, 0.0, self._call)
        elif kind == "unrestricted update":
            self.DeclareDiscreteState(2)
            self.DeclarePeriodicUnrestrictedUpdateEvent(0.1, 0.0, self._call)
        elif kind == "publish":
            self.DeclarePeriodicPublishEvent(0.1, 0.0, self._call)
        else:
            self.DeclareContinuousState(2)
        self._kind = kind
        if kind == "witness":
            self._witness = self.MakeWitnessFunction("floor", WitnessFunctionDirection.kCrossesZero, self._call)

    def DoGetWitnessFunctions(self, context: Any) -> list[Any]:
        return [self._witness] if self._kind == "witness" else []

    def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
        if self._kind == "derivatives":
            self._call(context, derivatives)

    def _call(self, context: Any, *target: Any) -> Any:
        return self._act(*target)


PLACES = {
    "output": f"output port 'y' of system '{WHERE}'",
    "derivatives": f"time derivatives of system '{WHERE}'",
    "discrete update": f"Periodic discrete update event of system '{WHERE}'",
    "unrestricted update": f"Periodic unrestricted update event of system '{WHERE}'",
    "publish": f"Periodic publish event of system '{WHERE}'",
    "witness": f"witness function 'floor' of system '{WHERE}'",
}


def error_of(kind: str, act: Callable[..., Any], plan: bool) -> tuple[BaseException, str]:
    """The exception of a simulation, with its whole message."""
    builder = DiagramBuilder()
    builder.AddSystem(Block(kind, act))
    diagram = builder.Build()
    diagram.set_name("plan of day")
    simulator = Simulator(diagram)
    simulator.set_use_native_plan(plan, at_once=plan)
    with pytest.raises(Exception) as caught:
        simulator.AdvanceTo(0.5)
    return caught.value, "\n".join(traceback.format_exception_only(caught.value))


def set_three(*target: Any) -> None:
    values = target[0]
    if hasattr(values, "get_mutable_discrete_state"):
        values = values.get_mutable_discrete_state(0)
    if hasattr(values, "get_mutable_vector") and not hasattr(values, "SetFromVector"):
        values = values.get_mutable_vector(0)
    values.SetFromVector([1.5, 2.5, 3.5])


def raise_own(*_target: Any) -> None:
    raise KeyError("of the user")


@pytest.mark.parametrize("plan", [False, True])
@pytest.mark.parametrize("kind", ["output", "derivatives", "discrete update", "unrestricted update"])
def test_a_wrong_size_names_place_sizes_and_values(kind: str, plan: bool) -> None:
    error, text = error_of(kind, set_three, plan)
    assert isinstance(error, ValueError)
    assert "size 2, got an array of shape (3,): [1.5, 2.5, 3.5]" in text
    assert PLACES[kind] in text and "at time 0.0 s" in text


@pytest.mark.parametrize("plan", [False, True])
@pytest.mark.parametrize("kind", PLACES)
def test_an_exception_of_the_user_keeps_type_and_traceback_and_gets_the_place(kind: str, plan: bool) -> None:
    error, text = error_of(kind, raise_own, plan)
    assert type(error) is KeyError and error.args == ("of the user",)
    assert traceback.extract_tb(error.__traceback__)[-1].name == "raise_own"
    assert PLACES[kind] in text and "at time 0.0 s" in text
    if "update" in kind or kind == "publish":
        assert "by Block._call" in text


@pytest.mark.parametrize("plan", [False, True])
@pytest.mark.parametrize("kind", ["discrete update", "unrestricted update", "publish", "witness"])
def test_a_wrong_return_value_is_an_error(kind: str, plan: bool) -> None:
    error, text = error_of(kind, lambda *_target: "text", plan)
    assert isinstance(error, TypeError)
    assert PLACES[kind] in text
    assert ("must return a number" if kind == "witness" else "an EventStatus or None; got str ('text')") in text


@pytest.mark.parametrize("plan", [False, True])
def test_infinite_derivatives_and_witness_functions_are_errors(plan: bool) -> None:
    error, text = error_of("derivatives", lambda target: target.SetFromVector([np.nan, 1.0]), plan)
    assert isinstance(error, RuntimeError) and PLACES["derivatives"] in text and "nan" in text
    error, text = error_of("witness", lambda: np.inf, plan)
    assert isinstance(error, RuntimeError) and PLACES["witness"] in text and "inf" in text
