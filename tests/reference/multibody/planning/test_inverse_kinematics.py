"""Constraints and costs of inverse kinematics against pydrake's: values, bounds and derivatives; and whole searches."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

pytest.importorskip("pydrake.multibody.inverse_kinematics", reason="compares with pydrake, extra `reference`")

pytestmark = pytest.mark.reference

MODELS = Path(__file__).resolve().parents[4] / "examples" / "models"
P, P2, N, N2 = [0.1, -0.2, 0.3], [0.05, 0.1, -0.15], [1.0, 2.0, -0.5], [0.2, -0.4, 1.0]
RPY = [0.3, -0.4, 0.5]


class Robot(NamedTuple):
    """An arm with balls on its links, a box that floats, and a table; in either package."""

    lib: Any
    ik: Any
    plant: Any
    context: Any
    diagram_context: Any
    ids: list[Any]


def robot(root: str) -> Robot:
    lib = importlib.import_module(f"{root}.all")
    ik = importlib.import_module(f"{root}.multibody.inverse_kinematics")
    builder = lib.DiagramBuilder()
    plant, _ = lib.AddMultibodyPlantSceneGraph(builder, 0.0)
    lib.Parser(plant).AddModels(str(MODELS / "arm7.urdf"))
    friction, X = lib.CoulombFriction(0.5, 0.5), lib.RigidTransform()
    ids = []
    for index in plant.GetBodyIndices(plant.GetModelInstanceByName("arm7"))[2::2]:
        body = plant.get_body(index)
        ids.append(plant.RegisterCollisionGeometry(body, X, lib.Sphere(0.06), f"ball{int(index)}", friction))
    inertia = lib.SpatialInertia.SolidBoxWithMass(1.0, 0.2, 0.2, 0.2)
    box = plant.AddRigidBody("box", plant.AddModelInstance("box"), inertia)
    ids.append(plant.RegisterCollisionGeometry(box, X, lib.Box(0.2, 0.2, 0.2), "box", friction))
    X_WT = lib.RigidTransform([0.0, 0.0, -0.06])
    ids.append(plant.RegisterCollisionGeometry(plant.world_body(), X_WT, lib.Box(4.0, 4.0, 0.1), "table", friction))
    plant.Finalize()
    diagram_context = builder.Build().CreateDefaultContext()
    return Robot(lib, ik, plant, plant.GetMyMutableContextFromRoot(diagram_context), diagram_context, ids)


def _frames(r: Robot) -> tuple[Any, Any]:
    bodies = r.plant.GetBodyIndices(r.plant.GetModelInstanceByName("arm7"))
    return r.plant.get_body(bodies[2]).body_frame(), r.plant.get_body(bodies[-1]).body_frame()


Make = Callable[[Robot, Any, Any], Any]
FUNCTIONS: dict[str, Make] = {
    "PositionConstraint": lambda r, A, B: r.ik.PositionConstraint(
        r.plant, A, [-1.0, -2.0, -3.0], [1.0, 2.0, 3.0], B, P2, r.context
    ),
    "PositionConstraint, A in Abar": lambda r, A, B: r.ik.PositionConstraint(
        r.plant, A, r.lib.RigidTransform(r.lib.RollPitchYaw(RPY), P), [-1.0] * 3, [1.0] * 3, B, P2, r.context
    ),
    "PositionConstraint, Q free": lambda r, A, B: r.ik.PositionConstraint(
        r.plant, A, [-1.0] * 3, [1.0] * 3, B, None, r.context
    ),
    "PositionCost": lambda r, A, B: r.ik.PositionCost(
        r.plant, A, P, B, P2, np.array([[2.0, 0.3, 0.0], [0.1, 1.0, 0.0], [0.0, 0.0, 3.0]]), r.context
    ),
    "OrientationConstraint": lambda r, A, B: r.ik.OrientationConstraint(
        r.plant, A, r.lib.RotationMatrix(r.lib.RollPitchYaw(RPY)), B, r.lib.RotationMatrix.MakeXRotation(0.2), 0.1,
        r.context,
    ),
    "OrientationCost": lambda r, A, B: r.ik.OrientationCost(
        r.plant, A, r.lib.RotationMatrix(r.lib.RollPitchYaw(RPY)), B, r.lib.RotationMatrix.MakeXRotation(0.2), 3.0,
        r.context,
    ),
    "GazeTargetConstraint": lambda r, A, B: r.ik.GazeTargetConstraint(r.plant, A, P, N, B, P2, 0.3, r.context),
    "AngleBetweenVectorsConstraint": lambda r, A, B: r.ik.AngleBetweenVectorsConstraint(
        r.plant, A, N, B, N2, 0.1, 2.0, r.context
    ),
    "AngleBetweenVectorsCost": lambda r, A, B: r.ik.AngleBetweenVectorsCost(r.plant, A, N, B, N2, 3.0, r.context),
    "PointToPointDistanceConstraint": lambda r, A, B: r.ik.PointToPointDistanceConstraint(
        r.plant, A, P, B, P2, 0.1, 2.0, r.context
    ),
    "PointToLineDistanceConstraint": lambda r, A, B: r.ik.PointToLineDistanceConstraint(
        r.plant, A, P, B, P2, N, 0.1, 2.0, r.context
    ),
    "PolyhedronConstraint": lambda r, A, B: r.ik.PolyhedronConstraint(
        r.plant, A, B, np.array([P, P2]).T, np.arange(12.0).reshape(2, 6) - 5.0, [1.0, 2.0], r.context
    ),
    "ComPositionConstraint": lambda r, A, B: r.ik.ComPositionConstraint(r.plant, None, A, r.context),
    "ComInPolyhedronConstraint": lambda r, A, B: r.ik.ComInPolyhedronConstraint(
        r.plant, [r.plant.GetModelInstanceByName("arm7")], A, np.arange(6.0).reshape(2, 3), [-1.0, -2.0], [1.0, 2.0],
        r.context,
    ),
    "DistanceConstraint": lambda r, A, B: r.ik.DistanceConstraint(
        r.plant, (r.ids[0], r.ids[-2]), r.context, 0.1, 1.0
    ),
    "MinimumDistanceLowerBoundConstraint": lambda r, A, B: r.ik.MinimumDistanceLowerBoundConstraint(
        r.plant, 0.1, r.context, influence_distance_offset=1.0
    ),
    "MinimumDistanceUpperBoundConstraint": lambda r, A, B: r.ik.MinimumDistanceUpperBoundConstraint(
        r.plant, 0.1, r.context, 1.0
    ),
    "UnitQuaternionConstraint": lambda r, A, B: r.ik.UnitQuaternionConstraint(),
}  # fmt: skip


@pytest.fixture(scope="module")
def robots() -> tuple[Robot, Robot]:
    return robot("merganser"), robot("pydrake")


def _random_x(r: Robot, rng: np.random.Generator, num_vars: int) -> Any:
    """Positions away from limits, with a quaternion of length 1; then whatever else there is."""
    if num_vars == 4:
        return rng.normal(size=4)
    q = rng.uniform(-1.0, 1.0, r.plant.num_positions())
    box = r.plant.GetBodyByName("box").floating_positions_start()
    q[box : box + 4] /= np.linalg.norm(q[box : box + 4])
    q[box + 4 : box + 7] = rng.uniform(0.3, 0.6, 3)
    return np.concatenate([q, rng.uniform(-0.3, 0.3, num_vars - len(q))])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_bounds_are_pydrakes(robots: tuple[Robot, Robot], name: str) -> None:
    mine, theirs = (FUNCTIONS[name](r, *_frames(r)) for r in robots)
    rng = np.random.default_rng(len(name))
    assert mine.num_vars() == theirs.num_vars()
    for _ in range(4):
        x = _random_x(robots[0], rng, mine.num_vars())
        tolerance = 2e-5 if "Distance" in name and "PointTo" not in name else 1e-9  # theirs are iterated
        np.testing.assert_allclose(mine.Eval(x), theirs.Eval(x), rtol=tolerance, atol=tolerance)
    if not name.endswith("Cost"):
        np.testing.assert_allclose(mine.lower_bound(), theirs.lower_bound(), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(mine.upper_bound(), theirs.upper_bound(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_are_those_of_differences(robots: tuple[Robot, Robot], name: str) -> None:
    """Along motions that keep quaternions at length 1, as any search does."""
    r = robots[0]
    function = FUNCTIONS[name](r, *_frames(r))
    rng = np.random.default_rng(len(name))
    x = _random_x(r, rng, function.num_vars())
    ways = np.eye(len(x))
    if len(x) > 4:
        box = r.plant.GetBodyByName("box").floating_positions_start()
        unit = x[box : box + 4]
        ways[box : box + 4] -= np.outer(unit, unit @ ways[box : box + 4])
    _, jacobian = function._value_and_jacobian(x)
    h = 1e-6
    for way in ways:
        difference = (function.Eval(x + h * way) - function.Eval(x - h * way)) / (2.0 * h)
        np.testing.assert_allclose(jacobian @ way, difference, rtol=1e-6, atol=1e-7)


def test_poses_of_an_arm_are_found_as_often_as_by_pydrake() -> None:
    found = {}
    for root in ("merganser", "pydrake"):
        lib, ik_module = (importlib.import_module(f"{root}.{name}") for name in ("all", "multibody.inverse_kinematics"))
        place = "pydrake.solvers" if root == "pydrake" else "merganser.framework.optimization"
        solvers = importlib.import_module(place)
        plant = lib.MultibodyPlant(0.0)
        lib.Parser(plant).AddModels(str(MODELS / "arm7.urdf"))
        plant.Finalize()
        context, rng = plant.CreateDefaultContext(), np.random.default_rng(2)
        hand = plant.get_body(plant.GetBodyIndices(plant.GetModelInstanceByName("arm7"))[-1]).body_frame()
        lower, upper = np.maximum(plant.GetPositionLowerLimits(), -3.0), np.minimum(plant.GetPositionUpperLimits(), 3.0)
        count = 0
        for _ in range(25):
            plant.SetPositions(context, rng.uniform(lower, upper))
            X_WH = plant.CalcRelativeTransform(context, plant.world_frame(), hand)
            ik = ik_module.InverseKinematics(plant)
            p_WH, margin = X_WH.translation(), np.full(3, 1e-4)
            ik.AddPositionConstraint(hand, [0.0] * 3, plant.world_frame(), p_WH - margin, p_WH + margin)
            ik.AddOrientationConstraint(plant.world_frame(), X_WH.rotation(), hand, lib.RotationMatrix(), 1e-2)
            ik.prog().SetInitialGuess(ik.q(), np.zeros(plant.num_positions()))
            result = solvers.Solve(ik.prog())
            if result.is_success():
                plant.SetPositions(context, result.GetSolution(ik.q()))
                X = plant.CalcRelativeTransform(context, plant.world_frame(), hand)
                assert np.abs(X.translation() - p_WH).max() < 2e-4
                count += 1
        found[root] = count
    assert found["merganser"] >= max(found["pydrake"], 24)
