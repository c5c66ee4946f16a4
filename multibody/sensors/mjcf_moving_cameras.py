"""Where cameras of MJCF files are that follow bodies, or turn towards them.

With a point P, the origin of a body or the mass centre of several, and all as the file puts it at first (0),

    R_WC = R_WC0,   p_WC = p_WP + p_WC0 - p_WP0                                           (1)

of a camera that follows P. One that turns towards P stays at its place in its body; with e_z upwards in the world,

    Cz = (p_WP - p_WC) / |p_WP - p_WC|,   Cx = Cz x e_z / |Cz x e_z|,   Cy = Cz x Cx      (2)

where a vector without length has the direction of x, as in MuJoCo.

Source: the XML reference of MuJoCo, on cameras.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework import Context, LeafSystem, Value
from merganser.framework.math import RigidTransform, RotationMatrix
from merganser.geometry import FrameId, FramePoseVector
from merganser.multibody.parsing.instrument_description import CameraMotion
from merganser.multibody.sensors.mjcf_sensors import PlantFinder

Array = NDArray[np.float64]


class MovingCameras(LeafSystem):
    """Poses of cameras as frames of a scene graph.

    Ports:
        input `body_poses`: of a plant.
        output `geometry_pose`: poses of the frames.

    Args:
        finder: of the plant and the model.
        cameras: frames, and how they move.
    """

    def __init__(self, finder: PlantFinder, cameras: Sequence[tuple[FrameId, CameraMotion]]) -> None:
        super().__init__()
        self._frames = [(frame, _Camera(finder, motion)) for frame, motion in cameras]
        self._poses = self.DeclareAbstractInputPort("body_poses", Value([]))
        self.DeclareAbstractOutputPort(
            "geometry_pose", lambda: Value(FramePoseVector()), self._calc, {self._poses.ticket()}
        )

    def _calc(self, context: Context, output: Any) -> None:
        X_WB = self._poses.Eval(context)
        poses = FramePoseVector()
        for frame, camera in self._frames:
            poses.set_value(frame, camera.calc_pose(X_WB))
        output.set_value(poses)


class _Camera:
    """One camera, in terms of the numbers of bodies in the plant."""

    def __init__(self, finder: PlantFinder, motion: CameraMotion) -> None:
        self._motion = motion
        self._body, self._first = finder.number_of(motion.body), finder.number_of(motion.bodies[0])
        world = finder.number_of(type(motion.body).world())
        bodies = [b for b in motion.bodies if finder.number_of(b) != world] if motion.is_of_center else []
        self._weighed = [finder.weigh(body) for body in bodies]
        self._mass = sum(body.mass for body in self._weighed)

    def calc_pose(self, X_WB: Any) -> RigidTransform:
        """X_WC."""
        motion, p_WP = self._motion, self._point(X_WB)
        if not motion.is_turning:  # (1)
            return RigidTransform(motion.X_WC.rotation(), p_WP + motion.X_WC.translation() - motion.p_WoP_W)
        p_WC = X_WB[self._body] @ motion.X_BC.translation()
        C_z = -_direction(p_WC - p_WP)  # (2)
        C_x = _direction(np.cross(C_z, [0.0, 0.0, 1.0]))
        axes = np.column_stack([C_x, np.cross(C_z, C_x), C_z])
        return RigidTransform(RotationMatrix.ProjectToRotationMatrix(axes), p_WC)

    def _point(self, X_WB: Any) -> Array:
        """p_WP."""
        if not self._mass > 0.0:
            return np.array(X_WB[self._first].translation())
        moments = [body.mass * (X_WB[body.index] @ body.p_BoBcm_B) for body in self._weighed]
        return np.asarray(np.sum(moments, axis=0) / self._mass)


def _direction(a: Array) -> Array:
    length = float(np.linalg.norm(a))
    return a / length if length > 1e-15 else np.array([1.0, 0.0, 0.0])
