"""Forces of velocity products in discrete steps, by which trees of bodies neither gain nor lose energy.

A step takes the inertias at its beginning, q. Forces C(q, v) v taken there, too, feed energy into what turns, a share
x^2 of it a step for bodies that turn by the angle x in a step. So a tree T of at least two velocities takes them
in the middle between the velocities before and after the step, without contact,

    M (v' - v) = h (tau - C(q, u) u),   u = v + s (v' - v) / 2,   s = 1 / (1 + (2 x)^8 + (2 y)^8)      (1)

by fixed-point iterations, each of which makes the error of v' smaller by a factor of about x. Where they would not, as
a step does not resolve such motion, s keeps them together: y is the length of h vdot, of explicit forces, by that of v,
both measured by their kinetic energies. (1) is symmetric in time but for s: what is left of the change of energy E,
some x^3, comes and goes. From |x^3| of 1e-8 on that, too, is made up for: v' is scaled until

    E(q + h N v', v') = E(q, v) + (v + v') / 2 . (M (v' - v) + h C(q, u) u)                            (2)

where the last term is the work of all other forces. The mass centre of a tree that floats moves as these tell it,

    p(q + h N v', v') = p(q, v) + h f,                                                                (3)

with its momentum p and the sum of forces f, and what is scaled for (2) are velocities relative to that. Where not even
the energy of the mass centre is due, a hundredth of theirs is left, so that energy is bounded in any case. Its angular
momentum is kept as (1) keeps it: a position of first order, a constant energy and a constant angular momentum would
contradict each other.

Free bodies on which nothing hangs have a rule of their own (fast_spin.py). Symbols keep explicit forces, and so do
plants that are told to (`has_explicit_products`), as Drake's.

Source of (1): A. Stuart, A. Humphries, Dynamical Systems and Numerical Analysis (1996), section 5.6, on the midpoint
rule and quadratic invariants; of (2): the principle of work and energy, with C(q, u) u from Newton-Euler.
"""

from __future__ import annotations

from typing import Any

from merganser.framework.native import device
from merganser.multibody.kernels.armature import power_of_rates, square_of_rates
from merganser.multibody.kernels.fast_spin import is_rigid
from merganser.multibody.kernels.layout import QUATERNION_FLOATING, RPY_FLOATING
from merganser.multibody.kernels.scalars import exceeds, real_part
from merganser.multibody.kernels.spatial import (
    Array,
    Vector3,
    add,
    column,
    cross,
    dot,
    rotate,
    rotational,
    scaled,
    set_spatial,
    set_vector,
    subtract,
    translational,
    vector,
)

__all__ = [
    "calc_mean_velocities",
    "limit_shares",
    "scale_to_goals",
    "set_energies",
    "set_forces",
    "set_goals",
    "start_products",
]

NEGLIGIBLE = 1e-8  # share of the energy of a tree that a step may add or take
MOST_EVALUATIONS = 8
_TOLERANCE = 1e-10  # of (2), as a share
_LATE_FACTOR = 0.9
_LEAST_INNER_ENERGY = 0.01


@device
def start_products(
    # Model:
    topology: Array,  # shape [num_mobods], see layout.py
    parameters: Array,  # shape [num_mobods]
    # In:
    time_step: float,  # h [s]
    position_in: Array,  # shape [num_mobods]
    velocity_in: Array,  # shape [num_mobods]
    # Work:
    scratch_work: Array,  # shape [num_mobods]; `share` of first bodies of trees is set, and, for several
    #                      evaluations, `energy` and `momentum`
) -> int:
    """Computes s of each tree at the beginning of a step, and energy and momentum where these are kept.

    Returns:
        How many times (1) is to be evaluated beyond the explicit forces: so that what is left is negligible.
    """
    if topology[0]["has_explicit_products"]:
        return 0
    most, i = 0.0, 1
    while i < topology.shape[0]:
        scratch_work[i]["share"] = 0.0
        if _has_products(topology, i):
            angle_2 = _largest_angle_squared(topology, i, time_step, velocity_in)
            # Not a symbol, and turning:
            if not exceeds(NEGLIGIBLE, angle_2):
                scratch_work[i]["share"] = 1.0 / (1.0 + _fourth_power(4.0 * angle_2))
                most = max(most, real_part(angle_2))
        i = topology[i]["subtree_end"]
    count, left = 0, most
    while left > NEGLIGIBLE and count < MOST_EVALUATIONS:
        left *= most**0.5
        count += 1
    if count > 1:
        _set_beginnings(topology, parameters, position_in, velocity_in, scratch_work)
    return count


