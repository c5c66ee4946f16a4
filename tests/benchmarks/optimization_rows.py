"""Rows about programs: quadratic ones beside raw solvers, what is added to them, polynomials, postures and motions."""

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


def linear_program(solvers: Any) -> Call:
    """Solve a linear program of ten variables and twenty rows again."""
    rng, prog = np.random.default_rng(0), solvers.MathematicalProgram()
    x = prog.NewContinuousVariables(10)
    prog.AddLinearConstraint(rng.normal(size=(20, 10)), np.full(20, -np.inf), np.ones(20), x)
    prog.AddBoundingBoxConstraint(-1.0, 1.0, x)
    prog.AddLinearCost(rng.normal(size=10), x)
    return lambda: solvers.Solve(prog).get_optimal_cost()


def made_cone(solvers: Any) -> Call:
    """Make a program of three variables in a Lorentz cone, with two equations, and solve it."""

    def call() -> float:
        prog = solvers.MathematicalProgram()
        x = prog.NewContinuousVariables(3)
        prog.AddLorentzConeConstraint(np.eye(3), np.zeros(3), x)
        prog.AddLinearEqualityConstraint(np.eye(3)[1:], np.array([3.0, 4.0]), x)
        prog.AddLinearCost(np.eye(3)[0], x)
        return float(solvers.Solve(prog).get_optimal_cost())

    return call


def added_functions(solvers: Any) -> Call:
    """Add 1000 constraints by functions of ten variables to a new program."""

    def call() -> float:
        prog = solvers.MathematicalProgram()
        x = prog.NewContinuousVariables(10)
        for _ in range(1000):
            prog.AddConstraint(lambda z: [z[0]], lb=[0.0], ub=[1.0], vars=x)
        return float(len(prog.generic_constraints()))

    return call


def functions_of_two(solvers: Any) -> Call:
    """Find the least of Rosenbrock's function in a disc, both given as functions of Python."""
    prog = solvers.MathematicalProgram()
    x = prog.NewContinuousVariables(2)
    prog.AddCost(lambda z: (1.0 - z[0]) ** 2 + 100.0 * (z[1] - z[0] ** 2) ** 2, vars=x)
    prog.AddConstraint(lambda z: [z[0] ** 2 + z[1] ** 2], lb=[-np.inf], ub=[1.5], vars=x)
    return lambda: solvers.Solve(prog, [-1.2, 1.0]).get_optimal_cost()


def swing_by_functions(solvers: Any) -> Call:
    """Swing up a pendulum in twenty steps, each a constraint by a function of Python."""
    prog, num_steps, h = solvers.MathematicalProgram(), 19, 0.1
    x, u = prog.NewContinuousVariables(num_steps + 1, 2, "x"), prog.NewContinuousVariables(num_steps, "u")

    def step(z: Any) -> Any:
        angle, speed, next_angle, next_speed, effort = z
        acceleration = effort - 0.1 * speed - 9.81 * np.sin(angle)
        return [next_angle - angle - h * next_speed, next_speed - speed - h * acceleration]

    for k in range(num_steps):
        prog.AddConstraint(step, lb=[0.0, 0.0], ub=[0.0, 0.0], vars=[*x[k], *x[k + 1], u[k]])
    prog.AddQuadraticCost(2.0 * np.eye(num_steps), np.zeros(num_steps), u)
    for state, value in ((x[0], [0.0, 0.0]), (x[-1], [np.pi, 0.0])):
        prog.AddBoundingBoxConstraint(value, value, state)
    prog.AddBoundingBoxConstraint(-8.0, 8.0, u)
    guess = np.concatenate((np.linspace(0.0, np.pi, num_steps + 1), np.zeros(2 * num_steps + 1)))
    prog.SetInitialGuess(np.concatenate((x[:, 0], x[:, 1], u)), guess)
    return lambda: solvers.Solve(prog).get_optimal_cost()


