"""A kind of constraint: one record of functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class ConstraintKind:
    """One kind of constraint: rows g = 0 between frames P and Q of bodies A and B, or between two coordinates.

        gdot = K v,   gddot = K vdot + k                                                  (1)

    A row between bodies defines the spatial force [t; f] whose power is gdot, and the points at which it acts:

        gdot = t . (w_WB - w_WA) + f . (v_WB(Q) - v_WA(P))                                (2)

    and one between coordinates its slopes dg/dq_0, dg/dq_1 and so on. All else (K, rates, multipliers, impulses of a
    discrete step, forces on the bodies) follows from these.

    The functions are kernels' helpers: loops over arrays and records, of floats, complex numbers and expressions alike.
    They are called for each row. Their `row` (records.py) has X_AP and X_BQ, or q_0, q_1, v_0 and v_1, and of further
    coordinates row["more_q"] and row["more_v"], row["num_more"] of them; row["index"], which of the rows of its
    constraint it is; and row["constants"], up to eight numbers.

    Attributes:
        name: such as "distance".
        set_row: (row, q_in, pose_A, pose_B, value_out) writes the error g, value_out["error"], and of bodies
            value_out["F_W"] = [t; f] with value_out["p_WP"] and value_out["p_WQ"], of coordinates value_out["slopes"],
            one for each of them. The poses are the position records of the two bodies, with fields R_WB and p_WoBo_W.
        add_bias: (row, q_in, v_in, pose_A, pose_B, V_WA_W, V_WB_W, A_WA_W, A_WB_W, value_io) adds k to
            value_io["bias"]. The accelerations are those that there are with vdot = 0, but for one that is the same for
            all bodies. Continuous plants need it; None means k = 0.
        acts_on_coordinates: whether its rows are between coordinates.
    """

    name: str
    set_row: Callable[..., None]
    add_bias: Callable[..., None] | None = None
    acts_on_coordinates: bool = False