@device
def _set_beginnings(topology: Array, parameters: Array, position: Array, velocity: Array, scratch: Array) -> None:
    """Energy and momentum of each tree at the beginning of a step, which one evaluation does without."""
    i = 1
    while i < topology.shape[0]:
        if exceeds(scratch[i]["share"], 0.0):
            scratch[i]["energy"] = _kinetic_energy(topology, parameters, i, position, velocity)
            _, momentum = _mass_and_momentum(topology, i, position, velocity)
            set_vector(scratch[i]["momentum"], momentum)
        i = topology[i]["subtree_end"]


@device
def _has_products(topology: Array, i: int) -> bool:
    """Whether the tree of mobod i has forces of velocity products that it takes by (1)."""
    num_v = 0
    for k in range(i, topology[i]["subtree_end"]):
        num_v += topology[k]["num_v"]
    return num_v > 1 and not (topology[i]["mobilizer"] == QUATERNION_FLOATING and is_rigid(topology, i))


@device
def _largest_angle_squared(topology: Array, i: int, time_step: float, velocity: Array) -> Any:
    """x^2 of the body of a tree that turns fastest [rad^2]; a symbol if the first is one."""
    w = rotational(velocity[i]["V_WB_W"])
    largest = time_step * time_step * dot(w, w)
    for k in range(i + 1, topology[i]["subtree_end"]):
        w = rotational(velocity[k]["V_WB_W"])
        angle_2 = time_step * time_step * dot(w, w)
        if not exceeds(largest, angle_2):
            largest = angle_2
    return largest


@device
def _kinetic_energy(topology: Array, parameters: Array, i: int, position: Array, velocity: Array) -> Any:
    """Of the tree of mobod i [J], as energy.py has it."""
    twice = 0.0 * position[i]["mass"]
    for k in range(i, topology[i]["subtree_end"]):
        body, V_WB_W = position[k], velocity[k]["V_WB_W"]
        w, v = rotational(V_WB_W), translational(V_WB_W)
        t, f = _momentum(body, w, v)
        twice += dot(w, t) + dot(v, f)
        if topology[k]["num_v"] > 0:
            twice += parameters[k]["reflected_inertia"] * square_of_rates(topology[k], body, velocity[k]["V_PB_W"])
    return 0.5 * twice


@device
def _momentum(body: Array, w: Vector3, v: Vector3) -> tuple[Vector3, Vector3]:
    """M_BBo_W [w; v]."""
    mass, c = body["mass"], vector(body["p_BoBcm_W"])
    return add(rotate(body["I_BBo_W"], w), scaled(mass, cross(c, v))), scaled(mass, add(v, cross(w, c)))


@device
def _fourth_power(a: Any) -> Any:
    return (a * a) * (a * a)


@device
def limit_shares(
    # Model:
    topology: Array,  # shape [num_mobods]
    parameters: Array,  # shape [num_mobods]
    # In:
    time_step: float,  # h [s]
    position_in: Array,  # shape [num_mobods]
    velocity_in: Array,  # shape [num_mobods], of vdot in place of v, with explicit forces
    # In and out:
    scratch_io: Array,  # shape [num_mobods]; the shares s
) -> None:
    """Makes s smaller where velocities change much in a step, equation (1)."""
    i = 1
    while i < topology.shape[0]:
        work = scratch_io[i]
        if exceeds(work["share"], 0.0) and exceeds(work["energy"], 0.0):
            energy = _kinetic_energy(topology, parameters, i, position_in, velocity_in)
            part = _fourth_power(4.0 * time_step * time_step * energy / work["energy"])
            work["share"] = work["share"] / (1.0 + part * work["share"])
        i = topology[i]["subtree_end"]


