"""MJCF files of public packages, and plants read from such files beside the models that MuJoCo makes of them."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np

from merganser.framework.math import Quaternion, RotationMatrix
from merganser.multibody.tree import MultibodyForces


def _folder_of(package: str) -> Path | None:
    """Where a package is, without importing it; None if it is not installed."""
    found = importlib.util.find_spec(package)
    return Path(found.submodule_search_locations[0]) if found and found.submodule_search_locations else None


def models_of(package: str, *patterns: str) -> list[str]:
    folder = _folder_of(package)
    if folder is None:
        return []
    files = sorted(path for pattern in patterns for path in folder.rglob(pattern))
    return [f"{package}/{path.relative_to(folder)}" for path in files if "<mujoco" in path.read_text(errors="replace")]


SUITE = models_of("dm_control", "suite/*.xml")
# These MuJoCo itself refuses: parts of models, files that are missing, names that are there twice, errors on purpose.
REFUSED = ("build_fruitfly/", "dog_v2/scene.xml", "mjcf/test_assets/", "mujoco/testing/", "mjcf/schema.xml")
TWICE = ("fruitfly_v2/floor.xml",)  # includes another one of the models, and nothing else that moves
MANY_PARTS = ("mujoco/testdata/model.xml",)  # a tendon along four bases; refused, see tree/test_transmissions.py
MODELS = [
    name
    for name in [*models_of("dm_control", "*.xml"), *models_of("mujoco", "testdata/*.xml")]
    if not any(part in name for part in REFUSED + TWICE + MANY_PARTS)
]


def path_of(name: str) -> Path:
    package, _, rest = name.partition("/")
    folder = _folder_of(package)
    assert folder is not None
    return folder / rest


class ModelPair:
    """Translates states and compares what both compute.

    MuJoCo's free joint has the velocities v_WBo_W and w_WB_B, its ball joint w_PB_B; those of the plant are
    w_WB_W, v_WBo_W and w_PB_P. With v_plant = T(q) v_mujoco, of which the time derivative does not add to
    accelerations, M_mujoco = T^T M_plant T, and forces go over by T^T.

    Args:
        mujoco: the module.
        model: an MjModel.
        plant: the plant of the same file, finalized.
        instance: model instance of the file in the plant.
    """

    def __init__(self, mujoco: Any, model: Any, plant: Any, instance: Any):
        self.mujoco, self.model, self.plant = mujoco, model, plant
        self.data = mujoco.MjData(model)
        self.context = plant.CreateDefaultContext()
        self.bodies, self.joints = [plant.world_body()], []
        bodies, joints = (
            iter([get(index) for index in indices])
            for get, indices in (
                (plant.get_body, plant.GetBodyIndices(instance)),
                (plant.get_joint, plant.GetJointIndices(instance)),
            )
        )
        waiting = iter([joint for joint in joints if joint.num_velocities() != 6])
        for i in range(1, model.nbody):
            start, count = model.body_jntadr[i], model.body_jntnum[i]
            body = next(bodies)
            self.bodies.append(body)
            if count and model.jnt_type[start] == mujoco.mjtJoint.mjJNT_FREE:
                self.joints.append(_floating_joint(plant, body))
                continue
            for _ in range(max(0, count - 1)):
                next(bodies)
            found = [next(waiting) for _ in range(max(1, count))]
            assert found[-1].child_body() is body
            self.joints += found if count else []
        assert next(bodies, None) is None

    def set_state(self, qpos: np.ndarray, qvel: np.ndarray) -> None:
        """Sets MuJoCo's state, and the same in the plant."""
        mujoco, model, data = self.mujoco, self.model, self.data
        data.qpos[:], data.qvel[:] = qpos, qvel
        mujoco.mj_normalizeQuat(model, data.qpos)
        mujoco.mj_forward(model, data)
        q, self.T = np.zeros(self.plant.num_positions()), np.zeros((self.plant.num_velocities(), model.nv))
        for i, joint in enumerate(self.joints):
            values = data.qpos[model.jnt_qposadr[i] :]
            start, v, m = joint.position_start(), joint.velocity_start(), model.jnt_dofadr[i]
            match joint.num_velocities():
                case 6:
                    q[start : start + 4], q[start + 4 : start + 7] = values[3:7], values[:3]
                    R = RotationMatrix(Quaternion(values[3:7])).matrix()
                    self.T[v : v + 3, m + 3 : m + 6], self.T[v + 3 : v + 6, m : m + 3] = R, np.eye(3)
                case 3:
                    q[start : start + 4] = values[:4]
                    self.T[v : v + 3, m : m + 3] = RotationMatrix(Quaternion(values[:4])).matrix()
                case _:
                    q[start], self.T[v, m] = values[0], 1.0
        self.plant.SetPositions(self.context, q)
        self.plant.SetVelocities(self.context, self.T @ data.qvel)

    def random_state(self, rng: np.random.Generator) -> None:
        """Sets a state that is anything."""
        qpos, qvel = rng.normal(size=self.model.nq), rng.normal(size=self.model.nv)
        self.set_state(qpos, qvel)

    def pose_error(self) -> float:
        """The largest difference of positions [m] and elements of rotation matrices of bodies."""
        errors = [0.0]
        for i, body in enumerate(self.bodies):
            X_WB = self.plant.EvalBodyPoseInWorld(self.context, body)
            errors.append(abs(X_WB.translation() - self.data.xpos[i]).max())
            errors.append(abs(X_WB.rotation().matrix() - self.data.xmat[i].reshape(3, 3)).max())
        return float(max(errors))

    def mass_matrix_error(self) -> float:
        """The largest difference of elements of the mass matrix, as a share of the largest element."""
        M = np.zeros((self.model.nv, self.model.nv))
        self.mujoco.mj_fullM(self.model, self.data, M)
        return _relative(self.T.T @ self.plant.CalcMassMatrix(self.context) @ self.T, M)

    def bias_error(self) -> float:
        """The same of Coriolis, centrifugal and gravity forces."""
        plant, context = self.plant, self.context
        bias = plant.CalcBiasTerm(context) - plant.CalcGravityGeneralizedForces(context)
        return _relative(self.T.T @ bias, self.data.qfrc_bias)

    def passive_error(self) -> float:
        """The same of springs and dampers of joints, and of the fluid around bodies."""
        plant, context = self.plant, self.context
        forces = MultibodyForces(plant)
        plant.CalcForceElementsContribution(context, forces)
        expected = self.data.qfrc_spring + self.data.qfrc_damper + self.data.qfrc_fluid
        at_rest = np.zeros(plant.num_velocities())
        without = plant.CalcInverseDynamics(context, at_rest, MultibodyForces(plant))
        tau = without - plant.CalcInverseDynamics(context, at_rest, forces)
        tau -= plant.CalcGravityGeneralizedForces(context)
        return _relative(self.T.T @ tau, expected)


def _relative(found: np.ndarray, expected: np.ndarray) -> float:
    return float(abs(found - expected).max(initial=0.0) / max(1.0, abs(expected).max(initial=0.0)))


def _floating_joint(plant: Any, body: Any) -> Any:
    return next(
        joint
        for joint in (plant.get_joint(index) for index in plant.GetJointIndices())
        if joint.child_body() is body
    )
