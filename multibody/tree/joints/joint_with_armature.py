"""Base of joints with an inertia of their own."""

from __future__ import annotations

import numpy as np

from merganser.multibody.tree.joints.joint import Joint


class JointWithArmature(Joint):
    """Abstract joint with one velocity, or a ball, whose mass matrix has its armature on the diagonal."""

    def default_armature(self) -> float:
        """Returns the inertia that moves with the joint beside that of bodies and of the rotors of actuators.

        Inertia of a rotation [kg m^2], or mass of a translation [kg]; of a ball about every axis. An addition to
        pydrake's functions.
        """
        return self._default_armature

    def set_default_armature(self, armature: float) -> None:
        """Sets the armature, on the diagonal of the mass matrices of new Contexts; see default_armature().

        Raises:
            RuntimeError: if it is negative or not finite.
        """
        if not (np.isfinite(armature) and armature >= 0.0):
            raise RuntimeError(
                f"set_default_armature(): the armature of joint {self._name!r} must be finite and not negative, but "
                f"is {armature}."
            )
        self._default_armature = float(armature)