@device
def calc_mean_velocities(
    # Model:
    topology: Array,  # shape [num_mobods]
    # In:
    time_step: float,  # h [s]
    v_in: Array,  # shape [num_v]
    vdot_in: Array,  # shape [num_v]
    scratch_in: Array,  # shape [num_mobods], as start_products() has left it
    # Out:
    mean_out: Array,  # u, shape [num_v] or longer
) -> None:
    """Computes u, equation (1)."""
    i = 1
    while i < topology.shape[0]:
        half = 0.5 * time_step * scratch_in[i]["share"]
        for k in range(i, topology[i]["subtree_end"]):
            for l in range(topology[k]["v_start"], topology[k]["v_start"] + topology[k]["num_v"]):
                mean_out[l] = v_in[l] + half * vdot_in[l]
        i = topology[i]["subtree_end"]


@device
def set_forces(
    # Model:
    topology: Array,  # shape [num_mobods]
    gravity_in: Array,  # g_W [m/s^2], shape [3]
    # In:
    position_in: Array,  # shape [num_mobods]
    velocity_in: Array,  # shape [num_mobods], of u
    # In and out:
    scratch_io: Array,  # shape [num_mobods]; A_WB_W as forward dynamics leave it, F_Bo_W
) -> None:
    """F_Bo_W = M_BBo_W A_WB_W + Fb_Bo_W, all forces on each body."""
    for k in range(1, topology.shape[0]):
        A_WB_W, F_b = scratch_io[k]["A_WB_W"], velocity_in[k]["Fb_Bo_W"]
        t, f = _momentum(position_in[k], rotational(A_WB_W), add(translational(A_WB_W), vector(gravity_in)))
        set_spatial(scratch_io[k]["F_Bo_W"], add(t, rotational(F_b)), add(f, translational(F_b)))


@device
def set_goals(
    # Model:
    topology: Array,  # shape [num_mobods]
    parameters: Array,  # shape [num_mobods]
    # In:
    time_step: float,  # h [s]
    vdot_in: Array,  # shape [num_v]
    position_in: Array,  # shape [num_mobods]
    velocity_in: Array,  # shape [num_mobods], of (v + v') / 2
    # In and out:
    scratch_io: Array,  # shape [num_mobods]; F_Bo_W; `momentum` of the beginning, then that of (3); `work`
) -> None:
    """The right side of (3), and the last term of (2)."""
    i = 1
    while i < topology.shape[0]:
        power, momentum = 0.0 * scratch_io[i]["energy"], vector(scratch_io[i]["momentum"])
        for k in range(i, topology[i]["subtree_end"]):
            t, f = rotational(scratch_io[k]["F_Bo_W"]), translational(scratch_io[k]["F_Bo_W"])
            V_WB_W = velocity_in[k]["V_WB_W"]
            power += dot(rotational(V_WB_W), t) + dot(translational(V_WB_W), f)
            momentum = add(momentum, scaled(time_step, f))
            if topology[k]["num_v"] > 0:
                rates = power_of_rates(topology[k], position_in[k], velocity_in[k]["V_PB_W"], vdot_in)
                power += parameters[k]["reflected_inertia"] * rates
        scratch_io[i]["work"] = time_step * power
        set_vector(scratch_io[i]["momentum"], momentum)
        i = topology[i]["subtree_end"]


@device
def set_energies(
    # Model:
    topology: Array,  # shape [num_mobods]
    parameters: Array,  # shape [num_mobods]
    # In:
    position_in: Array,  # shape [num_mobods]
    velocity_in: Array,  # shape [num_mobods], of v' in place of v
    # In and out:
    scratch_io: Array,  # shape [num_mobods]; `energy` of the beginning, then that of (2)
) -> None:
    """The right side of (2).

    Its part that is due to the motion of the bodies counts in full only if not almost all of the energy is taken in the
    step, as by strong damping: v' tells then where they move, and not the middle between v and v'.
    """
    i = 1
    while i < topology.shape[0]:
        work = scratch_io[i]
        if exceeds(work["share"], 0.0) and exceeds(work["energy"], 0.0):
            energy = _kinetic_energy(topology, parameters, i, position_in, velocity_in)
            part = 4.0 * energy / work["energy"]
            if exceeds(part, 1.0):
                part = 1.0 + 0.0 * part
            work["energy"] = energy + part * (work["energy"] + work["work"] - energy)
        i = topology[i]["subtree_end"]


