"""How the balance (1) of step.py follows the state without constraints: rigid bodies, free ones that turn, inputs."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from merganser.framework.native import device
from merganser.multibody.gradients.contacts import add_scaled
from merganser.multibody.gradients.records import NUM_MOTIONS, STEP, GradientWork, Lanes, Step, parts
from merganser.multibody.kernels.inverse_dynamics import calc_inverse_dynamics
from merganser.multibody.kernels.position import calc_velocity_to_qdot
from merganser.multibody.kernels.velocity import calc_kinematics
from merganser.multibody.kernels.velocity_products import (
    calc_mean_kinematics,
    is_free_body,
    start_mean_velocities,
    take_mean_velocities,
)

Array = NDArray[Any]
_LEAST_TURN = 1e-13  # in a step [rad], squared: mean velocities of a body differ by this share from those of others


@device
def start_rest(step: Step, n: int, work: GradientWork) -> None:
    """dr of (1) without constraints, and what comes from the last pass."""
    h, num_v, topology = step.time_step, step.tau.shape[0], step.plant.topology
    share = 1.0 if n == 0 else 0.5
    for i in range(1, topology.shape[0]):
        for k in range(topology[i]["num_v"]):
            m = topology[i]["v_start"] + k
            work.dID_dv[m, m] -= step.parameters[i]["damping"][k]
    for r in range(num_v):
        for k in range(num_v):
            work.rest[r, k] = h * work.dID_dq[r, k]
            work.rest[r, num_v + k] = h * share * work.dID_dv[r, k] - work.M[r, k]
        if step.force_slopes.shape[0] > 0:
            for k in range(num_v):
                work.rest[r, k] -= h * step.force_slopes[0, r, k]
                work.rest[r, num_v + k] -= h * step.force_slopes[1, r, k]
        for k in range(step.driven.shape[1]):
            work.rest[r, 2 * num_v + k] = -h * step.driven[r, k]
    if n > 0:
        for r in range(num_v):
            for k in range(num_v):
                add_scaled(0.5 * h * work.dID_dv[r, k], work.responses[k], work.rest[r])


@device
def _turns(step: Step, i: int) -> bool:
    """Whether mobod i is a free body that turns, so far that it shows in its derivatives beyond rounding."""
    h, num_v, first = step.time_step, step.tau.shape[0], step.plant.topology[i]["v_start"]
    if not is_free_body(step.plant.topology, h, step.velocity, i):
        return False
    _, v = parts(step.x, num_v)
    fastest = v[first] * v[first] + v[first + 1] * v[first + 1] + v[first + 2] * v[first + 2]
    for n in range(step.passes.shape[0]):
        w = step.passes[n, first : first + 3]
        fastest = max(fastest, w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    return h * h * fastest > _LEAST_TURN


@device
def start_lanes(step: Step, lanes: Lanes) -> bool:
    """Kinematics in lanes, where free bodies turn; returns whether there are such."""
    topology, num_v = step.plant.topology, step.tau.shape[0]
    i, has_free = 1, False
    while i < topology.shape[0]:
        has_free = has_free or _turns(step, i)
        i = topology[i]["subtree_end"]
    if not has_free:
        return False
    for r in range(lanes.F.shape[0]):
        for c in range(6):
            lanes.F[r, c] = complex(0.0, 0.0)
    q, v = parts(lanes.x, num_v)
    for lane in range(2 * NUM_MOTIONS + 1):
        _move_free_bodies(step, lane, lanes)
        calc_kinematics(topology, lanes.parameters, q, v, lanes.position[lane], lanes.moving[lane])
    return True


@device
def _move_free_bodies(step: Step, lane: int, lanes: Lanes) -> None:
    """The state of a lane: free bodies move along a velocity, or have more of it; none in the last lane."""
    topology, num_v = step.plant.topology, step.tau.shape[0]
    q, v = parts(lanes.x, num_v)
    for k in range(step.x.shape[0]):
        lanes.x[k] = complex(step.x[k], 0.0)
    if lane == 2 * NUM_MOTIONS:
        return
    for k in range(num_v):
        lanes.u[k] = complex(0.0, 0.0)
    i = 1
    while i < topology.shape[0]:
        if _turns(step, i):
            lanes.u[topology[i]["v_start"] + lane % NUM_MOTIONS] = complex(1.0, 0.0)
        i = topology[i]["subtree_end"]
    if lane >= NUM_MOTIONS:
        for k in range(num_v):
            v[k] += complex(0.0, STEP * lanes.u[k].real)
        return
    calc_velocity_to_qdot(topology, q, lanes.u, lanes.q_next)
    for k in range(q.shape[0]):
        q[k] += complex(0.0, STEP * lanes.q_next[k].real)


@device
def follow_free_bodies(step: Step, n: int, lanes: Lanes, work: GradientWork) -> None:
    """dr of the rows of free bodies that turn, in the place of that of other bodies."""
    topology, num_v, h = step.plant.topology, step.tau.shape[0], step.time_step
    q, v = parts(lanes.x, num_v)
    for k in range(num_v):
        lanes.vdot[k] = complex(work.vdot[k], 0.0)
    for i in range(lanes.F.shape[0]):
        for c in range(6):
            lanes.F[i, c] = complex(work.F[i, c], 0.0)
    i = 1
    while i < topology.shape[0]:
        if _turns(step, i):
            for r in range(topology[i]["v_start"], topology[i]["v_start"] + NUM_MOTIONS):
                for column in range(2 * num_v):
                    work.rest[r, column] = 0.0
                for k in range(num_v):
                    work.rest[r, num_v + k] = -work.M[r, k]
                for column in range(2 * num_v, work.rest.shape[1]):
                    work.rest[r, column] = -h * step.driven[r, column - 2 * num_v]
        i = topology[i]["subtree_end"]
    for lane in range(2 * NUM_MOTIONS if n == 0 else 3 * NUM_MOTIONS):
        of_state = min(lane, 2 * NUM_MOTIONS)
        position, moving, mean = lanes.position[of_state], lanes.moving[of_state], lanes.mean
        _move_free_bodies(step, of_state, lanes)
        if n == 0:
            start_mean_velocities(topology, h, position, moving, v, lanes.u)
        else:
            _set_last(step, n, lane - 2 * NUM_MOTIONS, lanes)
            take_mean_velocities(topology, h, moving, v, lanes.v_next, lanes.u)
        calc_mean_kinematics(topology, lanes.parameters, h, position, moving, q, lanes.u, mean)
        calc_inverse_dynamics(
            topology, lanes.parameters, lanes.gravity, position, mean, lanes.vdot, lanes.F, lanes.scratch, lanes.tau
        )
        _add_lane(step, lane, lanes, work)


@device
def _set_last(step: Step, n: int, k: int, lanes: Lanes) -> None:
    """v_(n-1), in which velocity k of free bodies varies; none if that is negative."""
    topology, v_last = step.plant.topology, step.passes[n - 1]
    for m in range(v_last.shape[0]):
        lanes.v_next[m] = complex(v_last[m], 0.0)
    i = 1
    while k >= 0 and i < topology.shape[0]:
        if _turns(step, i):
            m = topology[i]["v_start"] + k
            lanes.v_next[m] = complex(v_last[m], STEP)
        i = topology[i]["subtree_end"]


@device
def _add_lane(step: Step, lane: int, lanes: Lanes, work: GradientWork) -> None:
    """What a lane says of the rows of free bodies."""
    topology, num_v, h = step.plant.topology, step.tau.shape[0], step.time_step
    i = 1
    while i < topology.shape[0]:
        if _turns(step, i):
            start = topology[i]["v_start"]
            moved = start + lane % NUM_MOTIONS
            for r in range(start, start + NUM_MOTIONS):
                slope = h * (lanes.tau[r].imag / STEP)
                if lane < 2 * NUM_MOTIONS:
                    work.rest[r, moved if lane < NUM_MOTIONS else num_v + moved] += slope
                else:
                    add_scaled(slope, work.responses[moved], work.rest[r])
        i = topology[i]["subtree_end"]
