"""Translation along one axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from merganser.multibody.kernels.mobilizers import prismatic
from merganser.multibody.tree.joints.one_dof_joint import OneDofJoint

if TYPE_CHECKING:
    from merganser.framework import Context


class PrismaticJoint(OneDofJoint):
    """Mo moves in F by q along an axis, and M keeps the orientation of F [m]; arguments as OneDofJoint."""

    kTypeName = "prismatic"
    kind = prismatic.KIND

    def translation_axis(self) -> npt.NDArray[Any]:
        """Returns the unit vector along the axis, the same components in F and M, shape [3]."""
        return self._axis.copy()

    def get_default_translation(self) -> float:
        """Returns the displacement that new Contexts start with [m]."""
        return float(self._default_positions[0])

    def set_default_translation(self, translation: float) -> None:
        """Sets the displacement that new Contexts start with [m].

        Raises:
            ValueError: if it is not finite.
        """
        self.set_default_positions([translation])

    def set_random_translation_distribution(self, translation: Any) -> None:
        """Sets the distribution of the displacement in random Contexts, as an expression."""
        self._set_random_positions("set_random_translation_distribution", translation)

    def get_translation(self, context: Context) -> Any:
        """Returns the displacement q in the Context [m]."""
        return self._q(context)[0]

    def set_translation(self, context: Context, translation: Any) -> PrismaticJoint:
        """Sets the displacement q in the Context [m], and returns this joint."""
        self._set_q(context, translation)
        return self

    def get_translation_rate(self, context: Context) -> Any:
        """Returns dq/dt in the Context [m/s]."""
        return self._v(context)[0]

    def set_translation_rate(self, context: Context, translation_dot: Any) -> PrismaticJoint:
        """Sets dq/dt in the Context [m/s], and returns this joint."""
        self._set_v(context, translation_dot)
        return self
