"""Weight, mass and free joints of bodies in MJCF files; the numbers are MuJoCo's."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.autodiff import ExtractGradient, InitializeAutoDiff
from merganser.multibody.parsing import Parser, ParsingError
from merganser.multibody.parsing.mjcf import SetMjcfKeyframe
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, MultibodyPlant
from merganser.multibody.tree import GravityCompensation, MultibodyForces, SpatialInertia

ARM = """<mujoco model="m"><option gravity="0 .5 -9.81">{option}</option><worldbody>
<body name="base" pos="0 0 1" gravcomp=".6"><joint type="free" armature=".3"/>
<geom type="box" size=".1 .2 .3" pos=".05 .02 0" mass="1"/>
<body name="b2" gravcomp="1.2"><joint name="h" axis="0 1 0" armature=".05"/>
<geom type="capsule" size=".05 .1" mass=".7" pos=".3 0 0"/></body></body></worldbody></mujoco>"""


def read(text: str, time_step: float = 0.0) -> MultibodyPlant:
    plant = MultibodyPlant(time_step)
    Parser(plant).AddModelsFromString(text, "xml")
    return plant


def at_a_state(plant: MultibodyPlant):
    context = plant.CreateDefaultContext()
    quaternion = np.array([0.8, 0.1, -0.5, 0.3]) / np.linalg.norm([0.8, 0.1, -0.5, 0.3])
    q = np.zeros(8)
    free, hinge = plant.GetJointByName("base"), plant.GetJointByName("h")
    q[free.position_start() : free.position_start() + 7] = [*quaternion, 0.1, 0.2, 0.3]
    q[hinge.position_start()] = 0.4
    v = np.zeros(7)
    v[free.velocity_start() : free.velocity_start() + 6] = [0.1, -0.2, 0.9, 0.3, 0.5, -0.4]
    v[hinge.velocity_start()] = 0.7
    plant.SetPositionsAndVelocities(context, np.concatenate([q, v]))
    order = [*range(free.velocity_start(), free.velocity_start() + 6), hinge.velocity_start()]
    return context, order


def test_gravity_compensation_and_armature_of_a_free_joint_are_those_of_mujoco(caplog):
    plant = read(ARM.format(option=""))
    plant.Finalize()
    assert not caplog.records
    context, order = at_a_state(plant)
    vdot = plant.get_generalized_acceleration_output_port().Eval(context)[order]
    expected = [0.49875449, -0.53680969, -0.16893129, 0.43259114, 0.28766582, -1.74517188, -5.18408156]
    np.testing.assert_allclose(vdot, expected, atol=1e-6)
    M = plant.CalcMassMatrix(context)
    tau = plant.CalcInverseDynamics(context, vdot[np.argsort(order)], MultibodyForces(plant))
    np.testing.assert_allclose(M @ vdot[np.argsort(order)] + plant.CalcBiasTerm(context), tau, atol=1e-9)
    v = plant.GetVelocities(context)
    assert plant.CalcKineticEnergy(context) == pytest.approx(0.5 * v @ M @ v)


def test_springs_and_dampers_that_are_switched_off_together_end_the_compensation():
    plant = read(ARM.format(option='<flag spring="disable" damper="disable"/>'))
    assert plant.num_force_elements() == 1
    assert read(ARM.format(option='<flag spring="disable"/>')).num_force_elements() == 3


@pytest.mark.parametrize("time_step", [0.0, 0.01])
@pytest.mark.parametrize("gravity", [[0.0, 0.0, -9.81], [1.0, 2.0, 3.0]])
def test_a_body_whose_weight_is_taken_keeps_its_velocity(time_step, gravity):
    plant = MultibodyPlant(time_step)
    inertia = SpatialInertia.SolidBoxWithMass(2.0, 0.1, 0.2, 0.3).Shift([0.3, -0.1, 0.2])
    body = plant.AddRigidBody("b", inertia)
    element = plant.AddForceElement(GravityCompensation(body))
    plant.mutable_gravity_field().set_gravity_vector(gravity)  # after the element
    plant.Finalize()
    simulator = Simulator(plant)
    context = simulator.get_mutable_context()
    plant.SetVelocities(context, [0.0, 0.0, 0.0, 0.1, 0.2, 0.3])
    energies = [plant.CalcPotentialEnergy(context)]
    simulator.AdvanceTo(0.5)
    np.testing.assert_allclose(plant.GetVelocities(context), [0.0, 0.0, 0.0, 0.1, 0.2, 0.3], atol=1e-9)
    energies.append(plant.CalcPotentialEnergy(context))
    np.testing.assert_allclose(energies, 0.0, atol=1e-9)
    power = 2.0 * -np.array(gravity) @ [0.1, 0.2, 0.3]
    assert element.CalcConservativePower(context) == pytest.approx(power)


def test_a_model_without_gravity_needs_no_compensation_and_derivatives_know_of_it():
    plant = MultibodyPlant(0.0)
    body = plant.AddRigidBody("b", SpatialInertia.SolidSphereWithMass(2.0, 0.1))
    plant.AddForceElement(GravityCompensation(body, 0.5))
    plant.set_gravity_enabled(body.model_instance(), False)
    plant.Finalize()
    vdot = plant.get_generalized_acceleration_output_port().Eval(plant.CreateDefaultContext())
    np.testing.assert_array_equal(vdot, 0.0)
    pendulum = read(ARM.format(option=""))
    pendulum.Finalize()
    context, _ = at_a_state(pendulum)
    x, other = pendulum.GetPositionsAndVelocities(context), pendulum.ToAutoDiffXd()
    there = other.CreateDefaultContext()
    other.SetPositionsAndVelocities(there, InitializeAutoDiff(x).ravel())
    found = ExtractGradient(other.get_generalized_acceleration_output_port().Eval(there))
    port, step = pendulum.get_generalized_acceleration_output_port(), 1e-6
    for k in range(4, x.size):
        ends = []
        for sign in (1.0, -1.0):
            pendulum.SetPositionsAndVelocities(context, x + sign * step * np.eye(x.size)[k])
            ends.append(port.Eval(context).copy())
        np.testing.assert_allclose(found[:, k], (ends[0] - ends[1]) / (2.0 * step), atol=2e-7)


@pytest.mark.parametrize("factor", [np.nan, np.inf])
def test_factors_that_are_not_finite_are_refused(factor):
    body = MultibodyPlant(0.0).AddRigidBody("b", SpatialInertia.SolidSphereWithMass(2.0, 0.1))
    with pytest.raises(RuntimeError, match="factor"):
        GravityCompensation(body, factor)
    with pytest.raises(TypeError, match="body must be a RigidBody, not a str"):
        GravityCompensation("b")


def test_armature_of_a_floating_base_is_checked_and_goes_to_new_contexts():
    plant = read(ARM.format(option=""))
    base = plant.GetBodyByName("base")
    for value in (-1.0, np.nan):
        with pytest.raises(RuntimeError, match=r"BodyArmature.*: the armature of body 'base' must be"):
            plant.SetDefaultFloatingBaseBodyArmature(base, value)
    plant.Finalize()
    with_armature = plant.CalcMassMatrix(at_a_state(plant)[0])
    plant.SetDefaultFloatingBaseBodyArmature(base, 0.0)
    context, order = at_a_state(plant)
    added = (with_armature - plant.CalcMassMatrix(context))[np.ix_(order, order)]
    np.testing.assert_allclose(added, np.diag([0.3] * 6 + [0.0]), atol=1e-12)


def test_a_free_joint_is_called_after_its_body_and_found_by_its_own_name_too(caplog):
    text = '<mujoco><worldbody><body name="{}"><freejoint name="root"/><geom size="1"/></body></worldbody></mujoco>'
    plant = read(text.format("b"))
    Parser(plant, "2").AddModelsFromString(text.format("c"), "xml")
    plant.Finalize()
    assert not caplog.records
    for other in (plant, plant.ToAutoDiffXd(), copy.deepcopy(plant)):
        for body in "bc":
            instance = other.GetBodyByName(body).model_instance()
            joint = other.GetJointByName("root", instance)
            assert joint is other.GetJointByName(body, instance) and joint.name() == body
            assert other.HasJointNamed("root", instance)
        assert other.num_joints() == 2


def test_a_mass_without_moments_of_inertia_is_at_one_point(caplog):
    inertial = '<joint axis="0 1 0"/><inertial pos="0 0 .5" mass="2" {}/>'
    text = f"<mujoco><worldbody><body>{inertial}</body></worldbody></mujoco>"
    plant = read(text.format(""))
    plant.Finalize()
    assert plant.CalcMassMatrix(plant.CreateDefaultContext()).item() == pytest.approx(0.5)
    assert "<inertial> has neither 'diaginertia' nor 'fullinertia': a mass at one point" in caplog.text
    with pytest.raises(ParsingError, match="both 'fullinertia' and 'diaginertia'"):
        read(text.format('diaginertia="1 1 1" fullinertia="1 1 1 0 0 0"'))


def test_surfaces_of_geometries_move_as_those_of_belts(caplog):
    belt = '<geom name="{}" type="box" size="1 1 .1" {}/>'
    plant, graph = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.01)
    geoms = belt.format("a", 'surfacevel=".5 0 .7"') + belt.format("b", "")
    Parser(plant).AddModelsFromString(f"<mujoco><worldbody>{geoms}</worldbody></mujoco>", "xml")
    inspector = graph.model_inspector()
    found = {
        inspector.GetName(id).rpartition("::")[2]: inspector.GetProximityProperties(id)
        for id in plant.GetCollisionGeometriesForBody(plant.world_body())
    }
    assert found["a"].GetProperty("material", "surface_velocity").tolist() == [0.5, 0.0, 0.7]
    assert not found["b"].HasProperty("material", "surface_velocity") and not caplog.records
    turning = belt.format("c", 'surfacevel="0 0 0 0 0 1"')
    Parser(MultibodyPlant(0.0)).AddModelsFromString(f"<mujoco><worldbody>\n{turning}</worldbody></mujoco>", "xml")
    assert "line 2: <geom> surfacevel that turns has no effect" in caplog.text


def test_springs_and_dampers_of_joints_are_polynomials_and_flags_switch_them_off():
    joint = '<joint name="j" type="slide" axis="1 0 0" springref=".1" stiffness="1 2 3" damping=".1 .2 .3"/>'
    for flags, spring, damper in (("", 1.0, 1.0), ('spring="disable"', 0.0, 1.0), ('damper="disable"', 1.0, 0.0)):
        option = f'<option gravity="0 0 0"><flag {flags}/></option>'
        plant = MultibodyPlant(0.0)
        body = f'<body>{joint}<geom size=".1" mass="2"/></body>'
        text = f"<mujoco>{option}<worldbody>{body}</worldbody></mujoco>"
        Parser(plant).AddModelsFromString(text, "xml")
        plant.Finalize()
        context = plant.CreateDefaultContext()
        plant.SetPositionsAndVelocities(context, [0.6, -0.7])  # MuJoCo: as in its reference manual
        force = -spring * (0.5 + 2 * 0.25 + 3 * 0.125) + damper * (0.1 * 0.7 + 0.2 * 0.49 + 0.3 * 0.343)
        assert 2.0 * plant.EvalTimeDerivatives(context).CopyToVector()[1] == pytest.approx(force, abs=1e-13)


def test_a_keyframe_for_a_body_that_is_no_longer_free_changes_nothing():
    plant = MultibodyPlant(0.0)
    (parser := Parser(plant)).AddModelsFromString(
        '<mujoco><worldbody><body name="base"><freejoint/><geom size=".1"/><body name="arm"><joint name="j"/>'
        '<geom size=".1"/></body></body></worldbody><keyframe><key name="k" qpos="0 0 1 1 0 0 0 2"/></keyframe>'
        "</mujoco>",
        "xml",
    )
    plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("base"))
    plant.Finalize()
    context = plant.CreateDefaultContext()
    with pytest.raises(RuntimeError, match="body 'base' is not free"):
        SetMjcfKeyframe(parser, context, "k")
    np.testing.assert_array_equal(plant.GetPositions(context), [0.0])
