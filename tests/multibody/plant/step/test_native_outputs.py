"""Output ports that follow from forces, in the native plan: the values that Python gives, to the last bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from merganser.analysis import BatchSimulator, Simulator, batch_simulate
from merganser.framework import Context, DiagramBuilder
from merganser.framework.math import RigidTransform
from merganser.framework.primitives import ConstantVectorSource, Integrator, LogVectorOutput, Sine
from merganser.geometry import Box, HalfSpace
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction, MultibodyPlant
from merganser.multibody.plant.outputs import OutputPorts
from merganser.multibody.tree import RevoluteJoint, RevoluteSpring, SpatialInertia

pytest_plugins = ["compile_policy"]
pytestmark = pytest.mark.usefixtures("compile_at_once")

WAYS = ("never", "always")
H = 0.002
CALCULATIONS = ("_calc_acceleration", "_calc_net_actuation", "_calc_contact_forces")


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The calculations of output ports that Python has made."""
    made: list[str] = []

    def counting(calc: Any) -> Any:
        def counted(self: Any, *arguments: Any) -> None:
            made.append(calc.__name__)
            calc(self, *arguments)

        return counted

    for name in CALCULATIONS:
        monkeypatch.setattr(OutputPorts, name, counting(getattr(OutputPorts, name)))
    return made


class Program(NamedTuple):
    """A simulation that logs outputs, and the Context of its plant."""

    simulator: Simulator
    plant: MultibodyPlant
    context: Context
    logs: list[Any]

    def data(self) -> list[Any]:
        return [log.FindLog(self.simulator.get_context()).data().copy() for log in self.logs]


def program(time_step: float, sampled: bool = True, with_ground: bool = True, integrates: bool = False) -> Program:
    """A tumbling box over the ground, and a driven arm with a spring and a limit, of which all vectors are logged."""
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step)
    if time_step:
        plant.SetUseSampledOutputPorts(sampled)
    arm, free, rough = plant.AddModelInstance("arm"), plant.AddModelInstance("free"), CoulombFriction(0.6, 0.6)
    box = plant.AddRigidBody("box", free, SpatialInertia.SolidBoxWithMass(0.7, 0.2, 0.1, 0.1))
    if with_ground:
        plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform([0, 0, -0.2]), HalfSpace(), "ground", rough)
        plant.RegisterCollisionGeometry(box, RigidTransform(), Box(0.2, 0.1, 0.1), "box", rough)
    parent, inertia = plant.world_frame(), SpatialInertia.SolidBoxWithMass(0.5, 0.1, 0.1, 0.4)
    for name, limit in (("shoulder", 0.3), ("elbow", np.inf)):
        link = plant.AddRigidBody(name, arm, inertia.Shift(np.array([0.0, 0.0, -0.2])))
        axis = np.array([0.0, 1.0, 0.0])
        joint = plant.AddJoint(RevoluteJoint(name, parent, link.body_frame(), axis, -limit, limit, 0.1))
        plant.AddJointActuator(name, joint, 1.5)
        parent = link.body_frame()
    plant.AddForceElement(RevoluteSpring(joint, 0.1, 3.0))
    plant.Finalize()
    sine = builder.AddSystem(Sine(np.array([2.0, 1.0]), np.array([4.0, 9.0]), np.zeros(2)))
    builder.Connect(sine.get_output_port(0), plant.get_actuation_input_port(arm))
    ports = [plant.get_generalized_acceleration_output_port(), plant.get_net_actuation_output_port()]
    for instance in (arm, free):
        ports.append(plant.get_generalized_acceleration_output_port(instance))
        ports.append(plant.get_generalized_contact_forces_output_port(instance))
    ports.append(plant.get_net_actuation_output_port(arm))
    if integrates:
        sums = [builder.AddSystem(Integrator(port.size())) for port in ports]
        for port, system in zip(ports, sums):
            builder.Connect(port, system.get_input_port())
        ports += [system.get_output_port() for system in sums]
    logs = [LogVectorOutput(port, builder, 0.003) for port in ports]
    simulator = Simulator(builder.Build())
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    plant.SetFreeBodyPose(context, box, RigidTransform([0.0, 0.0, -0.1]))
    plant.SetVelocities(context, np.linspace(-1.0, 1.0, plant.num_velocities()))
    return Program(simulator, plant, context, logs)


