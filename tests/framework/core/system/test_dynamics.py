"""Residuals, maps between velocities and q̇, energies and powers, and questions about what governs the state."""

import numpy as np
import pytest
from framework_blocks import Accumulator, EachSource, Scaled

from merganser.framework import BasicVector, DiagramBuilder, LeafSystem, Value


class Spring(LeafSystem):
    """A unit mass on a spring of stiffness k (a parameter); counts its computations."""

    def __init__(self, stiffness=4.0):
        super().__init__()
        self.counts = {"pe": 0, "ke": 0}
        self.DeclareContinuousState(1, 1, 0)
        self.DeclareNumericParameter(BasicVector([stiffness]))

    def DoCalcTimeDerivatives(self, context, derivatives):
        q, v = context.get_continuous_state_vector()
        derivatives.SetFromVector([v, -context.get_numeric_parameter(0)[0] * q])

    def DoCalcPotentialEnergy(self, context):
        self.counts["pe"] += 1
        q = context.get_continuous_state().get_generalized_position()[0]
        return 0.5 * context.get_numeric_parameter(0)[0] * q**2

    def DoCalcKineticEnergy(self, context):
        self.counts["ke"] += 1
        return 0.5 * context.get_continuous_state_vector()[1] ** 2

    def DoCalcConservativePower(self, context):
        q, v = context.get_continuous_state_vector()
        return -context.get_numeric_parameter(0)[0] * q * v


class Halved(LeafSystem):
    """Two positions for one velocity: q̇ = (v, 2 v)."""

    def __init__(self):
        super().__init__()
        self.DeclareContinuousState(2, 1, 0)

    def DoMapVelocityToQDot(self, context, v):
        return np.array([v[0], 2.0 * v[0]])

    def DoMapQDotToVelocity(self, context, qdot):
        return np.linalg.lstsq(np.array([[1.0], [2.0]]), qdot, rcond=None)[0]


class Periodic(LeafSystem):
    """x[n+1] = x[n] + u, with the given period and offset."""

    def __init__(self, period=0.5, offset=0.0, step=1.0):
        super().__init__()
        self.step = step
        self.DeclareDiscreteState([10.0])
        self.DeclarePeriodicDiscreteUpdateEvent(period, offset, self._update)
        self.DeclarePerStepDiscreteUpdateEvent(lambda context, xd: xd.set_value([-1.0]))

    def _update(self, context, xd):
        xd.set_value(context.get_discrete_state_vector().value() + self.step)


def diagram_of(*systems):
    builder = DiagramBuilder()
    for number, system in enumerate(systems):
        builder.AddNamedSystem(f"s{number}", system)
    return builder.Build()


def test_residual_is_zero_at_the_true_derivatives_and_their_error_elsewhere():
    diagram = diagram_of(Spring(), diagram_of(Spring(9.0)))
    context = diagram.CreateDefaultContext()
    context.SetContinuousState([1.0, 2.0, 3.0, 4.0])
    assert diagram.implicit_time_derivatives_residual_size() == 4
    true = diagram.EvalTimeDerivatives(context)
    np.testing.assert_array_equal(diagram.CalcImplicitTimeDerivativesResidual(context, true), np.zeros(4))
    proposed = diagram.AllocateTimeDerivatives()
    proposed.SetFromVector(true.CopyToVector() + [1.0, 2.0, 3.0, 4.0])
    residual = diagram.AllocateImplicitTimeDerivativesResidual()
    diagram.CalcImplicitTimeDerivativesResidual(context, proposed, residual)
    np.testing.assert_allclose(residual, [1.0, 2.0, 3.0, 4.0], atol=1e-14)
    with pytest.raises(ValueError, match=r"shape \(4,\); got \(3,\)"):
        diagram.CalcImplicitTimeDerivativesResidual(context, proposed, np.zeros(3))


