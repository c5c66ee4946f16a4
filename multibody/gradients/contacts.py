"""How the balance (1) of step.py, and the forces of contacts, follow the state: equations (3) to (5) there."""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import NDArray

from merganser.framework.native import device, inlined
from merganser.framework.native.memory.hinted_types import Floats
from merganser.multibody.contact.layout import TAMSI
from merganser.multibody.contact.plant_problem import tangents_of
from merganser.multibody.gradients.records import (
    BEFORE,
    COMPLIANCE,
    ELASTIC_FORCE,
    GAP,
    NUM_MOTIONS,
    STEP,
    STIFFNESS,
    ZERO,
    GradientWork,
    Step,
    StepSlopes,
    impulse_of,
    mass_of,
)
from merganser.multibody.kernels.spatial import (
    Vector3,
    add,
    carries,
    cross,
    cross_force,
    cross_motion,
    dot,
    rotational,
    scaled,
    set_vector,
    subtract,
    translational,
    vector,
)
from merganser.multibody.linear.products import block_of, num_ends
from merganser.multibody.linear.records import HESSIAN_SIZE

Array = NDArray[Any]


@inlined
def _arm(step: Step, i: int, p_W: Vector3, works: Array) -> Vector3:
    """Where a point in W is from the O of a body."""
    p_WoBo_W = vector(step.position[i]["p_WoBo_W"])
    return add(vector(works[i]["p_OBo_W"]), subtract(p_W, p_WoBo_W))


@inlined
def _at(S: Array, arm: Vector3) -> Vector3:
    """The velocity of a point in a motion about O."""
    return add(translational(S), cross(rotational(S), arm))


@device
def _set_chain(step: Step, c: int, work: GradientWork) -> None:
    """Which velocities move A and B of a contact."""
    topology, chain = step.plant.topology, work.chain
    for k in range(chain.shape[1]):
        chain[0, k], chain[1, k], chain[2, k] = 0, 0, 0
    for side in range(2):
        i = step.pairs[c]["mobod_A"] if side == 0 else step.pairs[c]["mobod_B"]
        while i > 0:
            for k in range(topology[i]["v_start"], topology[i]["v_start"] + topology[i]["num_v"]):
                chain[side, k], chain[2, k] = 1, i
            i = topology[i]["parent"]


@device
def _twist(step: Step, c: int, k: int, work: GradientWork) -> tuple[Vector3, Vector3, Vector3, Vector3]:
    """How velocity k moves A relative to B, with the origin of A's geometry, and then B, with the point C."""
    pair, works = step.pairs[c], work.bodies
    w_A, v_A, w_B, v_B, v_C = ZERO, ZERO, ZERO, ZERO, ZERO
    i = work.chain[2, k]
    if work.chain[0, k] or work.chain[1, k]:
        S = works[i]["S"][k - step.plant.topology[i]["v_start"]]
        p_WG, p_WC = vector(step.moving.p_WG[c]), vector(pair["p_WC"])
        if work.chain[0, k]:
            w_A, v_A = rotational(S), _at(S, _arm(step, i, p_WG, works))
        if work.chain[1, k]:
            w_B, v_B = rotational(S), _at(S, _arm(step, i, p_WG, works))
            v_C = _at(S, _arm(step, i, p_WC, works))
    return subtract(w_A, w_B), subtract(v_A, v_B), w_B, v_C


@inlined
def _lane(field: Array) -> Vector3:
    """The derivative in a lane of a vector."""
    return field[0].imag / STEP, field[1].imag / STEP, field[2].imag / STEP


@device
def _point_motion(step: Step, c: int, w: Vector3, v: Vector3, w_B: Vector3, v_C: Vector3) -> tuple[Vector3, Vector3]:
    """How point C moves, and how frame E turns, in a motion of `_twist`."""
    n = vector(step.pairs[c]["nhat_BA_W"])
    dp, turn = v_C, w_B
    motion = (w[0], w[1], w[2], v[0], v[1], v[2])
    for j in range(NUM_MOTIONS):
        if motion[j] != 0.0:
            lane = step.moving.pairs[j, c]
            dp = add(dp, scaled(motion[j], _lane(lane["p_WC"])))
            turn = add(turn, scaled(motion[j], cross(n, _lane(lane["nhat_BA_W"]))))
    return dp, turn


