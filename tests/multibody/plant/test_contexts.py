"""Contexts of plants: independence, parameters, clones, caching, text, and the plant inside of diagrams."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from plants import EXAMPLE_MODELS, arm_and_box, box_inertia, driven, free_box, no_actuation, pendulum, set_random_state

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.math import RigidTransform
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, MultibodyPlant
from merganser.multibody.tree import RevoluteJoint, RevoluteSpring, SpatialInertia


@pytest.fixture(params=[0.0, 1e-3], ids=["continuous", "discrete"])
def time_step(request):
    return request.param


@pytest.fixture
def plant(time_step):
    return arm_and_box(time_step)


@pytest.fixture
def context(plant):
    context = plant.CreateDefaultContext()
    set_random_state(plant, context, 1)
    no_actuation(plant, context)
    return context


def step(plant, context):
    """The state after one step, or the time derivatives of a continuous plant."""
    if not plant.is_discrete():
        return plant.EvalTimeDerivatives(context).CopyToVector()
    after = context.Clone()
    plant.ExecuteForcedEvents(after)
    return plant.GetPositionsAndVelocities(after)


# -- independence and clones -------------------------------------------------------------------------


def test_contexts_of_one_plant_are_independent(plant, context):
    other = plant.CreateDefaultContext()
    no_actuation(plant, other)
    results = [(plant.CalcMassMatrix(c), step(plant, c)) for c in (context, other)]
    set_random_state(plant, other, 2)
    plant.GetBodyByName("upper").SetMass(other, 10.0)
    plant.get_actuation_input_port().FixValue(other, [5.0, 5.0])
    changed = plant.CalcMassMatrix(other), step(plant, other)
    for before, after in zip(results[1], changed):
        assert np.abs(before - after).max() > 1e-3
    np.testing.assert_array_equal(plant.CalcMassMatrix(context), results[0][0])
    np.testing.assert_array_equal(step(plant, context), results[0][1])


def test_clone_has_state_parameters_and_inputs_and_its_own_arrays(plant, context):
    upper = plant.GetBodyByName("upper")
    upper.SetMass(context, 10.0)
    plant.GetJointByName("shoulder").SetDamping(context, 5.0)
    plant.get_actuation_input_port().FixValue(context, [1.0, 2.0])
    expected = step(plant, context)
    clone = context.Clone()
    plant.SetPositions(context, np.ones(9))
    upper.SetMass(context, 1.0)
    assert upper.get_mass(clone) == 10.0
    np.testing.assert_array_equal(step(plant, clone), expected)
    assert np.abs(step(plant, context) - expected).max() > 1e-4


# -- parameters --------------------------------------------------------------------------------------


def test_mass_in_a_context_enters_dynamics_and_energies(plant, context):
    """As if the plant had been built with it."""
    M_BBo_B = box_inertia(4.0)
    plant.GetBodyByName("box").SetSpatialInertiaInBodyFrame(context, M_BBo_B)
    reference, body = free_box(plant.time_step(), M_BBo_B)
    other = reference.CreateDefaultContext()
    thing = plant.GetModelInstanceByName("thing")
    reference.SetPositionsAndVelocities(other, plant.GetPositionsAndVelocities(context, thing))
    np.testing.assert_allclose(
        plant.CalcMassMatrix(context)[2:, 2:], reference.CalcMassMatrix(other), rtol=0.0, atol=1e-14
    )
    whole = step(plant, context)
    part = [plant.GetPositionsFromArray(thing, whole[:9]), plant.GetVelocitiesFromArray(thing, whole[9:])]
    np.testing.assert_allclose(np.concatenate(part), step(reference, other), rtol=1e-12, atol=1e-12)
    assert plant.CalcTotalMass(context, [thing]) == 4.0
    assert body.default_mass() == 4.0 and plant.GetBodyByName("box").default_mass() == 1.5


def test_damping_in_a_context_enters_the_dynamics():
    plant = pendulum(0.0)
    context = plant.CreateDefaultContext()
    plant.SetVelocities(context, [2.0])
    assert plant.EvalTimeDerivatives(context).CopyToVector()[1] == 0.0
    plant.GetJointByName("pin").SetDamping(context, 0.5)
    expected = -0.5 * 2.0 / (1.3 * 0.7**2)
    assert plant.EvalTimeDerivatives(context).CopyToVector()[1] == pytest.approx(expected)
    other = plant.CreateDefaultContext()
    plant.SetVelocities(other, [2.0])
    assert plant.EvalTimeDerivatives(other).CopyToVector()[1] == 0.0


def test_gravity_is_taken_over_by_new_contexts(plant, context):
    old = plant.CalcGravityGeneralizedForces(context)
    plant.mutable_gravity_field().set_gravity_vector([0, 0, 0])
    np.testing.assert_array_equal(plant.CalcGravityGeneralizedForces(context), old)
    weightless = plant.CreateDefaultContext()
    plant.SetPositions(weightless, plant.GetPositions(context))
    assert not plant.CalcGravityGeneralizedForces(weightless).any()
    assert plant.CalcPotentialEnergy(weightless) == 0.0


# -- caching -----------------------------------------------------------------------------------------


class Poison:
    """Overwrites cached kinematics with NaN: what is still NaN afterwards was not recomputed."""

    def __init__(self, plant, context):
        self.plant, self.context, self.body = plant, context, plant.GetBodyByName("tool")
        plant.EvalBodySpatialVelocityInWorld(context, self.body)
        workspace = plant._views.workspace(context)
        workspace.position["p_WoBo_W"] = workspace.velocity["V_WB_W"] = np.nan

    def is_position_computed(self):
        X_WB = self.plant.EvalBodyPoseInWorld(self.context, self.body)
        return bool(np.isfinite(X_WB.translation()).all())

    def is_velocity_computed(self):
        V_WB_W = self.plant.EvalBodySpatialVelocityInWorld(self.context, self.body)
        return bool(np.isfinite(V_WB_W.get_coeffs()).all())


def test_kinematics_are_computed_once(plant, context):
    poison = Poison(plant, context)
    for _ in range(2):
        assert not poison.is_position_computed() and not poison.is_velocity_computed()
        plant.CalcMassMatrix(context)
        plant.CalcKineticEnergy(context)
        context.SetTime(context.get_time() + 1.0)
        no_actuation(plant, context)


@pytest.mark.parametrize("change", ["SetPositions", "joint", "free body", "mass", "state of the context"])
def test_change_of_positions_or_parameters_makes_all_kinematics_stale(plant, context, change):
    box = plant.GetBodyByName("box")
    changes = {
        "SetPositions": lambda: plant.SetPositions(context, plant.GetPositions(context)),
        "joint": lambda: plant.GetJointByName("slide").set_translation(context, 0.1),
        "free body": lambda: plant.SetFreeBodyPose(context, box, RigidTransform()),
        "mass": lambda: box.SetMass(context, 3.0),
        "state of the context": lambda: context.get_mutable_state(),
    }
    poison = Poison(plant, context)
    changes[change]()
    assert poison.is_velocity_computed() and poison.is_position_computed()


def test_change_of_velocities_leaves_the_position_kinematics_of_a_continuous_plant():
    plant = arm_and_box(0.0)
    context = plant.CreateDefaultContext()
    poison = Poison(plant, context)
    plant.SetVelocities(context, np.ones(8))
    assert not poison.is_position_computed()
    poison = Poison(plant, context)
    plant.GetJointByName("slide").set_translation_rate(context, 1.0)
    assert not poison.is_position_computed()
    plant.SetPositions(context, plant.GetPositions(context))
    assert poison.is_position_computed() and poison.is_velocity_computed()


def test_kinematics_made_by_the_dynamics_are_used(plant, context):
    """A step or an evaluation of derivatives computes the kinematics on its way."""
    poison = Poison(plant, context)
    plant.SetPositions(context, plant.GetPositions(context))
    step(plant, context)
    assert poison.is_position_computed() and poison.is_velocity_computed()
    poison = Poison(plant, context)
    assert not poison.is_position_computed()


@pytest.mark.parametrize("quantity", ["CalcMassMatrix", "CalcGravityGeneralizedForces", "CalcPotentialEnergy",
                                      "CalcBiasTerm", "CalcKineticEnergy"])  # fmt: skip
def test_results_follow_every_change_of_state(plant, context, quantity):
    calc = getattr(plant, quantity)
    stale = calc(context)
    q, v = np.random.default_rng(7).normal(size=9), np.random.default_rng(8).normal(size=8)
    plant.SetPositions(context, q)
    plant.SetVelocities(context, v)
    fresh = plant.CreateDefaultContext()
    plant.SetPositionsAndVelocities(fresh, np.concatenate([q, v]))
    np.testing.assert_array_equal(calc(context), calc(fresh))
    assert np.abs(calc(context) - stale).max() > 1e-3
    plant.SetVelocities(context, 2 * v)
    plant.SetVelocities(fresh, 2 * v)
    np.testing.assert_array_equal(calc(context), calc(fresh))


def test_ports_follow_the_simulation(plant):
    """Poses that are read between steps are those of the state between steps."""
    diagram, _ = driven(plant, lambda t: [np.sin(t), 1.0])
    simulator = Simulator(diagram)
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    tool = plant.GetBodyByName("tool")
    for time in (0.01, 0.02, 0.05):
        simulator.AdvanceTo(time)
        fresh = plant.CreateDefaultContext()
        plant.SetPositionsAndVelocities(fresh, plant.GetPositionsAndVelocities(context))
        X_WB = plant.get_body_poses_output_port().Eval(context)[tool.index()]
        assert X_WB.IsExactlyEqualTo(plant.EvalBodyPoseInWorld(fresh, tool))
        V_WB_W = plant.get_body_spatial_velocities_output_port().Eval(context)[tool.index()]
        expected = plant.EvalBodySpatialVelocityInWorld(fresh, tool)
        np.testing.assert_array_equal(V_WB_W.get_coeffs(), expected.get_coeffs())
        np.testing.assert_array_equal(
            plant.get_state_output_port().Eval(context), plant.GetPositionsAndVelocities(fresh)
        )


# -- diagrams ----------------------------------------------------------------------------------------


def test_plant_in_nested_diagrams_moves_as_by_itself(time_step):
    plant = arm_and_box(time_step)
    middle, controller = driven(plant, lambda t: [np.sin(9 * t), 2.0])
    outer = DiagramBuilder()
    outer.AddNamedSystem("robot", middle)
    outer.AddNamedSystem("bystander", pendulum(time_step))
    simulator = Simulator(outer.Build())
    simulator.get_mutable_integrator().set_fixed_step_mode(True)
    simulator.get_mutable_integrator().set_maximum_step_size(1e-3)
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    set_random_state(plant, context, 1)
    simulator.AdvanceTo(0.02)

    alone = arm_and_box(time_step)
    diagram, _ = driven(alone, controller.law)
    reference = Simulator(diagram)
    reference.get_mutable_integrator().set_fixed_step_mode(True)
    reference.get_mutable_integrator().set_maximum_step_size(1e-3)
    other = alone.GetMyMutableContextFromRoot(reference.get_mutable_context())
    set_random_state(alone, other, 1)
    reference.AdvanceTo(0.02)
    np.testing.assert_array_equal(plant.GetPositionsAndVelocities(context), alone.GetPositionsAndVelocities(other))
    assert plant.GetSystemPathname().endswith("::robot::plant")


def test_two_plants_in_one_diagram_keep_to_themselves():
    builder = DiagramBuilder()
    plants = [builder.AddNamedSystem(name, pendulum(0.0)) for name in ("left", "right")]
    root = builder.Build().CreateDefaultContext()
    contexts = [plant.GetMyMutableContextFromRoot(root) for plant in plants]
    plants[0].SetPositions(contexts[0], [1.0])
    assert plants[1].GetPositions(contexts[1])[0] == 0.0
    with pytest.raises(ValueError, match="right"):
        plants[0].GetPositions(contexts[1])
    bob = plants[1].GetBodyByName("bob")
    assert plants[1].EvalBodyPoseInWorld(contexts[1], bob).IsExactlyIdentity()


def test_plant_class_needs_a_time_step_as_in_pydrake():
    with pytest.raises(TypeError):
        MultibodyPlant()


def add_pendulum(plant: MultibodyPlant) -> RevoluteJoint:
    body = plant.AddRigidBody("body", SpatialInertia.PointMass(2.0, [0.5, 0.0, 0.0]))
    joint = plant.AddJoint(RevoluteJoint("pivot", plant.world_frame(), body.body_frame(), [0, 1, 0], 0.5))
    plant.AddForceElement(RevoluteSpring(joint, 0.25, 8.0))
    plant.AddJointActuator("motor", joint)
    plant.Finalize()
    return joint


PARAMETERS = """Parameters:
  6 numeric parameter groups with
     1 parameters
       0.5
     1 parameters
       0
     1 parameters
       1
     10 parameters
       nan nan nan nan nan nan nan nan nan nan
     10 parameters
          2  0.5    0    0    0 0.25 0.25   -0   -0   -0
     2 parameters
          8 0.25
  4 abstract parameters
