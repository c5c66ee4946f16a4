"""With respect to what a Jacobian is taken."""

from __future__ import annotations

from merganser.framework.common.enumeration import Enumeration

__all__ = ["JacobianWrtVariable"]


class JacobianWrtVariable(Enumeration):
    """The speeds that a velocity is a linear function of."""

    kQDot = 0  # rates of the generalized positions
    kV = 1  # generalized velocities
