"""Rows about programs: quadratic ones beside raw Clarabel, constraints that are added, and postures of an arm."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from libraries import MODELS, Call, Library, Row

_ARM = MODELS / "iiwa_description" / "urdf" / "iiwa14_no_collision.urdf"


def _quadratic_data(size: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    root = rng.normal(size=(size, size))
    return root @ root.T / size + np.eye(size), rng.normal(size=size), rng.normal(size=(size // 2, size))


def quadratic_program(solvers: Any, size: int) -> Call:
    """Solve a dense quadratic program with rows of two sides and a box."""
    Q, b, A = _quadratic_data(size)
    prog = solvers.MathematicalProgram()
    x = prog.NewContinuousVariables(size)
    prog.AddQuadraticCost(Q, b, x)
    prog.AddLinearConstraint(A, -np.ones(len(A)), np.ones(len(A)), x)
    prog.AddBoundingBoxConstraint(-1.0, 1.0, x)
    return lambda: solvers.Solve(prog).get_x_val()


def raw_quadratic_program(size: int) -> Call:
    """The same by Clarabel alone, from its matrices."""
    import clarabel
    from scipy.sparse import csc_matrix

    Q, b, A = _quadratic_data(size)
    P, G = csc_matrix(np.triu(Q)), csc_matrix(np.vstack((A, -A, np.eye(size), -np.eye(size))))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    cones = [clarabel.NonnegativeConeT(G.shape[0])]
    return lambda: np.array(clarabel.DefaultSolver(P, b, G, np.ones(G.shape[0]), cones, settings).solve().x)


def added_constraints(solvers: Any) -> Call:
    """Add 1000 linear constraints of three rows and ten variables to a new program."""
    A = np.random.default_rng(0).normal(size=(3, 10))
    low, high = -np.ones(3), np.ones(3)

    def call() -> float:
        prog = solvers.MathematicalProgram()
        x = prog.NewContinuousVariables(10)
        for _ in range(1000):
            prog.AddLinearConstraint(A, low, high, x)
        return float(len(prog.linear_constraints()))

    return call


def postures(library: Library, kinematics: Any, solve: Any) -> Call:
    """Find twenty poses that an arm can take, from the middle of its limits; how many are found is returned."""
    plant = library.plant.MultibodyPlant(0.0)
    parser = library.parsing.Parser(plant)
    if parser.package_map().Contains("drake_models"):
        parser.package_map().Remove("drake_models")
    parser.package_map().Add("drake_models", str(MODELS))
    parser.AddModels(str(_ARM))
    plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("iiwa_link_0"))
    plant.Finalize()
    context, rng = plant.CreateDefaultContext(), np.random.default_rng(0)
    hand, world = plant.GetFrameByName("iiwa_link_7"), plant.world_frame()
    programs = []
    for _ in range(20):
        plant.SetPositions(context, rng.uniform(plant.GetPositionLowerLimits(), plant.GetPositionUpperLimits()))
        X = plant.EvalBodyPoseInWorld(context, plant.GetBodyByName("iiwa_link_7"))
        problem = kinematics.InverseKinematics(plant)
        p = X.translation()
        problem.AddPositionConstraint(hand, np.zeros(3), world, p - 1e-4, p + 1e-4)
        problem.AddOrientationConstraint(world, X.rotation(), hand, type(X.rotation())(), 1e-3)
        programs.append(problem)
    return lambda: float(sum(solve(each.prog(), np.zeros(7)).is_success() for each in programs))


def rows(ours: Library, theirs: Library | None) -> Iterator[Row]:
    """All rows; the reference of the first two is Clarabel itself."""
    mine = importlib.import_module("merganser.framework.optimization")
    for size, calls in ((10, 50), (320, 1)):
        name = f"quadratic program of {size} variables, beside raw Clarabel"
        make, raw = functools.partial(quadratic_program, mine, size), functools.partial(raw_quadratic_program, size)
        yield Row(name, make, raw, calls, tolerance=1e-6)
    drake = None if theirs is None else importlib.import_module("pydrake.solvers")
    reference = None if drake is None else functools.partial(added_constraints, drake)
    yield Row("1000 linear constraints are added", functools.partial(added_constraints, mine), reference, 1)
    if not _ARM.exists():
        return
    kinematics = importlib.import_module("merganser.multibody.inverse_kinematics")
    find = functools.partial(postures, ours, kinematics, mine.Solve)
    other = None
    if theirs is not None and drake is not None:
        snopt = drake.SnoptSolver()
        other = functools.partial(
            postures, theirs, importlib.import_module("pydrake.multibody.inverse_kinematics"), snopt.Solve
        )
    # SNOPT finds some of them only: how many is not compared.
    yield Row("iiwa14: 20 postures", find, other, 1, compared=_nothing, theirs_compared=_nothing)


def _nothing(found: Any) -> float:
    return 0.0