def test_residual_of_a_subclass_may_have_another_size():
    class Mass(Spring):
        def __init__(self):
            super().__init__()
            self.DeclareImplicitTimeDerivativesResidualSize(1)

        def DoCalcImplicitTimeDerivativesResidual(self, context, proposed_derivatives, residual):
            residual[0] = proposed_derivatives[1] + 4.0 * context.get_continuous_state_vector()[0]

    diagram = diagram_of(Spring(), Mass())
    context = diagram.CreateDefaultContext()
    context.SetContinuousState([1.0, 0.0, 5.0, 0.0])
    proposed = diagram.AllocateTimeDerivatives()
    proposed.SetFromVector([0.0, -4.0, 0.0, 1.0])
    np.testing.assert_array_equal(diagram.CalcImplicitTimeDerivativesResidual(context, proposed), [0.0, 0.0, 21.0])


def test_velocity_maps_are_inverse_on_the_range_and_concatenate_in_a_diagram():
    diagram = diagram_of(Halved(), Accumulator(), Spring())
    context = diagram.CreateDefaultContext()
    qdot = diagram.MapVelocityToQDot(context, [3.0, 5.0])
    np.testing.assert_array_equal(qdot, [3.0, 6.0, 5.0])
    np.testing.assert_allclose(diagram.MapQDotToVelocity(context, qdot), [3.0, 5.0])
    with pytest.raises(ValueError, match=r"generalized velocity .* size 2"):
        diagram.MapVelocityToQDot(context, [1.0])


def test_systems_with_more_positions_than_velocities_must_say_how_they_map():
    system = LeafSystem()
    system.DeclareContinuousState(2, 1, 0)
    with pytest.raises(RuntimeError, match="override DoMapVelocityToQDot"):
        system.MapVelocityToQDot(system.CreateDefaultContext(), [1.0])


def test_energies_add_up_in_a_diagram():
    springs = [Spring(1.0), Spring(9.0)]
    diagram = diagram_of(*springs, Scaled())
    context = diagram.CreateDefaultContext()
    context.SetContinuousState([2.0, 3.0, 1.0, 4.0])
    assert diagram.CalcPotentialEnergy(context) == diagram.EvalPotentialEnergy(context) == 2.0 + 4.5
    assert diagram.CalcKineticEnergy(context) == diagram.EvalKineticEnergy(context) == 4.5 + 8.0
    assert diagram.CalcConservativePower(context) == diagram.EvalConservativePower(context) == -6.0 - 36.0
    assert diagram.CalcNonConservativePower(context) == diagram.EvalNonConservativePower(context) == 0.0


def test_energies_are_computed_only_when_what_they_read_has_changed():
    spring = Spring()
    context = spring.CreateDefaultContext()
    context.SetContinuousState([1.0, 2.0])
    for _ in range(3):
        assert (spring.EvalPotentialEnergy(context), spring.EvalKineticEnergy(context)) == (2.0, 2.0)
    assert spring.counts == {"pe": 1, "ke": 1}
    context.SetTime(1.0)
    context.get_mutable_numeric_parameter(0)[0] = 8.0
    assert (spring.EvalPotentialEnergy(context), spring.EvalKineticEnergy(context)) == (4.0, 2.0)
    assert spring.counts == {"pe": 2, "ke": 1}


def test_what_depends_on_an_energy_follows_it():
    class Meter(Spring):
        def __init__(self):
            super().__init__()
            self.DeclareVectorOutputPort("pe", 1, self._calc, {self.pe_ticket()})

        def _calc(self, context, output):
            output[0] = self.EvalPotentialEnergy(context)

    meter = Meter()
    context = meter.CreateDefaultContext()
    for q in (1.0, 3.0):
        context.SetContinuousState([q, 0.0])
        assert meter.get_output_port().Eval(context) == [2.0 * q**2]


