"""Rows about the kernels, inside compiled code and by Python call, against pinocchio's functions as Python calls them.

A row of compiled code gives the time of one pass of a loop over what pinocchio's function computes: position (and
velocity) kinematics included, as there; one of many states that of one state. Rows by call set a new state of the plant
first. What is computed is checked in tests/multibody, not here: pinocchio orders velocities in its own way.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from typing import Any

import numba
import numpy as np
from libraries import Call, Library, Row
from plant_rows import random_states
from robots import Robot, available_robots, build_plant

from merganser.framework.native import register_all
from merganser.multibody import kernels
from merganser.multibody.kernels.inverse_dynamics_derivatives import sensitivity_dtype

_PASSES = 4096
_BY_CALL = "a pose", "a Jacobian", "M", "gravity", "bias", "inverse dynamics", "centre of mass"
_NAMES = ("forwardKinematics", "crba", "rnea", "aba", "computeRNEADerivatives", "computeABADerivatives")

_poses, _position, _kinematics = kernels.poses, kernels.position_kinematics, kernels.kinematics
_mass_matrix, _inverse, _forward = kernels.mass_matrix, kernels.inverse_dynamics, kernels.state_derivatives
_inverse_gradient = kernels.inverse_dynamics_derivatives
_forward_gradient = kernels.state_forward_dynamics_derivatives


def kernel_calls(library: Library, robot: Robot) -> dict[str, Call]:
    """Loops of _PASSES passes, by the names of pinocchio's functions."""
    plant = build_plant(library, robot)
    w = plant._views.workspace(plant.CreateDefaultContext())
    num_v = robot.num_velocities
    model = (w.topology, w.parameters)
    x = random_states(robot)[0]
    q, v = x[: robot.num_positions].copy(), x[robot.num_positions :].copy()
    tau, M, derivatives = np.zeros(num_v), np.zeros((num_v, num_v)), np.zeros((4, num_v, num_v))
    xdot, sensitivity = np.zeros(len(x)), np.zeros(len(w.topology), sensitivity_dtype())
    F = w.zeros_F

    def forward_kinematics() -> None:
        _repeat_poses(_PASSES, *model, q, w.position)

    def crba() -> None:
        _repeat_mass_matrix(_PASSES, *model, q, w.position, w.scratch, M)

    def rnea() -> None:
        _repeat_inverse(_PASSES, *model, w.gravity, q, v, v, F, w.position, w.velocity, w.scratch, tau)

    def aba() -> None:
        _repeat_forward(_PASSES, *model, w.gravity, x, v, F, w.position, w.velocity, w.scratch, xdot)

    def rnea_derivatives() -> None:
        _repeat_inverse_gradient(_PASSES, *model, w.gravity, q, v, F, w.position, sensitivity, tau, derivatives)

    def aba_derivatives() -> None:
        _repeat_forward_gradient(
            _PASSES, *model, w.gravity, x, v, F, w.position, w.velocity, w.scratch, sensitivity, tau, xdot, derivatives
        )

    return {
        "forwardKinematics": forward_kinematics,
        "crba": crba,
        "rnea": rnea,
        "aba": aba,
        "computeRNEADerivatives": rnea_derivatives,
        "computeABADerivatives": aba_derivatives,
    }


register_all()


@numba.njit
def _repeat_poses(n, topology, parameters, q, position):  # type: ignore[no-untyped-def]
    for _ in range(n):
        _poses(topology, parameters, q, position)


@numba.njit
def _repeat_mass_matrix(n, topology, parameters, q, position, scratch, M):  # type: ignore[no-untyped-def]
    for _ in range(n):
        _position(topology, parameters, q, position)
        _mass_matrix(topology, parameters, position, scratch, M)


@numba.njit
def _repeat_inverse(n, topology, parameters, g, q, v, vdot, F, position, velocity, scratch, tau):  # type: ignore[no-untyped-def]
    for _ in range(n):
        _kinematics(topology, parameters, q, v, position, velocity)
        _inverse(topology, parameters, g, position, velocity, vdot, F, scratch, tau)


@numba.njit
def _repeat_forward(n, topology, parameters, g, x, tau, F, position, velocity, scratch, xdot):  # type: ignore[no-untyped-def]
    for _ in range(n):
        _forward(topology, parameters, g, x, tau, F, position, velocity, scratch, xdot)


@numba.njit
def _repeat_inverse_gradient(n, topology, parameters, g, q, v, F, position, sensitivity, tau, D):  # type: ignore[no-untyped-def]
    for _ in range(n):
        _position(topology, parameters, q, position)
        _inverse_gradient(topology, parameters, g, position, v, v, F, sensitivity, tau, D[0], D[1], D[2])


@numba.njit
def _repeat_forward_gradient(  # type: ignore[no-untyped-def]
    n, topology, parameters, g, x, v, F, position, velocity, scratch, sensitivity, tau, xdot, D
):
    for _ in range(n):
        _forward_gradient(
            topology, parameters, g, x, v, F, position, velocity, scratch, sensitivity, tau, xdot,
            D[0], D[1], D[2], D[3],
        )


def _pinocchio_model(pinocchio: Any, robot: Robot) -> Any:
    """Model, data, positions and velocities."""
    free = () if robot.base else (pinocchio.JointModelFreeFlyer(),)
    model = pinocchio.buildModelFromXML(robot.urdf, *free)
    q = pinocchio.normalize(model, np.random.default_rng(1).uniform(-1.0, 1.0, model.nq))
    return model, model.createData(), q, np.random.default_rng(2).uniform(-1.0, 1.0, model.nv)


