"""No motion at all."""

from __future__ import annotations

import numpy as np

from merganser.framework.math import RigidTransform
from merganser.multibody.kernels.mobilizers import weld
from merganser.multibody.tree.frame import Frame
from merganser.multibody.tree.joints.joint import Joint


class WeldJoint(Joint):
    """M is fixed in F.

    Args:
        name: unique among the joints of the child's model instance.
        frame_on_parent_F: F.
        frame_on_child_M: M.
        X_FM: pose of M in F.

    Raises:
        TypeError: if a frame is not a Frame or X_FM not a RigidTransform.
    """

    kTypeName = "weld"
    kind = weld.KIND

    def __init__(
        self, name: str, frame_on_parent_F: Frame, frame_on_child_M: Frame, X_FM: RigidTransform
    ) -> None:
        super().__init__(name, frame_on_parent_F, frame_on_child_M, np.zeros(0))
        if not isinstance(X_FM, RigidTransform):
            raise TypeError(
                f"WeldJoint({name!r}): X_FM must be a RigidTransform, not a {type(X_FM).__name__}."
            )
        self._X_FM = X_FM

    def X_FM(self) -> RigidTransform:
        """Returns the pose of M in F."""
        return self._X_FM

    def _mobilizer_X_FM(self) -> RigidTransform:
        return self._X_FM