def test_unique_periodic_update_is_evaluated_without_changing_the_state():
    diagram = diagram_of(Periodic(), Scaled(), Periodic(step=2.0))
    context = diagram.CreateDefaultContext()
    timing = diagram.GetUniquePeriodicDiscreteUpdateAttribute()
    assert (timing.period_sec(), timing.offset_sec()) == (0.5, 0.0)
    updated = diagram.EvalUniquePeriodicDiscreteUpdate(context)
    assert [updated.value(0)[0], updated.value(1)[0]] == [11.0, 12.0]
    assert context.get_discrete_state(0)[0] == context.get_discrete_state(1)[0] == 10.0


def test_different_timings_are_not_unique():
    diagram = diagram_of(Periodic(), Periodic(offset=0.1))
    assert diagram.GetUniquePeriodicDiscreteUpdateAttribute() is None
    with pytest.raises(RuntimeError, match=r"exactly one timing; found: period 0\.5 s, offset 0\.0 s, period 0\.5 s"):
        diagram.EvalUniquePeriodicDiscreteUpdate(diagram.CreateDefaultContext())
    with pytest.raises(RuntimeError, match="found: none"):
        (system := Scaled()).EvalUniquePeriodicDiscreteUpdate(system.CreateDefaultContext())


def test_kind_of_equation():
    assert Periodic().IsDifferenceEquationSystem() == (True, 0.5)
    assert Periodic(offset=0.1).IsDifferenceEquationSystem() == (False, 0.0)
    assert diagram_of(Periodic(), Accumulator()).IsDifferenceEquationSystem() == (False, 0.0)
    assert Accumulator().IsDifferentialEquationSystem() and not Periodic().IsDifferentialEquationSystem()
    abstract = LeafSystem()
    abstract.DeclareAbstractInputPort("u", Value("text"))
    assert not abstract.IsDifferentialEquationSystem()


def test_counts_of_a_diagram_are_the_sums_of_its_subsystems():
    diagram = diagram_of(EachSource(declared=True), diagram_of(EachSource(declared=True)))
    counts = (
        diagram.num_continuous_states(), diagram.num_discrete_state_groups(), diagram.num_abstract_states(),
        diagram.num_numeric_parameter_groups(), diagram.num_abstract_parameters(),
    )  # fmt: skip
    assert counts == (8, 4, 4, 4, 4)


def test_all_outputs_are_copied_at_once():
    system = EachSource(declared=True)
    context = system.default_context()
    output = system.AllocateOutput()
    system.CalcOutput(context, output)
    assert output.num_ports() == system.num_output_ports()
    values = {system.get_output_port(i).get_name(): output.get_data(i).get_value() for i in range(output.num_ports())}
    assert values["xa1"] == "a1" and values["pa0"] == "q0" and values["xd1"].tolist() == [2.0, 3.0]
    scaled = Scaled()
    scaled.get_input_port().FixValue(context := scaled.CreateDefaultContext(), [4.0])
    vectors = scaled.AllocateOutput()
    scaled.CalcOutput(context, vectors)
    scaled.get_input_port().FixValue(context, [5.0])
    assert vectors.get_vector_data(0).CopyToVector() == [8.0]
    with pytest.raises(ValueError, match="1 output ports, but `outputs` has room for"):
        scaled.CalcOutput(context, output)


def test_ticket_of_all_sources_except_inputs_leaves_no_feedthrough():
    system = LeafSystem()
    system.DeclareVectorInputPort("u", 1)
    system.DeclareVectorOutputPort(
        "t", 1, lambda context, out: out.SetFromVector([context.get_time()]),
        {system.all_sources_except_input_ports_ticket()},
    )  # fmt: skip
    context = system.CreateDefaultContext()
    assert not system.HasAnyDirectFeedthrough()
    for time in (1.0, 2.0):
        context.SetTime(time)
        assert system.get_output_port().Eval(context) == [time]


def test_a_context_of_another_system_is_refused_by_name():
    with pytest.raises(ValueError, match="'::Scaled' was given the context of system '::Accumulator'"):
        Scaled().ValidateContext(Accumulator().CreateDefaultContext())