def pinocchio_calls(pinocchio: Any, robot: Robot) -> dict[str, Call]:
    """The time of pinocchio's Python functions."""
    model, data, q, v = _pinocchio_model(pinocchio, robot)
    arguments = {"forwardKinematics": (q,), "crba": (q,)}
    return {
        name: functools.partial(getattr(pinocchio, name), model, data, *arguments.get(name, (q, v, v)))
        for name in _NAMES
    }


def many_states(library: Library, robot: Robot) -> dict[str, Call]:
    """_PASSES states at once, in one thread."""
    from merganser.multibody import batches

    plant = build_plant(library, robot)
    context, random = plant.CreateDefaultContext(), np.random.default_rng(1)
    states = itertools.islice(itertools.cycle(random_states(robot)), _PASSES)
    q = np.stack([x[: robot.num_positions] for x in states], axis=1)
    v, bodies = random.normal(size=(robot.num_velocities, _PASSES)), [plant.GetFrameByName(robot.tip).body()]
    return {
        "forwardKinematics": lambda: batches.BatchCalcPoses(plant, context, q, bodies, False),
        "crba": lambda: batches.BatchCalcMassMatrix(plant, context, q, False),
        "rnea": lambda: batches.BatchCalcInverseDynamics(plant, context, q, v, v, False),
    }


def single_calls(library: Library, robot: Robot) -> dict[str, Call]:
    """A new state of a plant, and one public function."""
    plant, states = build_plant(library, robot), itertools.cycle(random_states(robot))
    context, wrt_v = plant.CreateDefaultContext(), library.tree.JacobianWrtVariable.kV
    tip, world, forces = plant.GetFrameByName(robot.tip), plant.world_frame(), library.tree.MultibodyForces(plant)
    vdot, body, p_BoBp_B = np.zeros(robot.num_velocities), tip.body(), np.zeros(3)

    def after_state(compute: Call) -> Call:
        return lambda: (plant.SetPositionsAndVelocities(context, next(states)), compute())

    calls = (
        lambda: plant.EvalBodyPoseInWorld(context, body).translation(),
        lambda: plant.CalcJacobianSpatialVelocity(context, wrt_v, tip, p_BoBp_B, world, world),
        lambda: plant.CalcMassMatrix(context),
        lambda: plant.CalcGravityGeneralizedForces(context),
        lambda: plant.CalcBiasTerm(context),
        lambda: plant.CalcInverseDynamics(context, vdot, forces),
        lambda: plant.CalcCenterOfMassPositionInWorld(context),
    )
    return dict(zip(_BY_CALL, map(after_state, calls), strict=True))


def pinocchio_single_calls(pinocchio: Any, robot: Robot) -> dict[str, Call]:
    """The same by pinocchio's functions; its bias has gravity in it."""
    model, data, q, v = _pinocchio_model(pinocchio, robot)
    tip = model.getFrameId(robot.tip)

    def pose() -> Any:
        pinocchio.forwardKinematics(model, data, q)
        return pinocchio.updateFramePlacement(model, data, tip).translation

    calls = (
        pose,
        lambda: pinocchio.computeFrameJacobian(model, data, q, tip, pinocchio.LOCAL_WORLD_ALIGNED),
        lambda: pinocchio.crba(model, data, q),
        lambda: pinocchio.computeGeneralizedGravity(model, data, q),
        lambda: pinocchio.nonLinearEffects(model, data, q, v),
        lambda: pinocchio.rnea(model, data, q, v, v),
        lambda: pinocchio.centerOfMass(model, data, q),
    )
    return dict(zip(_BY_CALL, calls, strict=True))


def rows(ours: Library, theirs: Library | None) -> Iterator[Row]:
    """The rows of all robots; none without pinocchio (pip install pin)."""
    try:
        import pinocchio
    except ImportError:
        print("pinocchio is not installed (pip install pin): the rows of compiled kernels are left out")
        return
    for robot in available_robots():
        our_calls = functools.cache(functools.partial(kernel_calls, ours, robot))
        their_calls = functools.cache(functools.partial(pinocchio_calls, pinocchio, robot))
        ones = functools.cache(functools.partial(single_calls, ours, robot))
        others = functools.cache(functools.partial(pinocchio_single_calls, pinocchio, robot))
        nothing: Any = {"compared": lambda _: 0.0, "theirs_compared": lambda _: 0.0}
        for name in _BY_CALL:
            makers = functools.partial(_made, ones, name), functools.partial(_made, others, name)
            yield Row(f"{robot.name}, by call: {name}", *makers, 1000, **nothing)
        for name in _NAMES:
            our_maker = functools.partial(_made, our_calls, name)
            their_maker = functools.partial(_timed_often, their_calls, name)
            yield Row(f"{robot.name}, compiled code: {name}", our_maker, their_maker, 1, calls_inside=_PASSES)
        together = functools.cache(functools.partial(many_states, ours, robot))
        for name in _NAMES[:3]:
            makers = functools.partial(_made, together, name), functools.partial(_timed_often, their_calls, name)
            yield Row(f"{robot.name}, {_PASSES} states: {name}", *makers, 1, calls_inside=_PASSES, **nothing)


def _made(calls: Any, name: str) -> Call:
    call: Call = calls()[name]
    return call


def _timed_often(calls: Any, name: str) -> Call:
    """_PASSES calls, as in the loops of compiled code."""
    call = calls()[name]

    def repeated() -> None:
        for _ in range(_PASSES):
            call()

    return repeated
