"""A force on a body that comes through an input port."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.common.records import settings
from merganser.multibody.math import SpatialForce
from merganser.multibody.tree import BodyIndex

__all__ = ["ExternallyAppliedSpatialForce"]


@settings
@dataclasses.dataclass(eq=False, slots=True)
class ExternallyAppliedSpatialForce:
    """A spatial force on body B, applied at point Bq fixed to B.

    Attributes:
        body_index: which body B; by default none, which is refused.
        p_BoBq_B: position of Bq from Bo, in B [m], shape [3].
        F_Bq_W: force on B at Bq, in the world frame [N m, N].
    """

    body_index: BodyIndex = dataclasses.field(default_factory=BodyIndex)
    p_BoBq_B: NDArray[Any] = dataclasses.field(default_factory=lambda: np.zeros(3))
    F_Bq_W: SpatialForce = dataclasses.field(default_factory=SpatialForce.Zero)
