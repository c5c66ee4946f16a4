"""Rows about the plant, through the public functions."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from libraries import ROOT, Call, Library, Row, load, merganser_library
from robots import Robot, available_robots, build_plant, chain

CART_POLE = ROOT / "examples" / "models" / "cart_pole.sdf"
_STATES = 64
# What robot_calls() computes; the first work of a row is to set a new state.
_WORK = (
    "pose of a link",
    "spatial Jacobian",
    "centre of mass Jacobian",
    "mass matrix",
    "bias term",
    "bias acceleration",
    "inverse dynamics",
    "forward dynamics",
)


@functools.cache
def random_states(robot: Robot) -> list[Any]:
    """States that differ, so that nothing is cached; a quaternion is of unit length, joints are within their limits."""
    states = np.random.default_rng(1).uniform(-1.0, 1.0, (_STATES, robot.num_positions + robot.num_velocities))
    plant = build_plant(merganser_library(), robot)
    limits = np.array([plant.GetPositionLowerLimits(), plant.GetPositionUpperLimits()])
    middle, half = limits.sum(axis=0) / 2.0, np.minimum(0.45 * (limits[1] - limits[0]), 1.0)
    q = states[:, : robot.num_positions]
    q[:] = np.where(np.isfinite(limits).all(axis=0), middle + half * q, q)
    if robot.num_positions > robot.num_velocities:
        states[:, :4] /= np.linalg.norm(states[:, :4], axis=1)[:, None]
    return list(states)


@functools.cache
def robot_calls(library: Library, robot: Robot) -> dict[str, Call]:
    """Set a new state and compute, by the names in _WORK."""
    plant = build_plant(library, robot)
    context = plant.CreateDefaultContext()
    plant.get_actuation_input_port().FixValue(context, np.zeros(plant.num_actuators()))
    forces = library.tree.MultibodyForces(plant)
    vdot = np.random.default_rng(2).uniform(-1.0, 1.0, robot.num_velocities)
    world, tip = plant.world_frame(), plant.GetFrameByName(robot.tip)
    wrt_v = library.tree.JacobianWrtVariable.kV
    p_BoBp_B = np.array([0.1, 0.2, 0.3])

    def with_positions(compute: Call) -> Call:
        positions = itertools.cycle([state[: robot.num_positions].copy() for state in random_states(robot)])

        def call() -> Any:
            plant.SetPositions(context, next(positions))
            return compute()

        return call

    def with_state(compute: Call) -> Call:
        states = itertools.cycle(random_states(robot))

        def call() -> Any:
            plant.SetPositionsAndVelocities(context, next(states))
            return compute()

        return call

    calls = (
        with_positions(lambda: plant.EvalBodyPoseInWorld(context, tip.body()).translation()),
        with_positions(lambda: plant.CalcJacobianSpatialVelocity(context, wrt_v, tip, p_BoBp_B, world, world)),
        with_positions(lambda: plant.CalcJacobianCenterOfMassTranslationalVelocity(context, wrt_v, world, world)),
        with_positions(lambda: plant.CalcMassMatrix(context)),
        with_state(lambda: plant.CalcBiasTerm(context)),
        with_state(lambda: plant.CalcBiasTranslationalAcceleration(context, wrt_v, tip, p_BoBp_B, world, world)),
        with_state(lambda: plant.CalcInverseDynamics(context, vdot, forces)),
        with_state(lambda: plant.EvalTimeDerivatives(context).CopyToVector()),
    )
    return dict(zip(_WORK, calls, strict=True))


# -- gradients -----------------------------------------------------------------------------------------------


def autodiff_calls(library: Library, robot: Robot, is_ours: bool) -> dict[str, Call]:
    """Dynamics with derivatives by the whole state, of a plant of AutoDiffXd."""
    if is_ours:
        from merganser.framework.autodiff import AutoDiffXd, InitializeAutoDiff
    else:
        from pydrake.autodiffutils import AutoDiffXd, InitializeAutoDiff
    plant = build_plant(library, robot).ToAutoDiffXd()
    context = plant.CreateDefaultContext()
    plant.get_actuation_input_port().FixValue(context, [AutoDiffXd(0.0)] * plant.num_actuators())
    forces = library.tree.MultibodyForces_[AutoDiffXd](plant)
    states = [InitializeAutoDiff(state).ravel() for state in random_states(robot)[:8]]
    vdot = np.array([AutoDiffXd(a) for a in np.random.default_rng(2).uniform(-1.0, 1.0, robot.num_velocities)])
    positions = [InitializeAutoDiff(state[: robot.num_positions]).ravel() for state in random_states(robot)[:8]]
    world, tip, point = plant.world_frame(), plant.GetFrameByName(robot.tip), np.array([0.1, 0.2, 0.3])
    by_v = library.tree.JacobianWrtVariable.kV

    def with_new(set_state: Any, states: list[Any], compute: Call) -> Call:
        cycle = itertools.cycle(states)

        def call() -> Any:
            set_state(context, next(cycle))
            return _gradient(compute())

        return call

    by_state = functools.partial(with_new, plant.SetPositionsAndVelocities, states)
    by_positions = functools.partial(with_new, plant.SetPositions, positions)
    return {
        "inverse dynamics": by_state(lambda: plant.CalcInverseDynamics(context, vdot, forces)),
        "forward dynamics": by_state(lambda: plant.EvalTimeDerivatives(context).CopyToVector()[robot.num_positions :]),
        "one point by q": by_positions(lambda: plant.CalcPointsPositions(context, tip, point, world)),
        "centre of mass by q": by_positions(lambda: plant.CalcCenterOfMassPositionInWorld(context)),
        "spatial Jacobian by q": by_positions(
            lambda: plant.CalcJacobianSpatialVelocity(context, by_v, tip, point, world, world)
        ),
        "mass matrix by q": by_positions(lambda: plant.CalcMassMatrix(context)),
    }


def _gradient(quantity: Any) -> Any:
    """All derivatives; those of constants, which may be left out, are zeros."""
    derivatives = [element.derivatives() for element in np.ravel(quantity)]
    zeros = np.zeros(max(map(len, derivatives)))
    return np.array([each if len(each) else zeros for each in derivatives])


def closed_forms(library: Library, robot: Robot) -> dict[str, Call]:
    """These derivatives in closed form, of a plant of floats."""
    from merganser.multibody.algorithms import forward_dynamics_derivatives, inverse_dynamics_derivatives

    plant = build_plant(library, robot)
    context, weightless = plant.CreateDefaultContext(), plant.CreateDefaultContext()
    plant.gravity_field().SetGravityVector(weightless, [0.0, 0.0, 0.0])  # inverse dynamics leaves gravity out
    vdot = np.random.default_rng(2).uniform(-1.0, 1.0, robot.num_velocities)
    for index in plant.GetJointIndices():  # and damping
        joint = plant.get_joint(index)
        joint.SetDampingVector(weightless, np.zeros(joint.num_velocities()))
    first, second = itertools.cycle(random_states(robot)[:8]), itertools.cycle(random_states(robot)[:8])

    def inverse_dynamics() -> Any:
        plant.SetPositionsAndVelocities(weightless, next(first))
        return inverse_dynamics_derivatives(plant, weightless, vdot)

    def forward_dynamics() -> Any:
        plant.SetPositionsAndVelocities(context, next(second))
        return forward_dynamics_derivatives(plant, context)

    return {"inverse dynamics": inverse_dynamics, "forward dynamics": forward_dynamics}


def _by_state(name: str, derivatives: Any) -> Any:
    """The result of closed_forms() as one matrix."""
    if name == "forward dynamics":
        return np.hstack([derivatives.dvdot_dq, derivatives.dvdot_dv])
    return np.hstack([derivatives.dtau_dq, derivatives.dtau_dv])


def gradient_rows(ours: Library, theirs: Library | None, robot: Robot) -> Iterator[Row]:
    """Gradients by the whole state: AutoDiffXd against AutoDiffXd, closed form against pydrake's AutoDiffXd."""
    tolerance = 1e-6 if robot.num_positions > robot.num_velocities else 1e-8  # accelerations of light links are large
    for name in ("inverse dynamics", "forward dynamics"):
        reference = None if theirs is None else _maker(functools.partial(autodiff_calls, theirs, robot, False), name)
        our_call = _maker(functools.partial(autodiff_calls, ours, robot, True), name)
        yield Row(f"{robot.name}, AutoDiffXd: {name}", our_call, reference, 100, tolerance)
        closed = _maker(functools.partial(closed_forms, ours, robot), name)
        compared = functools.partial(_by_state, name)
        row_name = f"{robot.name}, closed form: gradient of {name}"
        yield Row(row_name, closed, reference, 100, tolerance, compared=compared)
    for name in ("one point by q", "centre of mass by q", "spatial Jacobian by q", "mass matrix by q"):
        reference = None if theirs is None else _maker(functools.partial(autodiff_calls, theirs, robot, False), name)
        our_call = _maker(functools.partial(autodiff_calls, ours, robot, True), name)
        yield Row(f"{robot.name}, AutoDiffXd: {name}", our_call, reference, 20)


