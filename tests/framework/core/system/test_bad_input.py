"""Bad input to every declaration and call: refused where it is made, with path and remedy, and without any trace."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from merganser.framework import (
    AbstractStateIndex,
    BasicVector,
    ContinuousStateIndex,
    DependencyTicket,
    Diagram,
    DiagramBuilder,
    DiscreteStateIndex,
    DiscreteUpdateEvent,
    Event,
    LeafSystem,
    PublishEvent,
    RandomGenerator,
    SystemConstraintBounds,
    Value,
    ValueProducer,
    WitnessFunctionDirection,
)

CROSSES = WitnessFunctionDirection.kCrossesZero


def nothing(*arguments: Any) -> None:
    pass


class Arm(LeafSystem):
    """Something of every kind that can be declared."""

    def __init__(self) -> None:
        super().__init__()
        self.set_name("arm")
        self.DeclareVectorInputPort("u", 2)
        self.DeclareAbstractInputPort("a", Value(""))
        self.DeclareVectorOutputPort("y", 2, nothing)
        self.DeclareAbstractOutputPort("s", lambda: Value(""), nothing)
        self.DeclareContinuousState(1, 1, 1)
        self.DeclareDiscreteState([1.0, 2.0])
        self.DeclareAbstractState(Value("x"))
        self.DeclareNumericParameter(BasicVector([3.0]))
        self.DeclareAbstractParameter(Value("p"))

    def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
        derivatives.SetFromVector([0.0, 0.0, 0.0])


def refuse(call: Callable[..., Any], error: Any, *arguments: Any) -> str:
    with pytest.raises(error) as caught:
        call(*arguments)
    message = str(caught.value)
    for telltale in ("NoneType' object", "not supported between", "invalid literal", "list index", "tuple index"):
        assert telltale not in message, message
    return message


WRONG = (TypeError, ValueError)

DECLARATIONS: list[tuple[Callable[[Any], Any], Any]] = [
    *((lambda s, n=n: s.DeclareVectorInputPort("n", n), WRONG) for n in ("x", 1.5, -1, math.nan, [1, 2], None, True)),
    *((lambda s, n=n: s.DeclareVectorOutputPort("n", n, nothing), WRONG) for n in ("x", 1.5, -1, None, True)),
    *((lambda s, name=name: s.DeclareVectorInputPort(name, 1), ValueError) for name in ("u", "", None, 3)),
    *((lambda s, name=name: s.DeclareVectorOutputPort(name, 1, nothing), ValueError) for name in ("y", "", None, 3)),
    (lambda s: s.DeclareVectorInputPort("n", 1, "gauss"), TypeError),
    *((lambda s, v=v: s.DeclareAbstractInputPort("n", v), TypeError) for v in (None, "x", 3)),
    (lambda s: s.DeclareAbstractInputPort("a", Value(1)), ValueError),
    *((lambda s, c=c: s.DeclareVectorOutputPort("n", 1, c), TypeError) for c in (None, 3)),
    *((lambda s, p=p: s.DeclareVectorOutputPort("n", 1, nothing, p), WRONG) for p in (3, None, {"t"}, [1.0])),
    (lambda s: s.DeclareVectorOutputPort("n", 1, nothing, {DependencyTicket(9999)}), ValueError),
    *((lambda s, a=a: s.DeclareAbstractOutputPort("n", a, nothing), TypeError) for a in (None, Value(1))),
    (lambda s: s.DeclareAbstractOutputPort("n", lambda: Value(1), None), TypeError),
    *((lambda s, i=i: s.DeclareStateOutputPort("n", i), TypeError) for i in (0, None, "x")),
    *((lambda s, i=i: s.DeclareStateOutputPort("n", i), IndexError) for i in (
        DiscreteStateIndex(7), AbstractStateIndex(7), ContinuousStateIndex(1),
    )),
    *((lambda s, p=p: s.DeclareCacheEntry("d", p), TypeError) for p in (None, nothing)),
    (lambda s: s.DeclareCacheEntry("d", ValueProducer(nothing, nothing), {DependencyTicket(999)}), ValueError),
    *((lambda s, n=n: s.DeclareContinuousState(n), WRONG) for n in (-1, 1.5, "x", None, [1.0, 2.0])),
    *((lambda s, n=n: s.DeclareContinuousState(*n), WRONG) for n in ((), (1, 2), (1, 2, 0), (1, -1, 0))),
    (lambda s: s.DeclareContinuousState(BasicVector([1.0]), 1, 1, 1), ValueError),
    *((lambda s, n=n: s.DeclareDiscreteState(n), WRONG) for n in (-1, "x", None, 1.5, [[1, 2], [3, 4]])),
    *((lambda s, n=n: s.DeclareNumericParameter(n), WRONG) for n in (-1, "x", None)),
    *((lambda s, v=v: s.DeclareAbstractState(v), TypeError) for v in (None, "x")),
    *((lambda s, v=v: s.DeclareAbstractParameter(v), TypeError) for v in (None, 3)),
    *((lambda s, p=p: s.DeclarePeriodicPublishEvent(p, 0.0, nothing), WRONG) for p in (0, -1, math.nan, "x", None)),
    *((lambda s, o=o: s.DeclarePeriodicDiscreteUpdateEvent(1.0, o, nothing), WRONG) for o in (-1, math.inf, None)),
    *((lambda s, h=h: s.DeclarePeriodicUnrestrictedUpdateEvent(1.0, 0.0, h), TypeError) for h in (None, 3)),
    *((lambda s, e=e: s.DeclarePeriodicEvent(1.0, 0.0, e), TypeError) for e in (None, nothing, Event())),
    *((lambda s, e=e: s.DeclarePerStepEvent(e), TypeError) for e in (None, nothing, Event())),
    (lambda s: s.DeclareInitializationEvent(None), TypeError),
    (lambda s: s.DeclareInitializationDiscreteUpdateEvent("x"), TypeError),
    (lambda s: s.DeclareForcedPublishEvent(3), TypeError),
    (lambda s: s.MakeWitnessFunction("w", CROSSES, None), TypeError),
    (lambda s: s.MakeWitnessFunction("w", 1, nothing), TypeError),
    (lambda s: s.MakeWitnessFunction("w", CROSSES, nothing, nothing), TypeError),
    (lambda s: s.DeclareEqualityConstraint(None, 1, "d"), TypeError),
    (lambda s: s.DeclareEqualityConstraint(nothing, -1, "d"), ValueError),
    (lambda s: s.DeclareInequalityConstraint(nothing, None, "d"), TypeError),
    *((lambda s, n=n: s.DeclareImplicitTimeDerivativesResidualSize(n), WRONG) for n in (-1, "x", None)),
    *((lambda s, name=name: s.set_name(name), TypeError) for name in (3, None)),
]  # fmt: skip


@pytest.mark.parametrize(("declare", "error"), DECLARATIONS)
def test_a_bad_declaration_names_its_system_and_leaves_no_trace(declare: Callable[[Any], Any], error: Any) -> None:
    def declared(system: Any) -> list[Any]:
        return [
            system.num_input_ports(), system.num_output_ports(), system.num_constraints(), system.get_name(),
            len(system._sys_events), len(system._sys_cache_entries), system._sys_continuous_sizes,
            len(system._sys_discrete_models), len(system._sys_abstract_state_models),
            len(system._sys_numeric_parameter_models),
            len(system._sys_numeric_parameter_names), len(system._sys_abstract_parameter_models),
            len(system._sys_dependency_table.names),
        ]  # fmt: skip

    system = Arm()
    before = declared(system)
    assert "'::arm'" in refuse(declare, error, system)
    assert declared(system) == before


CALLS: list[tuple[Callable[[Any, Any], Any], Any]] = [
    *((lambda s, c, i=i: s.get_input_port(i), IndexError) for i in (-1, 9)),
    *((lambda s, c, i=i: s.get_output_port(i), TypeError) for i in ("u", 1.0)),
    (lambda s, c: s.get_input_port(), RuntimeError),
    *((lambda s, c, n=n: s.GetInputPort(n), WRONG) for n in ("q", 3, None)),
    *((lambda s, c, p=p: s.HasDirectFeedthrough(*p), (IndexError, TypeError)) for p in ((), (9,), (0, 9), (9, 0))),
    *((lambda s, c, n=n: s.get_cache_entry(n), (IndexError, TypeError)) for n in (99, -1, None)),
    *((lambda s, c, m=m, i=i: getattr(s, f"{m}_ticket")(i), (IndexError, TypeError)) for i in (9, -1, None) for m in (
        "discrete_state", "abstract_state", "numeric_parameter", "abstract_parameter", "cache_entry",
    )),
    (lambda s, c: s.get_constraint(4), IndexError),
    *((lambda s, c, m=m, x=x: getattr(s, m)(x), WRONG) for x in (None, "x", Arm().CreateDefaultContext()) for m in (
        "SetDefaultContext", "ValidateContext", "GetMyContextFromRoot", "GetMyMutableContextFromRoot",
        "EvalTimeDerivatives", "ForcedPublish", "ExecuteForcedEvents", "ExecuteInitializationEvents",
        "GetWitnessFunctions", "EvalUniquePeriodicDiscreteUpdate", "CalcPotentialEnergy", "EvalKineticEnergy",
    )),
    *((lambda s, c, x=x: s.GetSubsystemContext(x, c), WRONG) for x in (None, Arm())),
    *((lambda s, c, x=x: s.EvalVectorInput(x, 0), WRONG) for x in (None, Arm().CreateDefaultContext())),
    *((lambda s, c, i=i: s.EvalVectorInput(c, i), (IndexError, TypeError)) for i in (9, -1, 1)),
    (lambda s, c: s.EvalAbstractInput(c, 9), IndexError),
    *((lambda s, c, a=a: s.FixInputPortsFrom(*a), WRONG) for a in ((None, None, None), (Arm(), None, None))),
    (lambda s, c: s.FixInputPortsFrom(s, c, None), TypeError),
    *((lambda s, c, p=p: s.AllocateInputVector(p), WRONG) for p in (None, Arm().get_input_port(0))),
    (lambda s, c: s.AllocateInputVector(s.get_input_port(1)), TypeError),
    (lambda s, c: s.AllocateInputAbstract(None), TypeError),
    *((lambda s, c, d=d: s.CalcTimeDerivatives(c, d), WRONG) for d in (None, LeafSystem().AllocateTimeDerivatives())),
    (lambda s, c: s.CalcImplicitTimeDerivativesResidual(c, None), TypeError),
    *((lambda s, c, v=v: s.MapVelocityToQDot(c, v), WRONG) for v in ([1, 2, 3], ["x"], None)),
    (lambda s, c: s.CalcForcedDiscreteVariableUpdate(c, None), TypeError),
    (lambda s, c: s.CalcForcedUnrestrictedUpdate(c, None), TypeError),
    (lambda s, c: s.SetRandomContext(c, None), TypeError),
    (lambda s, c: s.SetRandomContext(None, RandomGenerator()), TypeError),
    (lambda s, c: s.CheckSystemConstraintsSatisfied(c, -1), ValueError),
    (lambda s, c: s.CalcOutput(c, None), TypeError),
    *((lambda s, c, m=m, x=x: getattr(s.get_input_port(0), m)(x), WRONG)
      for x in (None, Arm().CreateDefaultContext()) for m in ("Eval", "EvalBasicVector", "EvalAbstract", "HasValue")),
    (lambda s, c: s.get_input_port(0).Eval(c), RuntimeError),
    *((lambda s, c, v=v: s.get_input_port(0).FixValue(c, v), WRONG)
      for v in ([1.0], None, "x", [[1, 2], [3, 4]], ["a", "b"], [1j, 2], object(), [None, None], BasicVector(3))),
    *((lambda s, c, v=v: s.get_input_port(1).FixValue(c, v), TypeError) for v in (3, None, Value(3))),
    *((lambda s, c, t=t: c.SetTime(t), WRONG) for t in (None, "x", 1j, [1, 2])),
    *((lambda s, c, a=a: c.SetAccuracy(a), ValueError) for a in (-1, "x", math.nan, 0)),
    *((lambda s, c, x=x: c.SetContinuousState(x), WRONG)
      for x in ([1.0], None, "x", ["a", "b", "c"], [1j, 0, 0], np.zeros((3, 3)), [None] * 3)),
    *((lambda s, c, a=a: c.SetTimeAndContinuousState(*a), WRONG)
      for a in ((None, [1, 2, 3]), (1.0, [1.0]), (1.0, ["a", "b", "c"]))),
    *((lambda s, c, i=i: c.get_discrete_state(i), (IndexError, TypeError)) for i in (9, -1, "x")),
    *((lambda s, c, i=i: c.get_mutable_discrete_state(i), (IndexError, TypeError)) for i in (9, -1, "x")),
    *((lambda s, c, i=i: c.get_abstract_state(i), (IndexError, TypeError)) for i in (9, -1, "x")),
    *((lambda s, c, i=i: c.get_mutable_abstract_state(i), (IndexError, TypeError)) for i in (9, -1, "x")),
    *((lambda s, c, i=i: c.get_numeric_parameter(i), (IndexError, TypeError)) for i in (9, -1, None)),
    *((lambda s, c, i=i: c.get_mutable_abstract_parameter(i), (IndexError, TypeError)) for i in (9, -1, None)),
    (lambda s, c: c.SetAbstractState(9, 1), IndexError),
    *((lambda s, c, a=a: c.SetDiscreteState(*a), (IndexError, *WRONG))
      for a in (([1.0],), (9, [1.0]), (0, [1.0]), ("x",), (["a", "b"],), (0, None), (0, [1j, 1.0]))),
    *((lambda s, c, x=x: c.SetTimeStateAndParametersFrom(x), WRONG)
      for x in (None, LeafSystem().CreateDefaultContext())),
    *((lambda s, c, x=x: c.SetStateAndParametersFrom(x), WRONG) for x in (None, Arm())),
]  # fmt: skip


def values_of(context: Any) -> list[Any]:
    return [
        context.get_time(), context.get_accuracy(), context.get_continuous_state_vector().CopyToVector().tolist(),
        context.get_discrete_state(0).CopyToVector().tolist(), context.get_abstract_state(0).get_value(),
        context.get_numeric_parameter(0).CopyToVector().tolist(), list(context.sources),
    ]  # fmt: skip


@pytest.mark.parametrize(("call", "error"), CALLS)
def test_a_bad_call_names_its_system_and_changes_nothing(call: Callable[[Any, Any], Any], error: Any) -> None:
    system = Arm()
    context = system.CreateDefaultContext()
    before = values_of(context)
    assert "'::arm'" in refuse(call, error, system, context)
    assert values_of(context) == before


@pytest.mark.parametrize(
    "call",
    [
        lambda c: c.get_mutable_continuous_state_vector().SetFromVector([1.0]),
        lambda c: c.get_mutable_continuous_state_vector().SetFromVector(None),
        lambda c: c.get_mutable_continuous_state_vector().SetFromVector(["a", "b", "c"]),
        lambda c: c.get_mutable_continuous_state_vector().SetFrom(None),
        lambda c: c.get_mutable_continuous_state_vector().PlusEqScaled(1.0, None),
        lambda c: c.get_mutable_continuous_state_vector().PlusEqScaled(1.0, BasicVector([1.0])),
        lambda c: c.get_mutable_continuous_state_vector().SetAtIndex(9, 1.0),
        lambda c: c.get_mutable_continuous_state().SetFrom(None),
        lambda c: c.get_mutable_discrete_state().SetFrom(None),
        lambda c: c.get_mutable_discrete_state().SetFrom(LeafSystem().AllocateDiscreteVariables()),
        lambda c: c.get_mutable_discrete_state().set_value(9, [1.0]),
        lambda c: c.get_mutable_discrete_state().set_value(),
        lambda c: c.get_mutable_state().SetFrom(None),
        lambda c: c.get_mutable_state().SetFrom(LeafSystem().CreateDefaultContext().get_state()),
        lambda c: c.get_mutable_parameters().SetFrom(None),
        lambda c: c.get_mutable_parameters().set_numeric_parameters(None),
    ],
)
def test_a_bad_value_for_a_part_of_a_context_changes_nothing(call: Callable[[Any], Any]) -> None:
    context = Arm().CreateDefaultContext()
    before = values_of(context)
    refuse(call, (TypeError, ValueError, IndexError), context)
    assert values_of(context) == before


@pytest.mark.parametrize(
    "make",
    [
        lambda: PublishEvent(3),
        lambda: DiscreteUpdateEvent(callback="x"),
        lambda: ValueProducer(None, nothing),
        lambda: ValueProducer(nothing, 3),
        lambda: SystemConstraintBounds(None, None),
        lambda: SystemConstraintBounds([2.0], [1.0]),
        lambda: RandomGenerator("x"),
        lambda: BasicVector([[1, 2], [3, 4]]),
        lambda: BasicVector(-1),
    ],
)
def test_parts_that_make_no_sense_are_refused_when_made(make: Callable[[], Any]) -> None:
    refuse(make, WRONG)


BUILDING: list[tuple[Callable[..., Any], Any]] = [
    *((lambda b, g, h, x=x: b.AddSystem(x), TypeError) for x in (None, Arm)),
    (lambda b, g, h: b.AddSystem(g), RuntimeError),
    *((lambda b, g, h, n=n: b.AddNamedSystem(n, Arm()), WRONG) for n in ("arm", 3, None)),
    (lambda b, g, h: b.AddNamedSystem("n", None), TypeError),
    *((lambda b, g, h, x=x: b.RemoveSystem(x), WRONG) for x in (None, Arm())),
    *((lambda b, g, h, n=n: b.GetSubsystemByName(n), (RuntimeError, TypeError)) for n in ("x", 3)),
    *((lambda b, g, h, a=a: b.Connect(*a), TypeError) for a in ((), (None,), (None, None))),
    (lambda b, g, h: b.Connect(g.get_input_port(0), h.get_output_port(0)), TypeError),
    (lambda b, g, h: b.Connect(g.get_output_port(1), h.get_input_port(0)), ValueError),
    (lambda b, g, h: b.Connect(Arm().get_output_port(0), h.get_input_port(0)), ValueError),
    (lambda b, g, h: b.Connect(g.get_output_port(0), Arm().get_input_port(0)), ValueError),
    *((lambda b, g, h, x=x: b.Cascade(x, h), (TypeError, RuntimeError)) for x in (None, Arm())),
    (lambda b, g, h: b.Disconnect(None, None), TypeError),
    (lambda b, g, h: b.Disconnect(g.get_output_port(0), h.get_input_port(0)), ValueError),
    *((lambda b, g, h, x=x: b.ExportInput(x), WRONG) for x in (None, Arm().get_input_port(0))),
    (lambda b, g, h: b.ExportInput(g.get_output_port(0)), TypeError),
    *((lambda b, g, h, n=n: b.ExportInput(g.get_input_port(0), n), ValueError) for n in (3, "", None)),
    *((lambda b, g, h, i=i: b.ConnectInput(i, g.get_input_port(0)), (IndexError, *WRONG)) for i in ("x", 7, -1, None)),
    *((lambda b, g, h, x=x: b.ConnectToSame(x, h.get_input_port(0)), WRONG) for x in (None, Arm().get_input_port(0))),
    (lambda b, g, h: b.ConnectToSame(g.get_input_port(0), None), TypeError),
    *((lambda b, g, h, x=x: b.ExportOutput(x), WRONG) for x in (None, Arm().get_output_port(0))),
    (lambda b, g, h: b.ExportOutput(g.get_input_port(0)), TypeError),
    (lambda b, g, h: b.IsConnectedOrExported(None), TypeError),
    *((lambda b, g, h, x=x: b.BuildInto(x), TypeError) for x in (None, Arm())),
]


@pytest.mark.parametrize(("call", "error"), BUILDING)
def test_a_bad_call_of_a_builder_changes_nothing(call: Callable[..., Any], error: Any) -> None:
    builder = DiagramBuilder()
    first, second = builder.AddSystem(Arm()), builder.AddNamedSystem("second", Arm())
    refuse(call, error, builder, first, second)
    assert builder.GetSystems() == [first, second] and builder.connection_map() == {}
    assert builder.num_input_ports() == builder.num_output_ports() == 0 and not builder.already_built()
    assert isinstance(builder.Build(), Diagram)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        *((lambda d, c, x=x: d.GetSubsystemByName(x), (RuntimeError, TypeError)) for x in ("ar", None)),
        *((lambda d, c, x=x: d.GetSubsystemContext(x, c), WRONG) for x in (None, Arm())),
        (lambda d, c: d.GetSubsystemContext(d.GetSubsystemByName("arm"), None), TypeError),
        (lambda d, c: d.GetMutableSubsystemState(d.GetSubsystemByName("arm"), None), TypeError),
        *((lambda d, c, i=i: d.GetInputPortLocators(i), (IndexError, TypeError)) for i in (1, -1, "x")),
        *((lambda d, c, i=i: d.get_output_port_locator(i), (IndexError, TypeError)) for i in (1, -1, "x")),
        (lambda d, c: d.AreConnected(None, None), TypeError),
        (lambda d, c: c.SetDiscreteState([1.0]), RuntimeError),
        (lambda d, c: c.get_discrete_state_vector(), RuntimeError),
        (lambda d, c: c.get_mutable_discrete_state(7), IndexError),
        (lambda d, c: d.GetSubsystemContext(d.GetSubsystemByName("arm"), c).SetTime(1.0), RuntimeError),
        (lambda d, c: d.GetSubsystemContext(d.GetSubsystemByName("arm"), c).SetAccuracy(1.0), RuntimeError),
        (lambda d, c: d.GetSubsystemByName("arm").get_output_port(0).Eval(c), ValueError),
    ],
)
def test_a_bad_call_of_a_diagram_names_it(call: Callable[[Any, Any], Any], error: Any) -> None:
    builder = DiagramBuilder()
    first = builder.AddSystem(Arm())
    builder.AddNamedSystem("second", Arm())
    builder.ExportInput(first.get_input_port(0), "u")
    builder.ExportOutput(first.get_output_port(0), "y")
    diagram = builder.Build()
    diagram.set_name("station")
    assert "'::station" in refuse(call, error, diagram, diagram.CreateDefaultContext())


def test_an_allocator_that_fails_is_named_with_its_port() -> None:
    system = Arm()
    system.DeclareAbstractOutputPort("n", lambda: 1 // 0, nothing)
    with pytest.raises(ZeroDivisionError) as caught:
        system.CreateDefaultContext()
    assert "output port 'n' of system '::arm'" in caught.value.__notes__[0]


@pytest.mark.parametrize("given", [None, 3.0, Value, BasicVector(2)])
def test_an_allocator_that_returns_no_value_in_a_box_is_named_with_its_place(given: Any) -> None:
    def allocate() -> Any:
        return given

    system = Arm()
    port = system.DeclareAbstractOutputPort("n", allocate, nothing)
    for call in (port.Allocate, system.CreateDefaultContext):
        with pytest.raises(RuntimeError, match=r"port 'n' of system '::arm', .*allocate \(\S+test_bad_input.py:"):
            call()
    other = Arm()
    other.DeclareCacheEntry("kept", ValueProducer(allocate, nothing))
    with pytest.raises(RuntimeError, match=r"cache entry 'kept' of system '::arm', .* must return a Value"):
        other.CreateDefaultContext()
