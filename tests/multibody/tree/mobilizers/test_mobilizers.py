"""Mobilizers and the tree as objects of their own: exact derivatives, powers, and the same results as the plant's."""

import numpy as np
import pytest
from plants import arm_and_box, off_centre_inertia, set_random_state

from merganser.framework.autodiff import AutoDiffXd
from merganser.framework.math import Quaternion, RigidTransform, RollPitchYaw
from merganser.framework.trajectories import PiecewiseConstantCurvatureTrajectory
from merganser.multibody.math import SpatialAcceleration, SpatialForce
from merganser.multibody.tree import (
    BallQuaternionJoint,
    BallRpyJoint,
    CurvilinearJoint,
    FixedOffsetFrame,
    JacobianWrtVariable,
    MultibodyTree,
    PlanarJoint,
    PrismaticJoint,
    QuaternionFloatingJoint,
    RevoluteJoint,
    RigidBody,
    RpyFloatingJoint,
    ScrewJoint,
    UniversalJoint,
    WeldJoint,
)
from merganser.multibody.tree.computations import (
    AccelerationKinematicsCache,
    PositionKinematicsCache,
    VelocityKinematicsCache,
)
from merganser.multibody.tree.mobilizers import (
    BodyNode,
    PrismaticMobilizer,
    QuaternionFloatingMobilizer,
    RevoluteMobilizer,
    SpaceXYZMobilizer,
    WeldMobilizer,
)

STEP = 1e-100  # of the complex step
AXIS = [0.6, 0.0, 0.8]
X_WELD = RigidTransform(RollPitchYaw(0.3, 0.2, 0.1), [0.1, 0.2, 0.3])
PATH = PiecewiseConstantCurvatureTrajectory([0.0, 1.0, 3.0], [0.5, -0.4], [1, 0, 0], [0, 0, 1], [0, 0, 0])
JOINTS = {
    "weld": lambda F, M: WeldJoint("joint", F, M, X_WELD),
    "revolute": lambda F, M: RevoluteJoint("joint", F, M, AXIS),
    "prismatic": lambda F, M: PrismaticJoint("joint", F, M, AXIS),
    "screw": lambda F, M: ScrewJoint("joint", F, M, AXIS, 0.3, 0.0),
    "universal": lambda F, M: UniversalJoint("joint", F, M),
    "planar": lambda F, M: PlanarJoint("joint", F, M),
    "ball quaternion": lambda F, M: BallQuaternionJoint("joint", F, M),
    "ball": lambda F, M: BallRpyJoint("joint", F, M),
    "quaternion": lambda F, M: QuaternionFloatingJoint("joint", F, M),
    "rpy": lambda F, M: RpyFloatingJoint("joint", F, M),
    "curvilinear": lambda F, M: CurvilinearJoint("joint", F, M, PATH),
}
CASES = [(name, False) for name in JOINTS] + [(name, True) for name in ("weld", "revolute", "prismatic")]


def tree_with(name, is_reversed=False):
    """The world, a turning body A, and a body B that the joint connects to A; if reversed, A is its child."""
    tree = MultibodyTree()
    bodies = [tree.AddRigidBody(body, off_centre_inertia()) for body in ("A", "B")]
    tree.AddJoint(RevoluteJoint("base", tree.world_frame(), bodies[0].body_frame(), [0, 1, 0]))
    frame_A = tree.AddFrame(FixedOffsetFrame("on_A", bodies[0].body_frame(), RigidTransform([0.1, 0.2, 0.3])))
    X = RigidTransform(RollPitchYaw(0.5, 0.1, -0.4), [-0.2, 0.1, 0.0])
    frame_B = tree.AddFrame(FixedOffsetFrame("on_B", bodies[1].body_frame(), X))
    tree.AddJoint(JOINTS[name](*((frame_B, frame_A) if is_reversed else (frame_A, frame_B))))
    tree.Finalize()
    return tree


def random_context(tree, seed=3):
    rng = np.random.default_rng(seed)
    context = tree.CreateDefaultContext()
    q = rng.uniform(0.2, 0.9, size=tree.num_positions())
    context.SetContinuousState(np.concatenate([q, rng.normal(size=tree.num_velocities())]))
    return context, rng


