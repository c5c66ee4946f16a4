"""The interface of core for the packages of this project: framework/core/inside.py, and attributes of contexts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from merganser.framework import DiagramBuilder, LeafSystem, System, SystemBase, TriggerType
from merganser.framework.core.context.native_code import NativeCode
from merganser.framework.core.inside import (
    declared_events,
    derivatives_entry,
    new_context,
    scalar_of,
    slot_of,
    use_native_derivatives,
)
from merganser.framework.core.values.values import BasicVector
from merganser.framework.primitives import Gain, Integrator


class Peeking(LeafSystem):
    """Its output shows the state; one entry reads it so that it is noticed, the other so that it is not."""

    def __init__(self) -> None:
        super().__init__()
        self.DeclareContinuousState(1)
        self.DeclarePeriodicPublishEvent(0.5, 0.0, lambda context: None)
        self.DeclareVectorOutputPort("seen", 1, self.read)
        self.peeked = self._sys_declare_entry("peeked", BasicVector(1), self.peek, {self.all_sources_ticket()})

    def read(self, context: Any, output: BasicVector) -> None:
        output.SetFromVector(context.get_continuous_state_vector().value())

    def peek(self, context: Any, output: BasicVector) -> None:
        output.SetFromVector(context.peek_state().get_continuous_state().get_vector().value())

    def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
        derivatives.SetFromVector([-1.0])


def test_what_is_peeked_at_is_no_dependency():
    system = Peeking()
    context = system.CreateDefaultContext()
    for value in (1.0, 2.0):
        context.SetContinuousState([value])
        assert system.get_output_port().Eval(context) == [value]
        assert system.peeked.EvalAbstract(context).get_value().value() == [1.0]  # it was not marked as out of date
    context.store.change(context.layout.down["time"], context)  # what reads nothing is taken to change with time
    assert system.peeked.EvalAbstract(context).get_value().value() == [2.0]


def test_slot_of_a_port_of_a_diagram_is_that_of_the_leaf():
    builder = DiagramBuilder()
    gain, integrator = builder.AddSystem(Gain(2.0, 1)), builder.AddSystem(Integrator(1))
    builder.Connect(gain.get_output_port(), integrator.get_input_port())
    builder.ExportInput(gain.get_input_port())
    builder.ExportOutput(gain.get_output_port())
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    part = gain.GetMyContextFromRoot(context)
    slot = slot_of(diagram.get_output_port(), context)
    assert slot is slot_of(gain.get_output_port(), part)
    assert slot is part.slots[gain.get_output_port().cache_entry().cache_index()]
    assert integrator.GetMyContextFromRoot(context).sources == [slot]
    assert part.parent is context and context.parent is None and next(p.system for p in context.parts()) is diagram
    assert gain._sys_parent is diagram and diagram._sys_parent is None
    assert gain._sys_input_ports == [gain.get_input_port()]


def test_systems_are_put_together_from_classes_over_their_base():
    system = Peeking()
    assert isinstance(system, SystemBase) and issubclass(System, SystemBase) and SystemBase is not System
    assert all(issubclass(cls, SystemBase) for cls in System.__bases__)


def test_declarations_are_found_by_functions():
    system = Peeking()
    context = new_context(system, np.complex128)
    assert context.store.flat.dtype == np.complex128 and scalar_of(system) is float
    assert derivatives_entry(system) in system._sys_cache_entries and derivatives_entry(Gain(1.0, 1)) is None
    assert [event.period for _, event in declared_events(system, context, TriggerType.kPeriodic)] == [0.5]
    assert declared_events(system, context, TriggerType.kPerStep) == []
    with pytest.raises(RuntimeError, match="has no continuous state"):
        use_native_derivatives(Gain(1.0, 1), NativeCode("copy", ()), of=Gain)
