"""Forces of limits of joints and tendons: as much as the motion needs, in steps and in continuous time."""

from __future__ import annotations

import numpy as np
import pytest

from merganser.analysis import ApplySimulatorConfig, Simulator, SimulatorConfig
from merganser.framework import DiagramBuilder
from merganser.framework.autodiff import ExtractGradient, ExtractValue, InitializeAutoDiff
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, MultibodyPlant
from merganser.multibody.sensors import AddMjcfSensors
from merganser.multibody.tree import MultibodyForces

LIMITED = """<mujoco model="m"><option timestep=".002"><flag contact="disable"/></option><worldbody>
<body pos="0 0 1"><joint name="hinge" axis="0 1 0" range="-20 30" armature=".1"/><geom type="capsule"
fromto="0 0 0 .5 0 0" size=".05"/><body pos=".5 0 0"><joint name="slide" type="slide" axis="0 0 1" range="-.05 .1"/>
<geom size=".1"/></body></body>
<body pos="0 2 1"><joint name="ball" type="ball" range="0 40" damping=".5"/><geom type="capsule" fromto="0 0 0 0 .2 .3"
size=".05"/></body>
<body pos="0 4 1"><joint name="left" type="slide" axis="0 0 1"/><geom size=".1"/></body>
<body pos="0 5 1"><joint name="right" type="slide" axis="0 0 1" damping="5"/><geom size=".15"/></body></worldbody>
<tendon><fixed name="sum" range="-.2 .2"><joint joint="left" coef="1"/><joint joint="right" coef="-1"/></fixed>
<fixed name="one" range="-.3 .5"><joint joint="right" coef="1"/></fixed></tendon><sensor>"""
LIMITED += "".join(f'<jointlimitfrc joint="{joint}"/>' for joint in ("hinge", "slide", "ball"))
LIMITED += "".join(f'<tendonlimitfrc tendon="{tendon}"/>' for tendon in ("sum", "one"))
LIMITED += '<tendonlimitfrc tendon="one" cutoff="7"/></sensor></mujoco>'


def make(time_step: float, text: str = LIMITED):
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step)
    parser = Parser(plant)
    parser.AddModelsFromString(text, "xml")
    plant.SetUseExplicitVelocityProducts(True)
    plant.Finalize()
    assert not plant.HasOutputPort("limit_forces")  # as in pydrake, until it is asked for
    sensors = AddMjcfSensors(builder, parser)
    simulator = Simulator(builder.Build())
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    return plant, context, simulator, lambda: sensors.EvalSensors(
        sensors.GetMyContextFromRoot(simulator.get_context())
    )


def forces_of_motion(plant: MultibodyPlant, context, before: np.ndarray, vdot: np.ndarray, v: np.ndarray) -> np.ndarray:
    """What must act on the joints beside gravity and damping, for the acceleration `vdot` at a state."""
    plant.SetPositionsAndVelocities(context, before)
    forces = MultibodyForces(plant)
    plant.CalcForceElementsContribution(context, forces)  # of gravity, and of damping at the wrong velocity
    damping = np.concatenate([plant.get_joint(i).default_damping_vector() for i in plant.GetJointIndices()])
    v_before = plant.GetVelocities(context)
    return plant.CalcInverseDynamics(context, vdot, forces) + damping * (v - v_before)


@pytest.mark.parametrize("time_step", [0.0, 0.002])
def test_forces_of_limits_are_what_motion_needs(time_step):
    plant, context, simulator, _ = make(time_step)
    rng, pushed, clone = np.random.default_rng(0), np.zeros(9), plant.CreateDefaultContext()
    tendons = np.array([[0, 0, 0, 0, 0, 1, -1], [0, 0, 0, 0, 0, 0, 1.0]])
    for _ in range(300):
        if time_step == 0.0:  # anywhere near the limits
            q = np.array([rng.uniform(-0.5, 0.7), rng.uniform(-0.1, 0.15), *rng.normal(size=4), *rng.normal(size=2)])
            q[2:6] /= np.linalg.norm(q[2:6])
            before = np.r_[q, 0.01 * rng.normal(size=7)]
            plant.SetPositionsAndVelocities(context, before)
        else:
            before = plant.GetPositionsAndVelocities(context)
            simulator.AdvanceTo(simulator.get_context().get_time() + time_step)
        f = plant.get_limit_forces_output_port().Eval(context)
        vdot = plant.get_generalized_acceleration_output_port().Eval(context)
        needed = forces_of_motion(plant, clone, before, vdot, plant.GetVelocities(context))
        np.testing.assert_allclose(f[:7] + tendons.T @ f[7:], needed, rtol=1e-6, atol=1e-6)
        pushed += f != 0.0
    assert (pushed[[0, 1, 2, 7, 8]] > 5).all(), pushed  # each has met its limit