def complex_context(tree, context, qdot, vdot):
    """The state a complex step of time later."""
    later = tree.plant._make_context(np.complex128)
    tree.plant.SetDefaultContext(later)
    x = context.get_continuous_state_vector().CopyToVector()
    later.SetContinuousState(x + 1j * STEP * np.concatenate([qdot, vdot]))
    return later


@pytest.mark.parametrize(("name", "is_reversed"), CASES)
def test_the_transform_is_the_pose_of_the_outboard_frame_in_the_inboard_frame(name, is_reversed):
    tree = tree_with(name, is_reversed)
    context, _ = random_context(tree)
    mobilizer = tree.get_mobilizer(1)
    assert mobilizer.inboard_body().name() == "A" and mobilizer.outboard_body().name() == "B"
    X_WF = mobilizer.inboard_frame().CalcPoseInWorld(context)
    X_WM = mobilizer.outboard_frame().CalcPoseInWorld(context)
    X_FM = mobilizer.CalcAcrossMobilizerTransform(context)
    assert X_FM.IsNearlyEqualTo(X_WF.InvertAndCompose(X_WM), 1e-14)


@pytest.mark.parametrize(("name", "is_reversed"), CASES)
def test_velocity_and_acceleration_are_derivatives_of_the_transform(name, is_reversed):
    tree = tree_with(name, is_reversed)
    context, rng = random_context(tree)
    mobilizer = tree.get_mobilizer(1)
    v = mobilizer.get_velocities_from_array(tree.plant.GetVelocities(context))
    vdot = rng.normal(size=mobilizer.num_velocities())
    qdot_all, vdot_all = np.zeros(tree.num_positions()), np.zeros(tree.num_velocities())
    mobilizer.get_mutable_positions_from_array(qdot_all)[:] = mobilizer.MapVelocityToQDot(context, v)
    mobilizer.get_mutable_accelerations_from_array(vdot_all)[:] = vdot
    later = complex_context(tree, context, qdot_all, vdot_all)

    V_FM = mobilizer.CalcAcrossMobilizerSpatialVelocity(context, v)
    X_FM = mobilizer.CalcAcrossMobilizerTransform(later)
    R, p = X_FM.rotation().matrix(), X_FM.translation()
    spin = R.imag @ R.real.T / STEP
    np.testing.assert_allclose(V_FM.rotational(), [spin[2, 1], spin[0, 2], spin[1, 0]], atol=1e-13)
    np.testing.assert_allclose(V_FM.translational(), p.imag / STEP, atol=1e-13)

    A_FM = mobilizer.CalcAcrossMobilizerSpatialAcceleration(context, vdot)
    later_v = mobilizer.get_velocities_from_array(tree.plant.GetVelocities(later))
    V_later = mobilizer.CalcAcrossMobilizerSpatialVelocity(later, later_v).get_coeffs()
    np.testing.assert_allclose(A_FM.get_coeffs(), V_later.imag / STEP, atol=1e-12)


@pytest.mark.parametrize(("name", "is_reversed"), CASES)
def test_projected_forces_have_the_power_of_the_force(name, is_reversed):
    tree = tree_with(name, is_reversed)
    context, rng = random_context(tree)
    mobilizer = tree.get_mobilizer(1)
    v = rng.normal(size=mobilizer.num_velocities())
    F_Mo_F = SpatialForce(rng.normal(size=6))
    tau = np.full(mobilizer.num_velocities(), np.nan)
    assert mobilizer.ProjectSpatialForce(context, F_Mo_F, tau) is tau
    V_FM = mobilizer.CalcAcrossMobilizerSpatialVelocity(context, v)
    assert tau @ v == pytest.approx(F_Mo_F.get_coeffs() @ V_FM.get_coeffs(), abs=1e-13)


