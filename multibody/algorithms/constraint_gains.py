"""Gains of the stabilization of loop joints."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PDGains:
    """Gains of gddot = -k g - d gdot.

    Attributes:
        k: [1/s^2].
        d: [1/s].
    """

    k: float
    d: float


@dataclass(frozen=True)
class SE3PDGains:
    """Gains of the errors of a joint.

    Attributes:
        angular: of angles.
        linear: of displacements.
    """

    angular: PDGains
    linear: PDGains


def default_constraint_stabilization_gains() -> SE3PDGains:
    """Returns gains of critical damping with a stabilization time of 0.1 s (Featherstone 2008, section 8.3)."""
    return SE3PDGains(PDGains(100.0, 20.0), PDGains(100.0, 20.0))
