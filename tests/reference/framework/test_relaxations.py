"""Relaxations of programs, and inverse kinematics by them, against pydrake's."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pydrake.solvers", reason="compares with pydrake, extra `reference`")
pytestmark = pytest.mark.reference


def relaxed(root: str, seed: int, with_groups: bool) -> tuple[Any, ...]:
    """The least cost of a relaxation, x, and how many variables and constraints it has."""
    names = ("solvers", "symbolic") if root == "pydrake" else ("framework.optimization", "framework.symbolic")
    s, symbolic = (importlib.import_module(f"{root}.{name}") for name in names)
    rng = np.random.default_rng(seed)
    prog = s.MathematicalProgram()
    x = prog.NewContinuousVariables(4, "x")
    Q = rng.normal(size=(4, 4))
    Q = Q + Q.T
    for part in (x[:2], x[2:]) if with_groups else (x,):
        prog.AddQuadraticCost(Q[: len(part), : len(part)], rng.normal(size=len(part)), 1.0, part, False)
        prog.AddBoundingBoxConstraint(-1.0, 1.2, part)
    prog.AddLinearConstraint(rng.normal(size=(2, 3)), -np.ones(2), [np.inf, 1.0], x[1:])
    if not with_groups:
        prog.AddLinearEqualityConstraint(rng.normal(size=(1, 3)), [0.1], x[:3])
    prog.AddQuadraticConstraint(np.diag([1.0, -1.0]), np.zeros(2), -0.3, 0.3, x[1:3])
    groups = [[symbolic.Variables(x[:3]), symbolic.Variables(x[1:])]] if with_groups else []
    program = s.MakeSemidefiniteRelaxation(prog, *groups)
    result = s.ClarabelSolver().Solve(program)
    rows = sum(each.evaluator().num_constraints() for each in program.GetAllConstraints())
    return result.get_optimal_cost(), result.GetSolution(x), program.num_vars(), len(program.linear_constraints()), rows


@pytest.mark.parametrize("with_groups", [False, True])
def test_semidefinite_relaxations_are_those_of_pydrake(with_groups: bool) -> None:
    for seed in range(4):
        theirs = relaxed("pydrake", seed, with_groups)
        mine = relaxed("merganser", seed, with_groups)
        assert mine[2:] == theirs[2:]
        assert mine[0] == pytest.approx(theirs[0], abs=1e-5)


def least_reach(root: str, num_joints: int) -> tuple[float, int, int]:
    """The least of a linear function of where the last link of a planar arm is, and the size of the program."""
    lib = importlib.import_module(f"{root}.all")
    ik = importlib.import_module(f"{root}.multibody.inverse_kinematics")
    plant = lib.MultibodyPlant(0.0)
    inertia = lib.SpatialInertia.SolidBoxWithMass(1.0, 0.1, 0.1, 0.1)
    parent = plant.AddRigidBody("base", inertia)
    plant.WeldFrames(plant.world_frame(), parent.body_frame())
    for k in range(num_joints):
        body = plant.AddRigidBody(f"link{k}", inertia)
        X_PF = lib.RigidTransform([0.5 if k else 0.0, 0.0, 0.0])
        frame = plant.AddFrame(lib.FixedOffsetFrame(f"end{k}", parent.body_frame(), X_PF))
        plant.AddJoint(lib.RevoluteJoint(f"joint{k}", frame, body.body_frame(), [0, 0, 1], -2.0, 2.0))
        parent = body
    plant.Finalize()
    options = ik.GlobalInverseKinematics.Options()
    options.num_intervals_per_half_axis = 1
    options.linear_constraint_only = True
    problem = ik.GlobalInverseKinematics(plant, options)
    last = parent.index()
    problem.AddWorldPositionConstraint(last, [0.5, 0.0, 0.0], [0.2, -0.6, -0.1], [1.0, 0.3, 0.1])
    prog = problem.get_mutable_prog()
    prog.AddLinearCost(np.array([1.0, 2.0, 3.0]), 0.0, problem.body_rotation_matrix(last)[0])
    prog.AddLinearCost(np.array([1.0, 2.0, 3.0]), 0.0, problem.body_position(last))
    binary = sum(each.get_type().name == "BINARY" for each in prog.decision_variables())
    if root == "merganser":
        return lib.Solve(prog).get_optimal_cost(), prog.num_vars(), binary
    search = lib.MixedIntegerBranchAndBound(prog, lib.ClpSolver().solver_id())
    search.Solve()
    return search.GetOptimalCost(), prog.num_vars(), binary


@pytest.mark.parametrize("num_joints", [1, 2])
def test_least_costs_of_relaxed_postures_are_those_of_pydrake(num_joints: int) -> None:
    theirs, mine = least_reach("pydrake", num_joints), least_reach("merganser", num_joints)
    assert mine[1] == theirs[1]
    assert mine[0] == pytest.approx(theirs[0], abs=1e-6)