@pytest.mark.parametrize("name", JOINTS)
def test_the_kinematic_map_and_its_inverse(name):
    tree = tree_with(name)
    context, rng = random_context(tree)
    mobilizer = tree.get_mobilizer(1)
    nq, nv = mobilizer.num_positions(), mobilizer.num_velocities()
    N, Nplus = np.full((nq, nv), np.nan), np.full((nv, nq), np.nan)
    mobilizer.CalcNMatrix(context, N)
    mobilizer.CalcNplusMatrix(context, Nplus)
    np.testing.assert_allclose(Nplus @ N, np.eye(nv), atol=1e-14)
    v = rng.normal(size=nv)
    qdot = mobilizer.MapVelocityToQDot(context, v)
    np.testing.assert_allclose(qdot, N @ v, atol=1e-14)
    np.testing.assert_allclose(mobilizer.MapQDotToVelocity(context, qdot), v, atol=1e-14)
    assert mobilizer.is_velocity_equal_to_qdot() == (nq == nv and np.array_equal(N, np.eye(nv)))
    assert mobilizer.has_quaternion_dofs() == (nq > nv)


@pytest.mark.parametrize("name", sorted(set(JOINTS) - {"weld", "curvilinear"}))
def test_in_the_zero_configuration_the_frames_coincide(name):
    tree = tree_with(name)
    context, _ = random_context(tree)
    before = tree.plant.GetPositions(context)
    mobilizer = tree.get_mobilizer(1)
    mobilizer.set_zero_configuration(context)
    assert mobilizer.CalcAcrossMobilizerTransform(context).IsExactlyIdentity()
    assert not mobilizer.get_velocities_from_array(tree.plant.GetVelocities(context)).any()
    assert tree.plant.GetPositions(context)[0] == before[0]  # of the other mobilizer
    tree.SetDefaults(context)
    assert tree.plant.GetPositions(context)[0] == 0.0


# -- trees of mobilizers -------------------------------------------------------------------------------------


def added():
    """World - revolute - A - space xyz - B, and a floating C."""
    tree = MultibodyTree()
    A = tree.AddBody(RigidBody("A", M_BBo_B=off_centre_inertia()))
    B = tree.AddBody(off_centre_inertia())
    C = tree.AddBody(RigidBody, "C", off_centre_inertia())
    pin = tree.AddMobilizer(RevoluteMobilizer(tree.world_frame(), A.body_frame(), [0, 0, 2.0]))
    ball = tree.AddMobilizer(SpaceXYZMobilizer, A.body_frame(), B.body_frame())
    free = tree.AddMobilizer(QuaternionFloatingMobilizer(tree.get_world_frame(), C.body_frame()))
    assert not tree.topology_is_valid()
    tree.Finalize()
    return tree, (A, B, C), (pin, ball, free)