def compare(monkeypatch: pytest.MonkeyPatch, run: Callable[[Program], None], *arguments: Any) -> list[Program]:
    programs = []
    for way in WAYS:
        monkeypatch.setenv("MERGANSER_PLAN", way)
        programs.append(program(*arguments))
        run(programs[-1])
    for python, native in zip(*(made.data() for made in programs)):
        np.testing.assert_array_equal(native, python)
    return programs


def in_parts(made: Program) -> None:
    for end in (0.1, 0.2, 0.5):
        made.simulator.AdvanceTo(end)
        made.plant.get_net_actuation_output_port().Eval(made.context)


@pytest.mark.parametrize(
    ("time_step", "sampled", "with_ground"),
    [(H, True, True), (H, True, False), (H, False, True), (0.0, True, False), (0.0, True, True)],
)
def test_logged_outputs_are_those_of_python(
    time_step: float, sampled: bool, with_ground: bool, monkeypatch: pytest.MonkeyPatch, calls: list[str]
) -> None:
    _, native = compare(monkeypatch, in_parts, time_step, sampled, with_ground)
    acceleration, net_actuation, _, of_arm, _, of_box, _ = native.data()
    assert np.ptp(acceleration, axis=1).max() > 1.0 and np.ptp(net_actuation, axis=1).min() > 1.0
    assert not of_arm.any() and bool(of_box.any()) == with_ground


@pytest.mark.usefixtures("compiled_loop")
@pytest.mark.parametrize("change", ["mass", "gravity"])
def test_the_sample_of_the_plan_is_that_of_its_step_whatever_has_changed_since(change: str) -> None:
    reactions = []
    for asks_before in (True, False):
        made = program(H, True, True)
        made.simulator.AdvanceTo(0.2)
        port = made.plant.get_reaction_forces_output_port()
        if asks_before:
            port.Eval(made.context)
        if change == "mass":
            made.plant.GetBodyByName("elbow").SetMass(made.context, 17.0)
        else:
            group = made.plant._views.gravity_group
            made.context.get_mutable_numeric_parameter(group).SetFromVector([1.0, 2.0, 3.0])
        reactions.append([F.get_coeffs() for F in port.Eval(made.context)])
    np.testing.assert_array_equal(*reactions)


@pytest.mark.usefixtures("compiled_loop")
def test_a_sample_of_the_plan_stays_while_python_computes_the_dynamics_of_the_moment() -> None:
    forces = []
    for asks_before in (True, False):
        made = program(H, True, True)
        made.simulator.AdvanceTo(0.5)
        port, v = made.plant.get_contact_results_output_port(), made.plant.GetVelocities(made.context)
        if asks_before:
            port.Eval(made.context)
        made.plant.SetVelocities(made.context, -2.0 * v)
        made.plant.EvalBodySpatialAccelerationInWorld(made.context, made.plant.GetBodyByName("elbow"))
        forces.append(port.Eval(made.context).point_pair_arrays()[1])
    np.testing.assert_array_equal(*forces)
    assert np.abs(forces[0]).max() > 1.0


@pytest.mark.usefixtures("compiled_loop")
@pytest.mark.parametrize(("time_step", "with_ground"), [(H, True), (0.0, False)])
def test_in_the_plan_python_computes_outputs_only_where_python_asks(
    time_step: float, with_ground: bool, calls: list[str]
) -> None:
    made = program(time_step, True, with_ground)
    made.simulator.AdvanceTo(0.1)
    calls.clear()
    made.simulator.AdvanceTo(0.3)
    assert len(calls) <= 3  # at the first contact


def test_outputs_follow_steps_and_samples_that_python_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(made: Program) -> None:
        plant, context, simulator = made.plant, made.context, made.simulator
        simulator.AdvanceTo(0.2)
        kept = simulator.get_context().Clone()
        plant.ExecuteForcedEvents(context)
        simulator.AdvanceTo(0.21)
        plant.get_applied_spatial_force_input_port().FixValue(context, [])  # from now on Python makes the steps
        simulator.AdvanceTo(0.25)
        simulator.get_mutable_context().SetTimeStateAndParametersFrom(kept)
        simulator.get_mutable_context().SetTime(0.25)
        simulator.AdvanceTo(0.26)
        context.get_mutable_abstract_state(plant._sampling.state_index).set_value(None)
        simulator.Initialize()  # publishes what is there before the next step
        simulator.AdvanceTo(0.27)

    _, native = compare(monkeypatch, run, H, True, True, True)
    assert native.plant._dynamics.native.num_calls > 15
    assert not native.data()[0][:, -5:].all()  # zero where there was no sample


