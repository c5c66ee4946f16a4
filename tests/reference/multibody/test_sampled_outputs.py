"""Dynamics on output ports and PD-controlled actuators: the same as in pydrake, call by call."""

from __future__ import annotations

import importlib
from types import SimpleNamespace

import numpy as np
import pytest
from explicit_products import as_pydrake

pydrake = pytest.importorskip("pydrake", reason="pydrake is not installed (extra `reference`)")

from plants import MODELS  # noqa: E402
from pydrake.multibody.tree import JointActuatorIndex  # noqa: E402
from reference_plants import Pair, load_both  # noqa: E402

pytestmark = pytest.mark.reference

ALLEGRO = "allegro_hand_description/sdf/allegro_hand_description_right.sdf"
H = 1e-2
NUM_LINKS = 4


def names_of(root: str, math: str) -> SimpleNamespace:
    names = {}
    for module in ("multibody.tree", "multibody.plant", math):
        package = importlib.import_module(f"{root}.{module}")
        names |= {key: getattr(package, key) for key in dir(package)}  # also those loaded when asked for
    return SimpleNamespace(**names)


OURS, THEIRS = names_of("merganser", "framework.math"), names_of("pydrake", "math")


def arm(lib, time_step, *, gains=None, limits=None, rotor=0.0, use_sampled=None, welds=False):
    """Links on damped revolute and prismatic joints between tilted frames, every joint with an actuator."""
    plant = as_pydrake(lib.MultibodyPlant(time_step))
    if use_sampled is not None:
        plant.SetUseSampledOutputPorts(use_sampled)
    instance = plant.AddModelInstance("arm")
    parent = plant.world_frame()
    for i in range(NUM_LINKS):
        body = plant.AddRigidBody(f"link_{i}", instance, lib.SpatialInertia.SolidBoxWithMass(1.0, 0.1, 0.2, 0.3))
        X_BM = lib.RigidTransform(lib.RollPitchYaw(0.1 * i, 0.2, 0.3), [0.1, 0.02, -0.3])
        M = plant.AddFrame(lib.FixedOffsetFrame(name=f"M_{i}", P=body.body_frame(), X_PF=X_BM))
        joint_type, axis = (lib.PrismaticJoint, [1, 0, 0]) if i % 2 else (lib.RevoluteJoint, [0, 1, 0])
        joint = plant.AddJoint(joint_type(f"joint_{i}", parent, M, axis, damping=0.2))
        motor = plant.AddJointActuator(f"motor_{i}", joint, np.inf if limits is None else limits[i])
        motor.set_default_rotor_inertia(rotor)
        if gains is not None:
            motor.set_controller_gains(lib.PdControllerGains(p=gains[0], d=gains[1]))
        parent = body.body_frame()
    if welds:  # the joint's child is nearer the world
        tool = plant.AddRigidBody("tool", instance, lib.SpatialInertia.SolidBoxWithMass(0.5, 0.1, 0.2, 0.3))
        X_FM = lib.RigidTransform(lib.RollPitchYaw(0.3, 0.2, 0.1), [0.1, 0.2, 0.3])
        plant.AddJoint(lib.WeldJoint("weld", tool.body_frame(), parent, X_FM))
    plant.Finalize()
    return plant


def pair_of(time_step=H, **options):
    return Pair(*(arm(lib, time_step, **options) for lib in (OURS, THEIRS)))


def outputs(plant, context):
    """All that follows from forces, and the state."""
    instance = plant.GetModelInstanceByName("arm")
    forces = plant.get_reaction_forces_output_port().Eval(context)
    accelerations = plant.get_body_spatial_accelerations_output_port().Eval(context)
    return [
        plant.GetPositionsAndVelocities(context),
        plant.get_generalized_acceleration_output_port().Eval(context),
        plant.get_generalized_acceleration_output_port(instance).Eval(context),
        plant.get_net_actuation_output_port().Eval(context),
        plant.get_net_actuation_output_port(instance).Eval(context),
        np.array([force.get_coeffs() for force in forces]),
        np.array([acceleration.get_coeffs() for acceleration in accelerations]),
    ]


def compare(pair, tolerance=1e-11):
    for ours, theirs in zip(outputs(pair.ours, pair.context), outputs(pair.theirs, pair.their_context)):
        scale = max(1.0, np.abs(theirs).max(initial=0.0))
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours / scale, theirs / scale, rtol=0.0, atol=tolerance)


def both(pair):
    return (pair.ours, pair.context), (pair.theirs, pair.their_context)


def randomize(pair, rng):
    pair.set_random_state(rng)
    pair.fix_actuation(2.0 * rng.normal(size=NUM_LINKS))
    pair.fix_desired_state(int(pair.ours.GetModelInstanceByName("arm")), rng.normal(size=2 * NUM_LINKS))


