"""Loop joints: the same motion as with tree joints, stabilization, closing, and errors."""

import numpy as np
import pytest
from plants import box_inertia, off_centre_inertia

from merganser.analysis import Simulator
from merganser.framework.autodiff import ExtractGradient, ExtractValue, InitializeAutoDiff
from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.multibody.math import SpatialVelocity
from merganser.multibody.plant import DiscreteContactApproximation, MultibodyPlant, plot_topology
from merganser.multibody.tree import (
    BallQuaternionJoint,
    BallRpyJoint,
    FixedOffsetFrame,
    PlanarJoint,
    PrismaticJoint,
    RevoluteJoint,
    ScrewJoint,
    UniversalJoint,
    WeldJoint,
)

X_PF = RigidTransform(RollPitchYaw(0.4, -0.2, 0.7), [0.3, 0.1, -0.2])
X_CM = RigidTransform(RollPitchYaw(-0.5, 0.3, 0.2), [-0.1, 0.2, 0.4])
AXIS = [0.6, 0.0, 0.8]

JOINTS = {
    "weld": lambda F, M: WeldJoint("joint", F, M, RigidTransform(RollPitchYaw(0.3, 0.2, 0.1), [0.1, 0.2, 0.3])),
    "revolute": lambda F, M: RevoluteJoint("joint", F, M, AXIS),
    "prismatic": lambda F, M: PrismaticJoint("joint", F, M, AXIS),
    "universal": lambda F, M: UniversalJoint("joint", F, M),
    "planar": lambda F, M: PlanarJoint("joint", F, M),
    "ball_quaternion": lambda F, M: BallQuaternionJoint("joint", F, M),
    "ball_rpy": lambda F, M: BallRpyJoint("joint", F, M),
}


def two_bodies(make_joint, closes_loop, copies=1, stabilization_time=0.1, time_step=0.0):
    """P turns on the world, C hangs on P by the joint; with a loop joint, C floats by itself."""
    plant = MultibodyPlant(time_step)
    body_P, body_C = plant.AddRigidBody("P", off_centre_inertia()), plant.AddRigidBody("C", off_centre_inertia())
    plant.AddJoint(RevoluteJoint("base", plant.world_frame(), body_P.body_frame(), [0, 1, 0]))
    for k in range(copies):
        frame_F = plant.AddFrame(FixedOffsetFrame(f"F{k}", body_P.body_frame(), X_PF))
        frame_M = plant.AddFrame(FixedOffsetFrame(f"M{k}", body_C.body_frame(), X_CM))
        joint = make_joint(frame_F, frame_M)
        joint._name = f"joint{k}"
        if closes_loop:
            plant.AddLoopJoint(joint, stabilization_time)
        else:
            plant.AddJoint(joint)
    plant.Finalize()
    return plant, body_P, body_C


def pair(name, copies=1, time_step=0.0):
    """The plant with a tree joint and that with a loop joint, in contexts of one random state."""
    rng = np.random.default_rng(5)
    tree, P, C = two_bodies(JOINTS[name], closes_loop=False, time_step=time_step)
    context = tree.CreateDefaultContext()
    tree.SetPositions(context, rng.normal(size=tree.num_positions()))
    tree.SetVelocities(context, rng.normal(size=tree.num_velocities()))
    loop, P_loop, C_loop = two_bodies(JOINTS[name], closes_loop=True, copies=copies, time_step=time_step)
    in_loop = loop.CreateDefaultContext()
    base = loop.GetJointByName("base")
    base.set_angle(in_loop, tree.GetPositions(context)[0])
    base.set_angular_rate(in_loop, tree.GetVelocities(context)[0])
    loop.SetFreeBodyPose(in_loop, C_loop, tree.EvalBodyPoseInWorld(context, C))
    V_WC = tree.EvalBodySpatialVelocityInWorld(context, C)
    loop.SetFreeBodySpatialVelocity(in_loop, C_loop, SpatialVelocity(V_WC.get_coeffs()))
    return (tree, context, (P, C)), (loop, in_loop, (P_loop, C_loop))