@device
def follow_compliance(step: Step, c: int, work: GradientWork) -> None:
    """Equation (5) of a contact, to work.dw."""
    topology, works, pair = step.plant.topology, work.bodies, step.pairs[c]
    num_v, p_WC, w = step.tau.shape[0], vector(pair["p_WC"]), work.compliance[step.problem.constraints[c]["row_start"]]
    _set_chain(step, c, work)
    # W, in the world.
    W_x, W_y, W_z = ZERO, ZERO, ZERO
    for m in range(num_v):
        if work.chain[0, m] != work.chain[1, m]:
            j = _column(step, m, p_WC, work)
            scale = 1.0 / mass_of(step, m)
            W_x = add(W_x, scaled(scale * j[0], j))
            W_y = add(W_y, scaled(scale * j[1], j))
            W_z = add(W_z, scaled(scale * j[2], j))
    spin = ZERO  # sum of y_m x w_m, by which dw follows the point C
    for side in range(2):
        sign = 1.0 if side == 0 else -1.0
        i = pair["mobod_A"] if side == 0 else pair["mobod_B"]
        T_t, T_f = ZERO, ZERO
        while i > 0:
            arm, start = _arm(step, i, p_WC, works), topology[i]["v_start"]
            more_t, more_f = ZERO, ZERO
            for k in range(topology[i]["num_v"]):
                S_k = works[i]["S"][k]
                w_k, v_k = rotational(S_k), translational(S_k)
                work.dw[c, start + k] += dot(w_k, T_t) + dot(v_k, T_f)
                if work.chain[0, start + k] == work.chain[1, start + k]:
                    continue
                j = _column(step, start + k, p_WC, work)
                mass = mass_of(step, start + k)
                y = scaled(2.0 / (9.0 * w * mass), (dot(W_x, j), dot(W_y, j), dot(W_z, j)))
                b = dot(y, j) / (2.0 * mass)
                for l in range(num_v):
                    work.dw[c, l] -= b * work.dA[start + k, l]
                y = scaled(sign, y)
                spin = add(spin, cross(y, w_k))
                Y_t = cross(arm, y)
                for l in range(topology[i]["num_v"]):
                    if l != k and carries(topology[i], l, k):
                        S_l = works[i]["S"][l]
                        w_x, v_x = cross_motion(rotational(S_l), translational(S_l), w_k, v_k)
                        work.dw[c, start + l] += dot(w_x, Y_t) + dot(v_x, y)
                t, f = cross_force(w_k, v_k, Y_t, y)
                more_t, more_f = add(more_t, t), add(more_f, f)
            T_t, T_f = add(T_t, more_t), add(T_f, more_f)
            i = topology[i]["parent"]
    for k in range(num_v):
        if work.chain[0, k] or work.chain[1, k]:
            w_r, v_r, w_B, v_C = _twist(step, c, k, work)
            dp, _ = _point_motion(step, c, w_r, v_r, w_B, v_C)
            work.dw[c, k] += dot(dp, spin)


@device
def _column(step: Step, m: int, p_WC: Vector3, work: GradientWork) -> Vector3:
    """j_m: the velocity of A relative to B at C with a unit of velocity m, which moves one of both."""
    i = work.chain[2, m]
    j = _at(work.bodies[i]["S"][m - step.plant.topology[i]["v_start"]], _arm(step, i, p_WC, work.bodies))
    return j if work.chain[0, m] else scaled(-1.0, j)


class _Motion(NamedTuple):
    """How the bodies of a contact move: the velocity of A relative to B at C, and their angular velocities."""

    v: Vector3
    w_A: Vector3
    w_B: Vector3