def reach_by_function(library: Library, solvers: Any, autodiff: Any) -> Call:
    """Find ten postures near a wished one whose hand is at a point, a constraint by a function that calls a plant."""
    plant = _arm(library)
    derivatives = plant.ToAutoDiffXd()
    contexts = {each: each.CreateDefaultContext() for each in (plant, derivatives)}
    lower, upper, rng = plant.GetPositionLowerLimits(), plant.GetPositionUpperLimits(), np.random.default_rng(0)

    def hand(q: Any) -> Any:
        own = derivatives if isinstance(q[0], autodiff.AutoDiffXd) else plant
        own.SetPositions(contexts[own], q)
        return own.CalcPointsPositions(
            contexts[own], own.GetFrameByName("iiwa_link_7"), [0.0, 0.0, 0.1], own.world_frame()
        ).ravel()

    programs = []
    for _ in range(10):
        prog = solvers.MathematicalProgram()
        q, p = prog.NewContinuousVariables(7), hand(rng.uniform(lower, upper) / 2.0)
        prog.AddBoundingBoxConstraint(lower, upper, q)
        prog.AddConstraint(hand, lb=p - 1e-4, ub=p + 1e-4, vars=q)
        prog.AddQuadraticErrorCost(np.eye(7), rng.uniform(lower, upper) / 2.0, q)
        prog.SetInitialGuess(q, rng.uniform(lower, upper) / 2.0)
        programs.append(prog)
    return lambda: float(sum(solvers.Solve(prog).is_success() for prog in programs))


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


def postures(library: Library, kinematics: Any, solver: Any, has_pose: bool, has_cost: bool) -> Call:
    """Find postures for 60 poses, or positions, that an arm can take, from far guesses, where SNOPT has up to ten.

    With a cost they are to be near the guesses. How many are found is returned.
    """
    plant = _arm(library)
    context, rng = plant.CreateDefaultContext(), np.random.default_rng(1)
    hand, world = plant.GetFrameByName("iiwa_link_7"), plant.world_frame()
    lower, upper = plant.GetPositionLowerLimits(), plant.GetPositionUpperLimits()
    programs = []
    for _ in range(60):
        plant.SetPositions(context, rng.uniform(lower, upper))
        X, guesses = plant.EvalBodyPoseInWorld(context, hand.body()), rng.uniform(lower, upper, (10, len(lower)))
        problem = kinematics.InverseKinematics(plant)
        p = X.translation()
        problem.AddPositionConstraint(hand, np.zeros(3), world, p - 1e-4, p + 1e-4)
        if has_pose:
            problem.AddOrientationConstraint(world, X.rotation(), hand, type(X.rotation())(), 1e-3)
        if has_cost:
            problem.prog().AddQuadraticErrorCost(np.eye(len(lower)), guesses[0], problem.q())
        programs.append((problem, guesses))

    def is_found(problem: Any, guesses: Any) -> bool:
        return any(solver.Solve(problem.prog(), guess).is_success() for guess in guesses)

    return lambda: float(sum(is_found(*each) for each in programs))


def _motion_program(library: Library, collocation: Any, name: str, num_samples: int, has_cost: bool) -> Any:
    """A swing-up by collocation from a straight line, with efforts within limits."""
    plant = library.plant.MultibodyPlant(0.0)
    library.parsing.Parser(plant).AddModelsFromString(_LINKS[name], "urdf")
    plant.Finalize()
    size, bound = 2 * plant.num_positions(), {"pendulum": 3.0, "cart-pole": 300.0, "acrobot": 10.0}[name]
    start, end = np.zeros(size), np.zeros(size)
    end[0 if name != "cart-pole" else 1] = np.pi
    steps = (0.05, 0.2) if num_samples < 50 else (0.02, 0.1)
    port = plant.get_actuation_input_port().get_index()
    motion = collocation.DirectCollocation(plant, plant.CreateDefaultContext(), num_samples, *steps, port)
    motion.AddEqualTimeIntervalsConstraints()
    motion.prog().AddBoundingBoxConstraint(start, start, motion.initial_state())
    motion.prog().AddBoundingBoxConstraint(end, end, motion.final_state())
    effort = motion.input()[0]
    motion.AddConstraintToAllKnotPoints(effort <= bound)
    motion.AddConstraintToAllKnotPoints(effort >= -bound)
    if has_cost:
        motion.AddRunningCost(10.0 * effort**2)
    trajectories = importlib.import_module(
        "pydrake.trajectories" if "pydrake" in collocation.__name__ else "merganser.framework.trajectories"
    )
    line = trajectories.PiecewisePolynomial.FirstOrderHold([0.0, 3.0], np.column_stack((start, end)))
    motion.SetInitialTrajectory(trajectories.PiecewisePolynomial(), line)
    return motion.prog()