@pytest.mark.parametrize("copies", [1, 2])
@pytest.mark.parametrize("name", JOINTS)
def test_a_loop_joint_moves_bodies_as_the_same_joint_of_a_tree_does(name, copies):
    (tree, context, bodies), (loop, in_loop, loop_bodies) = pair(name, copies)
    np.testing.assert_allclose(loop.CalcLoopJointErrors(in_loop), 0.0, atol=1e-14)
    K = loop.CalcLoopJointJacobian(in_loop)
    np.testing.assert_allclose(K @ loop.GetVelocities(in_loop), 0.0, atol=1e-13)
    assert len(K) == copies * (6 - (tree.num_velocities() - 1))
    for body, loop_body in zip(bodies, loop_bodies):
        expected = tree.EvalBodySpatialAccelerationInWorld(context, body).get_coeffs()
        actual = loop.EvalBodySpatialAccelerationInWorld(in_loop, loop_body).get_coeffs()
        np.testing.assert_allclose(actual, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", JOINTS)
def test_joints_of_the_tree_transmit_what_loop_joints_exert(name):
    (tree, context, _), (loop, in_loop, _) = pair(name)
    forces = []
    for plant, its_context in ((tree, context), (loop, in_loop)):
        all_forces = plant.get_reaction_forces_output_port().Eval(its_context)
        forces.append(all_forces[plant.GetJointByName("base").index()].get_coeffs())
    np.testing.assert_allclose(forces[1], forces[0], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", JOINTS)
def test_the_force_of_a_loop_joint_is_what_moves_its_child(name):
    _, (loop, context, (_, C)) = pair(name)
    joint = loop.get_loop_joint(0)
    F_Mo_W = loop.CalcLoopJointSpatialForce(context, joint)
    X_WC = loop.EvalBodyPoseInWorld(context, C)
    R_WC, p_CoMo_C = X_WC.rotation().matrix(), joint.frame_on_child().GetFixedPoseInBodyFrame().translation()
    M = C.CalcSpatialInertiaInBodyFrame(context)
    A_WC = loop.EvalBodySpatialAccelerationInWorld(context, C)
    w = R_WC.T @ loop.EvalBodySpatialVelocityInWorld(context, C).rotational()
    p = M.get_com()
    alpha, a = R_WC.T @ A_WC.rotational(), R_WC.T @ (A_WC.translational() - loop.gravity_field().gravity_vector())
    # Newton and Euler about Co, in C.
    inertia = M.get_mass() * M.get_unit_inertia().CopyToFullMatrix3()
    force = M.get_mass() * (a + np.cross(alpha, p) + np.cross(w, np.cross(w, p)))
    moment = inertia @ alpha + np.cross(w, inertia @ w) + M.get_mass() * np.cross(p, a)
    np.testing.assert_allclose(R_WC.T @ F_Mo_W.translational(), force, atol=1e-10)
    moment_of_joint = R_WC.T @ F_Mo_W.rotational() + np.cross(p_CoMo_C, R_WC.T @ F_Mo_W.translational())
    np.testing.assert_allclose(moment_of_joint, moment, atol=1e-10)


@pytest.mark.parametrize("time", [0.1, 0.5, None])
def test_errors_of_constraints_decay_as_the_stabilization_time_says(time):
    plant, _, _ = two_bodies(JOINTS["revolute"], closes_loop=True, stabilization_time=time)
    rng = np.random.default_rng(2)
    context = plant.CreateDefaultContext()
    q, v = rng.normal(size=plant.num_positions()), rng.normal(size=plant.num_velocities())
    plant.SetPositions(context, q)
    plant.SetVelocities(context, v)
    xdot = plant.EvalTimeDerivatives(context).CopyToVector()
    g = plant.CalcLoopJointErrors(context)
    gdot = plant.CalcLoopJointJacobian(context) @ v

    def rate(h):
        plant.SetPositionsAndVelocities(context, np.concatenate([q, v]) + h * xdot)
        return plant.CalcLoopJointJacobian(context) @ plant.GetVelocities(context)

    h = 1e-5  # errors of the difference: h^2 and 1e-16 / h
    gddot = (rate(h) - rate(-h)) / (2.0 * h)
    expected = np.zeros_like(g) if time is None else -2.0 / time * gdot - g / time**2
    np.testing.assert_allclose(gddot, expected, rtol=0, atol=1e-6 * max(1.0, np.abs(expected).max()))


def test_constraints_do_no_work():
    _, (plant, context, _) = pair("universal")
    K = plant.CalcLoopJointJacobian(context)
    assert np.abs(K).max() > 0.1
    energy_rate = _energy_rate(plant, context)
    assert abs(energy_rate) < 1e-6


def _energy_rate(plant, context):
    x = plant.GetPositionsAndVelocities(context)
    xdot = plant.EvalTimeDerivatives(context).CopyToVector()

    def energy(h):
        plant.SetPositionsAndVelocities(context, x + h * xdot)
        return plant.CalcKineticEnergy(context) + plant.CalcPotentialEnergy(context)

    return (energy(1e-5) - energy(-1e-5)) / 2e-5


def test_a_locked_joint_of_a_loop_stays():
    _, (plant, context, (P, C)) = pair("ball_rpy")
    base = plant.GetJointByName("base")
    base.Lock(context)
    plant.CloseLoops(context)
    xdot = plant.EvalTimeDerivatives(context).CopyToVector()
    assert xdot[plant.num_positions() + base.velocity_start()] == 0.0
    assert not plant.EvalBodySpatialAccelerationInWorld(context, P).get_coeffs().any()
    assert np.abs(plant.EvalBodySpatialAccelerationInWorld(context, C).get_coeffs()).max() > 1.0


def test_contexts_of_complex_numbers_differentiate_loops():
    _, (plant, context, _) = pair("universal")
    x = plant.GetPositionsAndVelocities(context)
    direction = np.random.default_rng(1).normal(size=len(x))
    derivative = plant._make_context(np.complex128)
    plant.SetDefaultContext(derivative)
    plant.SetPositionsAndVelocities(derivative, x + 1e-100j * direction)
    exact = plant.EvalTimeDerivatives(derivative).CopyToVector().imag / 1e-100

    def xdot(h):
        plant.SetPositionsAndVelocities(context, x + h * direction)
        return plant.EvalTimeDerivatives(context).CopyToVector()

    difference = (xdot(1e-6) - xdot(-1e-6)) / 2e-6
    np.testing.assert_allclose(exact, difference, rtol=0, atol=1e-6 * np.abs(exact).max())


def test_plants_of_other_scalars_compute_loops():
    symbolic = pytest.importorskip("merganser.framework.symbolic", reason="needs the extra `symbolic`")
    _, (plant, context, _) = pair("ball_rpy")
    x = plant.GetPositionsAndVelocities(context)
    xdot = plant.EvalTimeDerivatives(context).CopyToVector()

    derivatives = plant.ToAutoDiffXd()
    context = derivatives.CreateDefaultContext()
    context.SetContinuousState(InitializeAutoDiff(x).ravel())
    result = derivatives.EvalTimeDerivatives(context).CopyToVector()
    np.testing.assert_allclose(ExtractValue(result).ravel(), xdot, atol=1e-12)
    direction = np.random.default_rng(1).normal(size=len(x))
    complex_context = plant._make_context(np.complex128)
    plant.SetDefaultContext(complex_context)
    complex_context.SetContinuousState(x + 1e-100j * direction)
    expected = plant.EvalTimeDerivatives(complex_context).CopyToVector().imag / 1e-100
    np.testing.assert_allclose(ExtractGradient(result) @ direction, expected, atol=1e-11 * np.abs(expected).max())
    errors = derivatives.CalcLoopJointErrors(context)
    K = plant.CalcLoopJointJacobian(plant.CreateDefaultContext())
    assert ExtractGradient(errors).shape == (len(K), len(x))

    symbols = plant.ToSymbolic()
    context = symbols.CreateDefaultContext()
    context.SetContinuousState(x)
    values = symbolic.Evaluate(symbols.EvalTimeDerivatives(context).CopyToVector()).ravel()
    np.testing.assert_allclose(values, xdot, atol=1e-12)


# -- closing -------------------------------------------------------------------------------------------------


def three_bar():
    """Two arms of length 1 on the world, 1 apart, whose tips a loop joint connects: an equilateral triangle."""
    plant = MultibodyPlant(0.0)
    tips = []
    for name, x in (("left", 0.0), ("right", 1.0)):
        body = plant.AddRigidBody(name, box_inertia())
        base = plant.AddFrame(FixedOffsetFrame(f"{name}_base", plant.world_frame(), RigidTransform([x, 0, 0])))
        tips.append(plant.AddFrame(FixedOffsetFrame(f"{name}_tip", body.body_frame(), RigidTransform([1, 0, 0]))))
        plant.AddJoint(RevoluteJoint(name, base, body.body_frame(), [0, -1, 0]))
    plant.AddLoopJoint(RevoluteJoint("apex", *tips, [0, -1, 0]))
    plant.Finalize()
    return plant


def test_closing_finds_the_pose_of_the_triangle():
    plant = three_bar()
    context = plant.CreateDefaultContext()
    plant.SetPositions(context, [0.8, 2.5])
    plant.SetVelocities(context, [1.0, 2.0])
    plant.CloseLoops(context)
    np.testing.assert_allclose(plant.GetPositions(context), [np.pi / 3, 2 * np.pi / 3], atol=1e-13)
    np.testing.assert_allclose(plant.GetVelocities(context), 0.0, atol=1e-13)  # a triangle is rigid
    np.testing.assert_allclose(plant.CalcLoopJointErrors(context), 0.0, atol=1e-14)
    assert not plant.EvalTimeDerivatives(context).CopyToVector()[2:].round(9).any()


def test_closing_leaves_fixed_joints_where_they_are():
    _, (plant, context, _) = pair("universal")
    base = plant.GetJointByName("base")
    base.set_angle(context, 0.9)
    base.set_angular_rate(context, -0.7)
    plant.CloseLoops(context, [base])
    assert base.get_angle(context) == 0.9 and base.get_angular_rate(context) == -0.7
    np.testing.assert_allclose(plant.CalcLoopJointErrors(context), 0.0, atol=1e-14)
    rates = plant.CalcLoopJointJacobian(context) @ plant.GetVelocities(context)
    np.testing.assert_allclose(rates, 0.0, atol=1e-13)


def test_a_loop_that_cannot_close_is_refused_and_the_state_kept():
    plant = three_bar()
    context = plant.CreateDefaultContext()
    plant.SetPositions(context, [0.8, 2.5])
    plant.SetVelocities(context, [0.1, 0.2])
    with pytest.raises(RuntimeError, match=r"Loop joint 'apex'.*'left' and 'right' miss each other"):
        plant.CloseLoops(context, [plant.GetJointByName("left")])
    assert plant.GetPositionsAndVelocities(context).tolist() == [0.8, 2.5, 0.1, 0.2]


def test_a_simulation_does_not_start_with_an_open_loop():
    plant = three_bar()
    simulator = Simulator(plant)
    context = simulator.get_mutable_context()
    with pytest.raises(RuntimeError, match=r"'apex' of plant '.*' is open.*CloseLoops"):
        simulator.Initialize()
    plant.SetPositions(context, [np.pi / 3, 2 * np.pi / 3])
    plant.SetVelocities(context, [0.5, 0.0])
    with pytest.raises(RuntimeError, match=r"velocities of plant.*open its loop joint 'apex'"):
        simulator.Initialize()
    plant.SetVelocities(context, [0.0, 0.0])
    simulator.AdvanceTo(0.01)
    np.testing.assert_allclose(plant.GetPositions(context), [np.pi / 3, 2 * np.pi / 3], atol=1e-10)


def test_a_weld_closed_the_wrong_way_round_is_refused():
    plant, _, C = two_bodies(lambda F, M: RevoluteJoint("joint", F, M, [0, 0, 1]), closes_loop=True)
    context = plant.CreateDefaultContext()
    X_FM = RigidTransform(RollPitchYaw(np.pi, 0.0, 0.0), [0, 0, 0])
    plant.SetFreeBodyPose(context, C, X_PF @ X_FM @ X_CM.inverse())
    with pytest.raises(RuntimeError, match="wrong way round"):
        plant.CloseLoops(context)


# -- errors --------------------------------------------------------------------------------------------------


def test_loop_joints_that_cannot_be_are_refused():
    plant = MultibodyPlant(0.0)
    body = plant.AddRigidBody("body", box_inertia())
    frames = plant.world_frame(), body.body_frame()
    plant.AddJoint(RevoluteJoint("hinge", *frames, [0, 0, 1]))
    with pytest.raises(RuntimeError, match="already contains a joint named 'hinge'"):
        plant.AddLoopJoint(RevoluteJoint("hinge", *frames, [0, 0, 1]))
    with pytest.raises(RuntimeError, match="'damped' is damped"):
        plant.AddLoopJoint(RevoluteJoint("damped", *frames, [0, 0, 1], damping=0.1))
    with pytest.raises(RuntimeError, match=r"of type screw, which cannot close a loop.*revolute"):
        plant.AddLoopJoint(ScrewJoint("thread", *frames, [0, 0, 1], 0.1, 0.0))
    with pytest.raises(ValueError, match="must be positive"):
        plant.AddLoopJoint(RevoluteJoint("second", *frames, [0, 0, 1]), stabilization_time=0.0)
    assert plant.num_loop_joints() == 0
    second = plant.AddLoopJoint(RevoluteJoint("second", *frames, [0, 0, 1]))
    with pytest.raises(RuntimeError, match="'second' closes a loop"):
        plant.AddJointActuator("motor", second)
    with pytest.raises(RuntimeError, match="named 'second'"):
        plant.AddJoint(RevoluteJoint("second", *frames, [0, 0, 1]))
    plant.Finalize()
    assert plant.GetLoopJointByName("second") is second and not plant.HasJointNamed("second")
    context = plant.CreateDefaultContext()
    for call in (second.get_angle, second.Lock, second.GetDampingVector):
        with pytest.raises(RuntimeError, match="'second' closes a loop"):
            call(context)
    with pytest.raises(RuntimeError, match="not a loop joint of plant"):
        plant.CalcLoopJointSpatialForce(context, plant.GetJointByName("hinge"))


def test_frames_of_a_loop_joint_cannot_move_in_a_context():
    plant = three_bar()
    context = plant.CreateDefaultContext()
    with pytest.raises(RuntimeError, match=r"loop joint 'apex' of plant '.*' is fixed to frame 'left_tip'"):
        plant.GetFrameByName("left_tip").SetPoseInParentFrame(context, RigidTransform())


def test_the_tamsi_solver_takes_no_loop_joint():
    plant = MultibodyPlant(0.01)
    plant.set_discrete_contact_approximation(DiscreteContactApproximation.kTamsi)
    body = plant.AddRigidBody("body", box_inertia())
    hinge = RevoluteJoint("hinge", plant.world_frame(), body.body_frame(), [0, 0, 1])
    with pytest.raises(RuntimeError, match=r"AddLoopJoint.*uses the TAMSI solver, which does not support loop joints"):
        plant.AddLoopJoint(hinge)
    plant.set_discrete_contact_approximation(DiscreteContactApproximation.kSap)
    plant.AddLoopJoint(hinge)
    with pytest.raises(RuntimeError, match="does not support constraints, of which the plant has 1"):
        plant.set_discrete_contact_approximation(DiscreteContactApproximation.kTamsi)


@pytest.mark.parametrize("name", JOINTS)
def test_in_discrete_time_a_loop_joint_moves_bodies_as_that_of_a_tree_does(name):
    """Both take velocity products alike, so that little but the tolerance of the solver is left of the difference."""
    ends = []
    for h in (2e-4, 1e-4):
        (tree, context, bodies), (loop, in_loop, loop_bodies) = pair(name, time_step=h)
        for _ in range(round(0.02 / h)):
            tree.ExecuteForcedEvents(context)
            loop.ExecuteForcedEvents(in_loop)
        np.testing.assert_allclose(loop.CalcLoopJointErrors(in_loop), 0.0, atol=1e-5)
        poses = [
            [plant.EvalBodyPoseInWorld(x, body).GetAsMatrix34() for body in of]
            for plant, x, of in ((tree, context, bodies), (loop, in_loop, loop_bodies))
        ]
        ends.append(np.abs(np.subtract(*poses)).max())
    assert max(ends) < 1e-5


def test_the_force_of_a_loop_joint_in_a_step_goes_to_that_of_continuous_time():
    forces = []
    for h in (0.0, 1e-5):
        _, (loop, context, _) = pair("revolute", time_step=h)
        forces.append(loop.CalcLoopJointSpatialForce(context, loop.get_loop_joint(0)).get_coeffs())
    # The first step gives way by what a near-rigid constraint does (contact/regularization.py).
    np.testing.assert_allclose(forces[1], forces[0], atol=2e-2 * np.abs(forces[0]).max())
    converted = loop.ToAutoDiffXd()
    x = loop.GetPositionsAndVelocities(context)
    with_derivatives = converted.CreateDefaultContext()
    converted.SetPositionsAndVelocities(with_derivatives, InitializeAutoDiff(x).ravel())
    joint = converted.get_loop_joint(0)
    found = converted.CalcLoopJointSpatialForce(with_derivatives, joint).get_coeffs()
    np.testing.assert_allclose(ExtractValue(found).ravel(), forces[1], rtol=1e-5)  # what the solver leaves
    moved = x.copy()
    moved[-1] += 1e-6
    loop.SetPositionsAndVelocities(context, moved)
    change = loop.CalcLoopJointSpatialForce(context, loop.get_loop_joint(0)).get_coeffs() - forces[1]
    np.testing.assert_allclose(ExtractGradient(found)[:, -1], change / 1e-6, rtol=1e-3, atol=1e-2)


def test_a_simulation_of_a_discrete_plant_does_not_start_with_an_open_loop():
    _, (loop, context, _) = pair("revolute", time_step=1e-3)
    loop.GetJointByName("base").set_angle(context, 2.0)
    with pytest.raises(RuntimeError, match=r"Loop joint 'joint0' .* is open"):
        Simulator(loop, context).Initialize()


def test_loop_joints_are_drawn_dashed():
    plant, _, _ = two_bodies(JOINTS["revolute"], closes_loop=True)
    dashed = [line for line in plant.GetTopologyGraphvizString().splitlines() if "style=dashed" in line]
    assert len(dashed) == 1 and 'label="joint0 [revolute]"' in dashed[0]
    texts = [text.get_text() for text in plot_topology(plant).axes[0].texts]
    assert "joint0\n[revolute]" in texts