def test_integrals_of_outputs_are_the_same_while_arrays_of_contacts_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("merganser.multibody.plant.step.step_buffers._FIRST_CANDIDATES", 0)
    monkeypatch.setattr("merganser.multibody.plant.step.step_buffers._FIRST_CONTACTS", 0)
    python, native = compare(monkeypatch, in_parts, H, True, True, True)
    assert np.abs(native.data()[-2]).max() > 0.1  # impulses on the box
    for made in (python, native):
        made.simulator.get_mutable_context().SetTime(0.501)
    derivatives = [
        made.simulator.get_system().EvalTimeDerivatives(made.simulator.get_context()).CopyToVector()
        for made in (python, native)
    ]
    np.testing.assert_array_equal(derivatives[1], derivatives[0])


@pytest.mark.usefixtures("compiled_loop")
def test_simulations_of_a_batch_begin_without_a_sample() -> None:
    made = program(H, True, False)
    system, found = made.simulator.get_system(), []
    contexts = [made.simulator.get_context().Clone() for _ in range(4)]
    batch_simulate(system, contexts, 0.05, parallelize=False)
    for context in contexts:
        found.append(made.logs[0].FindLog(context).data().copy())
        assert not found[-1][:, 0].any() and found[-1][:, 1].any()
        np.testing.assert_array_equal(found[-1], found[0])
    states = np.tile(contexts[0].get_discrete_state_vector().CopyToVector()[:, np.newaxis], (1, 3))
    result = BatchSimulator(system, made.simulator.get_context(), parallelize=False).simulate(states, 0.05)
    np.testing.assert_array_equal(result.states[:, 0], result.states[:, 2])


class Heated(MultibodyPlant):
    """A plant whose derivatives are not those of its dynamics."""

    def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
        super().DoCalcTimeDerivatives(context, derivatives)
        derivatives.SetFromVector(derivatives.CopyToVector() + 100.0)


def logged_hinge(kind: type[MultibodyPlant], fixed: list[float] | None = None) -> tuple[Any, Any]:
    """Actuation and acceleration of a continuous plant that a source drives with 1 N m; the port may be fixed, too."""
    builder = DiagramBuilder()
    plant = builder.AddSystem(kind(0.0))
    link = plant.AddRigidBody("link", SpatialInertia.SolidSphereWithMass(1.0, 0.5))
    joint = plant.AddJoint(RevoluteJoint("hinge", plant.world_frame(), link.body_frame(), np.array([0.0, 0.0, 1.0])))
    plant.AddJointActuator("motor", joint)
    plant.Finalize()
    source = builder.AddSystem(ConstantVectorSource(np.ones(1)))
    builder.Connect(source.get_output_port(), plant.get_actuation_input_port())
    ports = plant.get_net_actuation_output_port(), plant.get_generalized_acceleration_output_port()
    logs = [LogVectorOutput(port, builder, 0.1) for port in ports]
    simulator = Simulator(builder.Build())
    if fixed is not None:
        plant.get_actuation_input_port().FixValue(
            plant.GetMyMutableContextFromRoot(simulator.get_mutable_context()), fixed
        )
    simulator.AdvanceTo(0.55)
    actuation, acceleration = (log.FindLog(simulator.get_context()).data() for log in logs)
    return actuation, acceleration


@pytest.mark.parametrize(("kind", "fixed", "effort"), [(Heated, None, 1.0), (MultibodyPlant, [5.0], 5.0)])
def test_outputs_of_continuous_plants_are_those_of_the_dynamics_in_every_mode(
    kind: type[MultibodyPlant], fixed: list[float] | None, effort: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    for way in WAYS:
        monkeypatch.setenv("MERGANSER_PLAN", way)
        actuation, acceleration = logged_hinge(kind, fixed)
        np.testing.assert_array_equal(actuation, np.full((1, 6), effort))
        np.testing.assert_allclose(acceleration, np.full((1, 6), 10.0 * effort), rtol=1e-14)