@device
def scale_to_goals(
    # Model:
    topology: Array,  # shape [num_mobods]
    parameters: Array,  # shape [num_mobods]
    # In:
    position_in: Array,  # shape [num_mobods], at q + h N v'
    velocity_in: Array,  # shape [num_mobods], there and of v'
    scratch_in: Array,  # shape [num_mobods], as set_goals() has left it
    stage: int,  # 0; 1 if less energy than is due will do, for steps so long that (2) is not found; 2: (3) alone
    # In and out:
    v_io: Array,  # v', shape [num_v]
) -> bool:
    """Changes the velocities of trees towards (2) and (3); returns whether these hold already."""
    holds, is_late = True, stage > 0
    i = 1
    while i < topology.shape[0]:
        goal = scratch_in[i]["energy"]
        if exceeds(scratch_in[i]["share"], 0.0) and exceeds(goal, 0.0):
            energy = _kinetic_energy(topology, parameters, i, position_in, velocity_in)
            change = goal / energy - 1.0
            fits = stage == 2 or (is_late and exceeds(change, 0.0))
            fits = fits or not exceeds(change * change, _TOLERANCE * _TOLERANCE)
            if topology[i]["mobilizer"] in (QUATERNION_FLOATING, RPY_FLOATING):
                _scale_floating(topology, i, position_in, velocity_in, scratch_in[i], energy, fits, is_late, v_io)
            elif not fits:
                _scale(topology, i, _factor(goal, energy, is_late), v_io)
            holds = holds and fits
        i = topology[i]["subtree_end"]
    return holds


@device
def _scale(topology: Array, i: int, factor: Any, v_io: Array) -> None:
    for k in range(i, topology[i]["subtree_end"]):
        for l in range(topology[k]["v_start"], topology[k]["v_start"] + topology[k]["num_v"]):
            v_io[l] *= factor


@device
def _scale_floating(
    topology: Array,
    i: int,
    position: Array,
    velocity: Array,
    goals: Array,
    energy: Any,
    fits: bool,
    is_late: bool,
    v_io: Array,
) -> None:
    """Gives the mass centre of a tree that floats its velocity, and scales velocities relative to it unless it fits."""
    mass, momentum = _mass_and_momentum(topology, i, position, velocity)
    momentum_due = vector(goals["momentum"])
    inner = energy - 0.5 * dot(momentum, momentum) / mass
    inner_due = goals["energy"] - 0.5 * dot(momentum_due, momentum_due) / mass
    if not exceeds(inner_due, _LEAST_INNER_ENERGY * inner):
        inner_due = _LEAST_INNER_ENERGY * inner
    factor = _factor(inner_due, inner, is_late)
    if fits:
        factor = 1.0 + 0.0 * factor
    _scale(topology, i, factor, v_io)
    change = scaled(1.0 / mass, subtract(momentum_due, scaled(factor, momentum)))
    for k in range(3):
        v_io[topology[i]["v_start"] + 3 + k] += dot(column(position[i]["R_WF"], k), change)


@device
def _factor(due: Any, energy: Any, is_late: bool) -> Any:
    """By which velocities get the energy that is due; in the end only to less energy."""
    if not exceeds(energy, 0.0):
        return 1.0 + 0.0 * energy
    factor = (due / energy) ** 0.5
    if is_late and exceeds(factor, _LATE_FACTOR):
        factor = _LATE_FACTOR + 0.0 * factor
    return factor


@device
def _mass_and_momentum(topology: Array, i: int, position: Array, velocity: Array) -> tuple[Any, Vector3]:
    """Of the tree of mobod i."""
    mass = 0.0 * position[i]["mass"]
    momentum = (mass, mass, mass)
    for k in range(i, topology[i]["subtree_end"]):
        V_WB_W = velocity[k]["V_WB_W"]
        mass += position[k]["mass"]
        momentum = add(momentum, _momentum(position[k], rotational(V_WB_W), translational(V_WB_W))[1])
    return mass, momentum
