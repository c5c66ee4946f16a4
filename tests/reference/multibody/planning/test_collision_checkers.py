"""Collision checkers beside pydrake's: answers, clearances, edges, filters of a real arm and a shelf."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pydrake", reason="pydrake is not installed")

MODELS = Path(os.environ.get("MERGANSER_MODELS", Path(__file__).resolve().parents[5] / "shared" / "models"))
ARM = MODELS / "iiwa_description" / "urdf" / "iiwa14_primitive_collision.urdf"
pytestmark = pytest.mark.skipif(not ARM.exists(), reason="the models are not here")

_BOARD = '<collision name="{name}"><origin xyz="{p}"/><geometry><box size="{size}"/></geometry></collision>'
SHELF = "".join(
    [_BOARD.format(name=f"board{z}", p=f"0.7 0 {z}", size="0.4 0.8 0.02") for z in (0.2, 0.5, 0.8, 1.1)]
    + [_BOARD.format(name=f"side{y}", p=f"0.7 {y} 0.6", size="0.4 0.02 1.2") for y in (-0.4, 0.4)]
)


def _checker(root: str) -> SimpleNamespace:
    planning = importlib.import_module("pydrake.planning" if root == "pydrake" else "merganser.multibody.planning")
    builder = planning.RobotDiagramBuilder(time_step=0.0)
    packages = builder.parser().package_map()
    if packages.Contains("drake_models"):
        packages.Remove("drake_models")
    packages.Add("drake_models", str(MODELS))
    arm = builder.parser().AddModels(str(ARM))
    builder.parser().AddModelsFromString(f'<robot name="shelf"><link name="shelf">{SHELF}</link></robot>', "urdf")
    plant = builder.plant()
    for name in ("base", "shelf"):
        plant.WeldFrames(plant.world_frame(), plant.GetFrameByName(name))
    checker = planning.SceneGraphCollisionChecker(
        model=builder.Build(), robot_model_instances=arm, edge_step_size=0.05,
        env_collision_padding=0.01, self_collision_padding=0.005,
    )  # fmt: skip
    return checker


@pytest.fixture(scope="module")
def checkers() -> tuple[Any, Any]:
    return _checker("merganser"), _checker("pydrake")


@pytest.fixture(scope="module")
def configurations(checkers: tuple[Any, Any]) -> np.ndarray:
    plant = checkers[0].plant()
    rng = np.random.default_rng(0)
    return rng.uniform(plant.GetPositionLowerLimits(), plant.GetPositionUpperLimits(), (200, 7))


def test_the_same_configurations_are_free(checkers: tuple[Any, Any], configurations: np.ndarray) -> None:
    ours, theirs = (checker.CheckConfigsCollisionFree(list(configurations)) for checker in checkers)
    assert list(map(int, ours)) == list(map(int, theirs))
    assert 20 < sum(ours) < 190


def test_filters_paddings_and_numbers_are_the_same(checkers: tuple[Any, Any]) -> None:
    ours, theirs = checkers
    np.testing.assert_array_equal(ours.GetFilteredCollisionMatrix(), theirs.GetFilteredCollisionMatrix())
    np.testing.assert_array_equal(ours.GetNominalFilteredCollisionMatrix(), theirs.GetNominalFilteredCollisionMatrix())
    np.testing.assert_array_equal(ours.GetPaddingMatrix(), theirs.GetPaddingMatrix())
    assert ours.MaxNumDistances() == theirs.MaxNumDistances()
    assert ours.GetLargestPadding() == theirs.GetLargestPadding()


def test_clearances_are_the_same(checkers: tuple[Any, Any], configurations: np.ndarray) -> None:
    """To 1e-4 m, by which pydrake ends above the least distance of cylinders; derivatives where it is exact."""
    for q in configurations[:40]:
        rows = []
        for checker in checkers:
            table = checker.CalcRobotClearance(q, 0.1)
            ends = zip(map(int, table.robot_indices()), map(int, table.other_indices()))
            pairs = [tuple(sorted(pair)) for pair in ends]
            kinds = list(map(int, table.collision_types()))
            order = sorted(range(table.size()), key=lambda k: (pairs[k], round(float(table.distances()[k]), 4)))
            rows.append(([(pairs[k], kinds[k]) for k in order], table.distances()[order], table.jacobians()[order]))
        assert rows[0][0] == rows[1][0]
        np.testing.assert_allclose(rows[0][1], rows[1][1], rtol=0.0, atol=1e-4)
        near = np.abs(rows[0][1] - rows[1][1]) < 1e-12
        np.testing.assert_allclose(rows[0][2][near], rows[1][2][near], rtol=0.0, atol=1e-6)


def test_edges_and_kinds_of_collision_are_the_same(checkers: tuple[Any, Any], configurations: np.ndarray) -> None:
    edges = [(configurations[k], configurations[k + 1]) for k in range(40)]
    ours, theirs = (checker.MeasureEdgesCollisionFree(edges) for checker in checkers)
    np.testing.assert_allclose([e.distance() for e in ours], [e.distance() for e in theirs], atol=1e-12)
    np.testing.assert_allclose([e.alpha_or(-1) for e in ours], [e.alpha_or(-1) for e in theirs], atol=1e-12)
    for q in configurations[:40]:
        kinds = [list(map(int, checker.ClassifyBodyCollisions(q))) for checker in checkers]
        assert kinds[0] == kinds[1]


def test_least_distances_of_programs_are_the_same(checkers: tuple[Any, Any], configurations: np.ndarray) -> None:
    """As near as distances of cylinders are: to 1e-4 m of 0.2 m."""
    pairs = []
    for root, checker in zip(("merganser", "pydrake"), checkers):
        ik = importlib.import_module(f"{root}.multibody.inverse_kinematics")
        made = {
            name: getattr(ik, f"MinimumDistance{name}BoundConstraint")(
                collision_checker=checker,
                bound=0.02,
                collision_checker_context=checker.MakeStandaloneModelContext(),
                influence_distance_offset=0.2,
            )
            for name in ("Lower", "Upper")
        }
        pairs.append(made)
    for name in ("Lower", "Upper"):
        ours, theirs = (made[name] for made in pairs)
        assert ours.influence_distance() == theirs.influence_distance()
        values = np.array([[each.Eval(q)[0] for each in (ours, theirs)] for q in configurations[:20]])
        np.testing.assert_allclose(values[:, 0], values[:, 1], rtol=5e-3, atol=5e-3)
