"""Derivatives by positions: the closed forms on floats, the complex step and differences agree."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from joint_mechanisms import library
from plants import arm_and_box
from random_plants import RandomPlant

from merganser.framework.autodiff import AutoDiffXd, ExtractGradient, ExtractValue, InitializeAutoDiff
from merganser.framework.math import RigidTransform
from merganser.multibody import kernels
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.plant.scalars import workspaces as scalar_workspaces
from merganser.multibody.plant.scalars.workspaces import AutoDiffWorkspace
from merganser.multibody.tree import FixedOffsetFrame, JacobianWrtVariable, RevoluteJoint, SpatialInertia

BY_V, BY_QDOT = JacobianWrtVariable.kV, JacobianWrtVariable.kQDot
POINTS = np.array([[0.1, 0.0], [-0.2, 0.4], [0.3, 0.5]])
DIFFERENCE = 1e-6


def quantities(plant, context) -> dict[str, np.ndarray]:
    """Everything for which there is a closed form, and some that use it, between several frames."""
    frames = [plant.get_frame(index) for index in plant.GetFrameIndices()]
    W, A, B, E = frames[0], frames[len(frames) // 3], frames[-1], frames[len(frames) // 2]
    instances = [B.body().model_instance()]
    return {
        "point": plant.CalcPointsPositions(context, B, POINTS[:, 0], W),
        "points in a moving frame": plant.CalcPointsPositions(context, B, POINTS, A),
        "pose of a body": plant.EvalBodyPoseInWorld(context, B.body()).GetAsMatrix34(),
        "pose of a frame": plant.CalcRelativeTransform(context, A, B).GetAsMatrix34(),
        "centre of mass": plant.CalcCenterOfMassPositionInWorld(context),
        "centre of mass of an instance": plant.CalcCenterOfMassPositionInWorld(context, instances),
        "Jacobian": plant.CalcJacobianSpatialVelocity(context, BY_V, B, POINTS[:, 1], W, W),
        "Jacobian between frames": plant.CalcJacobianSpatialVelocity(context, BY_V, B, POINTS[:, 1], A, E),
        "Jacobian for qdot": plant.CalcJacobianTranslationalVelocity(context, BY_QDOT, B, POINTS, A, E),
        "mass matrix": plant.CalcMassMatrix(context),
        "velocity of a body": plant.EvalBodySpatialVelocityInWorld(context, B.body()).get_coeffs(),
        "velocity of a frame": B.CalcSpatialVelocity(context, A, E).get_coeffs(),
        "velocities of points": plant.CalcPointsVelocities(context, B, POINTS, A, E),
    }


def all_kinds(seed: int) -> MultibodyPlant:
    """A tree of up to eight joints of all kinds."""
    return RandomPlant(library("ours"), seed, num_joints=8, has_springs=False).build()


PLANTS = {
    "arm and box": lambda: arm_and_box(0.0),
    **{f"random {seed}": lambda s=seed: all_kinds(s) for seed in (3, 4, 5)},
}


def seeds(plant) -> dict[str, np.ndarray]:
    """Derivatives of x, one row an element, as programs choose their variables."""
    num_q, num_x = plant.num_positions(), plant.num_multibody_states()
    rng = np.random.default_rng(2)
    by_positions = np.zeros((num_x, num_q + 3))
    by_positions[:num_q, 2 : 2 + num_q] = np.eye(num_q)
    return {
        "the state": np.eye(num_x),
        "positions among other variables": by_positions,
        "a few directions": rng.normal(size=(num_x, 2)),
        "many directions": rng.normal(size=(num_x, num_x + 2)),
        "velocities": np.eye(num_x)[:, num_q:],
    }


def evaluate(plant, x: np.ndarray) -> dict[str, np.ndarray]:
    context = plant.CreateDefaultContext()
    plant.SetPositionsAndVelocities(context, x)
    return quantities(plant, context)


def random_state(plant) -> np.ndarray:
    x = np.random.default_rng(1).uniform(-0.9, 0.9, plant.num_multibody_states())
    for body in plant.GetFloatingBaseBodies():
        start = plant.get_body(body).floating_positions_start()
        if plant.get_body(body).has_quaternion_dofs():
            x[start : start + 4] += [1.0, 0.0, 0.0, 0.0]
    return x


def all_equal(actual, expected, tolerance: float, num_variables: int) -> None:
    for what, quantity in expected.items():
        ours, theirs = (ExtractGradient(a[what].reshape(-1, 1)) for a in (actual, expected))
        ours, theirs = (g if g.size else np.zeros((quantity.size, num_variables)) for g in (ours, theirs))
        values = [ExtractValue(a[what].reshape(-1, 1)) for a in (actual, expected)]
        np.testing.assert_allclose(*values, rtol=1e-11, atol=1e-11, err_msg=what)
        scale = max(1.0, np.abs(theirs).max())
        np.testing.assert_allclose(ours / scale, theirs / scale, rtol=0.0, atol=tolerance, err_msg=what)


@pytest.mark.parametrize("name", PLANTS)
def test_closed_forms_equal_the_complex_step_for_all_choices_of_variables(name, monkeypatch):
    plant = PLANTS[name]().ToAutoDiffXd()
    x = random_state(plant)
    for D_x in seeds(plant).values():
        variables = InitializeAutoDiff(x, gradient=D_x).ravel()
        ours = evaluate(plant, variables)
        with monkeypatch.context() as patch:
            patch.setattr(AutoDiffWorkspace, "_call_position_rule", lambda *_: False)
            expected = evaluate(plant, variables)
        all_equal(ours, expected, 1e-11, D_x.shape[1])


@pytest.mark.parametrize("name", PLANTS)
def test_gradients_equal_central_differences(name):
    floats = PLANTS[name]()
    x = random_state(floats)
    ours = evaluate(floats.ToAutoDiffXd(), InitializeAutoDiff(x).ravel())
    columns = []
    for direction in np.eye(len(x)):
        above, below = (evaluate(floats, x + step * direction) for step in (DIFFERENCE, -DIFFERENCE))
        columns.append({what: (above[what] - below[what]).ravel() / (2.0 * DIFFERENCE) for what in above})
    for what in ours:
        expected = np.array([column[what] for column in columns]).T
        gradient = ExtractGradient(ours[what].reshape(-1, 1))
        np.testing.assert_allclose(gradient, expected, rtol=0.0, atol=1e-7 * max(1.0, np.abs(expected).max()))


def test_derivatives_of_points_frames_masses_and_states_of_other_sizes_are_kept():
    """Functions without closed forms take the complex step."""
    plant = arm_and_box(0.0).ToAutoDiffXd()
    context = plant.CreateDefaultContext()
    tool, world = plant.GetFrameByName("tool"), plant.world_frame()
    q = random_state(plant)[: plant.num_positions()]
    plant.SetPositions(context, q)
    point = InitializeAutoDiff(POINTS[:, 0])
    R_WT = ExtractValue(plant.CalcRelativeRotationMatrix(context, world, tool).matrix())
    np.testing.assert_allclose(
        ExtractGradient(plant.CalcPointsPositions(context, tool, point, world)), R_WT, atol=1e-14
    )
    plant.GetBodyByName("box").SetMass(context, AutoDiffXd(2.0, [1.0]))
    assert ExtractGradient(plant.CalcMassMatrix(context)).any()
    plant.SetPositionsAndVelocities(
        context, [AutoDiffXd(a, [1.0] if i < len(q) else [1.0, 2.0]) for i, a in enumerate(random_state(plant))]
    )
    for _ in range(2):
        with pytest.raises(ValueError, match="derivatives"):
            plant.CalcPointsVelocities(context, tool, POINTS, world, world)


def test_a_moved_frame_counts_and_its_derivatives_as_well():
    floats = MultibodyPlant(0.0)
    link = floats.AddRigidBody("link", SpatialInertia.SolidCubeWithMass(1.0, 0.1))
    floats.AddJoint(RevoluteJoint("hinge", floats.world_frame(), link.body_frame(), [0.0, 0.0, 1.0]))
    floats.AddFrame(FixedOffsetFrame("tip", link.body_frame(), RigidTransform([1.0, 0.0, 0.0])))
    floats.Finalize()
    plant = floats.ToAutoDiffXd()
    context = plant.CreateDefaultContext()
    tip, world = plant.GetFrameByName("tip"), plant.world_frame()

    def gradient() -> np.ndarray:
        plant.SetPositions(context, [AutoDiffXd(0.0, [1.0])])
        return ExtractGradient(plant.CalcPointsPositions(context, tip, np.zeros(3), world)).ravel()

    assert gradient() == pytest.approx([0.0, 1.0, 0.0])
    transform = type(tip.CalcPoseInBodyFrame(context))
    tip.SetPoseInParentFrame(context, transform(np.array([AutoDiffXd(a) for a in (3.0, 0.0, 0.0)])))
    assert gradient() == pytest.approx([0.0, 3.0, 0.0])
    tip.SetPoseInParentFrame(context, transform(np.array([AutoDiffXd(a, [0.5 * a]) for a in (2.0, 0.0, 0.0)])))
    assert gradient() == pytest.approx([1.0, 2.0, 0.0])


def test_kinematics_of_all_bodies_in_all_directions_are_not_computed_for_one_point(monkeypatch):
    plant = arm_and_box(0.0).ToAutoDiffXd()
    context = plant.CreateDefaultContext()
    over_lanes = []
    monkeypatch.setattr(AutoDiffWorkspace, "call_over_lanes", lambda _w, kernel, *_: over_lanes.append(kernel))
    plant.SetPositionsAndVelocities(context, InitializeAutoDiff(random_state(plant)).ravel())
    computed = quantities(plant, context)
    assert set(over_lanes) <= {kernels.qdot_jacobian}
    assert ExtractGradient(computed["mass matrix"].reshape(-1, 1)).any()


def test_the_table_of_closed_forms_names_the_arguments_of_kernels():
    for kernel, rule in scalar_workspaces._OF_POSITIONS.items():
        names = list(inspect.signature(kernel.interpreted).parameters)
        records = {place: names[place].removesuffix("_in") for place, _ in rule.records}
        assert records == dict(rule.records)
        assert all(names[place].endswith("_out") for place in rule.results)
        left = {names[i] for i in range(len(names)) if i not in (*records, *rule.given, *rule.results)}
        assert left <= {"topology", "scratch_work"}