@pytest.mark.parametrize("time_step, use_sampled", [(0.0, None), (H, False), (H, True)])
def test_ports_and_feedthrough(time_step, use_sampled):
    """All of theirs, in their order."""
    ours, theirs = (arm(lib, time_step, use_sampled=use_sampled) for lib in (OURS, THEIRS))
    assert ours.has_sampled_output_ports() == theirs.has_sampled_output_ports() == bool(use_sampled)
    names = [port.get_name() for port in (theirs.get_output_port(i) for i in range(theirs.num_output_ports()))]
    mine = [ours.get_output_port(i).get_name() for i in range(ours.num_output_ports())]
    assert mine == names
    for name in mine:
        their_port = theirs.GetOutputPort(name).get_index()
        for i in range(theirs.num_input_ports()):
            my_port = ours.GetInputPort(theirs.get_input_port(i).get_name()).get_index()
            feeds = ours.HasDirectFeedthrough(my_port, ours.GetOutputPort(name).get_index())
            assert feeds == theirs.HasDirectFeedthrough(i, their_port)


@pytest.mark.parametrize("use_sampled", [True, False])
def test_a_sequence_of_changes_steps_and_copies(use_sampled):
    pair = pair_of(use_sampled=use_sampled, gains=(30.0, 2.0), limits=[3.0, 5.0, 2.0, 4.0])
    rng = np.random.default_rng(0)
    randomize(pair, rng)
    compare(pair)
    for act in ("force", "positions", "actuation", "force", "desired", "velocities", "force", "force"):
        if act == "force":
            for plant, context in both(pair):
                plant.ExecuteForcedEvents(context)
        elif act == "positions":
            q = rng.normal(size=NUM_LINKS)
            for plant, context in both(pair):
                plant.SetPositions(context, q)
        elif act == "velocities":
            v = rng.normal(size=NUM_LINKS)
            for plant, context in both(pair):
                plant.SetVelocities(context, v)
        elif act == "actuation":
            pair.fix_actuation(rng.normal(size=NUM_LINKS))
        else:
            pair.fix_desired_state(int(pair.ours.GetModelInstanceByName("arm")), rng.normal(size=2 * NUM_LINKS))
        compare(pair)
    clones = pair.context.Clone(), pair.their_context.Clone()
    for plant, context in both(pair):
        plant.ExecuteForcedEvents(context)
    compare(pair)
    pair.context, pair.their_context = clones
    compare(pair)


CASES = {
    "feedforward": {},
    "feedforward within limits": {"limits": [3.0, 0.5, 2.0, 0.4]},
    "PD": {"gains": (100.0, 10.0)},
    "PD within limits": {"gains": (100.0, 10.0), "limits": [3.0, 5.0, 2.0, 4.0]},
    "stiff PD within limits": {"gains": (1e4, 100.0), "limits": [3.0, 50.0, 2.0, np.inf]},
    "stiff PD": {"gains": (1e4, 100.0)},
    "rotors": {"gains": (100.0, 10.0), "limits": [3.0, 5.0, 2.0, 4.0], "rotor": 0.5},
    "reversed weld": {"gains": (100.0, 10.0), "welds": True},
}


@pytest.mark.parametrize("locked", [(), ("joint_1", "joint_2")])
@pytest.mark.parametrize("name", CASES)
def test_discrete_steps(name, locked):
    """pydrake solves PD control as a constraint of SAP. It softens gains beyond some 1e5 here; ours are exact."""
    pair = pair_of(**CASES[name])
    rng = np.random.default_rng(1)
    for _ in range(10):
        randomize(pair, rng)
        for plant, context in both(pair):
            for joint in locked:
                plant.GetJointByName(joint).Lock(context)
            plant.ExecuteForcedEvents(context)
        compare(pair)


@pytest.mark.parametrize("name", CASES)
def test_continuous_plants(name):
    pair = pair_of(0.0, **CASES[name])
    rng = np.random.default_rng(2)
    for _ in range(10):
        randomize(pair, rng)
        compare(pair)


def test_very_stiff_controllers_to_what_pydrake_softens():
    pair = pair_of(gains=(1e7, 1e5))
    randomize(pair, np.random.default_rng(3))
    for plant, context in both(pair):
        plant.ExecuteForcedEvents(context)
    compare(pair, tolerance=5e-4)


def test_gains_in_model_files():
    if not (MODELS / ALLEGRO).is_file():
        pytest.skip(f"model file {MODELS / ALLEGRO} is missing; set MERGANSER_MODELS to the folder of the robots")
    pair = load_both([ALLEGRO])
    assert pair.ours.num_actuators() > 0
    for i in range(pair.ours.num_actuators()):
        ours, theirs = pair.ours.get_joint_actuator(i), pair.theirs.get_joint_actuator(JointActuatorIndex(i))
        assert ours.has_controller() == theirs.has_controller()
        if ours.has_controller():
            gains, their_gains = ours.get_controller_gains(), theirs.get_controller_gains()
            assert (gains.p, gains.d) == (their_gains.p, their_gains.d)