@device
def add_contact(step: Step, c: int, work: GradientWork, out: StepSlopes) -> None:
    """dr of a contact, and how its force follows the state before the step at constant v_n."""
    num_v, pair, row = step.tau.shape[0], step.pairs[c], step.problem.constraints[c]["row_start"]
    n, p_WC, slip = vector(pair["nhat_BA_W"]), vector(pair["p_WC"]), vector(pair["v_SbSa_W"])
    t_1, t_2 = tangents_of(n)
    f, slopes = impulse_of(step, c, work), work.slopes
    before, after = _motion_of(step, c, work.before), _motion_of(step, c, work.after)
    knows_before = False
    for r in range(3):
        for k in range(3):
            knows_before = knows_before or slopes[row + r, BEFORE + k] != 0.0
    ignores_slip = step.settings[0]["approximation"] == TAMSI
    G = _rows_of_G(work.hessian, row, ignores_slip)
    _set_chain(step, c, work)
    for column in range(out.forces_by_state.shape[2]):
        for r in range(3):
            out.forces_by_state[c, r, column] = 0.0
    for k in range(num_v):
        is_on_chain = work.chain[0, k] != 0 or work.chain[1, k] != 0
        dw = work.dw[c, k]
        if not is_on_chain and dw == 0.0:
            continue
        # dgamma by the arguments of laws, then by the velocity with G.
        d_gap, d_stiffness, d_force, e, b, dp, turn = 0.0, 0.0, 0.0, ZERO, ZERO, ZERO, ZERO
        if is_on_chain:
            w_r, v_r, w_B, v_C = _twist(step, c, k, work)
            dp, turn = _point_motion(step, c, w_r, v_r, w_B, v_C)
            motion = (w_r[0], w_r[1], w_r[2], v_r[0], v_r[1], v_r[2])
            for j in range(NUM_MOTIONS):
                if motion[j] != 0.0:
                    lane, scale = step.moving.pairs[j, c], motion[j] / STEP
                    d_gap += scale * lane["phi"].imag
                    d_stiffness += scale * lane["stiffness"].imag
                    d_force += scale * lane["elastic_force"].imag
            d_slip = add(cross(w_B, slip), cross(w_r, vector(step.moving.surfaces[c])))
            d_slip = subtract(d_slip, cross(turn, slip))
            e = _in_contact(t_1, t_2, n, _velocity_change(step, c, k, work.after, after, dp, turn, work), d_slip)
            if knows_before:
                b = _in_contact(t_1, t_2, n, _velocity_change(step, c, k, work.before, before, dp, turn, work), d_slip)
        arguments = d_gap, d_stiffness, d_force, dw
        g_1 = _by_arguments(slopes[row], arguments, b) - dot(G[0], e)
        g_2 = _by_arguments(slopes[row + 1], arguments, b) - dot(G[1], e)
        g_n = _by_arguments(slopes[row + 2], arguments, b) - dot(G[2], e)
        df = add(add(add(scaled(g_1, t_1), scaled(g_2, t_2)), scaled(g_n, n)), cross(turn, f))
        _add_impulse(step, c, k, k, dp, df, f, work, out)
    # By v, as laws may know the velocities before the step.
    for k in range(num_v):
        if knows_before and work.chain[0, k] != work.chain[1, k]:
            b = _in_contact(t_1, t_2, n, _column(step, k, p_WC, work), ZERO)
            none = 0.0, 0.0, 0.0, 0.0
            g_1, g_2 = _by_arguments(slopes[row], none, b), _by_arguments(slopes[row + 1], none, b)
            g_n = _by_arguments(slopes[row + 2], none, b)
            df = add(add(scaled(g_1, t_1), scaled(g_2, t_2)), scaled(g_n, n))
            _add_impulse(step, c, k, num_v + k, ZERO, df, ZERO, work, out)


@inlined
def _by_arguments(slopes: Floats, arguments: tuple[float, float, float, float], before: Vector3) -> float:
    """How a component of gamma follows gap, stiffness, elastic force, compliance and the velocity before the step."""
    total: float = slopes[GAP] * arguments[0] + slopes[STIFFNESS] * arguments[1]
    total += slopes[ELASTIC_FORCE] * arguments[2] + slopes[COMPLIANCE] * arguments[3]
    return total + dot((slopes[BEFORE], slopes[BEFORE + 1], slopes[BEFORE + 2]), before)


@device
def _rows_of_G(hessian: Floats, row: int, ignores_slip: bool) -> tuple[Vector3, Vector3, Vector3]:
    """G of a contact."""
    g_12, g_1n, g_2n = hessian[HESSIAN_SIZE * row + 1], hessian[HESSIAN_SIZE * row + 3], hessian[HESSIAN_SIZE * row + 4]
    n_1, n_2 = (0.0, 0.0) if ignores_slip else (g_1n, g_2n)
    return (
        (hessian[HESSIAN_SIZE * row], g_12, g_1n),
        (g_12, hessian[HESSIAN_SIZE * row + 2], g_2n),
        (n_1, n_2, hessian[HESSIAN_SIZE * row + 5]),
    )


@inlined
def _in_contact(t_1: Vector3, t_2: Vector3, n: Vector3, change: Vector3, d_slip: Vector3) -> Vector3:
    """A change of velocity in E; what surfaces do beside their bodies is across n."""
    across = add(change, d_slip)
    return dot(t_1, across), dot(t_2, across), dot(n, change)