def test_a_body_node_joins_a_body_its_mobilizer_and_the_node_inboard():
    tree, (A, B, _), (pin, ball, _) = added()
    world = BodyNode(None, tree.world_body(), None)
    node = ball.CreateBodyNode(pin.CreateBodyNode(world, A, pin), body=B, mobilizer=ball)
    assert (node.body, node.mobilizer, node.parent_node.body, node.parent_node.parent_node) == (B, ball, A, world)
    for parent, body, mobilizer, message in (
        (node, A, pin, "body of parent_node must be"), (world, B, pin, "body must be"), (world, A, ball, "mobilizer"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            pin.CreateBodyNode(parent, body, mobilizer)


def test_mobilizers_make_a_tree():
    tree, bodies, mobilizers = added()
    assert tree.topology_is_valid() and tree.get_num_mobilizers() == tree.get_num_bodies() - 1 == 3
    assert (tree.get_num_positions(), tree.get_num_velocities(), tree.get_num_states()) == (11, 10, 21)
    assert tree.get_tree_height() == 3 and MultibodyTree().get_num_frames() == 1
    assert bodies[1].name() == "body2"
    for mobilizer in mobilizers:
        assert tree.get_mobilizer(mobilizer.index()) is mobilizer
    topology = tree.get_topology()
    assert [m.positions_start for m in topology.mobilizers] == [0, 1, 4]
    assert [m.velocities_start for m in topology.mobilizers] == [m.velocity_start_in_v() for m in mobilizers]
    assert topology.mobilizers[1].inboard_body == bodies[0].index() and topology.tree_height == 3
    pin, ball, free = mobilizers
    np.testing.assert_array_equal(pin.revolute_axis(), [0, 0, 1])
    context = tree.CreateDefaultContext()
    pin.set_angle(context, 0.3).set_angular_rate(context, 0.4)
    ball.set_angles(context, [0.1, 0.2, 0.3]).set_angular_velocity(context, [1, 2, 3])
    free.set_quaternion(context, Quaternion([0.0, 0.0, 3.0, 4.0] / np.float64(5.0))).set_position(context, [7, 8, 9])
    free.set_translational_velocity(context, [4, 5, 6])
    np.testing.assert_allclose(tree.plant.GetPositions(context), [0.3, 0.1, 0.2, 0.3, 0, 0, 0.6, 0.8, 7, 8, 9])
    np.testing.assert_allclose(tree.plant.GetVelocities(context), [0.4, 1, 2, 3, 0, 0, 0, 4, 5, 6])
    np.testing.assert_allclose(free.get_quaternion(context).wxyz(), [0, 0, 0.6, 0.8])
    ball.SetFromRotationMatrix(context, RollPitchYaw(0.4, 0.5, 0.6).ToRotationMatrix())
    np.testing.assert_allclose(ball.get_angles(context), [0.4, 0.5, 0.6])


def filled_caches(tree, context, vdot):
    pc, vc, ac = PositionKinematicsCache(tree), VelocityKinematicsCache(tree), AccelerationKinematicsCache(tree)
    tree.CalcPositionKinematicsCache(context, pc)
    tree.CalcVelocityKinematicsCache(context, pc, vc)
    tree.CalcAccelerationKinematicsCache(context, pc, vc, vdot, ac)
    return pc, vc, ac


def test_caches_hold_the_kinematics_of_the_plant():
    tree, bodies, _ = added()
    context, rng = random_context(tree)
    vdot = rng.normal(size=10)
    pc, vc, ac = filled_caches(tree, context, vdot)
    plant = tree.plant
    accelerations = tree.CalcSpatialAccelerationsFromVdot(context, pc, vc, vdot)
    for body in bodies:
        assert pc.get_X_WB(body).IsExactlyEqualTo(plant.EvalBodyPoseInWorld(context, body))
        V_WB = plant.EvalBodySpatialVelocityInWorld(context, body)
        np.testing.assert_array_equal(vc.get_V_WB(body).get_coeffs(), V_WB.get_coeffs())
        node = tree.mobod_of_body[body.index()]
        np.testing.assert_array_equal(ac.get_A_WB(body).get_coeffs(), accelerations[node].get_coeffs())
        H = pc.get_H_PB_W(body)
        v = tree.get_mobilizer(node - 1).get_velocities_from_array(plant.GetVelocities(context))
        np.testing.assert_allclose(vc.get_V_PB_W(body).get_coeffs(), H @ v, atol=1e-14)


def test_inverse_dynamics_satisfies_the_equations_of_motion_and_of_each_body():
    tree, bodies, mobilizers = added()
    context, rng = random_context(tree)
    vdot, tau_applied = rng.normal(size=10), rng.normal(size=10)
    pc, vc, _ = filled_caches(tree, context, vdot)
    M = tree.CalcMassMatrixViaInverseDynamics(context)
    np.testing.assert_allclose(M, tree.plant.CalcMassMatrix(context), atol=1e-12)
    Cv = tree.CalcBiasTerm(context)
    np.testing.assert_allclose(Cv, tree.plant.CalcBiasTerm(context), atol=1e-12)
    A_WB, F_BMo_W, tau = [None] * 4, [None] * 4, np.full(10, np.nan)
    F_applied = [SpatialForce(rng.normal(size=6)) for _ in range(4)]
    tree.CalcInverseDynamics(context, pc, vc, vdot, F_applied, tau_applied, A_WB, F_BMo_W, tau)
    J_F = sum(
        tree.plant.CalcJacobianSpatialVelocity(
            context, JacobianWrtVariable.kV, body.body_frame(), np.zeros(3), tree.world_frame(), tree.world_frame()
        ).T
        @ F_applied[tree.mobod_of_body[body.index()]].get_coeffs()
        for body in bodies
    )
    np.testing.assert_allclose(tau, M @ vdot + Cv - tau_applied - J_F, atol=1e-11)
    assert all(isinstance(A, SpatialAcceleration) for A in A_WB)
    for node, mobilizer in enumerate(mobilizers, start=1):
        R_WF = mobilizer.inboard_frame().CalcPoseInWorld(context).rotation().matrix()
        F = F_BMo_W[node]
        F_Mo_F = SpatialForce(np.concatenate([R_WF.T @ F.rotational(), R_WF.T @ F.translational()]))
        along = mobilizer.ProjectSpatialForce(context, F_Mo_F)
        whole = mobilizer.get_generalized_forces_from_array(tau + tau_applied)
        np.testing.assert_allclose(whole, along, atol=1e-11)


def test_clones_are_independent_and_know_their_variants():
    tree, (A, _, _), (pin, _, _) = added()
    clone = tree.Clone()
    variant = clone.get_variant(pin)
    assert variant is not pin and variant.index() == pin.index() and type(variant) is RevoluteMobilizer
    assert clone.get_variant(A) is not A and clone.get_variant(A).name() == "A"
    assert clone.get_variant(A.body_frame()) is clone.get_variant(A).body_frame()
    assert pin.CloneToScalar(clone) is variant and clone.get_topology() == tree.get_topology()
    with pytest.raises(TypeError, match="get_variant"):
        clone.get_variant(tree.gravity_field())


def test_a_clone_of_another_scalar_computes_derivatives():
    tree, _, (pin, _, _) = added()
    derivatives = tree.ToAutoDiffXd()
    context = derivatives.CreateDefaultContext()
    variant = derivatives.get_variant(pin)
    variant.set_angle(context, AutoDiffXd(0.3, [1.0]))
    X_FM = variant.CalcAcrossMobilizerTransform(context)
    x_axis = X_FM.rotation().matrix()[:, 0]
    np.testing.assert_allclose([x.derivatives()[0] for x in x_axis[:2]], [-np.sin(0.3), np.cos(0.3)], atol=1e-15)
    pc = PositionKinematicsCache(derivatives)
    derivatives.CalcPositionKinematicsCache(context, pc)
    x_axis = pc.get_X_WB(1).rotation().matrix()[:, 0]
    np.testing.assert_allclose([x.derivatives()[0] for x in x_axis[:2]], [-np.sin(0.3), np.cos(0.3)], atol=1e-15)


def test_misuse_is_refused():
    tree, bodies, (pin, ball, _) = added()
    context = tree.CreateDefaultContext()
    loose = PrismaticMobilizer(tree.world_frame(), bodies[0].body_frame(), [1, 0, 0])
    with pytest.raises(RuntimeError, match=r"'world' and 'A' is not part of a finalized tree"):
        loose.index()
    with pytest.raises(TypeError, match="inboard_frame must be a Frame"):
        WeldMobilizer(bodies[0], bodies[1].body_frame(), RigidTransform())
    with pytest.raises(ValueError, match=r"shape \(11,\), but has \(3,\)"):
        pin.get_positions_from_array(np.zeros(3))
    with pytest.raises(RuntimeError, match="no mobilizer with index 7"):
        tree.get_mobilizer(7)
    with pytest.raises(RuntimeError, match="PositionKinematicsCache is empty"):
        PositionKinematicsCache(tree).get_X_WB(1)
    other = added()[0]
    with pytest.raises(RuntimeError, match="made for another tree"):
        tree.CalcPositionKinematicsCache(context, PositionKinematicsCache(other))
    with pytest.raises(ValueError, match="NMatrix"):
        ball.CalcNMatrix(context, np.zeros((2, 2)))
    inverted = MultibodyTree()
    body = inverted.AddBody(off_centre_inertia())
    inverted.AddMobilizer(RevoluteMobilizer(body.body_frame(), inverted.world_frame(), [0, 0, 1]))
    with pytest.raises(RuntimeError, match="Exchange the frames of the mobilizer"):
        inverted.Finalize()


def test_mobilizers_of_a_discrete_plant():
    plant = arm_and_box(0.01)
    context = plant.CreateDefaultContext()
    set_random_state(plant, context, 2)
    for index in range(plant._tree.get_num_mobilizers()):
        plant._tree.get_mobilizer(index).set_zero_configuration(context)
    np.testing.assert_array_equal(plant.GetPositions(context), [0, 0, 1, 0, 0, 0, 0, 0, 0])
    assert not plant.GetVelocities(context).any()
