"""The kernels against pydrake, on models read out of a finalized pydrake plant."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from explicit_products import as_pydrake
from random_trees import Tree, make_topology, random_rotation

from merganser.multibody.kernels.layout import (
    PRISMATIC,
    QUATERNION_FLOATING,
    REVOLUTE,
    WELD,
    parameter_dtype,
)

pydrake = pytest.importorskip("pydrake", reason="pydrake is the reference (extra `reference`)")
from pydrake.math import RigidTransform, RotationMatrix  # noqa: E402
from pydrake.multibody.math import SpatialForce  # noqa: E402
from pydrake.multibody.parsing import Parser  # noqa: E402
from pydrake.multibody.plant import ExternallyAppliedSpatialForce, MultibodyPlant  # noqa: E402
from pydrake.multibody.tree import (  # noqa: E402
    FixedOffsetFrame,
    JointIndex,
    MultibodyForces,
    PrismaticJoint,
    RevoluteJoint,
    RotationalInertia,
    SpatialInertia,
    WeldJoint,
)
from pydrake.systems.analysis import Simulator  # noqa: E402

pytestmark = pytest.mark.reference

KINDS = {
    "weld": WELD, "revolute": REVOLUTE, "prismatic": PRISMATIC, "quaternion_floating": QUATERNION_FLOATING,
}  # fmt: skip
ROTOR_INERTIA, GEAR_RATIO = 0.01, 3.0
NUM_STATES = 20


def models_folder() -> Path:
    default = Path(__file__).resolve().parents[3].parent / "shared" / "models"
    return Path(os.environ.get("MERGANSER_MODELS", default))


class Pair:
    """A pydrake plant and the record arrays that hold the same tree."""

    def __init__(self, plant: Any) -> None:
        self.plant = plant
        self.context = plant.CreateDefaultContext()
        joints = [plant.get_joint(JointIndex(i)) for i in range(plant.num_joints())]
        self.bodies = [plant.world_body()]  # by mobod number, depth first
        inboard: dict[int, Any] = {}
        self._visit(plant.world_body(), joints, inboard)
        number = {int(body.index()): i for i, body in enumerate(self.bodies)}
        mobods = [inboard[int(body.index())] for body in self.bodies[1:]]
        parents = [-1, *(number[int(joint.parent_body().index())] for joint in mobods)]
        topology = make_topology(parents, [WELD, *(KINDS[joint.type_name()] for joint in mobods)])
        topology["q_start"][1:] = [joint.position_start() for joint in mobods]
        topology["v_start"][1:] = [joint.velocity_start() for joint in mobods]
        parameters = np.zeros(len(parents), dtype=parameter_dtype())
        for i, joint in enumerate(mobods, start=1):
            self._read(joint, self.bodies[i], parameters[i])
        gravity = plant.gravity_field().gravity_vector()
        self.tree = Tree(
            topology, parameters, np.zeros(plant.num_positions()), np.zeros(plant.num_velocities()), gravity
        )

    def _visit(self, body: Any, joints: list[Any], inboard: dict[int, Any]) -> None:
        for joint in joints:
            if joint.parent_body().index() == body.index():
                inboard[int(joint.child_body().index())] = joint
                self.bodies.append(joint.child_body())
                self._visit(joint.child_body(), joints, inboard)

    def _read(self, joint: Any, body: Any, record: Any) -> None:
        X_PF = joint.frame_on_parent().GetFixedPoseInBodyFrame()
        if joint.type_name() == "weld":  # our welds have F = M
            X_PF = X_PF @ joint.X_FM()
        X_MB = joint.frame_on_child().GetFixedPoseInBodyFrame().inverse()
        record["R_PF"], record["p_PoFo_P"] = X_PF.rotation().matrix(), X_PF.translation()
        record["R_MB"], record["p_MoBo_M"] = X_MB.rotation().matrix(), X_MB.translation()
        M_BBo_B = body.CalcSpatialInertiaInBodyFrame(self.context)
        record["mass"], record["p_BoBcm_B"] = M_BBo_B.get_mass(), M_BBo_B.get_com()
        record["G_BBo_B"] = M_BBo_B.get_unit_inertia().CopyToFullMatrix3()
        record["damping"][: joint.num_velocities()] = joint.GetDampingVector(self.context)
        if joint.type_name() == "revolute":
            record["axis_F"] = joint.revolute_axis()
        elif joint.type_name() == "prismatic":
            record["axis_F"] = joint.translation_axis()
        for actuator in map(self.plant.get_joint_actuator, self.plant.GetJointActuatorIndices()):
            if actuator.joint().index() == joint.index():
                record["reflected_inertia"] = actuator.calc_reflected_inertia(self.context)

    def set_state(self, seed: int) -> np.random.Generator:
        rng = np.random.default_rng(seed)
        q, v = rng.uniform(-2.0, 2.0, self.tree.num_q), rng.uniform(-3.0, 3.0, self.tree.num_v)
        self.plant.SetPositions(self.context, q)
        self.plant.SetVelocities(self.context, v)
        self.tree.update(q, v)
        return rng


def iiwa(time_step: float) -> Any:
    path = models_folder() / "iiwa_description" / "urdf" / "iiwa14_no_collision.urdf"
    if not path.exists():
        pytest.skip(f"the KUKA iiwa model is not at {path}: set MERGANSER_MODELS")
    plant = as_pydrake(MultibodyPlant(time_step))
    parser = Parser(plant)
    parser.package_map().Remove("drake_models")  # the downloaded one
    parser.package_map().Add("drake_models", str(models_folder()))
    parser.AddModels(str(path))
    plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("base"))
    return plant


def random_inertia(rng: np.random.Generator) -> Any:
    moments = rng.uniform(0.02, 0.03, size=3)
    return SpatialInertia.MakeFromCentralInertia(
        rng.uniform(0.5, 3.0), rng.normal(scale=0.2, size=3), RotationalInertia(*moments)
    )


def random_pose(rng: np.random.Generator) -> Any:
    return RigidTransform(RotationMatrix(random_rotation(rng)), rng.normal(scale=0.4, size=3))


def free_body(time_step: float) -> Any:
    plant = as_pydrake(MultibodyPlant(time_step))
    plant.AddRigidBody("body", random_inertia(np.random.default_rng(0)))
    return plant


def tree_of_all_joints(time_step: float) -> Any:
    """Twelve bodies on random parents, the first ones on the world or floating."""
    rng = np.random.default_rng(7)
    plant = as_pydrake(MultibodyPlant(time_step))
    bodies = [plant.world_body(), plant.AddRigidBody("floating", random_inertia(rng))]
    for i in range(11):
        parent = bodies[rng.integers(len(bodies))]
        body = plant.AddRigidBody(f"body{i}", random_inertia(rng))
        frames = [
            plant.AddFrame(FixedOffsetFrame(f"{side}{i}", end.body_frame(), random_pose(rng)))
            for side, end in (("F", parent), ("M", body))
        ]
        kind = rng.integers(3)
        if kind == 2:
            plant.AddJoint(WeldJoint(f"joint{i}", *frames, random_pose(rng)))
        else:
            joint_class = (RevoluteJoint, PrismaticJoint)[kind]
            axis = rng.normal(size=3)
            joint = plant.AddJoint(joint_class(f"joint{i}", *frames, axis, damping=rng.uniform(0.0, 2.0)))
            actuator = plant.AddJointActuator(f"motor{i}", joint)
            actuator.set_default_rotor_inertia(ROTOR_INERTIA)
            actuator.set_default_gear_ratio(GEAR_RATIO)
        bodies.append(body)
    return plant


BUILDERS = {"iiwa": iiwa, "free body": free_body, "tree of all joints": tree_of_all_joints}


@pytest.fixture(params=BUILDERS, scope="module")
def pair(request: pytest.FixtureRequest) -> Pair:
    plant = BUILDERS[request.param](0.0)
    plant.Finalize()
    return Pair(plant)


def assert_close(actual: Any, expected: Any) -> None:
    scale = max(1.0, float(np.max(np.abs(expected), initial=0.0)))
    np.testing.assert_allclose(actual, expected, rtol=0.0, atol=1e-9 * scale)


def test_poses_and_velocities(pair: Pair) -> None:
    for seed in range(NUM_STATES):
        pair.set_state(seed)
        for i, body in enumerate(pair.bodies):
            X_WB = pair.plant.EvalBodyPoseInWorld(pair.context, body)
            V_WB = pair.plant.EvalBodySpatialVelocityInWorld(pair.context, body)
            assert_close(pair.tree.position["R_WB"][i], X_WB.rotation().matrix())
            assert_close(pair.tree.position["p_WoBo_W"][i], X_WB.translation())
            assert_close(pair.tree.velocity["V_WB_W"][i], V_WB.get_coeffs())


def test_mass_matrix_bias_gravity_and_energy(pair: Pair) -> None:
    plant, context, tree = pair.plant, pair.context, pair.tree
    for seed in range(NUM_STATES):
        pair.set_state(seed)
        assert_close(tree.mass_matrix(), plant.CalcMassMatrix(context))
        assert_close(tree.bias(), plant.CalcBiasTerm(context))
        assert_close(tree.gravity_forces(), plant.CalcGravityGeneralizedForces(context))
        energies = [plant.CalcKineticEnergy(context), plant.CalcPotentialEnergy(context)]
        assert_close(tree.energies(), energies)


def test_inverse_dynamics_with_applied_forces(pair: Pair) -> None:
    plant, context, tree = pair.plant, pair.context, pair.tree
    for seed in range(NUM_STATES):
        rng = pair.set_state(seed)
        vdot, F = rng.normal(size=tree.num_v), rng.normal(size=(len(pair.bodies), 6))
        forces = MultibodyForces(plant)
        for body, F_Bo_W in zip(pair.bodies[1:], F[1:]):
            body.AddInForceInWorld(context, SpatialForce(F_Bo_W), forces)
        tau = plant.CalcInverseDynamics(context, vdot, forces) - plant.CalcGravityGeneralizedForces(context)
        assert_close(tree.inverse_dynamics(vdot, F), tau)


def test_state_derivatives_with_damping_and_applied_forces(pair: Pair) -> None:
    plant, context, tree = pair.plant, pair.context, pair.tree
    for seed in range(NUM_STATES):
        rng = pair.set_state(seed)
        tau, F = rng.normal(size=tree.num_v), rng.normal(size=(len(pair.bodies), 6))
        plant.get_applied_generalized_force_input_port().FixValue(context, tau)
        applied = []
        for body, F_Bo_W in zip(pair.bodies[1:], F[1:]):
            force = ExternallyAppliedSpatialForce()
            force.body_index, force.F_Bq_W = body.index(), SpatialForce(F_Bo_W)
            applied.append(force)
        plant.get_applied_spatial_force_input_port().FixValue(context, applied)
        status, xdot = tree.derivatives(tau, F)
        assert status == 0
        assert_close(xdot, plant.EvalTimeDerivatives(context).CopyToVector())


def test_maps_between_qdot_and_velocity_with_quaternions_of_any_length(pair: Pair) -> None:
    for seed in range(NUM_STATES):
        rng = pair.set_state(seed)
        assert_close(pair.tree.qdot(), pair.plant.MapVelocityToQDot(pair.context, pair.tree.v))
        qdot = rng.normal(size=pair.tree.num_q)
        assert_close(pair.tree.velocity_of(qdot), pair.plant.MapQDotToVelocity(pair.context, qdot))


@pytest.mark.parametrize("name", BUILDERS)
def test_discrete_step_equals_discrete_plant_at_high_speed(name: str) -> None:
    """One step without contact, to 1e-12: the same equations, solved by ABA here and by Cholesky there."""
    h = 0.001
    plant = BUILDERS[name](h)
    plant.Finalize()
    pair = Pair(plant)
    for seed in range(5):
        rng = pair.set_state(seed)
        x = np.concatenate([pair.tree.q, 10.0 * pair.tree.v])
        tau = rng.normal(size=pair.tree.num_v)
        simulator = Simulator(plant)
        context = simulator.get_mutable_context()
        plant.SetPositionsAndVelocities(context, x)
        plant.get_applied_generalized_force_input_port().FixValue(context, tau)
        simulator.AdvanceTo(h)
        pair.tree.v = x[pair.tree.num_q :]
        pair.tree.topology["has_explicit_products"][0] = 1
        status, x_next, *_ = pair.tree.step(tau, pair.tree.zero_force, h)
        expected = plant.GetPositionsAndVelocities(context)
        assert status == 0
        np.testing.assert_allclose(x_next, expected, rtol=0.0, atol=1e-12 * np.abs(expected).max())
