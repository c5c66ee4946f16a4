"""Measures of where two frames of a plant are, with their derivatives by q: what constraints on postures are made of.

Frame A is fixed to Abar at X_AbarA and B to Bbar at X_BbarB; points P, Q and vectors a, b are fixed to A and B. A value
g(R_AB, p_AQ) changes with w_AB and v_AQ, both in A, by

    gdot = alpha . w_AB + beta . v_AQ = (alpha^T J_w + beta^T J_v) N+(q) qdot                                   (1)

    kind        value                                           alpha           beta
    POSITION    p_AQ, three values                              0               the axes of A                   (2)
    COSINE      a . b                                           b x a           0                               (3)
    TRACE       trace(R_AB) = 1 + 2 cos(theta)                  -axial(R_AB)    0                               (4)
    GAZE        s = a . p_PQ                                    0               a
                and s^2 - c |p_PQ|^2                            0               2 s a - 2 c p_PQ                (5)
    POINT       |p_PQ|^2                                        0               2 p_PQ                          (6)
    LINE        |d|^2, d = p_PQ - (a . p_PQ) a                  0               2 d                             (7)

with axial(R) = [R_21 - R_12, R_02 - R_20, R_10 - R_01]. A trace has three gaps, too: by what rotation B is turned too
far. The rotation vector phi = theta a of R_AB = exp([phi]x) changes with the angular velocity w_AB_A by the inverse of
the left Jacobian of the exponential (J. Sola, J. Deray, D. Atchuthan, 2018, "A micro Lie theory", equation 146),

    dphi = (I - theta [a]x / 2 + (1 - theta cot(theta / 2) / 2) [a]x^2) w_AB_A,    [a]x^2 = a a^T - I            (8)

and phi - theta_0 a, what is to be taken away until the angle is theta_0, by

    dphi - theta_0 da,    theta da = dphi - (a . w_AB_A) a                                                       (9)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from merganser.framework.native import device, kernel
from merganser.multibody.kernels.frames import axes_of, express, locate
from merganser.multibody.kernels.jacobians import calc_jacobian, calc_qdot_jacobian
from merganser.multibody.kernels.position import calc_position_kinematics
from merganser.multibody.kernels.spatial import Vector3, add, cross, dot, scaled, set_vector, subtract, vector

Array = np.ndarray[Any, Any]


@device
def calc_rotation_gap(
    # In:
    R_AB_in: Array,   # shape [3, 3]
    aim: float,       # theta_0 [rad], from 0 to pi
    # Out:
    gap_out: Array,   # phi - theta_0 a in A, or 0 where theta <= theta_0 [rad], shape [3]
    by_w_out: Array,  # its derivatives by w_AB_A, shape [3, 3]
) -> float:  # fmt: skip
    """Returns the trace of R_AB."""
    trace = R_AB_in[0, 0] + R_AB_in[1, 1] + R_AB_in[2, 2]
    theta = _angle_and_axis(R_AB_in, trace, gap_out)
    a0, a1, a2 = gap_out[0], gap_out[1], gap_out[2]
    is_over, is_turned = theta > aim, theta > 1e-9
    by_axis = 1.0 - 0.5 * theta / math.tan(0.5 * theta) if is_turned else 0.0  # of [a]x^2
    across = 0.5 * theta
    of_axis = aim / theta if is_turned else 0.0  # part of (8) that (9) takes away, but for what is along a
    for i in range(3):
        for j in range(3):
            along = gap_out[i] * gap_out[j]
            same = 1.0 if i == j else 0.0
            by_w_out[i, j] = (1.0 - of_axis) * (same + by_axis * (along - same)) + of_axis * along
            if not is_over and aim > 0.0:
                by_w_out[i, j] = 0.0
    if is_over:
        across *= 1.0 - of_axis
        by_w_out[0, 1] += across * a2
        by_w_out[1, 0] -= across * a2
        by_w_out[0, 2] -= across * a1
        by_w_out[2, 0] += across * a1
        by_w_out[1, 2] += across * a0
        by_w_out[2, 1] -= across * a0
    over = theta - aim if is_over else 0.0
    for i in range(3):
        gap_out[i] *= over
    return float(trace)


@device
def _angle_and_axis(R: Array, trace: float, axis_out: Array) -> float:
    """The angle in [0, pi] of a rotation; its axis, from the largest column of (1 - cos(theta)) a a^T near pi."""
    axis_out[0] = 0.5 * (R[2, 1] - R[1, 2])  # sin(theta) a
    axis_out[1] = 0.5 * (R[0, 2] - R[2, 0])
    axis_out[2] = 0.5 * (R[1, 0] - R[0, 1])
    sine = math.sqrt(axis_out[0] ** 2 + axis_out[1] ** 2 + axis_out[2] ** 2)
    cosine = 0.5 * (trace - 1.0)
    if cosine < -0.9:
        k = 0
        for i in range(1, 3):
            if R[i, i] > R[k, k]:
                k = i
        sign = -1.0 if axis_out[k] < 0.0 else 1.0
        for i in range(3):
            axis_out[i] = sign * (0.5 * (R[i, k] + R[k, i]) - (cosine if i == k else 0.0))
    length = math.sqrt(axis_out[0] ** 2 + axis_out[1] ** 2 + axis_out[2] ** 2)
    if length > 0.0:
        for i in range(3):
            axis_out[i] /= length
    return math.atan2(sine, cosine)


rotation_gap = kernel(calc_rotation_gap)


POSITION, COSINE, TRACE, GAZE, POINT, LINE = range(6)
NUM_VALUES = (3, 1, 1, 2, 1, 1)
NUM_GAPS = (0, 0, 3, 0, 0, 0)

measure_dtype = np.dtype(
    [
        ("kind", np.int64),
        ("row", np.int64),  # of the first value
        ("gap_row", np.int64),  # of the first gap
        ("mobod_A", np.int64),
        ("mobod_B", np.int64),
        ("slot_A", np.int64),  # of Abar among the offset frames of the plant; -1: it is that of the body
        ("slot_B", np.int64),
        ("X_A", np.float64, (3, 4)),  # X_AbarA and X_BbarB as matrices [R p]
        ("X_B", np.float64, (3, 4)),
        ("p_AP", np.float64, (3,)),
        ("a_A", np.float64, (3,)),  # of length 1
        ("p_BQ", np.float64, (3,)),
        ("b_B", np.float64, (3,)),  # of length 1
        ("constant", np.float64),  # c of (5); the angle up to which there are no gaps
        ("limit", np.float64),  # the angle that is allowed
    ]
)


@device
def _compose(frames: Array, slot: int, X_in: Array, X_out: Array) -> None:
    """X_BF of a frame F fixed to an offset frame, or to that of the body."""
    for r in range(3):
        for c in range(4):
            X_out[r, c] = X_in[r, c]
            if slot >= 0:
                X = frames[slot]["X_BF"][r]
                X_out[r, c] = X[0] * X_in[0, c] + X[1] * X_in[1, c] + X[2] * X_in[2, c] + (X[3] if c == 3 else 0.0)


@device
def _set_row(row: int, value: float, alpha: Vector3, beta: Vector3, values_out: Array, slopes_out: Array) -> None:
    values_out[row] = value
    set_vector(slopes_out[row, :3], alpha)
    set_vector(slopes_out[row, 3:], beta)


@device
def _set_measure(
    measure: Array, columns: tuple[Vector3, Vector3, Vector3], p_AQ: Vector3, values: Array, slopes: Array, works: Array
) -> None:
    """Writes the values of a measure, and [alpha; beta] of each: (2) to (7).

    Args:
        measure: record.
        columns: those of R_AB.
        p_AQ: [m].
        values: of all measures.
        slopes: of all measures, shape [num_rows, 6].
        works: shape [3, 3, 3].
    """
    kind, row, a = measure["kind"], measure["row"], vector(measure["a_A"])
    zero, p_PQ = (0.0, 0.0, 0.0), subtract(p_AQ, vector(measure["p_AP"]))
    along = dot(a, p_PQ)
    if kind == POSITION:
        _set_row(row, p_AQ[0], zero, (1.0, 0.0, 0.0), values, slopes)
        _set_row(row + 1, p_AQ[1], zero, (0.0, 1.0, 0.0), values, slopes)
        _set_row(row + 2, p_AQ[2], zero, (0.0, 0.0, 1.0), values, slopes)
    elif kind == COSINE:
        b = vector(measure["b_B"])
        b_A = add(add(scaled(b[0], columns[0]), scaled(b[1], columns[1])), scaled(b[2], columns[2]))
        _set_row(row, dot(a, b_A), cross(b_A, a), zero, values, slopes)
    elif kind == TRACE:
        R_AB, gap, by_w = works[0], works[1, 0], works[2]
        for c in range(3):
            R_AB[0, c], R_AB[1, c], R_AB[2, c] = columns[c]
        trace = calc_rotation_gap(R_AB, measure["constant"], gap, by_w)
        axial = R_AB[2, 1] - R_AB[1, 2], R_AB[0, 2] - R_AB[2, 0], R_AB[1, 0] - R_AB[0, 1]
        _set_row(row, trace, scaled(-1.0, axial), zero, values, slopes)
        for k in range(3):
            _set_row(measure["gap_row"] + k, gap[k], vector(by_w[k]), zero, values, slopes)
    elif kind == GAZE:
        square = measure["constant"]
        _set_row(row, along, zero, a, values, slopes)
        beta = subtract(scaled(2.0 * along, a), scaled(2.0 * square, p_PQ))
        _set_row(row + 1, along * along - square * dot(p_PQ, p_PQ), zero, beta, values, slopes)
    else:
        d = p_PQ if kind == POINT else subtract(p_PQ, scaled(along, a))
        _set_row(row, dot(d, d), zero, scaled(2.0, d), values, slopes)


@device
def calc_measures(
    # Model:
    topology: Array,       # shape [num_mobods], see layout.py
    parameters: Array,     # shape [num_mobods], and the segments of paths
    frames: Array,         # poses of the offset frames
    measures: Array,       # shape [num_measures]
    # In:
    q_in: Array,           # generalized positions, shape [N, num_q]
    # Work:
    position_work: Array,  # position records, shape [num_mobods]
    X_work: Array,         # shape [5, 3, 4]
    slopes_work: Array,    # shape [num_rows, 6]
    J_work: Array,         # shape [6 + num_rows, num_v]
    q_work: Array,         # shape [num_q]
    v_work: Array,         # shape [num_v]
    # Out:
    values_out: Array,     # values and gaps, shape [N, num_rows]
    J_out: Array,          # their derivatives by q, shape [N, num_rows, num_q]
) -> None:  # fmt: skip
    """Computes all values with their derivatives (1) at N postures."""
    X_A, X_B, of_v = X_work[0], X_work[1], J_work[6:]
    for n in range(q_in.shape[0]):
        calc_position_kinematics(topology, parameters, q_in[n], position_work)
        for i in range(measures.shape[0]):
            measure = measures[i]
            A, B = measure["mobod_A"], measure["mobod_B"]
            _compose(frames, measure["slot_A"], measure["X_A"], X_A)
            _compose(frames, measure["slot_B"], measure["X_B"], X_B)
            axes_A, axes_B = axes_of(position_work[A], X_A), axes_of(position_work[B], X_B)
            columns = express(axes_A, axes_B[0]), express(axes_A, axes_B[1]), express(axes_A, axes_B[2])
            p_WQ = locate(position_work[B], X_B, vector(measure["p_BQ"]))
            p_AQ = express(axes_A, subtract(p_WQ, locate(position_work[A], X_A, (0.0, 0.0, 0.0))))
            _set_measure(measure, columns, p_AQ, values_out[n], slopes_work, X_work[2:, :, :3])
            calc_jacobian(topology, position_work, B, X_B, measure["p_BQ"], A, A, X_A, J_work[:6])
            num_values = 3 if measure["kind"] == POSITION else 2 if measure["kind"] == GAZE else 1
            _combine(measure["row"], num_values, slopes_work, J_work, of_v)
            _combine(measure["gap_row"], 3 if measure["kind"] == TRACE else 0, slopes_work, J_work, of_v)
        calc_qdot_jacobian(topology, q_in[n], of_v, q_work, v_work, J_out[n])


@device
def _combine(first: int, count: int, slopes: Array, J: Array, of_v_out: Array) -> None:
    """alpha^T J_w + beta^T J_v of some rows."""
    for r in range(first, first + count):
        for c in range(J.shape[1]):
            total = 0.0
            for k in range(6):
                total += slopes[r, k] * J[k, c]
            of_v_out[r, c] = total


@kernel
def curve_postures(
    # Model:
    topology: Array,       # these and the work as calc_measures() takes them
    parameters: Array,
    frames: Array,
    measures: Array,
    # In:
    weights_in: Array,     # of the values, and perhaps of the gaps, shape [num_values] or [num_rows]
    step: float,           # relative one of differences
    # In, and the same out:
    q_io: Array,           # generalized positions, shape [1, num_q]
    # Work:
    position_work: Array,
    X_work: Array,
    slopes_work: Array,
    J_work: Array,
    q_work: Array,
    v_work: Array,
    values_work: Array,    # shape [1, num_rows]
    by_q_work: Array,      # shape [1, num_rows, num_q]
    # Out:
    H_out: Array,          # second derivatives of weights . values, shape [num_q, num_q]
) -> None:  # fmt: skip
    """By differences of the first derivatives along each position; the posture itself is measured last."""
    n = q_io.shape[1]
    for j in range(n, -1, -1):
        k = j - 1 if j > 0 else 0
        q = q_io[0, k]
        h = step * max(1.0, abs(q)) if j > 0 else 0.0
        q_io[0, k] = q + h
        calc_measures(
            topology, parameters, frames, measures, q_io, position_work, X_work, slopes_work, J_work, q_work, v_work,
            values_work, by_q_work,
        )  # fmt: skip
        q_io[0, k] = q
        for c in range(n):
            total = 0.0
            for r in range(weights_in.shape[0]):
                total += weights_in[r] * by_q_work[0, r, c]
            if j > 0:
                H_out[k, c] = total
                continue
            for i in range(n):
                H_out[i, c] = (H_out[i, c] - total) / (step * max(1.0, abs(q_io[0, i])))
    for i in range(n):
        for j in range(i):
            H_out[i, j] = 0.5 * (H_out[i, j] + H_out[j, i])
            H_out[j, i] = H_out[i, j]


measure_postures = kernel(calc_measures)
