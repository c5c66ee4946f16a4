"""The mass matrix of an MJCF model as the file puts it, from which damping ratios take their meaning.

    M = sum_B J_B^T M_B J_B + diag(armature)

with the Jacobian J_B of the motion of the mass centre of B (rotational, then translational) by the velocities of
all joints between B and the world.
"""

from __future__ import annotations

import functools

import numpy as np

from merganser.multibody.parsing.mjcf.bodies import MjcfLink, MjcfModel
from merganser.multibody.parsing.mjcf.joint import MjcfJoint


class ReferenceMass:
    """Computes the mass matrix when it is first asked for.

    Args:
        model: all bodies and joints; the inertia of rotors is known.
    """

    def __init__(self, model: MjcfModel):
        self._model = model

    def effective(self, joint: MjcfJoint) -> float:
        """The inertia against its force with all other joints free: one over the inverse's diagonal [kg m^2 or kg].

        Of a ball one over the mean of its three velocities. NaN, if the masses are too large to compute with.
        """
        if not np.isfinite(self._M).all():
            return float("nan")
        places = slice(self._starts[joint], self._starts[joint] + joint.num_velocities)
        units = np.eye(len(self._M))[:, places]
        inverse = float(np.linalg.lstsq(self._M, units, rcond=None)[0][places].diagonal().mean())
        return 1.0 / inverse if inverse > 0.0 else 0.0

    def effective_along(self, coefficients: dict[MjcfJoint, float]) -> float:
        """The same against a force along a sum of multiples of positions of joints with one velocity."""
        if not np.isfinite(self._M).all():
            return float("nan")
        arms = np.zeros(len(self._M))
        for joint, coefficient in coefficients.items():
            arms[self._starts[joint]] += coefficient
        mobility = float(arms @ np.linalg.lstsq(self._M, arms, rcond=None)[0])
        return 1.0 / mobility if mobility > 0.0 else 0.0

    @functools.cached_property
    def _starts(self) -> dict[MjcfJoint, int]:
        starts, size = {}, 0
        for joint in self._model.joints():
            starts[joint] = size
            size += joint.num_velocities
        return starts

    @functools.cached_property
    def _M(self) -> np.ndarray:
        size = sum(joint.num_velocities for joint in self._model.joints())
        M = np.zeros((size, size))
        motions = {joint: _motions(joint, link) for link in self._model.links for joint in link.joints}
        for link in self._model.links[1:]:
            X_WB = link.pose_in_world()
            mass = link.mass.at(X_WB)
            J = np.zeros((6, size))
            outer: MjcfLink | None = link
            while outer is not None:
                for joint in outer.joints:
                    start = self._starts[joint]
                    for k, (w, v, p) in enumerate(motions[joint]):
                        J[:3, start + k] = w
                        J[3:, start + k] = v + np.cross(w, mass.p_SoScm_S - p)
                outer = outer.parent
            M += J[:3].T @ mass.I_SScm_S @ J[:3] + mass.mass * J[3:].T @ J[3:]
        for joint, start in self._starts.items():
            for k in range(joint.num_velocities):
                M[start + k, start + k] += joint.armature + joint.rotors
        return M


def _motions(joint: MjcfJoint, link: MjcfLink) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """For each velocity of a joint of a body: angular velocity, velocity of a point, and the point, in the world."""
    X_WB = link.pose_in_world()
    p = X_WB @ joint.p_BoJo_B
    none = np.zeros(3)
    match joint.type:
        case "hinge":
            return [(X_WB.rotation() @ joint.axis_B, none, p)]
        case "slide":
            return [(none, X_WB.rotation() @ joint.axis_B, p)]
    turns = [(axis, none, p) for axis in np.eye(3)]
    return turns if joint.type == "ball" else [*turns, *((none, axis, p) for axis in np.eye(3))]
