"""Rows of constraints: their errors, rates and biases, and the rows of K.

A row g = 0 between bodies A and B has a spatial force [t; f] on B at Q, and its opposite on A at P, whose power is its
rate. With velocities of the points,

    gdot = t . (w_WB - w_WA) + f . (v_WB(Q) - v_WA(P)) = K v                              (1)

so K^T lambda are the generalized forces of the forces lambda [t; f]. Of the bodies inboard of both A and B only the
turning moves P against Q, if they are apart. With accelerations for vdot = 0, gddot = K vdot + k, with k of the kind.

A row between coordinates has gdot = dg/dq_0 v_0 + dg/dq_1 v_1 + ... (2).

A row that no velocity can change, such as motion out of the plane of a planar linkage, is found by comparing it to
what its terms would be if they did not cancel or vanish:

    |K_r|^2 <= DEPENDENCE_TOLERANCE sum_k (|t|^2 |w_k|^2 + |f|^2 |v_k|^2)                 (3)

where [w_k; v_k] is row k of the hinge matrix of a body on the way, at P or Q.

Source: R. Featherstone, Rigid Body Dynamics Algorithms (2008), chapter 8 (loop constraints).
"""

from __future__ import annotations

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.hinted_types import Floats, FloatTable, Integers
from merganser.multibody.kernels.constraints.records import ConstraintRecords, ConstraintValues
from merganser.multibody.kernels.constraints.table import add_bias, set_row
from merganser.multibody.kernels.frames import arm_to, push, velocity_of
from merganser.multibody.kernels.layout import Positions, Scratch, Topology, Velocities
from merganser.multibody.kernels.scalars import exceeds
from merganser.multibody.kernels.spatial import (
    Array,
    Vector3,
    add,
    cross,
    dot,
    rotational,
    scaled,
    subtract,
    translational,
    vector,
)

# Of squares: a sine of 3e-5 counts as zero, as that of axes in a file with five digits after the point does.
DEPENDENCE_TOLERANCE = 1e-9


@device
def write_row(row: Array, q_in: Array, position_in: Array, value_out: Array) -> None:
    """Evaluates a row at the given positions: its error, and its force or its slopes."""
    set_row(row, q_in, position_in[row["mobod_A"]], position_in[row["mobod_B"]], value_out)


@device
def fill_row(
    topology: Array, row: Array, position_in: Array, value: Array, start_0: int, start_1: int, K_out: Array
) -> int:
    """Adds K of one row, equations (1) and (2), and returns whether any velocity can change it (3).

    Of rows between more than two coordinates those of the first two; fill_more() is for the others.

    Args:
        topology: shape [num_mobods].
        row, value: records of the row.
        position_in: position records, shape [num_mobods].
        start_0, start_1: index in K_out of velocity 0 of the plant, for the tree of A and for that of B.
        K_out: receives the row; zeros where nothing is written.
    """
    if row["acts_on_coordinates"] != 0:
        K_out[start_0 + row["v_0"]] += value["slopes"][0]
        K_out[start_1 + row["v_1"]] += value["slopes"][1]
        return 1
    t, f = rotational(value["F_W"]), translational(value["F_W"])
    p_WP, p_WQ = vector(value["p_WP"]), vector(value["p_WQ"])
    square, bound = 0.0 * dot(t, t), 0.0 * dot(t, t)
    a, b = row["mobod_A"], row["mobod_B"]
    while b != a:  # parents have smaller numbers than their children
        on_B = b > a
        body = b if on_B else a
        sign, point, start = (1.0, p_WQ, start_1) if on_B else (-1.0, p_WP, start_0)
        arm = arm_to(position_in[body], point)
        moment, at = add(t, cross(arm, f)), start + topology[body]["v_start"]
        for k in range(topology[body]["num_v"]):
            H = position_in[body]["H_PB_W"][k]
            w_k, v_k = rotational(H), velocity_of(H, arm)
            entry = sign * (dot(w_k, moment) + dot(translational(H), f))
            K_out[at + k] = entry
            square = square + entry * entry
            bound = bound + dot(t, t) * dot(w_k, w_k) + dot(f, f) * dot(v_k, v_k)
        if on_B:
            b = topology[body]["parent"]
        else:
            a = topology[body]["parent"]
    _add_turning_of_both(topology, a, position_in, cross(subtract(p_WQ, p_WP), f), start_0, K_out)
    return 1 if exceeds(square, DEPENDENCE_TOLERANCE * bound) else 0


@device
def fill_more(row: Array, value: Array, k: int, start: int, K_out: Array) -> None:
    """Adds what further coordinate k of a row has in K (2), with velocity 0 of the plant at `start`."""
    K_out[start + row["more_v"][k]] += value["slopes"][2 + k]