def _maker(calls: Callable[[], dict[str, Call]], name: str) -> Callable[[], Call]:
    return lambda: calls()[name]


# -- a simulation --------------------------------------------------------------------------------------------


K, X0 = np.array([-10.0, 70.05, -11.08, 15.96]), np.array([0.0, np.pi, 0.0, 0.0])


def affine_regulator(library: Library) -> Any:
    """u = -K (x - x0) as a block of the library."""
    nothing = np.zeros((0, 0)), np.zeros((0, 4)), np.zeros(0), np.zeros((1, 0))
    return library.primitives.AffineSystem(*nothing, -K[np.newaxis], np.array([K @ X0]))


def python_regulator(library: Library) -> Any:
    """The block in plain Python."""

    class Regulator(library.framework.LeafSystem):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.DeclareVectorInputPort("state", 4)
            self.DeclareVectorOutputPort("force", 1, self.calc_force)

        def calc_force(self, context: Any, output: Any) -> None:
            x = self.get_input_port(0).Eval(context)
            output.SetFromVector([-K @ (x - X0)])

    return Regulator()


def cart_pole_second(library: Library, make_regulator: Callable[[Library], Any]) -> Callable[[], Any]:
    """One second of the cart-pole at 1 ms under a controller."""
    builder = library.framework.DiagramBuilder()
    plant, _ = library.plant.AddMultibodyPlantSceneGraph(builder, 0.001)
    load(library, plant, CART_POLE)
    plant.Finalize()
    regulator = builder.AddSystem(make_regulator(library))
    builder.Connect(plant.get_state_output_port(), regulator.get_input_port(0))
    builder.Connect(regulator.get_output_port(0), plant.get_actuation_input_port())
    simulator = library.analysis.Simulator(builder.Build())
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    plant.SetPositionsAndVelocities(context, [0.0, np.pi + 0.4, 0.0, 0.0])
    simulator.Initialize()

    def second() -> Any:
        simulator.AdvanceTo(simulator.get_context().get_time() + 1.0)
        return plant.GetPositionsAndVelocities(context)

    return second


# -- all -----------------------------------------------------------------------------------------------------


def rows(ours: Library, theirs: Library | None) -> Iterator[Row]:
    for robot in available_robots():
        for name in _WORK:
            reference = None if theirs is None else _maker(functools.partial(robot_calls, theirs, robot), name)
            our_call = _maker(functools.partial(robot_calls, ours, robot), name)
            yield Row(f"{robot.name}: {name}", our_call, reference, 100)
        yield from gradient_rows(ours, theirs, robot)
    for num_links in (100, 1000):
        our_call, reference = (
            None if library is None else _maker(functools.partial(robot_calls, library, chain(num_links)), _WORK[-1])
            for library in (ours, theirs)
        )
        assert our_call is not None
        # Accelerations of a chain of 1000 light links are as large as 1e6, and so are rounding errors.
        yield Row(f"chain of {num_links} links: forward dynamics", our_call, reference, 20, 1e-3)
    for kind, make in (("Python", python_regulator), ("affine", affine_regulator)):
        reference = None if theirs is None else functools.partial(cart_pole_second, theirs, make)
        our_second = functools.partial(cart_pole_second, ours, make)
        yield Row(f"cart-pole, 1000 steps of 1 ms, {kind} controller", our_second, reference, 1)
