"""A camera of VTK that sees what one of ours does.

VTK's view frame V has its origin at the aperture, Vx to the right, Vy upwards and Vz backwards. In normalized device
coordinates, which go from -1 to 1 over an image of w times h pixels, upwards and with 1 at the far plane, a pixel
(u, v) has its center at x = 2 (u + 1/2) / w - 1 and y = 1 - 2 (v + 1/2) / h. With CameraInfo's (1) and depth z:

    z x = (2 f_x / w) x_V + (2 (c_x + 1/2) / w - 1) z
    z y = (2 f_y / h) y_V + (1 - 2 (c_y + 1/2) / h) z      (1)

An image may also be the lower left part of a larger one, of W times H pixels. Then W and H take the places of w and h,
and rows are counted from its upper edge: c_y + H - h takes the place of c_y.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from vtkmodules.vtkCommonMath import vtkMatrix4x4

from merganser.framework.math import RigidTransform
from merganser.geometry.rendering.camera_info import CameraInfo
from merganser.geometry.rendering.cameras import ClippingRange, RenderCameraCore

__all__ = ["aim", "projection"]


def projection(info: CameraInfo, clipping: ClippingRange, size: tuple[int, int]) -> np.ndarray:
    """The matrix that takes points in V to homogeneous normalized device coordinates, see (1); shape [4, 4].

    Args:
        info: of the image.
        clipping: distances of the near and far planes.
        size: width and height of the image whose lower left part it is.
    """
    (W, H), near, far = size, clipping.near(), clipping.far()
    center_y = info.center_y() + H - info.height()
    P = np.zeros((4, 4))
    P[0, 0], P[0, 2] = 2.0 * info.focal_x() / W, 1.0 - (2.0 * info.center_x() + 1.0) / W
    P[1, 1], P[1, 2] = 2.0 * info.focal_y() / H, (2.0 * center_y + 1.0) / H - 1.0
    P[2, 2], P[2, 3] = -(far + near) / (far - near), -2.0 * far * near / (far - near)
    P[3, 2] = -1.0
    return P


def aim(camera: Any, core: RenderCameraCore, X_WR: RigidTransform, size: tuple[int, int]) -> None:
    """Gives a camera of VTK the place of a sensor frame R, and the projection of a camera.

    Args:
        camera: of VTK.
        core: our camera.
        X_WR: pose of the sensor frame in the world.
        size: as of `projection`.
    """
    p_WR, R_WR = X_WR.translation(), X_WR.rotation().matrix()
    camera.SetPosition(p_WR)
    camera.SetFocalPoint(p_WR + R_WR[:, 2])
    camera.SetViewUp(-R_WR[:, 1])
    info, clipping = core.intrinsics(), core.clipping()
    camera.SetClippingRange(clipping.near(), clipping.far())
    camera.SetViewAngle(np.rad2deg(info.fov_y()))
    matrix = vtkMatrix4x4()
    matrix.DeepCopy(projection(info, clipping, size).ravel())
    camera.SetExplicitProjectionTransformMatrix(matrix)
    camera.UseExplicitProjectionTransformMatrixOn()