@device
def _add_turning_of_both(
    topology: Array, body: int, position_in: Array, moment: Vector3, start: int, K_out: Array
) -> None:
    """Contribution of bodies inboard of A and B to K: f . (w x p_PQ) = w . (p_PQ x f)."""
    if not exceeds(dot(moment, moment), 0.0):
        return
    while body > 0:
        at = start + topology[body]["v_start"]
        for k in range(topology[body]["num_v"]):
            K_out[at + k] = dot(rotational(position_in[body]["H_PB_W"][k]), moment)
        body = topology[body]["parent"]


@device
def calc_constraint_rows(
    # Model:
    topology: Topology,  # shape [num_mobods], see layout.py
    rows: ConstraintRecords,  # shape [num_rows], see records.py
    # In:
    q_in: Floats,  # generalized positions, shape [num_q]
    position_in: Positions,  # position records, shape [num_mobods]
    # Out:
    value_out: ConstraintValues,  # errors, forces and slopes, shape [num_rows]
    K_out: FloatTable,  # shape [num_rows, num_v]
    kept_out: Integers,  # 0 for rows that no velocity can change (3), else 1; shape [num_rows]
) -> None:
    """Computes what depends on q alone, equations (1) to (3)."""
    for r in range(rows.shape[0]):
        write_row(rows[r], q_in, position_in, value_out[r])
        for k in range(K_out.shape[1]):
            K_out[r, k] = 0.0
        kept_out[r] = fill_row(topology, rows[r], position_in, value_out[r], 0, 0, K_out[r])
        for k in range(rows[r]["num_more"]):
            fill_more(rows[r], value_out[r], k, 0, K_out[r])


@device
def calc_constraint_rates(
    # Model:
    rows: ConstraintRecords,  # shape [num_rows]
    # In:
    q_in: Floats,  # generalized positions, shape [num_q]
    v_in: Floats,  # generalized velocities, shape [num_v]
    position_in: Positions,  # position records, shape [num_mobods]
    velocity_in: Velocities,  # velocity records, shape [num_mobods]
    scratch_in: Scratch,  # A_WB_W for vdot = 0, up to one acceleration common to all; shape [num_mobods]
    # Out:
    value_io: ConstraintValues,  # fields rate and bias; those of calc_constraint_rows are read; shape [num_rows]
) -> None:
    """Computes what depends on q and v: rates (1) and (2), and k."""
    for r in range(rows.shape[0]):
        row, value = rows[r], value_io[r]
        A, B = row["mobod_A"], row["mobod_B"]
        V_A, V_B = velocity_in[A]["V_WB_W"], velocity_in[B]["V_WB_W"]
        if row["acts_on_coordinates"] != 0:
            value["rate"] = value["slopes"][0] * v_in[row["v_0"]] + value["slopes"][1] * v_in[row["v_1"]]
            for k in range(row["num_more"]):
                value["rate"] += value["slopes"][2 + k] * v_in[row["more_v"][k]]
        else:
            t, f = rotational(value["F_W"]), translational(value["F_W"])
            v_P = velocity_of(V_A, arm_to(position_in[A], vector(value["p_WP"])))
            v_Q = velocity_of(V_B, arm_to(position_in[B], vector(value["p_WQ"])))
            value["rate"] = dot(t, subtract(rotational(V_B), rotational(V_A))) + dot(f, subtract(v_Q, v_P))
        value["bias"] = 0.0 * value["rate"]
        add_bias(
            row, q_in, v_in, position_in[A], position_in[B], V_A, V_B, scratch_in[A]["A_WB_W"],
            scratch_in[B]["A_WB_W"], value,
        )  # fmt: skip


@device
def add_force_of_row(row: Array, value: Array, multiplier: float, position_in: Array, F_io: Array) -> None:
    """Adds the force of a row, multiplier [t; f] at Q on B and the opposite at P on A, to those on the bodies.

    Args:
        row, value: records of a row between bodies.
        multiplier: of [t; f].
        position_in: position records, shape [num_mobods].
        F_io: spatial forces on the bodies, about Bo in W, shape [num_mobods, 6].
    """
    t, f = scaled(multiplier, rotational(value["F_W"])), scaled(multiplier, translational(value["F_W"]))
    A, B = row["mobod_A"], row["mobod_B"]
    push(F_io[B], arm_to(position_in[B], vector(value["p_WQ"])), t, f)
    push(F_io[A], arm_to(position_in[A], vector(value["p_WP"])), scaled(-1.0, t), scaled(-1.0, f))


constraint_rows = kernel(calc_constraint_rows)