def motion(library: Library, collocation: Any, solve: Any, *given: Any) -> Call:
    """Solve a swing-up."""
    program = _motion_program(library, collocation, *given)
    return lambda: solve(program).get_optimal_cost()


def made_motion(library: Library, collocation: Any, *given: Any) -> Call:
    """Make the program of a swing-up, its plant included."""
    return lambda: float(_motion_program(library, collocation, *given).num_vars())


def spline(planning: Any, solve: Any) -> Call:
    """Find a spline of ten points for seven joints, within velocities and accelerations, from rest to rest."""
    motion, rng, ones = planning.KinematicTrajectoryOptimization(7, 10), np.random.default_rng(1), np.ones(7)
    motion.AddDurationCost(1.0)
    motion.AddPathLengthCost(1.0)
    motion.AddPositionBounds(-2.9 * ones, 2.9 * ones)
    motion.AddVelocityBounds(-1.5 * ones, 1.5 * ones)
    motion.AddAccelerationBounds(-5.0 * ones, 5.0 * ones)
    motion.AddDurationConstraint(0.5, 50.0)
    for s in (0, 1):
        place = rng.uniform(-1.5, 1.5, 7)
        motion.AddPathPositionConstraint(place, place, s)
        motion.AddPathVelocityConstraint(0.0 * ones, 0.0 * ones, s)
    return lambda: solve(motion.prog()).get_optimal_cost()


def _link(name: str, mass: float, center: float, inertia: float) -> str:
    rotational = f'ixx="{inertia}" iyy="{inertia}" izz="{min(inertia, 0.01)}" ixy="0" ixz="0" iyz="0"'
    return (
        f'<link name="{name}"><inertial><origin xyz="0 0 {-center}"/><mass value="{mass}"/>'
        f"<inertia {rotational}/></inertial></link>"
    )


def _joint(kind: str, name: str, parent: str, child: str, axis: str, length: float = 0.0) -> str:
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="0 0 {-length}"/><axis xyz="{axis}"/><limit lower="-1e30" upper="1e30" effort="1e4"/>'
        '<dynamics damping="0.1"/></joint>'
    )


def _robot(parts: list[str], driven: str) -> str:
    motor = f'<transmission name="t"><type>SimpleTransmission</type><actuator name="a"/><joint name="{driven}"/>'
    return f'<robot name="robot"><link name="world"/>{"".join(parts)}{motor}</transmission></robot>'


