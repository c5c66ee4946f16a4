"""Gains of the PD controller of an actuator."""

from __future__ import annotations

from dataclasses import dataclass

from merganser.framework.common.records import settings

__all__ = ["PdControllerGains"]


@settings
@dataclass(kw_only=True)
class PdControllerGains:
    """Gains of the control law u = -p (q - qd) - d (v - vd) + u_ff of an actuator.

    Attributes:
        p: proportional gain [N m/rad or N/m].
        d: derivative gain [N m s/rad or N s/m].
    """

    p: float = 0.0
    d: float = 0.0
