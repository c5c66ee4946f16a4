"""Points and frames of bodies between which elements act."""

from __future__ import annotations

from merganser.framework.native import device
from merganser.multibody.kernels.spatial import Array, Vector3, rotate

__all__ = ["arm"]


@device
def arm(body: Array, X_BF: Array) -> Vector3:
    """p_BoFo_W of a frame F of a body, from the body's position record and [R p]."""
    return rotate(body["R_WB"], (X_BF[0, 3], X_BF[1, 3], X_BF[2, 3]))
