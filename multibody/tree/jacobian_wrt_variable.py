"""With respect to what a Jacobian is taken."""

from __future__ import annotations

import enum

__all__ = ["JacobianWrtVariable"]


class JacobianWrtVariable(enum.Enum):
    """The speeds that a velocity is a linear function of."""

    kQDot = 0  # rates of the generalized positions
    kV = 1  # generalized velocities
