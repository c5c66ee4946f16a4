"""Rows about programs: quadratic ones beside raw solvers, what is added to them, polynomials, motions of an arm."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from libraries import MODELS, Call, Library, Row, load

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


def other_quadratic_programs(solvers: Any, size: int) -> Call:
    """The same program with other slopes and bounds at each call."""
    Q, b, A = _quadratic_data(size)
    prog = solvers.MathematicalProgram()
    x = prog.NewContinuousVariables(size)
    cost = prog.AddQuadraticCost(Q, b, x).evaluator()
    rows = prog.AddLinearConstraint(A, -np.ones(len(A)), np.ones(len(A)), x).evaluator()
    prog.AddBoundingBoxConstraint(-1.0, 1.0, x)
    limits = -np.ones(len(A)), np.ones(len(A))

    def call() -> Any:
        cost.UpdateCoefficients(Q, b, 0.0, True)
        rows.UpdateCoefficients(A, *limits)
        return solvers.Solve(prog).get_x_val()

    return call


def lorentz_cones(solvers: Any) -> Call:
    """Solve a program of ten variables in a box with three Lorentz cones again."""
    rng, prog = np.random.default_rng(0), solvers.MathematicalProgram()
    x = prog.NewContinuousVariables(10)
    for _ in range(3):
        F, b = rng.normal(size=(4, 10)), rng.normal(size=4)
        prog.AddLorentzConeConstraint(F, b + [6.0, 0.0, 0.0, 0.0], x)
    prog.AddBoundingBoxConstraint(-1.0, 1.0, x)
    prog.AddLinearCost(rng.normal(size=10), x)
    return lambda: solvers.Solve(prog).get_optimal_cost()


def semidefinite_matrix(solvers: Any) -> Call:
    """Solve a program of a matrix of 5 x 5 with three equations again."""
    rng, prog = np.random.default_rng(0), solvers.MathematicalProgram()
    X, lower = prog.NewSymmetricContinuousVariables(5), np.tril_indices(5)
    prog.AddPositiveSemidefiniteConstraint(X)
    twice = np.where(lower[0] == lower[1], 1.0, 2.0)
    root, parts = rng.normal(size=(5, 5)), rng.normal(size=(3, 5, 5))
    for part in parts + parts.transpose(0, 2, 1):
        prog.AddLinearEqualityConstraint((twice * part[lower])[np.newaxis], [np.trace(part)], X[lower])
    prog.AddLinearCost(twice * (root @ root.T)[lower], 0.0, X[lower])
    return lambda: solvers.Solve(prog).get_optimal_cost()


def raw_small_quadratic_program(size: int) -> Call:
    """The same by DAQP alone, from its matrices."""
    import daqp

    Q, b, A = _quadratic_data(size)
    ones, sense = np.ones(size + len(A)), np.zeros(size + len(A), np.intc)
    return lambda: daqp.solve(Q, b, A, ones, -ones, sense)[0]


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


def added_formulas(solvers: Any) -> Call:
    """Write 1000 inequalities of two variables, and add them to a new program."""

    def call() -> float:
        prog = solvers.MathematicalProgram()
        x = prog.NewContinuousVariables(10)
        for i in range(1000):
            prog.AddLinearConstraint(x[i % 10] + 2.0 * x[(i + 1) % 10] <= i + 1.0)
        return float(len(prog.linear_constraints()))

    return call


def added_expressions(solvers: Any) -> Call:
    """Write 1000 quadratic expressions, and add them to a new program as costs."""

    def call() -> float:
        prog = solvers.MathematicalProgram()
        x = prog.NewContinuousVariables(10)
        for i in range(1000):
            prog.AddCost(x[i % 10] ** 2 + 2.0 * x[(i + 1) % 10] * x[i % 10] + 3.0 * x[(i + 2) % 10])
        return float(len(prog.quadratic_costs()))

    return call


def evaluated_polynomial(symbolic: Any) -> Call:
    """Evaluate a polynomial of three variables."""
    x, y, z = (symbolic.Variable(name) for name in "xyz")
    polynomial, env = symbolic.Polynomial(x**2 * y + 3.0 * x * y + z**3 + 4.0), {x: 1.0, y: 2.0, z: 3.0}
    return lambda: float(polynomial.Evaluate(env))


def sums_of_squares(solvers: Any) -> Call:
    """Ask for ten polynomials of three variables, of degree 4, to be sums of squares."""

    def call() -> float:
        prog = solvers.MathematicalProgram()
        (x, y, z), a = prog.NewIndeterminates(3), prog.NewContinuousVariables(2)
        for i in range(10):
            prog.AddSosConstraint((x**2 + y**2 + x * y + z**2 + 1.0 + i) ** 2 + a[0] * y**2 + a[1] * z**2)
        return float(len(prog.linear_equality_constraints()))

    return call


def _arm(library: Library) -> Any:
    plant = library.plant.MultibodyPlant(0.0)
    load(library, plant, _ARM)
    plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("iiwa_link_0"))
    plant.Finalize()
    return plant


def differential_kinematics(library: Library, kinematics: Any) -> Call:
    """Find the velocities of an arm for one of its hand, within limits of positions, velocities and accelerations."""
    plant = _arm(library)
    context, hand = plant.CreateDefaultContext(), plant.GetFrameByName("iiwa_link_7")
    plant.SetPositions(context, [0.1, 0.5, -0.2, -1.2, 0.3, 0.8, 0.1])
    wishes = kinematics.DifferentialInverseKinematicsParameters(7, 7)
    wishes.set_time_step(0.01)
    wishes.set_joint_centering_gain(np.eye(7))
    wishes.set_joint_position_limits((plant.GetPositionLowerLimits(), plant.GetPositionUpperLimits()))
    wishes.set_joint_velocity_limits((-np.ones(7), np.ones(7)))
    wishes.set_joint_acceleration_limits((-100.0 * np.ones(7), 100.0 * np.ones(7)))
    V_WE, do = np.array([0.1, 0.2, -0.1, 0.1, 0.05, 0.3]), kinematics.DoDifferentialInverseKinematics
    return lambda: do(plant, context, V_WE, hand, wishes).joint_velocities


def postures(library: Library, kinematics: Any, solve: Any) -> Call:
    """Find twenty poses that an arm can take, from the middle of its limits; how many are found is returned."""
    plant = _arm(library)
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
    """All rows; the reference of the first ones is a solver itself."""
    mine = importlib.import_module("merganser.framework.optimization")
    for what, problem in (("", quadratic_program), (", other numbers", other_quadratic_programs)):
        name = f"quadratic program of 7 variables{what}, beside raw DAQP"
        make, raw = functools.partial(problem, mine, 7), functools.partial(raw_small_quadratic_program, 7)
        yield Row(name, make, raw, 1000, tolerance=1e-6)
    for size, calls in ((10, 50), (320, 1)):
        name = f"quadratic program of {size} variables, beside raw Clarabel"
        make, raw = functools.partial(quadratic_program, mine, size), functools.partial(raw_quadratic_program, size)
        yield Row(name, make, raw, calls, tolerance=1e-6)
    drake = None if theirs is None else importlib.import_module("pydrake.solvers")
    for what, problem in (("", quadratic_program), (", other numbers", other_quadratic_programs)):
        make = functools.partial(problem, mine, 7)
        peer = None if drake is None else functools.partial(problem, drake, 7)
        yield Row(f"quadratic program of 7 variables{what}", make, peer, 1000, tolerance=1e-6)
    for name, make, calls in (
        ("ten variables in three Lorentz cones, solved again", lorentz_cones, 100),
        ("a semidefinite matrix of 5 x 5, solved again", semidefinite_matrix, 100),
    ):
        peer = None if drake is None else functools.partial(make, drake)
        yield Row(name, functools.partial(make, mine), peer, calls, tolerance=1e-5)
    for name, make in (
        ("1000 linear constraints are added", added_constraints),
        ("1000 inequalities are written and added", added_formulas),
        ("1000 quadratic costs are written and added", added_expressions),
        ("10 sums of squares are asked for", sums_of_squares),
    ):
        yield Row(name, functools.partial(make, mine), None if drake is None else functools.partial(make, drake), 1)
    symbols = importlib.import_module("merganser.framework.symbolic")
    other = (
        None if theirs is None else functools.partial(evaluated_polynomial, importlib.import_module("pydrake.symbolic"))
    )
    yield Row("a polynomial of four terms", functools.partial(evaluated_polynomial, symbols), other, 1000)
    if not _ARM.exists():
        return
    kinematics = importlib.import_module("merganser.multibody.inverse_kinematics")
    find = functools.partial(postures, ours, kinematics, mine.Solve)
    other = move = None
    if theirs is not None and drake is not None:
        snopt, peers = drake.SnoptSolver(), importlib.import_module("pydrake.multibody.inverse_kinematics")
        other = functools.partial(postures, theirs, peers, snopt.Solve)
        move = functools.partial(differential_kinematics, theirs, peers)
    name = "iiwa14: DoDifferentialInverseKinematics"
    yield Row(name, functools.partial(differential_kinematics, ours, kinematics), move, 500, tolerance=1e-6)
    # SNOPT finds some of them only: how many is not compared.
    yield Row("iiwa14: 20 postures", find, other, 1, compared=_nothing, theirs_compared=_nothing)


def _nothing(found: Any) -> float:
    return 0.0
