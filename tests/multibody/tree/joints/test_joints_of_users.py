"""Joints that are defined here, as a user would: they take part in all that a plant computes."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.autodiff import AutoDiffXd, ExtractGradient, ExtractValue, InitializeAutoDiff
from merganser.framework.primitives import LogVectorOutput
from merganser.multibody import algorithms
from merganser.multibody.kernels import layout, poses
from merganser.multibody.kernels.mobilizers import MobilizerKind
from merganser.multibody.kernels.mobilizers.motion import (
    ORIGIN,
    add_bias_at_Mo,
    set_no_rotation,
    set_rotation_about_axis,
    set_row,
    set_translation_row,
)
from merganser.multibody.kernels.spatial import column, rotate, scaled, set_vector, vector
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import Joint, MultibodyForces, RevoluteJoint, SpatialInertia

pytest_plugins = ["compile_policy"]
pytestmark = pytest.mark.usefixtures("compile_at_once")

# -- a screw whose pitch changes with the angle: p_FoMo_F = a (c_0 q + c_1 q^2 / 2) ------------------------------


def set_helical_pose(node, fixed, parameters, q_in, R_FM, p_FoMo_F):
    a, c, q = vector(fixed["axis_F"]), fixed["constants"], q_in[node["q_start"]]
    set_rotation_about_axis(a, q, R_FM)
    set_vector(p_FoMo_F, scaled(c[0] * q + 0.5 * c[1] * q * q, a))


def set_helical_axes(node, fixed, parameters, q_in, body):
    a_W, c = rotate(body["R_WF"], vector(fixed["axis_F"])), fixed["constants"]
    set_row(body, 0, a_W, scaled(c[0] + c[1] * q_in[node["q_start"]], a_W))


def add_helical_bias(node, fixed, parameters, q_in, v_in, body, Ab_WB_W):
    a_W, v = rotate(body["R_WF"], vector(fixed["axis_F"])), v_in[node["v_start"]]
    add_bias_at_Mo(body, ORIGIN, scaled(fixed["constants"][1] * v * v, a_W), Ab_WB_W)


class HelicalJoint(Joint):
    kTypeName = "helical"
    kind = MobilizerKind(
        "helical", ("q",), ("w",), set_helical_pose, set_helical_axes, add_helical_bias, carries=None
    )

    def __init__(self, name, frame_on_parent, frame_on_child, axis, pitch, change_of_pitch, damping=0.0):
        super().__init__(name, frame_on_parent, frame_on_child, [damping])
        self._axis, self._pitches = np.array(axis) / np.linalg.norm(axis), (pitch, change_of_pitch)

    def _mobilizer_axis(self):
        return self._axis

    def _mobilizer_constants(self):
        return self._pitches


# -- a slide in a plane, in polar coordinates r and theta, with Cartesian velocities ----------------------------


def set_polar_pose(node, fixed, parameters, q_in, R_FM, p_FoMo_F):
    r, theta = q_in[node["q_start"]], q_in[node["q_start"] + 1]
    set_no_rotation(R_FM)
    set_vector(p_FoMo_F, (r * np.cos(theta), r * np.sin(theta), 0.0))


def set_polar_axes(node, fixed, parameters, q_in, body):
    for k in range(2):
        set_translation_row(body, k, column(body["R_WF"], k))


def set_polar_rates(node, q_in, v_in, qdot_out):
    q, v = node["q_start"], node["v_start"]
    c, s = np.cos(q_in[q + 1]), np.sin(q_in[q + 1])
    qdot_out[q] = c * v_in[v] + s * v_in[v + 1]
    qdot_out[q + 1] = (c * v_in[v + 1] - s * v_in[v]) / q_in[q]


def set_polar_velocities(node, q_in, qdot_in, v_out):
    q, v = node["q_start"], node["v_start"]
    c, s = np.cos(q_in[q + 1]), np.sin(q_in[q + 1])
    v_out[v] = c * qdot_in[q] - s * q_in[q] * qdot_in[q + 1]
    v_out[v + 1] = s * qdot_in[q] + c * q_in[q] * qdot_in[q + 1]


class PolarSlide(Joint):
    kTypeName = "polar_slide"
    kind: ClassVar[MobilizerKind] = MobilizerKind(
        "polar_slide", ("r", "theta"), ("vx", "vy"), set_polar_pose, set_polar_axes,
        set_rates=set_polar_rates, set_velocities=set_polar_velocities, can_rotate=False,
    )  # fmt: skip

    def __init__(self, name, frame_on_parent, frame_on_child):
        super().__init__(name, frame_on_parent, frame_on_child, [0.0, 0.0])
        self.set_default_positions([0.7, 0.2])


# ---------------------------------------------------------------------------------------------------------------

EXACT = 1e-11  # rounding of a chain of four bodies


def chain(time_step: float = 0.0, helical: bool = True, explicit: bool = False) -> MultibodyPlant:
    """A revolute joint, a joint of each kind above with frames askew, and a revolute joint again."""
    rng = np.random.default_rng(5)
    plant = MultibodyPlant(time_step)
    plant.SetUseExplicitVelocityProducts(explicit)
    frame = plant.world_frame()
    for number in range(4):
        inertia = SpatialInertia.SolidBoxWithMass(*rng.uniform(0.5, 2.0, 1), *rng.uniform(0.2, 0.6, 3))
        body = plant.AddRigidBody(f"body{number}", inertia.Shift(rng.normal(scale=0.2, size=3)))
        name, M = f"joint{number}", body.body_frame()
        if number == 1 and helical:
            plant.AddJoint(HelicalJoint(name, frame, M, rng.normal(size=3), 0.3, 0.4))
        elif number == 2:
            plant.AddJoint(PolarSlide(name, frame, M))
        else:
            plant.AddJoint(RevoluteJoint(name, frame, M, rng.normal(size=3)))
        frame = M
    plant.Finalize()
    return plant


def in_motion(plant: MultibodyPlant) -> Any:
    context = plant.CreateDefaultContext()
    rng = np.random.default_rng(2)
    plant.SetPositions(context, rng.uniform(0.3, 1.2, plant.num_positions()))
    plant.SetVelocities(context, rng.normal(size=plant.num_velocities()))
    return context


def vdot_of(plant: MultibodyPlant, context: Any) -> np.ndarray:
    return plant.EvalTimeDerivatives(context).CopyToVector()[plant.num_positions() :]


def along_the_motion(plant: MultibodyPlant, context: Any) -> tuple[Any, Any]:
    """The plant of AutoDiffXd, with derivatives by time."""
    q, v, vdot = plant.GetPositions(context), plant.GetVelocities(context), vdot_of(plant, context)
    moving = plant.ToAutoDiffXd()
    later = moving.CreateDefaultContext()
    qdot = plant.MapVelocityToQDot(context, v)
    moving.SetPositions(later, [AutoDiffXd(x, [d]) for x, d in zip(q, qdot)])
    moving.SetVelocities(later, [AutoDiffXd(x, [d]) for x, d in zip(v, vdot)])
    return moving, later


def rates(values: Any) -> np.ndarray:
    values = np.asarray(values, dtype=object)
    return np.reshape([d[0] if len(d := x.derivatives()) else 0.0 for x in values.ravel()], values.shape)


# -- kinematics --------------------------------------------------------------------------------------------------


def test_velocities_are_the_rates_of_poses_and_accelerations_those_of_velocities() -> None:
    plant = chain()
    context = in_motion(plant)
    moving, later = along_the_motion(plant, context)
    for number in range(4):
        body, its = plant.GetBodyByName(f"body{number}"), moving.GetBodyByName(f"body{number}")
        V_WB = plant.EvalBodySpatialVelocityInWorld(context, body)
        A_WB = plant.EvalBodySpatialAccelerationInWorld(context, body)
        R_WB = plant.EvalBodyPoseInWorld(context, body).rotation().matrix()
        X_WB = moving.EvalBodyPoseInWorld(later, its)
        w_x = rates(X_WB.rotation().matrix()) @ R_WB.T
        np.testing.assert_allclose(rates(X_WB.translation()), V_WB.translational(), atol=EXACT)
        np.testing.assert_allclose([w_x[2, 1], w_x[0, 2], w_x[1, 0]], V_WB.rotational(), atol=EXACT)
        V_later = moving.EvalBodySpatialVelocityInWorld(later, its).get_coeffs()
        np.testing.assert_allclose(rates(V_later), A_WB.get_coeffs(), atol=EXACT)


def test_the_joint_moves_as_it_says() -> None:
    plant = chain()
    context = in_motion(plant)
    joint = plant.GetJointByName("joint1")
    q, a = joint.GetOnePosition(context), joint._axis
    X_FM = joint.frame_on_child().CalcPose(context, joint.frame_on_parent())
    np.testing.assert_allclose(X_FM.translation(), (0.3 * q + 0.2 * q**2) * a, atol=EXACT)
    np.testing.assert_allclose(X_FM.rotation().matrix() @ a, a, atol=EXACT)
    assert np.trace(X_FM.rotation().matrix()) == pytest.approx(1.0 + 2.0 * np.cos(q))
    np.testing.assert_allclose(
        plant.GetJointByName("joint2").GetDefaultPose().translation(), [0.7 * np.cos(0.2), 0.7 * np.sin(0.2), 0.0]
    )


def test_rates_of_positions_and_velocities_undo_each_other() -> None:
    plant = chain()
    context = in_motion(plant)
    v = plant.GetVelocities(context)
    qdot = plant.MapVelocityToQDot(context, v)
    assert np.abs(qdot[2:4] - v[2:4]).max() > 0.1  # of the polar slide
    np.testing.assert_allclose(plant.MapQDotToVelocity(context, qdot), v, atol=EXACT)
    assert not plant.IsVelocityEqualToQDot()


# -- dynamics ----------------------------------------------------------------------------------------------------


def test_inverse_dynamics_undoes_forward_dynamics() -> None:
    plant = chain()
    context = in_motion(plant)
    forces = MultibodyForces(plant)
    plant.CalcForceElementsContribution(context, forces)
    tau = plant.CalcInverseDynamics(context, vdot_of(plant, context), forces)
    np.testing.assert_allclose(tau, 0.0, atol=EXACT)


def test_energy_is_kept() -> None:
    plant = chain()
    moving, later = along_the_motion(plant, in_motion(plant))
    energy = moving.CalcKineticEnergy(later) + moving.CalcPotentialEnergy(later)
    assert abs(rates(moving.CalcPotentialEnergy(later))) > 0.1
    assert abs(rates(energy)) < EXACT


def test_a_discrete_step_is_that_of_the_accelerations() -> None:
    """Without damping, v+ = v + h vdot and q+ = q + h N v+."""
    h = 1e-3
    plant, continuous = chain(h, explicit=True), chain()
    context, same = in_motion(plant), in_motion(continuous)
    v = plant.GetVelocities(context) + h * vdot_of(continuous, same)
    q = plant.GetPositions(context) + h * plant.MapVelocityToQDot(context, v)
    Simulator(plant, context).AdvanceTo(h)
    np.testing.assert_allclose(plant.GetPositionsAndVelocities(context), np.concatenate([q, v]), atol=EXACT)


# -- other scalars -----------------------------------------------------------------------------------------------


def test_derivatives_of_the_dynamics_are_those_of_differences() -> None:
    plant = chain()
    context = in_motion(plant)
    x = plant.GetPositionsAndVelocities(context)
    of_derivatives = plant.ToAutoDiffXd()
    point = of_derivatives.CreateDefaultContext()
    of_derivatives.SetPositionsAndVelocities(point, InitializeAutoDiff(x).ravel())
    xdot = of_derivatives.EvalTimeDerivatives(point).CopyToVector()
    np.testing.assert_allclose(
        ExtractValue(xdot).ravel(), plant.EvalTimeDerivatives(context).CopyToVector(), atol=EXACT
    )

    step, columns = 1e-6, []
    for e in np.eye(len(x)):
        ends = []
        for sign in (1.0, -1.0):
            plant.SetPositionsAndVelocities(context, x + sign * step * e)
            ends.append(plant.EvalTimeDerivatives(context).CopyToVector())
        columns.append((ends[0] - ends[1]) / (2.0 * step))
    expected = np.array(columns).T
    np.testing.assert_allclose(ExtractGradient(xdot), expected, atol=1e-8 * np.abs(expected).max())


def test_closed_forms_serve_kinds_that_say_what_they_carry() -> None:
    plant = chain(helical=False)
    context = in_motion(plant)
    closed = algorithms.forward_dynamics_derivatives(plant, context)
    of_derivatives = plant.ToAutoDiffXd()
    point = of_derivatives.CreateDefaultContext()
    x = plant.GetPositionsAndVelocities(context)
    of_derivatives.SetPositionsAndVelocities(point, InitializeAutoDiff(x).ravel())
    gradient = ExtractGradient(of_derivatives.EvalTimeDerivatives(point).CopyToVector())[plant.num_positions() :]
    scale = np.abs(gradient).max()
    np.testing.assert_allclose(np.hstack([closed.dvdot_dq, closed.dvdot_dv]), gradient, atol=1e-12 * scale)


def test_a_kind_without_closed_form_is_refused_by_name() -> None:
    plant = chain()
    with pytest.raises(RuntimeError, match=r"joints of type helical.* Use plant\.ToAutoDiffXd"):
        algorithms.forward_dynamics_derivatives(plant, in_motion(plant))


def test_symbols_evaluate_to_the_numbers() -> None:
    symbolic = pytest.importorskip("merganser.framework.symbolic", exc_type=ImportError)
    plant = chain()
    context = in_motion(plant)
    q = plant.GetPositions(context)
    variables = [symbolic.Variable(f"q{k}") for k in range(len(q))]
    of_symbols = plant.ToSymbolic()
    symbols = of_symbols.CreateDefaultContext()
    of_symbols.SetPositions(symbols, np.array([symbolic.Expression(x) for x in variables]))
    M = of_symbols.CalcMassMatrix(symbols)
    values = dict(zip(variables, q))
    numbers = [[entry.Evaluate(values) for entry in row] for row in M]
    np.testing.assert_allclose(numbers, plant.CalcMassMatrix(context), atol=EXACT)


# -- systems -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("time_step", [0.0, 0.01])
def test_the_compiled_plan_and_python_agree_to_the_last_bit(time_step: float) -> None:
    ends = []
    for is_native in (False, True):
        builder = DiagramBuilder()
        plant = builder.AddNamedSystem("plant", chain(time_step))
        log = LogVectorOutput(plant.get_state_output_port(), builder, publish_period=0.02)
        simulator = Simulator(builder.Build())
        simulator.set_use_native_plan(is_native, at_once=True)
        plant.SetPositions(plant.GetMyContextFromRoot(simulator.get_mutable_context()), np.full(5, 0.4))
        simulator.AdvanceTo(0.1)
        ends.append(log.FindLog(simulator.get_context()).data().copy())
        if is_native:
            assert plant._dynamics.native.num_calls < 5  # of the dynamics in Python
    np.testing.assert_array_equal(*ends)
    assert np.abs(ends[0][:, -1] - ends[0][:, 0]).max() > 0.01


def test_output_ports_agree_with_the_functions() -> None:
    plant = chain()
    context = in_motion(plant)
    X_WB = plant.get_body_poses_output_port().Eval(context)
    A_WB = plant.get_body_spatial_accelerations_output_port().Eval(context)
    body = plant.GetBodyByName("body3")
    vdot = plant.get_generalized_acceleration_output_port().Eval(context)
    np.testing.assert_array_equal(vdot, vdot_of(plant, context))
    expected = plant.EvalBodyPoseInWorld(context, body)
    np.testing.assert_array_equal(X_WB[body.index()].GetAsMatrix34(), expected.GetAsMatrix34())
    A = plant.EvalBodySpatialAccelerationInWorld(context, body).get_coeffs()
    np.testing.assert_allclose(A_WB[body.index()].get_coeffs(), A, atol=EXACT)


def test_a_plant_from_another_process_moves_alike(tmp_path: Path) -> None:
    """A pickled plant has no addresses of the process that it comes from."""
    plant = chain()
    context = in_motion(plant)
    (tmp_path / "plant.pickle").write_bytes(pickle.dumps((plant, plant.GetPositionsAndVelocities(context))))
    (tmp_path / "load.py").write_text(
        f"import pickle, sys\nsys.path[:0] = {[str(Path(__file__).parents[4]), *sys.path]!r}\n"
        "import numpy as np\n"
        "plant, x = pickle.load(open(sys.argv[1], 'rb'))\n"
        "context = plant.CreateDefaultContext()\n"
        "plant.SetPositionsAndVelocities(context, x)\n"
        "print(*plant.EvalTimeDerivatives(context).CopyToVector().tolist())\n"
    )
    command = [sys.executable, str(tmp_path / "load.py"), str(tmp_path / "plant.pickle")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    xdot = plant.EvalTimeDerivatives(context).CopyToVector()
    np.testing.assert_array_equal([float(x) for x in done.stdout.split()], xdot)


# -- errors ------------------------------------------------------------------------------------------------------


def test_an_unknown_kind_is_refused_by_finalize() -> None:
    class Odd(RevoluteJoint):
        kind: Any = "ball and socket"

        def num_positions(self) -> int:
            return 1

        def num_velocities(self) -> int:
            return 1

    plant = MultibodyPlant(0.0)
    body = plant.AddRigidBody("body", SpatialInertia.SolidCubeWithMass(1.0, 0.1))
    plant.AddJoint(Odd("odd", plant.world_frame(), body.body_frame(), [0.0, 0.0, 1.0]))
    with pytest.raises(TypeError, match="kind of a mobilizer must be a MobilizerKind, not a str: 'ball and socket'"):
        plant.Finalize()


def set_pose_out_of_range(node, fixed, parameters, q_in, R_FM, p_FoMo_F):
    set_rotation_about_axis((0.0, 0.0, 1.0), q_in[node["q_start"]], R_FM)
    for r in range(4):
        p_FoMo_F[r] = 0.0


def set_turning_axis(node, fixed, parameters, q_in, body):
    set_row(body, 0, column(body["R_WF"], 2), ORIGIN)


def test_an_index_out_of_range_in_a_function_of_a_user_yields_nan() -> None:
    class Careless(RevoluteJoint):
        kind = MobilizerKind("careless", ("q",), ("w",), set_pose_out_of_range, set_turning_axis)

    plant = MultibodyPlant(0.0)
    body = plant.AddRigidBody("body", SpatialInertia.SolidCubeWithMass(1.0, 0.1))
    joint = plant.AddJoint(Careless("careless", plant.world_frame(), body.body_frame(), [0.0, 0.0, 1.0]))
    plant.Finalize()
    X_WB = plant.EvalBodyPoseInWorld(plant.CreateDefaultContext(), body)
    assert np.isnan(X_WB.translation()).any()
    with pytest.raises(IndexError, match="index 3 is out of bounds"):
        joint.GetDefaultPose()


def test_an_unknown_kind_is_an_error_in_kernels_that_names_those_there_are() -> None:
    topology = np.zeros(2, layout.topology_dtype)
    topology["num_v"][1], topology["mobilizer"][1] = 1, 12345
    records = np.zeros(2, layout.parameter_dtype()), np.zeros(1), np.zeros(2, layout.position_dtype())
    with pytest.raises(RuntimeError, match=r"no kind of mobilizer with number 12345: known are 0 \(weld\), 1 \(rev"):
        poses.interpreted(topology, *records)
