"""Witness functions: what triggers them, who collects them, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import pytest

from merganser.framework import (
    DiagramBuilder,
    DiscreteUpdateEvent,
    Event,
    LeafSystem,
    PublishEvent,
    TriggerType,
    UnrestrictedUpdateEvent,
    WitnessFunction,
    WitnessFunctionDirection,
)

Direction = WitnessFunctionDirection


class Watched(LeafSystem):
    """w = x - level, in effect while the discrete state says so."""

    def __init__(self, name: str = "watched", level: float = 0.0) -> None:
        super().__init__()
        self.set_name(name)
        self.DeclareContinuousState(1)
        self.DeclareDiscreteState([1.0])
        self.witness = self.MakeWitnessFunction(
            "level", Direction.kCrossesZero, lambda context: context.get_continuous_state_vector()[0] - level
        )

    def DoGetWitnessFunctions(self, context: Any) -> list[WitnessFunction]:
        return [self.witness] if context.get_discrete_state_vector()[0] else []


@pytest.mark.parametrize(
    ("direction", "triggering"),
    [
        (Direction.kNone, set()),
        (Direction.kPositiveThenNonPositive, {(1, 0), (1, -1)}),
        (Direction.kNegativeThenNonNegative, {(-1, 0), (-1, 1)}),
        (Direction.kCrossesZero, {(1, 0), (1, -1), (-1, 0), (-1, 1)}),
    ],
)
def test_a_direction_says_which_passages_trigger(direction: Direction, triggering: set[tuple[int, int]]) -> None:
    witness = LeafSystem().MakeWitnessFunction("w", direction, lambda context: 0.0)
    signs = (-1, 0, 1)
    assert {(a, b) for a in signs for b in signs if witness.should_trigger(0.5 * a, 2.0 * b)} == triggering


def test_a_witness_function_knows_what_it_was_made_of() -> None:
    system = Watched(level=2.0)
    witness = system.witness
    assert (witness.description(), witness.direction_type()) == ("level", Direction.kCrossesZero)
    assert witness.get_system() is system and witness.get_event() is None
    context = system.CreateDefaultContext()
    context.SetContinuousState([5.0])
    assert witness.CalcWitnessValue(context) == 3.0


@pytest.mark.parametrize("event_class", [PublishEvent, DiscreteUpdateEvent, UnrestrictedUpdateEvent])
def test_any_kind_of_event_can_be_attached_by_position_or_name(event_class: type[Event]) -> None:
    system, event = LeafSystem(), event_class()
    by_position = system.MakeWitnessFunction("w", Direction.kCrossesZero, lambda context: 1.0, event)
    by_name = system.MakeWitnessFunction(
        description="w", direction_type=Direction.kCrossesZero, calc=lambda context: 1.0, e=event
    )
    assert by_position.get_event() is by_name.get_event() is event
    assert event.get_trigger_type() is TriggerType.kUnknown  # the witness function keeps a copy of its own


def test_a_system_has_no_witness_functions_unless_it_says_so() -> None:
    system = LeafSystem()
    system.MakeWitnessFunction("w", Direction.kCrossesZero, lambda context: 0.0)
    assert system.GetWitnessFunctions(system.CreateDefaultContext()) == []


def test_a_diagram_collects_those_in_effect_in_the_order_of_its_systems() -> None:
    inner = DiagramBuilder()
    a, b = inner.AddSystem(Watched("a")), inner.AddSystem(Watched("b"))
    outer = DiagramBuilder()
    c, within = outer.AddSystem(Watched("c")), outer.AddNamedSystem("inner", inner.Build())
    diagram = outer.Build()
    context = diagram.CreateDefaultContext()
    assert diagram.GetWitnessFunctions(context) == [c.witness, a.witness, b.witness]
    a.GetMyMutableContextFromRoot(context).SetDiscreteState([0.0])
    assert diagram.GetWitnessFunctions(context) == [c.witness, b.witness]
    assert within.GetWitnessFunctions(within.GetMyContextFromRoot(context)) == [b.witness]


def test_wrong_arguments_are_refused_with_the_name_of_the_witness_function() -> None:
    system = Watched()
    calc, crosses = (lambda context: 0.0), Direction.kCrossesZero
    with pytest.raises(TypeError, match=r"'::watched', witness function 'w': direction_type.*got 1"):
        system.MakeWitnessFunction("w", 1, calc)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="calc must be callable, got float"):
        system.MakeWitnessFunction("w", crosses, 1.0)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"e must be a PublishEvent.*got function"):
        system.MakeWitnessFunction("w", crosses, calc, calc)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="context of system '::other'"):
        system.witness.CalcWitnessValue(Watched("other").CreateDefaultContext())


def test_witness_functions_of_another_system_are_refused() -> None:
    system = Watched()
    system.witness = Watched("other").witness
    with pytest.raises(TypeError, match=r"'::watched': DoGetWitnessFunctions.*'level' of '::other'"):
        system.GetWitnessFunctions(system.CreateDefaultContext())


@pytest.mark.parametrize(("value", "error"), [(math.nan, RuntimeError), (math.inf, RuntimeError), (None, TypeError)])
def test_a_value_that_is_no_finite_number_is_refused(value: Any, error: type[Exception]) -> None:
    system = Watched()
    witness = system.MakeWitnessFunction("broken", Direction.kCrossesZero, lambda context: value)
    context = system.CreateDefaultContext()
    context.SetTime(2.0)
    with pytest.raises(error, match=r"witness function 'broken' of system '::watched'.*time 2.0 s"):
        witness.CalcWitnessValue(context)


def test_an_error_in_a_witness_function_names_its_system() -> None:
    system = Watched()
    witness = system.MakeWitnessFunction("broken", Direction.kCrossesZero, lambda context: 1.0 / 0.0)
    with pytest.raises(ZeroDivisionError) as caught:
        witness.CalcWitnessValue(system.CreateDefaultContext())
    assert "witness function 'broken' of system '::watched' at time 0.0 s" in caught.value.__notes__[0]
