"""A kind of transmission: one function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class TransmissionKind:
    """One kind of transmission: a length l(q), and its moment arms J = dl/dq along the velocities.

        ldot = J v,   tau = J^T f   for a force f along the transmission that lengthens it                 (1)

    Attributes:
        name: such as "spatial tendon".
        set_length: (transmission, nodes, topology, q_in, position_in, length_out, arms_out) adds l to length_out[0],
            and J to arms_out, shape [num_v]; both are zero before. It is a kernels' helper: loops over arrays and
            records, of floats and complex numbers alike. Its nodes are nodes[transmission["first"]] up to
            nodes[transmission["end"]] (records.py); transmission["constants"] are up to eight numbers of its own.
    """

    name: str
    set_length: Callable[..., None]
