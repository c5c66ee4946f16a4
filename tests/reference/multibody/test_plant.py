"""Real robots: everything a plant computes equals what pydrake's plant computes."""

from __future__ import annotations

import numpy as np
import pytest

pydrake = pytest.importorskip("pydrake", reason="pydrake is not installed (extra `reference`)")

from plants import EXAMPLE_MODELS  # noqa: E402
from pydrake.multibody.math import SpatialForce as DrakeForce  # noqa: E402
from pydrake.multibody.tree import BodyIndex, ModelInstanceIndex  # noqa: E402
from pydrake.multibody.tree import MultibodyForces as DrakeForces  # noqa: E402
from reference_plants import Pair, load_both  # noqa: E402

from merganser.multibody.math import SpatialForce  # noqa: E402
from merganser.multibody.tree import MultibodyForces  # noqa: E402

pytestmark = pytest.mark.reference

IIWA = "iiwa_description/urdf/iiwa14_no_collision.urdf"
DUAL_IIWA = "iiwa_description/urdf/dual_iiwa14_polytope_collision.urdf"
ALLEGRO = "allegro_hand_description/sdf/allegro_hand_description_right.sdf"
WSG = "wsg_50_description/sdf/schunk_wsg_50_no_tip.sdf"

MODELS = {
    "iiwa welded": ([IIWA], ("base",)),
    "iiwa floating": ([IIWA], ()),
    "allegro hand": ([ALLEGRO], ()),
    "dual iiwa": ([DUAL_IIWA], ()),
    "iiwa and gripper and box": ([IIWA, WSG, EXAMPLE_MODELS / "free_box.sdf"], ("base",)),
    "arm7": ([EXAMPLE_MODELS / "arm7.urdf"], ()),
    "cart pole": ([EXAMPLE_MODELS / "cart_pole.sdf"], ()),
}
NUM_STATES = 20
TIME_STEP = 1e-3
_LOADED: dict[tuple[str, float], Pair] = {}


def load(name: str, time_step: float = 0.0) -> Pair:
    if (name, time_step) not in _LOADED:
        _LOADED[name, time_step] = load_both(*MODELS[name], time_step=time_step)
    return _LOADED[name, time_step]


@pytest.fixture(params=MODELS)
def name(request):
    return request.param


@pytest.fixture
def pair(name):
    return load(name)


def random_states(pair):
    rng = np.random.default_rng(0)
    for _ in range(NUM_STATES):
        pair.set_random_state(rng)
        yield rng