@pytest.mark.parametrize(("time_step", "scheme"), [(0.002, None), (0.0, None), (0.0, "cenic")])
def test_sensors_of_limits_measure_weights_at_rest(time_step, scheme):
    plant, context, simulator, measure = make(time_step)
    if scheme:
        ApplySimulatorConfig(SimulatorConfig(integration_scheme=scheme, accuracy=1e-6), simulator)
    simulator.AdvanceTo(5.0)
    weights = -plant.CalcGravityGeneralizedForces(context)
    found, loads = measure(), [abs(weights[0]), weights[1], np.linalg.norm(weights[2:5]), weights[5], weights[5:].sum()]
    tolerance = 1e-3 if time_step == 0.0 else 1e-6  # integrators of an accuracy come to rest up to that
    np.testing.assert_allclose(found, [*loads, 7.0], rtol=tolerance)


@pytest.mark.parametrize("time_step", [0.0, 0.002])
def test_forces_of_limits_have_derivatives(time_step):
    builder, step = DiagramBuilder(), 1e-7
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step)
    plant.SetUseSampledOutputPorts(False)
    text = LIMITED.partition("<sensor>")[0].replace('name="ball" type="ball"', 'name="ball" axis="1 0 0"')
    Parser(plant).AddModelsFromString(f"{text}</mujoco>", "xml")
    plant.Finalize()
    plant.get_limit_forces_output_port()
    context = plant.GetMyContextFromRoot(builder.Build().CreateDefaultContext())
    x = np.array([0.524, -0.0501, 0.71, -0.6, -0.301, 0.01, -0.02, 0.01, -0.02, -0.03])  # beyond all limits

    def forces(x: np.ndarray) -> np.ndarray:
        plant.SetPositionsAndVelocities(context, x)
        return plant.get_limit_forces_output_port().Eval(context).copy()

    converted = plant.ToAutoDiffXd()
    of_converted = converted.CreateDefaultContext()
    converted.SetPositionsAndVelocities(of_converted, InitializeAutoDiff(x).reshape(-1))
    found = converted.get_limit_forces_output_port().Eval(of_converted)
    np.testing.assert_array_equal(ExtractValue(found).ravel(), forces(x))
    differences = [(forces(x + step * e) - forces(x - step * e)) / (2.0 * step) for e in np.eye(len(x))]
    scale = np.abs(differences).max()
    np.testing.assert_allclose(ExtractGradient(found), np.transpose(differences), rtol=0.0, atol=1e-6 * scale)


def test_limits_of_locked_joints_exert_nothing():
    plant, context, simulator, measure = make(0.002)
    plant.GetJointByName("hinge").set_angle(context, 0.6)  # beyond its limit
    plant.GetJointByName("right").set_translation(context, -0.4)  # beyond those of both tendons
    plant.GetJointByName("left").set_translation(context, -0.6)  # hangs from the tendon between the two
    for name in ("hinge", "right"):
        plant.GetJointByName(name).Lock(context)
    simulator.AdvanceTo(0.5)
    f, weights = plant.get_limit_forces_output_port().Eval(context), -plant.CalcGravityGeneralizedForces(context)
    assert f[0] == f[8] == measure()[0] == measure()[4] == 0.0
    np.testing.assert_allclose(f[7], weights[5], rtol=1e-6)


def test_plants_without_limits_have_no_port_of_their_forces():
    text = '<mujoco><worldbody><body><joint/><geom size=".1"/></body></worldbody></mujoco>'
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, 0.01)
    Parser(plant).AddModelsFromString(text, "xml")
    plant.Finalize()
    assert not plant.HasOutputPort("limit_forces")
    with pytest.raises(RuntimeError, match=r"get_limit_forces_output_port\(\): no joint or transmission"):
        plant.get_limit_forces_output_port()


def test_forces_of_limits_that_a_flag_disables_are_left_out_by_name(caplog):
    text = LIMITED.replace("<sensor>", "<sensor><clock/>").replace("<flag", '<flag limit="disable"')
    assert make(0.0, text)[3]() == [0.0]
    assert "<jointlimitfrc> in <sensor> is left out: limits have no forces, as a <flag> says" in caplog.text