@device
def _motion_of(step: Step, c: int, works: Array) -> _Motion:
    pair = step.pairs[c]
    A, B, p_WC = pair["mobod_A"], pair["mobod_B"], vector(pair["p_WC"])
    v_A, v_B = _at(works[A]["V"], _arm(step, A, p_WC, works)), _at(works[B]["V"], _arm(step, B, p_WC, works))
    return _Motion(subtract(v_A, v_B), rotational(works[A]["V"]), rotational(works[B]["V"]))


@device
def _velocity_change(
    step: Step, c: int, k: int, works: Array, motion: _Motion, dp: Vector3, turn: Vector3, work: GradientWork
) -> Vector3:
    """How v_C follows velocity k as E sees it, of constant generalized velocities, with their motion in `works`."""
    pair, a = step.pairs[c], work.chain[2, k]
    change = subtract(cross(subtract(motion.w_A, motion.w_B), dp), cross(turn, motion.v))
    for side in range(2):
        if work.chain[side, k]:
            i, sign = (pair["mobod_A"], 1.0) if side == 0 else (pair["mobod_B"], -1.0)
            l, V = k - step.plant.topology[a]["v_start"], works[i]["V"]
            S_k, a_k = works[a]["S"][l], works[a]["a"][l]
            dw, dv = cross_motion(rotational(S_k), translational(S_k), rotational(V), translational(V))
            dw, dv = add(dw, rotational(a_k)), add(dv, translational(a_k))
            change = add(change, scaled(sign, add(dv, cross(dw, _arm(step, i, vector(pair["p_WC"]), works)))))
    return change


@device
def _add_impulse(
    step: Step, c: int, k: int, column: int, dp: Vector3, df: Vector3, f: Vector3, work: GradientWork,
    out: StepSlopes,
) -> None:  # fmt: skip
    """dr of an impulse that changes by df, at a point that moves by dp more than the bodies' origins do."""
    pair, topology, works = step.pairs[c], step.plant.topology, work.bodies
    for r in range(3):
        out.forces_by_state[c, r, column] += df[r] / step.time_step
    for side in range(2):
        i, sign = (pair["mobod_A"], 1.0) if side == 0 else (pair["mobod_B"], -1.0)
        body, moved, moment = i, dp, ZERO
        if i > 0 and work.chain[side, k] and column == k:
            a = work.chain[2, k]
            S_k = works[a]["S"][k - topology[a]["v_start"]]
            moved = subtract(dp, _at(S_k, vector(works[body]["p_OBo_W"])))
        if i > 0:
            moment = add(cross(moved, f), cross(_arm(step, i, vector(pair["p_WC"]), works), df))
        while i > 0:
            for l in range(topology[i]["num_v"]):
                S = works[i]["S"][l]
                power = dot(rotational(S), moment) + dot(translational(S), df)
                work.rest[topology[i]["v_start"] + l, column] -= sign * power
            i = topology[i]["parent"]


@device
def finish_forces(step: Step, work: GradientWork, out: StepSlopes) -> None:
    """Forces of contacts, with what follows from dv+."""
    h, trees, ignores_slip = step.time_step, step.plant.trees, step.settings[0]["approximation"] == TAMSI
    for c in range(step.pairs.shape[0]):
        constraint, n = step.problem.constraints[c], vector(step.pairs[c]["nhat_BA_W"])
        t_1, t_2 = tangents_of(n)
        G = _rows_of_G(work.hessian, constraint["row_start"], ignores_slip)
        set_vector(out.forces[c], scaled(1.0 / h, impulse_of(step, c, work)))
        for s in range(3):
            # E^T v_C follows by J dv+.
            change = work.q_responses[0]
            for column in range(change.shape[0]):
                change[column] = 0.0
            for end in range(num_ends(constraint)):
                block = block_of(trees, step.problem.jacobian, constraint, end)
                for k in range(block.num_v):
                    add_scaled(block.J[s * block.num_v + k], work.responses[block.first + k], change)
            for r in range(3):
                slope = 0.0
                for k in range(3):
                    axis = t_1[r] if k == 0 else t_2[r] if k == 1 else n[r]
                    slope -= axis * G[k][s] / h
                add_scaled(slope, change, out.forces_by_state[c, r])


@inlined
def add_scaled(scale: float, given: Floats, row: Floats) -> None:
    """Adds a multiple of a row to another one."""
    if scale != 0.0:
        for j in range(row.shape[0]):
            row[j] += scale * given[j]