def assert_equal(ours, theirs):
    """To 1e-9 of the largest element, or of 1."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape
    scale = max(1.0, np.abs(theirs).max(initial=0.0))
    np.testing.assert_allclose(ours / scale, theirs / scale, rtol=0.0, atol=1e-9)


def bodies(pair):
    for index in range(1, pair.ours.num_bodies()):
        yield pair.ours.get_body(index), pair.theirs.get_body(BodyIndex(index))


# -- what follows from the state -------------------------------------------------------------------


def test_system_matrices(pair):
    for _ in random_states(pair):
        for function in ("CalcMassMatrix", "CalcBiasTerm", "CalcGravityGeneralizedForces"):
            ours = getattr(pair.ours, function)(pair.context)
            assert_equal(ours, getattr(pair.theirs, function)(pair.their_context))


def test_energies_and_centre_of_mass(pair):
    functions = (
        "CalcKineticEnergy", "CalcPotentialEnergy", "EvalKineticEnergy", "EvalPotentialEnergy",
        "CalcTotalMass", "CalcCenterOfMassPositionInWorld",
    )  # fmt: skip
    for _ in random_states(pair):
        for function in functions:
            ours = getattr(pair.ours, function)(pair.context)
            assert_equal(ours, getattr(pair.theirs, function)(pair.their_context))


def test_poses_and_velocities_of_bodies(pair):
    for _ in random_states(pair):
        for body, their_body in bodies(pair):
            X_WB = pair.ours.EvalBodyPoseInWorld(pair.context, body)
            theirs = pair.theirs.EvalBodyPoseInWorld(pair.their_context, their_body)
            assert_equal(X_WB.GetAsMatrix4(), theirs.GetAsMatrix4())
            V_WB_W = pair.ours.EvalBodySpatialVelocityInWorld(pair.context, body)
            theirs = pair.theirs.EvalBodySpatialVelocityInWorld(pair.their_context, their_body)
            assert_equal(V_WB_W.get_coeffs(), theirs.get_coeffs())


def test_accelerations_of_bodies(pair):
    for rng in random_states(pair):
        pair.fix_actuation(0.1 * rng.normal(size=pair.ours.num_actuated_dofs()))
        for body, their_body in bodies(pair):
            A_WB_W = pair.ours.EvalBodySpatialAccelerationInWorld(pair.context, body)
            theirs = pair.theirs.EvalBodySpatialAccelerationInWorld(pair.their_context, their_body)
            assert_equal(A_WB_W.get_coeffs(), theirs.get_coeffs())


def test_body_poses_and_velocities_ports(pair):
    for _ in random_states(pair):
        for port, coordinates in (
            ("body_poses", lambda X_WB: X_WB.GetAsMatrix4()),
            ("body_spatial_velocities", lambda V_WB_W: V_WB_W.get_coeffs()),
        ):
            ours = pair.ours.GetOutputPort(port).Eval(pair.context)
            theirs = pair.theirs.GetOutputPort(port).Eval(pair.their_context)
            assert len(ours) == len(theirs)
            for mine, reference in zip(ours, theirs):
                assert_equal(coordinates(mine), coordinates(reference))


def test_relative_transforms_and_points(pair):
    frames = [pair.ours.get_frame(i) for i in range(pair.ours.num_frames())]
    for rng in random_states(pair):
        points = rng.normal(size=(3, 4))
        A, B = (frames[i] for i in rng.integers(len(frames), size=2))
        A_theirs, B_theirs = (
            pair.theirs.GetFrameByName(F.name(), ModelInstanceIndex(F.model_instance())) for F in (A, B)
        )
        X_AB = pair.ours.CalcRelativeTransform(context=pair.context, frame_A=A, frame_B=B)
        theirs = pair.theirs.CalcRelativeTransform(pair.their_context, A_theirs, B_theirs)
        assert_equal(X_AB.GetAsMatrix4(), theirs.GetAsMatrix4())
        p_AQ = pair.ours.CalcPointsPositions(context=pair.context, frame_B=B, p_BQi=points, frame_A=A)
        theirs = pair.theirs.CalcPointsPositions(pair.their_context, B_theirs, points, A_theirs)
        assert_equal(p_AQ, theirs)


def test_velocity_and_qdot(pair):
    assert pair.ours.IsVelocityEqualToQDot() == pair.theirs.IsVelocityEqualToQDot()
    for rng in random_states(pair):
        v, qdot = rng.normal(size=pair.ours.num_velocities()), rng.normal(size=pair.ours.num_positions())
        ours = pair.ours.MapVelocityToQDot(context=pair.context, v=v)
        assert_equal(ours, pair.theirs.MapVelocityToQDot(pair.their_context, v))
        ours = pair.ours.MapQDotToVelocity(context=pair.context, qdot=qdot)
        assert_equal(ours, pair.theirs.MapQDotToVelocity(pair.their_context, qdot))


# -- dynamics --------------------------------------------------------------------------------------


def test_inverse_dynamics_with_external_forces(pair):
    for rng in random_states(pair):
        vdot = rng.normal(size=pair.ours.num_velocities())
        forces = MultibodyForces(pair.ours)
        their_forces = DrakeForces(pair.theirs)
        pair.ours.CalcForceElementsContribution(context=pair.context, forces=forces)
        pair.theirs.CalcForceElementsContribution(pair.their_context, their_forces)
        assert_equal(forces.generalized_forces(), their_forces.generalized_forces())
        for body, their_body in bodies(pair):
            F = rng.normal(size=6)
            body.AddInForceInWorld(pair.context, SpatialForce(F[:3], F[3:]), forces)
            their_body.AddInForceInWorld(pair.their_context, DrakeForce(F[:3], F[3:]), their_forces)
        ours = pair.ours.CalcInverseDynamics(context=pair.context, known_vdot=vdot, external_forces=forces)
        assert_equal(ours, pair.theirs.CalcInverseDynamics(pair.their_context, vdot, their_forces))


def test_time_derivatives_with_actuation(pair):
    """Within the effort limits, which pydrake enforces where the model file has PD gains (the hand)."""
    effort = np.minimum(pair.ours.GetEffortUpperLimits(), 5.0)
    for rng in random_states(pair):
        pair.fix_actuation(effort * rng.uniform(-1, 1, size=len(effort)))
        ours = pair.ours.EvalTimeDerivatives(pair.context).CopyToVector()
        assert_equal(ours, pair.theirs.EvalTimeDerivatives(pair.their_context).CopyToVector())


def test_one_discrete_step(name):
    """From states well inside the limits, which pydrake turns into forces."""
    pair = load(name, TIME_STEP)
    lower, upper = (
        np.clip(limit, -0.5, 0.5)
        for limit in (pair.theirs.GetPositionLowerLimits(), pair.theirs.GetPositionUpperLimits())
    )
    rng = np.random.default_rng(1)
    for _ in range(NUM_STATES):
        middle, reach = (lower + upper) / 2, (upper - lower) / 2
        q = middle + 0.5 * reach * rng.uniform(-1, 1, size=len(middle))
        pair.set_state(q, 0.3 * rng.normal(size=pair.ours.num_velocities()))
        pair.fix_actuation(0.1 * rng.normal(size=pair.ours.num_actuated_dofs()))
        ours = pair.ours.AllocateDiscreteVariables()
        pair.ours.CalcForcedDiscreteVariableUpdate(pair.context, ours)
        theirs = pair.theirs.AllocateDiscreteVariables()
        pair.theirs.CalcForcedDiscreteVariableUpdate(pair.their_context, theirs)
        assert_equal(ours.get_vector(0).CopyToVector(), theirs.get_vector(0).CopyToVector())


# -- names, limits, sizes --------------------------------------------------------------------------


def test_names(pair):
    for function in ("GetPositionNames", "GetVelocityNames", "GetStateNames", "GetActuatorNames"):
        ours, theirs = getattr(pair.ours, function), getattr(pair.theirs, function)
        assert ours() == theirs()
        assert ours(False) == ours(add_model_instance_prefix=False) == theirs(add_model_instance_prefix=False)
        for index in range(pair.ours.num_model_instances()):
            instance = ModelInstanceIndex(index)
            assert ours(index) == ours(model_instance=index) == theirs(instance)
            assert ours(index, True) == theirs(instance, True)
        if function in ("GetPositionNames", "GetVelocityNames"):
            assert ours(always_add_suffix=False) == theirs(always_add_suffix=False)


def test_limits_and_defaults(pair):
    functions = [f"Get{kind}{side}Limits" for kind in ("Position", "Velocity", "Acceleration", "Effort")
                 for side in ("Lower", "Upper")]  # fmt: skip
    for function in [*functions, "GetDefaultPositions", "MakeActuationMatrix"]:
        np.testing.assert_array_equal(getattr(pair.ours, function)(), getattr(pair.theirs, function)())


def test_sizes_of_model_instances(pair):
    functions = (
        "num_positions",
        "num_velocities",
        "num_multibody_states",
        "num_actuated_dofs",
        "num_actuators",
    )
    for index in range(pair.ours.num_model_instances()):
        instance = ModelInstanceIndex(index)
        for function in functions:
            assert getattr(pair.ours, function)(index) == getattr(pair.theirs, function)(instance)


def test_ports_have_the_names_order_and_sizes_of_pydrake(pair):
    """Input ports all, output ports those that there are."""

    def described(ports):
        return [(port.get_name(), port.size()) for port in ports]

    ours, theirs = (
        (
            described(plant.get_input_port(i) for i in range(plant.num_input_ports())),
            described(plant.get_output_port(i) for i in range(plant.num_output_ports())),
        )
        for plant in (pair.ours, pair.theirs)
    )
    assert ours[0] == theirs[0]
    assert ours[1] == [port for port in theirs[1] if port in ours[1]]
