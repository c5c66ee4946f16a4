"""Tendons and actuators of public MJCF models beside MuJoCo: lengths, moment arms, forces and accelerations."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from merganser.multibody.parsing import Parser
from merganser.multibody.plant import MultibodyPlant
from tests.support.mujoco_models import MODELS, ModelPair, models_of, path_of

mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed (extra `reference`)")

pytestmark = [pytest.mark.reference, pytest.mark.filterwarnings("ignore::DeprecationWarning:mujoco.*")]

NUM_STATES = 200


DRIVEN = [
    name
    for name in [*MODELS, *models_of("gymnasium", "envs/mujoco/assets/*.xml")]
    if re.search("<(tendon|actuator)>", path_of(name).read_text(errors="replace"))
]


class Driven:
    """A model in continuous time, whose contacts, constraints and dry friction are left out."""

    def __init__(self, path: Path) -> None:
        plant = self.plant = MultibodyPlant(0.0)  # without a SceneGraph, and so without contacts
        (instance,) = Parser(plant).AddModels(path)
        for joint in map(plant.get_joint, plant.GetJointIndices()):
            if hasattr(joint, "set_default_friction_vector"):
                joint.set_default_friction_vector(np.zeros(joint.num_velocities()))
        plant.Finalize()
        self.pair = ModelPair(mujoco, mujoco.MjModel.from_xml_path(str(path)), plant, instance)
        self.pair.model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
        self.model, self.data, self.context = self.pair.model, self.pair.data, self.pair.context
        for constraint in plant.GetConstraintIds():
            plant.SetConstraintActiveStatus(self.context, constraint, False)
        self.desired = plant.get_desired_state_input_port(instance)
        unnamed = [plant.get_joint_actuator(index).name() for index in plant.GetJointActuatorIndices()]
        names = [self.model.actuator(i).name or unnamed[i] for i in range(self.model.nu)]
        self.actuators = [plant.GetJointActuatorByName(name) for name in names]
        drives = [actuator.transmission() for actuator in self.actuators]
        has_gear = [drive is None or drive.kind().name in ("fixed tendon", "spatial tendon") for drive in drives]
        self.gears = np.where(has_gear, self.model.actuator_gear[:, 0], 1.0)  # others have theirs in their arms

    def randomize(self, rng: np.random.Generator) -> None:
        """Sets a state within the limits of joints, activations and controls of both."""
        model, data = self.model, self.data
        qpos = rng.normal(size=model.nq)
        for i in range(model.njnt):
            if model.jnt_limited[i] and model.jnt_type[i] >= int(mujoco.mjtJoint.mjJNT_SLIDE):
                qpos[model.jnt_qposadr[i]] = rng.uniform(*model.jnt_range[i])
        data.act[:] = rng.uniform(0.1, 0.9, model.na)
        ranges = np.where(model.actuator_ctrllimited[:, None] > 0, model.actuator_ctrlrange, [-1.0, 1.0])
        data.ctrl[:] = rng.uniform(*ranges.T)
        self.pair.set_state(qpos, rng.normal(size=model.nv))
        u, wanted = np.zeros(self.plant.num_actuated_dofs()), {}
        for i, actuator in enumerate(self.actuators):
            place, gear, gain = model.actuator_actadr[i], self.gears[i], model.actuator_gainprm[i, 0]
            signal = data.act[place] if place >= 0 else data.ctrl[i]
            if actuator.has_controller():
                stiffness, damping = -model.actuator_biasprm[i, 1:3]
                if stiffness == 0.0:
                    wanted[actuator.index()] = 0.0, gain * signal / (damping * gear)
                else:  # the plant scales desired positions of joints itself
                    scaled = gain * signal / (stiffness * gear)
                    is_of_joint = actuator.transmission() is None
                    wanted[actuator.index()] = signal / gear if is_of_joint else scaled, 0.0
                    signal = scaled  # whose activation is the desired position
            if place >= 0:
                actuator.SetActivation(self.context, signal)
            if actuator.has_controller():
                u[actuator.input_start()] = 0.0
            elif actuator.law() is None:
                u[actuator.input_start()] = gear * gain * data.ctrl[i]
            else:
                u[actuator.input_start()] = data.ctrl[i]
        self.plant.get_actuation_input_port().FixValue(self.context, u)
        numbers = [wanted.get(index, (0.0, 0.0)) for index in self.plant.GetJointActuatorIndices()]
        self.desired.FixValue(self.context, np.array(numbers).T.ravel())


def dense(model: Any, values: np.ndarray, rows: np.ndarray, starts: np.ndarray, columns: np.ndarray) -> np.ndarray:
    found = np.zeros((len(rows), model.nv))
    for i, (count, start) in enumerate(zip(rows, starts)):
        found[i, columns[start : start + count]] = values[start : start + count]
    return found


def errors(both: Driven) -> list[float]:
    """The largest ones of lengths [m], moment arms, forces and accelerations; the last two as shares of the largest."""
    plant, model, data, context = both.plant, both.model, both.data, both.context
    J = dense(model, np.ravel(data.ten_J), model.ten_J_rownnz, model.ten_J_rowadr, np.ravel(model.ten_J_colind))
    known = [plant.get_transmission(i) for i in range(plant.num_transmissions())]
    of_tendons, is_within = np.zeros((model.ntendon, 2)), True
    for i in range(model.ntendon):
        low, high = model.tendon_range[i] if model.tendon_limited[i] else (-np.inf, np.inf)
        is_within &= low <= data.ten_length[i] <= high
        for tendon in known:  # others are sums of joints, for equalities and sensors
            if tendon.name() == model.tendon(i).name:
                arms = abs(tendon.CalcMomentArms(context) @ both.pair.T - J[i]).max()
                of_tendons[i] = abs(tendon.CalcLength(context) - data.ten_length[i]), arms
    efforts = plant.get_net_actuation_output_port().Eval(context)
    expected = both.gears * data.actuator_force
    found = np.array([efforts[actuator.input_start()] for actuator in both.actuators])
    of_forces = (abs(found - expected) / np.maximum(1.0, abs(expected))).max(initial=0.0)
    M = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, M)  # MuJoCo 4.0.0 divides by a wrong factor of it
    vdot_expected = np.linalg.solve(M, data.qfrc_passive + data.qfrc_actuator - data.qfrc_bias)
    num_q, num_v = plant.num_positions(), plant.num_velocities()
    vdot = plant.EvalTimeDerivatives(context).CopyToVector()[num_q : num_q + num_v]
    error = abs(vdot - both.pair.T @ vdot_expected).max(initial=0.0) / max(1.0, abs(vdot_expected).max(initial=0.0))
    return [*of_tendons.max(axis=0, initial=0.0), of_forces, error if is_within else 0.0]


@pytest.mark.skipif(not DRIVEN, reason="dm_control is not installed (extra `reference`)")
@pytest.mark.parametrize("name", DRIVEN)
def test_tendons_and_actuators_of_a_public_model_are_those_of_mujoco(name):
    both, rng, worst = Driven(path_of(name)), np.random.default_rng(0), np.zeros(4)
    for _ in range(NUM_STATES if both.model.nu < 60 else 20):
        both.randomize(rng)
        worst = np.maximum(worst, errors(both))
    assert (worst < [1e-9, 1e-9, 1e-9, 1e-7]).all(), worst


FREE = """<mujoco><compiler autolimits="true"/><worldbody><body name="torso" pos="0 0 1" euler="10 20 30">
<freejoint name="root"/><geom type="box" size=".1 .1 .1" mass="3"/>
<body pos=".1 0 0"><joint name="sh" type="ball" damping=".3"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/>
<body pos=".3 0 0"><joint name="el" axis="0 1 0" range="-120 0"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".02"/>
</body></body></body></worldbody><actuator><motor name="bx" joint="sh" gear="2 0 1"/>
<motor name="jp" jointinparent="sh" gear="0 3 1"/><motor name="up" joint="root" gear="0 0 2 0 0 0"/>
<motor name="screw" joint="root" gear="1 -2 1 .3 -.5 .7"/><motor name="turn" jointinparent="root" gear="1 0 0 0 1 2"/>
<damper name="drag" joint="root" gear="0 1 0 0 0 0" kv="2" ctrlrange="0 1"/>
<general name="filtered" joint="root" gear="0 0 0 0 1 0" dyntype="filter" dynprm=".1" gainprm="3"/></actuator>
</mujoco>"""


def test_actuators_of_free_and_ball_joints_are_those_of_mujoco(tmp_path):
    (tmp_path / "m.xml").write_text(FREE)
    both, rng = Driven(tmp_path / "m.xml"), np.random.default_rng(0)
    assert len(both.actuators) == 7
    for _ in range(20):
        both.randomize(rng)
        assert max(errors(both)) < 1e-12
