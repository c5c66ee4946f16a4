"""A kind of mobilizer: one record of functions and facts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native import device
from merganser.framework.native.memory.hinted_types import Floats
from merganser.multibody.kernels.layout import Mobod

Vector = NDArray[np.float64]
X, Y, Z = np.eye(3)
ALL_AXES = (X, Y, Z)


class Closing(NamedTuple):
    """The constraints by which a joint of some kind closes a loop, see tree/loops.py.

    Attributes:
        translations: unit vectors u_F, along which Mo does not move in F.
        angles: pairs of unit vectors u_F and w_M, which stay at right angles.
        directions: unit vectors, the same in F and M, that point the same way when the loop is closed.
    """

    translations: tuple[Vector, ...]
    angles: tuple[tuple[Vector, Vector], ...]
    directions: tuple[Vector, ...] = ()


ORIENTATION = ((X, Y), (Y, Z), (Z, X))  # angles that keep M from turning in F


@device
def equal_rates(
    node: Mobod,  # topology record of the mobilizer
    q_in: Floats,  # generalized positions, shape [num_q]; not read
    v_in: Floats,  # generalized velocities, shape [num_v]
    qdot_out: Floats,  # rates of the positions, shape [num_q]
) -> None:
    """qdot = v."""
    for k in range(node["num_v"]):
        qdot_out[node["q_start"] + k] = v_in[node["v_start"] + k]


@device
def equal_velocities(
    node: Mobod,  # topology record of the mobilizer
    q_in: Floats,  # generalized positions, shape [num_q]; not read
    qdot_in: Floats,  # rates of the positions, shape [num_q]
    v_out: Floats,  # generalized velocities, shape [num_v]
) -> None:
    """v = qdot."""
    for k in range(node["num_v"]):
        v_out[node["v_start"] + k] = qdot_in[node["q_start"] + k]


@dataclass(frozen=True, eq=False)
class MobilizerKind:
    """One kind of mobilizer: how a frame M moves in a frame F.

        X_FM = X_FM(q),   V_FM = H_FM(q) v,   A_FM = H_FM vdot + Hdot_FM v,   qdot = N(q) v

    The functions are kernels' helpers: loops over arrays and records of layout.py, of floats, complex numbers and
    expressions alike (kernels/README.md). They take the records `node` (topology) and `fixed` (parameters) of the
    mobilizer, all `parameters`, and whole vectors q and v, in which its own start at node["q_start"] and
    node["v_start"]. Axes and biases are of B at Bo, in W; motion.py has what turns those at Mo into these.

    Attributes:
        name: of the type of joint, such as "revolute".
        positions: what the names of the positions end in; as many as there are positions.
        velocities: the same of the velocities.
        set_pose: (node, fixed, parameters, q_in, R_FM, p_FoMo_F) writes X_FM(q), shapes [3, 3] and [3].
        set_axes: (node, fixed, parameters, q_in, body) writes the rows of the hinge matrix, body["H_PB_W"]. Of the
            position record `body`, poses are known.
        add_bias: (node, fixed, parameters, q_in, v_in, body, Ab_WB_W) adds Hdot_FM v to a spatial acceleration, where
            Hdot is the rate that the axes have in F. Without one the axes are fixed in F and go through Mo.
        set_rates: (node, q_in, v_in, qdot_out) writes qdot = N(q) v.
        set_velocities: (node, q_in, qdot_in, v_out) writes v = N+(q) qdot.
        carries: pairs (l, k) for which velocity l carries velocity k (spatial.py); None if axes move in F in
            another way, for which no derivatives in closed form are used.
        can_rotate, can_translate: whether M can turn, and Mo move, in F.
        is_reversible: whether X_MF(q) is X_FM(q) with the opposite axis, so that F may be on the outboard body.
        quaternion_start: where in the positions a quaternion starts, if there is one.
        pitch_position: which position is the pitch of roll, pitch and yaw, if there is one.
        closing: (axis) gives the constraints of a joint of this kind that closes a loop; None if it cannot.
        number: in topology records, of those in the table; others get one when they are first used.
    """

    name: str
    positions: tuple[str, ...]
    velocities: tuple[str, ...]
    set_pose: Callable[..., None]
    set_axes: Callable[..., None]
    add_bias: Callable[..., None] | None = None
    set_rates: Callable[..., None] = equal_rates
    set_velocities: Callable[..., None] = equal_velocities
    carries: tuple[tuple[int, int], ...] | None = ()
    can_rotate: bool = True
    can_translate: bool = True
    is_reversible: bool = False
    quaternion_start: int | None = None
    pitch_position: int | None = None
    closing: Callable[[Vector], Closing] | None = None
    number: int | None = None

    def has_equal_rates(self) -> bool:
        """Whether qdot = v."""
        return self.set_rates is equal_rates


def across(axis: Any) -> tuple[Vector, Vector]:
    """Two unit vectors at right angles to an axis and to each other."""
    b1 = np.cross(axis, ALL_AXES[int(np.argmin(np.abs(axis)))])
    b1 /= np.linalg.norm(b1)
    return b1, np.cross(axis, b1)
