"""Joints and actuators that are removed before Finalize(): what is left keeps its indices."""

from __future__ import annotations

import numpy as np
import pytest

from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import RevoluteJoint, RevoluteSpring, SpatialInertia, UniversalJoint


def arm(num_bodies: int = 4) -> MultibodyPlant:
    """A chain of revolute joints j0, j1 ..., each with an actuator a0, a1 ... of effort 5."""
    plant = MultibodyPlant(0.0)
    inboard = plant.world_body()
    for i in range(num_bodies):
        body = plant.AddRigidBody(f"b{i}", SpatialInertia.SolidBoxWithMass(1.0, 0.1, 0.2, 0.3))
        joint = RevoluteJoint(f"j{i}", inboard.body_frame(), body.body_frame(), [0, 0, 1])
        plant.AddJointActuator(f"a{i}", plant.AddJoint(joint), 5.0)
        inboard = body
    return plant


def test_indices_stay_and_are_not_used_again():
    plant = arm()
    plant.RemoveJointActuator(plant.GetJointActuatorByName("a1"))
    plant.RemoveJoint(plant.GetJointByName("j1"))
    assert plant.GetJointIndices() == [0, 2, 3] and plant.num_joints() == 3
    assert plant.GetJointActuatorIndices() == [0, 2, 3] and plant.num_actuators() == 3
    assert [plant.has_joint(i) for i in range(5)] == [True, False, True, True, False]
    assert not plant.has_joint_actuator(1) and not plant.HasJointNamed("j1")
    assert plant.get_joint(2).name() == "j2"
    frames = plant.GetBodyByName("b0").body_frame(), plant.GetBodyByName("b1").body_frame()
    again = plant.AddJoint(UniversalJoint("j1", *frames))  # the name and the place between the bodies are free
    assert again.index() == 4
    assert plant.AddJointActuator("a1", plant.get_joint(3)).index() == 4
    for get in (plant.get_joint, plant.get_joint_actuator):
        with pytest.raises(RuntimeError, match="index 1 has been removed"):
            get(1)
        with pytest.raises(RuntimeError, match=r"no joint.* with index 5"):
            get(5)


def test_inputs_close_up():
    plant = arm()
    plant.RemoveJointActuator(plant.GetJointActuatorByName("a1"))
    plant.Finalize()
    actuators = [plant.get_joint_actuator(i) for i in plant.GetJointActuatorIndices()]
    assert [a.input_start() for a in actuators] == [0, 1, 2]
    np.testing.assert_array_equal(plant.MakeActuationMatrix(), np.eye(4)[:, [0, 2, 3]])
    context = plant.CreateDefaultContext()
    actuators[1].SetRotorInertia(context, 2.0)
    M = plant.CalcMassMatrix(context)
    actuators[1].SetRotorInertia(context, 0.0)
    np.testing.assert_allclose(M - plant.CalcMassMatrix(context), np.diag([0.0, 0.0, 2.0, 0.0]), atol=1e-15)
    assert actuators[2].get_actuation_vector([1.0, 2.0, 3.0]) == [3.0]


def test_a_body_without_its_joint_floats():
    plant = arm()
    plant.RemoveJointActuator(plant.GetJointActuatorByName("a3"))
    plant.RemoveJoint(plant.GetJointByName("j3"))
    plant.Finalize()
    assert plant.GetBodyByName("b3").is_floating_base_body()
    assert plant.GetJointIndices() == [0, 1, 2, 4]
    assert plant.num_velocities() == 9
    context = plant.CreateDefaultContext()
    plant.get_actuation_input_port().FixValue(context, np.zeros(3))
    assert plant.EvalTimeDerivatives(context).CopyToVector()[-1] == pytest.approx(-9.81)


def test_removed_joint_can_be_added_again():
    plant = arm(1)
    joint = plant.GetJointByName("j0")
    plant.RemoveJointActuator(plant.GetJointActuatorByName("a0"))
    plant.RemoveJoint(joint)
    assert plant.AddJoint(joint).index() == 1


def test_effort_limits_can_be_removed_all_at_once():
    plant = arm()
    plant.RemoveAllJointActuatorEffortLimits()
    plant.Finalize()
    np.testing.assert_array_equal(plant.GetEffortUpperLimits(), np.inf)


def test_what_depends_on_a_joint_keeps_it():
    plant = arm()
    with pytest.raises(RuntimeError, match=r"joint 'j1' \(index 1\) has dependent actuators.*'a1' \(index 1\)"):
        plant.RemoveJoint(plant.GetJointByName("j1"))
    plant.RemoveJointActuator(plant.GetJointActuatorByName("a1"))
    plant.AddForceElement(RevoluteSpring(plant.GetJointByName("j2"), 0.0, 1.0))
    with pytest.raises(RuntimeError, match=r"1 user-added force elements.*'j1'"):
        plant.RemoveJoint(plant.GetJointByName("j1"))
    assert plant.num_joints() == 4


def test_wrong_removals_are_refused():
    plant, other = arm(), arm()
    with pytest.raises(RuntimeError, match=r"RemoveJoint\(\).*another plant"):
        plant.RemoveJoint(other.GetJointByName("j0"))
    with pytest.raises(RuntimeError, match="not of the kind"):
        plant.RemoveJoint(plant.GetJointActuatorByName("a0"))
    actuator = plant.GetJointActuatorByName("a0")
    plant.RemoveJointActuator(actuator)
    with pytest.raises(RuntimeError, match="no plant yet"):
        plant.RemoveJointActuator(actuator)
    plant.Finalize()
    for remove, element in (
        (plant.RemoveJoint, plant.GetJointByName("j0")),
        (plant.RemoveJointActuator, plant.GetJointActuatorByName("a1")),
    ):
        with pytest.raises(RuntimeError, match="finalized already"):
            remove(element)
