"""Points and axes of the frames P and Q, and how they move."""

from __future__ import annotations

from merganser.framework.native import device
from merganser.multibody.kernels.frames import acceleration_of, arm_of, axis_of, point_of, velocity_of
from merganser.multibody.kernels.spatial import Array, Vector3, set_spatial, set_vector

__all__ = ["acceleration_of", "arm_of", "axis_of", "point_of", "set_force", "velocity_of"]


@device
def set_force(value_out: Array, t: Vector3, f: Vector3, p_WP: Vector3, p_WQ: Vector3) -> None:
    """Writes the spatial force of a row, and where it acts."""
    set_spatial(value_out["F_W"], t, f)
    set_vector(value_out["p_WP"], p_WP)
    set_vector(value_out["p_WQ"], p_WQ)