_LINKS = {
    "pendulum": _robot([_link("arm", 1.0, 0.5, 0.01), _joint("continuous", "hinge", "world", "arm", "0 1 0")], "hinge"),
    "cart-pole": _robot(
        [_link("cart", 10.0, 0.0, 1.0), _joint("prismatic", "slide", "world", "cart", "1 0 0"),
         _link("pole", 1.0, 0.5, 0.001), _joint("continuous", "hinge", "cart", "pole", "0 1 0")], "slide",
    ),
    "acrobot": _robot(
        [_link("upper", 1.0, 0.5, 0.083), _joint("continuous", "shoulder", "world", "upper", "0 1 0"),
         _link("lower", 1.0, 1.0, 0.33), _joint("continuous", "elbow", "upper", "lower", "0 1 0", 1.0)], "elbow",
    ),
}  # fmt: skip


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
        ("a linear program of 10 variables and 20 rows, solved again", linear_program, 1000),
        ("ten variables in three Lorentz cones, solved again", lorentz_cones, 100),
        ("three variables in a Lorentz cone, made and solved", made_cone, 100),
        ("a semidefinite matrix of 5 x 5, solved again", semidefinite_matrix, 100),
    ):
        peer = None if drake is None else functools.partial(make, drake)
        yield Row(name, functools.partial(make, mine), peer, calls, tolerance=1e-5)
    for name, make in (
        ("1000 linear constraints are added", added_constraints),
        ("1000 inequalities are written and added", added_formulas),
        ("1000 quadratic costs are written and added", added_expressions),
        ("1000 constraints by functions are added", added_functions),
        ("10 sums of squares are asked for", sums_of_squares),
    ):
        yield Row(name, functools.partial(make, mine), None if drake is None else functools.partial(make, drake), 1)
    for name, make, calls in (
        ("a cost and a constraint of 2 variables, by functions", functions_of_two, 10),
        ("a swing-up of 20 points, by functions", swing_by_functions, 3),
    ):
        peer = None if drake is None else functools.partial(make, drake)
        yield Row(name, functools.partial(make, mine), peer, calls, tolerance=1e-4)
    symbols = importlib.import_module("merganser.framework.symbolic")
    other = (
        None if theirs is None else functools.partial(evaluated_polynomial, importlib.import_module("pydrake.symbolic"))
    )
    yield Row("a polynomial of four terms", functools.partial(evaluated_polynomial, symbols), other, 1000)
    if not _ARM.exists():
        return
    kinematics = importlib.import_module("merganser.multibody.inverse_kinematics")
    move = peers = None
    if theirs is not None and drake is not None:
        peers = importlib.import_module("pydrake.multibody.inverse_kinematics")
        move = functools.partial(differential_kinematics, theirs, peers)
    autodiff = importlib.import_module("merganser.framework.autodiff")
    other = (
        None if theirs is None
        else functools.partial(reach_by_function, theirs, drake, importlib.import_module("pydrake.autodiffutils"))
    )  # fmt: skip
    yield Row("iiwa14: 10 postures, by functions", functools.partial(reach_by_function, ours, mine, autodiff), other, 1)
    name = "iiwa14: DoDifferentialInverseKinematics"
    yield Row(name, functools.partial(differential_kinematics, ours, kinematics), move, 500, tolerance=1e-6)
    snopt = None if drake is None else drake.SnoptSolver()
    for what, *given in (
        ("poses", True, False), ("poses, near a posture", True, True), ("positions", False, False),
        ("positions, near a posture", False, True),
    ):  # fmt: skip
        find = functools.partial(postures, ours, kinematics, mine.SnoptSolver(), *given)
        other = None if peers is None else functools.partial(postures, theirs, peers, snopt, *given)
        # SNOPT finds some of them only: how many is not compared.
        yield Row(f"iiwa14: 60 {what}, from far", find, other, 1, compared=_nothing, theirs_compared=_nothing)
    yield from motion_rows(ours, theirs, mine, drake)


def motion_rows(ours: Library, theirs: Library | None, mine: Any, drake: Any) -> Iterator[Row]:
    """Motions by collocation and as splines, whose local optima are not compared."""
    collocation = importlib.import_module("merganser.analysis.trajectory_optimization")
    planning = None if drake is None else importlib.import_module("pydrake.planning")
    for name, *given in (("pendulum", 21, True), ("cart-pole", 21, True), ("acrobot", 21, True), ("acrobot", 81, True)):
        make = functools.partial(motion, ours, collocation, mine.Solve, name, *given)
        peer = None if drake is None else functools.partial(motion, theirs, planning, drake.Solve, name, *given)
        title = f"{name}: a swing-up of {given[0]} break points"
        yield Row(title, make, peer, 1, compared=_nothing, theirs_compared=_nothing)
    # Without a cost pydrake takes minutes for a cart-pole of 81 points.
    make = functools.partial(motion, ours, collocation, mine.Solve, "cart-pole", 81, False)
    yield Row("cart-pole: a motion of 81 break points without a cost", make, None, 1)
    for num_samples in (21, 81):
        make = functools.partial(made_motion, ours, collocation, "acrobot", num_samples, True)
        peer = None if drake is None else functools.partial(made_motion, theirs, planning, "acrobot", num_samples, True)
        yield Row(f"acrobot: a program of {num_samples} break points is made", make, peer, 1)
    mine_planning = importlib.import_module("merganser.multibody.planning")
    peer = None if drake is None else functools.partial(spline, planning, drake.Solve)
    make = functools.partial(spline, mine_planning, mine.Solve)
    yield Row("a spline of 10 points for 7 joints", make, peer, 1, tolerance=1e-5)


def _nothing(found: Any) -> float:
    return 0.0