"""


def test_a_plant_shows_joints_motors_bodies_and_springs() -> None:
    plant = MultibodyPlant(0.0)
    joint = add_pendulum(plant)
    context = plant.CreateDefaultContext()
    joint.set_angle(context, 0.125)
    head = "::_ Context\n------------\nTime: 0\nStates:\n  2 continuous states\n    0.125     0\n\n"
    assert str(context) == head + PARAMETERS


def test_a_diagram_counts_what_its_parts_show() -> None:
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, 0.01)
    add_pendulum(plant)
    text = str(builder.Build().CreateDefaultContext())
    assert text.startswith(
        "::_ Context (of a Diagram)\n---------------------------\n2 total discrete states in 1 groups\n"
        "1 total abstract states\n25 total numeric parameters in 6 groups\n6 total abstract parameters\n\n"
        "::_::plant Context\n"
    )
    assert PARAMETERS in text
    assert text.endswith("Time: 0\nParameters:\n  2 abstract parameters\n")


def test_what_was_changed_in_a_context_is_shown() -> None:
    plant = MultibodyPlant(0.0)
    joint = add_pendulum(plant)
    context = plant.CreateDefaultContext()
    joint.SetDampingVector(context, [0.75])
    plant.GetBodyByName("body").SetMass(context, 4.0)
    lines = str(context).splitlines()
    assert lines[10] == "       0.75" and lines[18].split()[0] == "4"


@pytest.mark.parametrize("time_step", [0.0, 0.002])
def test_pickled_diagram_simulates_bit_for_bit_like_the_original(time_step):
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step)
    Parser(plant).AddModels(str(EXAMPLE_MODELS / "double_pendulum.urdf"))
    plant.Finalize()
    original = builder.Build()
    states = []
    for diagram in (original, pickle.loads(pickle.dumps(original))):
        simulator = Simulator(diagram)
        plant = diagram.GetSubsystemByName("plant")
        context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
        plant.SetPositions(context, [0.3, -0.2])
        simulator.AdvanceTo(0.5)
        states.append(plant.GetPositionsAndVelocities(context))
    assert np.array_equal(*states)
