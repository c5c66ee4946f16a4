"""Plants of AutoDiffXd and of Expression: made from plants of floats, alone and in diagrams."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from plants import EXAMPLE_MODELS, arm_and_box, no_actuation, pendulum

from merganser.framework import DiagramBuilder, DiagramBuilder_, OutputPortSelection, Value
from merganser.framework.autodiff import AutoDiffXd, ExtractGradient, ExtractValue, InitializeAutoDiff
from merganser.framework.math import RigidTransform, RigidTransform_
from merganser.framework.primitives import FirstOrderTaylorApproximation
from merganser.geometry import SceneGraph_
from merganser.multibody.math import SpatialForce_
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import (
    AddMultibodyPlantSceneGraph,
    ExternallyAppliedSpatialForce,
    MultibodyPlant,
    MultibodyPlant_,
)
from merganser.multibody.plant.scalars import chain_rules as float_model
from merganser.multibody.tree import (
    FixedOffsetFrame,
    JacobianWrtVariable,
    Joint_,
    MultibodyForces_,
    PdControllerGains,
    RevoluteJoint,
    SpatialInertia,
)

STEP = 1e-100
NUM_DIRECTIONS = 2


def time_derivatives(plant, context, u, f):
    plant.get_actuation_input_port().FixValue(context, u)
    plant.get_applied_generalized_force_input_port().FixValue(context, f)
    if plant.time_step() == 0.0:
        return plant.EvalTimeDerivatives(context).CopyToVector()
    copy = context.Clone()
    plant.ExecuteForcedEvents(copy)
    return plant.GetPositionsAndVelocities(copy)


def inverse_dynamics(plant, context, u, f):
    forces = MultibodyForces_[plant._scalar](plant)
    plant.CalcForceElementsContribution(context, forces)
    return plant.CalcInverseDynamics(context, f, forces)


def kinematics(plant, context, u, f):
    tool = plant.GetBodyByName("tool")
    return np.concatenate(
        [
            plant.EvalBodyPoseInWorld(context, tool).GetAsMatrix34().ravel(),
            plant.EvalBodySpatialVelocityInWorld(context, tool).get_coeffs(),
            plant.MapVelocityToQDot(context, f),
            plant.CalcCenterOfMassPositionInWorld(context),
            [plant.CalcKineticEnergy(context), plant.CalcPotentialEnergy(context), plant.CalcTotalMass(context)],
        ]
    )


def system_matrices(plant, context, u, f):
    M, C_v = plant.CalcMassMatrix(context), plant.CalcBiasTerm(context)
    return np.concatenate([M.ravel(), C_v, plant.CalcGravityGeneralizedForces(context)])


def body_acceleration(plant, context, u, f):
    time_derivatives(plant, context, u, f)
    tool = plant.GetBodyByName("tool")
    return plant.EvalBodySpatialAccelerationInWorld(context, tool).get_coeffs()


def motion_of_points(plant, context, u, f):
    tool, box = plant.GetFrameByName("tool"), plant.GetBodyByName("box").body_frame()
    world, p = plant.world_frame(), np.array([0.1, -0.2, 0.3])
    points, by_v = np.array([[0.1, 0.0], [-0.2, 0.4], [0.3, 0.5]]), JacobianWrtVariable.kV
    parts = [
        plant.CalcRelativeTransform(context, box, tool).GetAsMatrix34(),
        plant.CalcPointsPositions(context, tool, points, box),
        plant.CalcBiasSpatialAcceleration(context, by_v, tool, p, box, world).get_coeffs(),
        plant.CalcBiasTranslationalAcceleration(context, by_v, tool, p, box, box),
        plant.CalcBiasTranslationalAcceleration(context, by_v, tool, points, world, box),
        plant.CalcJacobianCenterOfMassTranslationalVelocity(context, by_v, world, box),
        plant.CalcBiasCenterOfMassTranslationalAcceleration(context, by_v, world, world),
        plant.CalcCenterOfMassTranslationalVelocityInWorld(context),
        plant.CalcSpatialMomentumInWorldAboutPoint(context, p).get_coeffs(),
        *(A.get_coeffs() for A in plant.CalcSpatialAccelerationsFromVdot(context, f)),
    ]
    for speeds in (by_v, JacobianWrtVariable.kQDot):
        parts.append(plant.CalcJacobianSpatialVelocity(context, speeds, tool, p, box, world))
        parts.append(plant.CalcJacobianTranslationalVelocity(context, speeds, tool, points, world, box))
    return np.concatenate([np.ravel(part) for part in parts])


QUANTITIES = [time_derivatives, inverse_dynamics, kinematics, motion_of_points, system_matrices, body_acceleration]


def numbers_and_directions(plant):
    """x, u, f, and the mass of the box, in one vector, and some directions to derive along, as columns."""
    rng = np.random.default_rng(1)
    size = plant.num_multibody_states() + plant.num_actuated_dofs() + plant.num_velocities()
    numbers = np.append(rng.normal(size=size), 2.0)
    return numbers, rng.normal(size=(len(numbers), NUM_DIRECTIONS))


def evaluate(plant, context, quantity, numbers, with_mass):
    parts = np.split(numbers, np.cumsum([plant.num_multibody_states(), plant.num_actuated_dofs()]))
    plant.SetPositionsAndVelocities(context, parts[0])
    if with_mass:
        plant.GetBodyByName("box").SetMass(context, numbers[-1])
    return quantity(plant, context, parts[1], parts[2][:-1])


def by_complex_step(plant, quantity, with_mass):
    """Value and gradient from contexts of complex numbers, one for each direction."""
    numbers, directions = numbers_and_directions(plant)
    results = []
    for direction in directions.T:
        context = plant._make_context(np.complex128)
        plant.SetDefaultContext(context)
        results.append(evaluate(plant, context, quantity, numbers + 1j * STEP * direction, with_mass))
    return results[0].real, np.array([result.imag / STEP for result in results]).T


def by_autodiff(plant, quantity, with_mass):
    plant = plant.ToAutoDiffXd()
    numbers, directions = numbers_and_directions(plant)
    variables = np.array([AutoDiffXd(a, d) for a, d in zip(numbers, directions)])
    result = evaluate(plant, plant.CreateDefaultContext(), quantity, variables, with_mass)
    assert all(type(element) is AutoDiffXd for element in result)
    return ExtractValue(result).ravel(), ExtractGradient(result)


@pytest.mark.parametrize("with_mass", [False, True], ids=["state and inputs", "and a mass"])
@pytest.mark.parametrize("time_step", [0.0, 1e-2])
@pytest.mark.parametrize("quantity", QUANTITIES)
def test_derivatives_equal_those_by_the_complex_step(quantity, time_step, with_mass):
    plant = arm_and_box(time_step)
    value, gradient = by_autodiff(plant, quantity, with_mass)
    expected_value, expected_gradient = by_complex_step(plant, quantity, with_mass)
    scale = np.abs(expected_gradient).max()
    np.testing.assert_allclose(value, expected_value, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(gradient / scale, expected_gradient / scale, rtol=0, atol=1e-12)


@pytest.mark.parametrize("quantity", [time_derivatives, inverse_dynamics, body_acceleration])
def test_the_chain_rule_gives_the_derivatives_that_the_complex_step_gives(quantity, monkeypatch):
    """Here the kernels of the chain rule are interpreted."""
    plant = arm_and_box(0.0)
    used = []
    expected = by_complex_step(plant, quantity, False)
    monkeypatch.setattr(float_model, "may_use_compiled", lambda kernel, *_: bool(used.append(kernel)))
    actual = by_autodiff(plant, quantity, False)
    assert used
    for ours, theirs in zip(actual, expected):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-11 * max(1.0, np.abs(theirs).max()))


def test_inverse_dynamics_by_the_chain_rule_leaves_the_kinematics_to_those_who_ask():
    plant = arm_and_box(0.0).ToAutoDiffXd()
    box = plant.GetBodyByName("box")
    velocities = []
    for first in (True, False):  # before and after inverse dynamics
        context = plant.CreateDefaultContext()
        x = np.random.default_rng(4).normal(size=plant.num_multibody_states())
        plant.SetPositionsAndVelocities(context, [AutoDiffXd(a, [a, 1.0]) for a in x])
        if not first:
            vdot = np.array([AutoDiffXd(a, [1.0, a]) for a in x[: plant.num_velocities()]])
            tau = plant.CalcInverseDynamics(context, vdot, MultibodyForces_[AutoDiffXd](plant))
            assert ExtractGradient(tau).shape == (plant.num_velocities(), 2)
        velocities.append(plant.EvalBodySpatialVelocityInWorld(context, box).get_coeffs())
    np.testing.assert_array_equal(ExtractGradient(velocities[1]), ExtractGradient(velocities[0]))


def test_accelerations_that_are_changed_in_place_count():
    plant = pendulum(0.0, length=0.5, mass=2.0).ToAutoDiffXd()
    context, forces = plant.CreateDefaultContext(), MultibodyForces_[AutoDiffXd](plant)
    vdot = np.array([AutoDiffXd(1.0, [1.0])])
    for a in (1.0, 3.0):
        vdot[0] = AutoDiffXd(a, [a])
        (tau,) = plant.CalcInverseDynamics(context, vdot, forces)
        assert tau.value() == pytest.approx(0.5 * a)  # m l^2 = 0.5
        assert tau.derivatives() == pytest.approx([0.5 * a])


def test_states_made_together_are_written_at_once_unless_a_quaternion_is_zero():
    plant = arm_and_box(0.0).ToAutoDiffXd()
    context = plant.CreateDefaultContext()
    x = np.random.default_rng(6).normal(size=plant.num_multibody_states())
    plant.SetPositionsAndVelocities(context, InitializeAutoDiff(x).ravel())
    held = plant.GetPositionsAndVelocities(context)
    np.testing.assert_array_equal(ExtractValue(held).ravel(), x)
    np.testing.assert_array_equal(ExtractGradient(held), np.eye(len(x)))
    (box,) = plant.GetFloatingBaseBodies()
    start = plant.get_body(box).floating_positions_start()
    x[start : start + 4] = 0.0
    with pytest.raises(ValueError, match="quaternion of joint 'box'"):
        plant.SetPositionsAndVelocities(context, InitializeAutoDiff(x).ravel())
    np.testing.assert_array_equal(plant.GetPositionsAndVelocities(context), held)


def test_applied_spatial_forces_carry_derivatives():
    plant = pendulum(0.0, length=0.5, mass=2.0)
    plant = plant.ToAutoDiffXd()
    context = plant.CreateDefaultContext()
    force = ExternallyAppliedSpatialForce()
    force.body_index = plant.GetBodyByName("bob").index()
    force.p_BoBq_B = np.array([0.0, 0.0, -0.5])
    force.F_Bq_W = SpatialForce_[AutoDiffXd]([0.0, 0.0, 0.0], [AutoDiffXd(3.0, [1.0]), 0.0, 0.0])
    plant.get_applied_spatial_force_input_port().FixValue(context, Value([force]))
    vdot = plant.EvalTimeDerivatives(context).CopyToVector()[1]
    # m l^2 vdot = -l f: a push along x at the lower end turns it about -y.
    assert vdot.value() == pytest.approx(-3.0)
    assert vdot.derivatives() == pytest.approx([-1.0])


def test_sparse_maps_of_scalars_that_are_no_plain_numbers_are_refused():
    plant = arm_and_box(0.0).ToAutoDiffXd()
    context = plant.CreateDefaultContext()
    for name, product in (
        ("MakeVelocityToQDotMap", "MapVelocityToQDot"),
        ("MakeQDotToVelocityMap", "MapQDotToVelocity"),
    ):
        with pytest.raises(TypeError, match=rf"{name}.*AutoDiffXd.*{product}\(\)"):
            getattr(plant, name)(context)


def test_pd_controllers_carry_derivatives_by_state_and_desired_state():
    for time_step in (0.0, 1e-2):
        plant = driven_arm(time_step)
        numbers, seed = np.linspace(-0.3, 0.4, 8), np.random.default_rng(2).normal(size=(8, 3))  # q, v, q_d, v_d

        def advance(plant, context, numbers):
            plant.SetPositionsAndVelocities(context, numbers[:4])
            plant.get_desired_state_input_port(plant.GetModelInstanceByName("arm")).FixValue(context, numbers[4:])
            return time_derivatives(plant, context, 0.0 * numbers[:2], 0.0 * numbers[:2])

        expected = []
        for direction in seed.T:
            context = plant._make_context(np.complex128)
            plant.SetDefaultContext(context)
            expected.append(advance(plant, context, numbers + 1j * STEP * direction).imag / STEP)
        variables = np.array([AutoDiffXd(a, d) for a, d in zip(numbers, seed)])
        autodiff = plant.ToAutoDiffXd()
        gradient = ExtractGradient(advance(autodiff, autodiff.CreateDefaultContext(), variables))
        np.testing.assert_allclose(gradient, np.array(expected).T, rtol=0, atol=1e-12 * np.abs(expected).max())


def driven_arm(time_step):
    """Two links, each with a PD-controlled motor; the second one is at its effort limit."""
    plant = MultibodyPlant(time_step)
    if time_step > 0.0:
        plant.SetUseSampledOutputPorts(False)
    instance, parent = plant.AddModelInstance("arm"), plant.world_frame()
    for i, limit in enumerate((np.inf, 0.5)):
        body = plant.AddRigidBody(f"link {i}", instance, SpatialInertia.SolidBoxWithMass(1.0 + i, 0.2, 0.3, 0.4))
        frame = plant.AddFrame(FixedOffsetFrame(f"mount {i}", parent, RigidTransform([0.1, 0.2, 0.5])))
        joint = plant.AddJoint(RevoluteJoint(f"joint {i}", frame, body.body_frame(), [0, 1, 0], damping=0.1))
        plant.AddJointActuator(f"motor {i}", joint, limit).set_controller_gains(PdControllerGains(p=50.0, d=3.0))
        parent = body.body_frame()
    plant.Finalize()
    return plant


def test_numbers_with_derivatives_by_different_variables_are_refused():
    plant = pendulum(0.0).ToAutoDiffXd()
    context = plant.CreateDefaultContext()
    plant.SetPositionsAndVelocities(context, [AutoDiffXd(0.1, [1.0, 0.0]), AutoDiffXd(0.2, [1.0, 0.0, 0.0])])
    with pytest.raises(ValueError, match="2 derivatives and others 3"):
        plant.CalcBiasTerm(context)


# ---------------------------------------------------------------------- the converted plant


def test_converted_plant_has_the_elements_under_the_same_names_and_takes_over_values():
    plant = arm_and_box(0.0)
    converted = plant.ToAutoDiffXd()
    assert isinstance(converted, MultibodyPlant_[AutoDiffXd]) and isinstance(converted, MultibodyPlant)
    shoulder = converted.GetJointByName("shoulder")
    assert isinstance(shoulder, RevoluteJoint) and isinstance(shoulder, Joint_[AutoDiffXd])
    assert not isinstance(plant.GetJointByName("shoulder"), Joint_[AutoDiffXd])
    assert shoulder.GetParentPlant() is converted

    context, converted_context = plant.CreateDefaultContext(), converted.CreateDefaultContext()
    plant.SetPositions(context, np.linspace(0.1, 0.9, 9))
    plant.GetBodyByName("box").SetMass(context, 7.0)
    converted_context.SetTimeStateAndParametersFrom(context)
    assert ExtractValue(converted.GetPositions(converted_context)).ravel() == pytest.approx(np.linspace(0.1, 0.9, 9))
    M = ExtractValue(converted.CalcMassMatrix(converted_context))
    np.testing.assert_allclose(M, plant.CalcMassMatrix(context), rtol=1e-14, atol=1e-14)

    shoulder.set_angle(converted_context, AutoDiffXd(0.5, [1.0]))
    assert shoulder.get_angle(converted_context).derivatives() == [1.0]
    with pytest.raises(RuntimeError):  # the body of another plant
        converted.EvalBodyPoseInWorld(converted_context, plant.GetBodyByName("box"))


def test_free_bodies_get_poses_with_derivatives():
    plant = arm_and_box(0.0).ToAutoDiffXd()
    context = plant.CreateDefaultContext()
    box = plant.GetBodyByName("box")
    X_WB = RigidTransform_[AutoDiffXd]([AutoDiffXd(1.0, [1.0]), 2.0, 3.0])
    plant.SetFreeBodyPose(context, box, X_WB)
    p_WoBo_W = plant.EvalBodyPoseInWorld(context, box).translation()
    assert [x.value() for x in p_WoBo_W] == [1.0, 2.0, 3.0]
    assert p_WoBo_W[0].derivatives() == pytest.approx([1.0])


def test_conversion_back_to_floats_computes_as_before():
    plant = arm_and_box(0.0)
    back = plant.ToAutoDiffXd().ToScalarType[float]()
    matrices = [p.CalcMassMatrix(p.CreateDefaultContext()) for p in (plant, back)]
    np.testing.assert_array_equal(*matrices)


def test_diagrams_with_a_scene_graph_convert_and_give_poses_with_derivatives():
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, 0.0)
    Parser(plant).AddModels(str(EXAMPLE_MODELS / "double_pendulum.urdf"))
    plant.Finalize()
    diagram = builder.Build().ToAutoDiffXd()
    plant, scene_graph = diagram.GetSubsystemByName("plant"), diagram.GetSubsystemByName("scene_graph")
    assert isinstance(scene_graph, SceneGraph_[AutoDiffXd])
    context = diagram.CreateDefaultContext()
    mine = plant.GetMyContextFromRoot(context)
    plant.SetPositions(mine, [AutoDiffXd(0.3, [1.0, 0.0]), AutoDiffXd(-0.2, [0.0, 1.0])])
    no_actuation(plant, mine)

    query = scene_graph.get_query_output_port().Eval(scene_graph.GetMyContextFromRoot(context))
    body = plant.GetBodyByName("lower")
    in_scene = query.GetPoseInWorld(plant.GetBodyFrameIdOrThrow(body.index())).GetAsMatrix34()
    in_plant = plant.EvalBodyPoseInWorld(mine, body).GetAsMatrix34()
    np.testing.assert_array_equal(ExtractGradient(in_scene), ExtractGradient(in_plant))
    assert np.abs(ExtractGradient(in_scene)).max() > 0.1
    assert ExtractGradient(diagram.EvalTimeDerivatives(context).CopyToVector()).shape == (4, 2)


def test_plants_can_be_built_for_other_scalars_at_once():
    builder = DiagramBuilder_[AutoDiffXd]()
    plant, scene_graph = AddMultibodyPlantSceneGraph(builder, 0.0)
    plant.AddRigidBody("ball", SpatialInertia.SolidSphereWithMass(2.0, 0.1))
    plant.Finalize()
    assert isinstance(plant, MultibodyPlant_[AutoDiffXd]) and isinstance(scene_graph, SceneGraph_[AutoDiffXd])
    context = plant.GetMyContextFromRoot(builder.Build().CreateDefaultContext())
    assert plant.CalcTotalMass(context).value() == 2.0


def test_convenience_of_float_poses_and_states_in_contexts_of_derivatives():
    plant = arm_and_box(0.0).ToAutoDiffXd()
    context = plant.CreateDefaultContext()
    plant.SetFreeBodyPose(context, plant.GetBodyByName("box"), RigidTransform([1.0, 2.0, 3.0]))
    plant.SetVelocities(context, np.ones(plant.num_velocities()))
    assert ExtractGradient(plant.CalcBiasTerm(context)).shape[1] == 0


def test_linearization_has_the_derivatives_that_a_plant_of_autodiff_has():
    plant = arm_and_box(0.0)
    context = plant.CreateDefaultContext()
    rng = np.random.default_rng(6)
    x, u = rng.normal(size=17), rng.normal(size=2)
    plant.SetPositionsAndVelocities(context, x)
    plant.get_actuation_input_port().FixValue(context, u)
    port = plant.get_actuation_input_port().get_index()
    system = FirstOrderTaylorApproximation(plant, context, port, OutputPortSelection.kNoOutput)

    converted = plant.ToAutoDiffXd()
    their_context = converted.CreateDefaultContext()
    variables = np.concatenate([x, u])
    direction = rng.normal(size=19)
    seeded = np.array([AutoDiffXd(a, [d]) for a, d in zip(variables, direction)])
    converted.SetPositionsAndVelocities(their_context, seeded[:17])
    converted.get_actuation_input_port().FixValue(their_context, seeded[17:])
    xdot = converted.EvalTimeDerivatives(their_context).CopyToVector()
    expected = ExtractGradient(xdot).ravel()
    actual = system.A() @ direction[:17] + system.B() @ direction[17:]
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-11 * np.abs(expected).max())


def test_values_of_contact_results_refer_to_the_plant_and_do_not_copy_it():
    plant = arm_and_box(0.0).ToAutoDiffXd()
    port = plant.get_contact_results_output_port()
    results = port.Allocate().get_value()
    assert results.plant() is plant
    assert copy.deepcopy(results).plant() is plant
    contexts = plant.CreateDefaultContext(), plant.CreateDefaultContext().Clone()
    assert all(port.Eval(context).plant() is plant for context in contexts)
