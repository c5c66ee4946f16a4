"""Accelerometer and Gyroscope: inertial sensors on a body, without noise or bias.

The frame S of a sensor is fixed to a body B. With everything relative to the world W and expressed in S,

    w_WS_S = R_SW w_WB_W                                          the gyroscope measures this             (1)
    a_WS_W = a_WB_W + alpha_WB_W x p_BS_W + w_WB_W x (w_WB_W x p_BS_W)                                   (2)
    a_WS_S - g_S = R_SW (a_WS_W - g_W)                            the accelerometer measures this         (3)

where a_WB_W is the acceleration of the origin of B, alpha_WB_W its angular acceleration, and g_W gravity. A sensor at
rest measures -g_S, which points up; one that falls freely measures zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework import BasicVector, Context, InputPort, LeafSystem, OutputPort, Value
from merganser.framework.core.scalars.templates import SystemTemplate
from merganser.framework.core.values.arguments import require_types
from merganser.framework.math import RigidTransform
from merganser.multibody.systems.applied_forces import item_of_body
from merganser.multibody.tree import BodyIndex, RigidBody

Array = NDArray[Any]


class _InertialSensor(LeafSystem):
    """Abstract: a sensor whose output `measurement` is a vector in its own frame."""

    def __init__(self, body: RigidBody, X_BS: RigidTransform, inputs: tuple[str, ...]) -> None:
        super().__init__()
        require_types(type(self).__name__, body=(body, RigidBody))
        self._body_index = BodyIndex(body.index())
        self._X_BS = RigidTransform(X_BS)
        self._bodies = [self.DeclareAbstractInputPort(name, Value([])) for name in inputs]
        self.DeclareVectorOutputPort("measurement", 3, self._calc_measurement, {self.all_input_ports_ticket()})

    def get_body_poses_input_port(self) -> InputPort:
        """Returns the port of the poses of all bodies of the plant."""
        return self._bodies[0]

    def get_body_velocities_input_port(self) -> InputPort:
        """Returns the port of the spatial velocities of all bodies of the plant."""
        return self._bodies[1]

    def get_measurement_output_port(self) -> OutputPort:
        """Returns the port of the measurement, expressed in S, shape [3]."""
        return self.get_output_port(0)

    def body_index(self) -> BodyIndex:
        """Returns which body B the sensor is fixed to."""
        return self._body_index

    def pose(self) -> RigidTransform:
        """Returns X_BS, the pose of the sensor in its body."""
        return RigidTransform(self._X_BS)

    def _of_body(self, context: Context) -> list[Any]:
        """The inputs for B."""
        return [item_of_body(self, port.Eval(context), self._body_index) for port in self._bodies]

    def _calc_measurement(self, context: Context, output: BasicVector) -> None:
        raise NotImplementedError


class Accelerometer(_InertialSensor):
    """An accelerometer: the acceleration of its origin less gravity, equation (3) [m/s^2].

    Its inputs, `body_poses`, `body_spatial_velocities` and `body_spatial_accelerations`, are outputs of a plant.

    Args:
        body: B, that it is fixed to.
        X_BS: its pose in B.
        gravity_vector: g_W [m/s^2], shape [3]; by default none, for the acceleration alone.

    Raises:
        ValueError: the gravity vector has another shape, or is not finite.
    """

    def __init__(self, body: RigidBody, X_BS: RigidTransform, gravity_vector: ArrayLike = (0.0, 0.0, 0.0)) -> None:
        g_W = np.array(gravity_vector, float).ravel()
        if g_W.shape != (3,) or not np.isfinite(g_W).all():
            raise ValueError(f"Accelerometer: gravity_vector must be 3 finite numbers, got {gravity_vector!r}.")
        super().__init__(body, X_BS, ("body_poses", "body_spatial_velocities", "body_spatial_accelerations"))
        self._g_W = g_W

    def get_body_accelerations_input_port(self) -> InputPort:
        """Returns the port of the spatial accelerations of all bodies of the plant."""
        return self._bodies[2]

    def gravity_vector(self) -> Array:
        """Returns g_W [m/s^2], shape [3]."""
        return self._g_W.copy()

    def _calc_measurement(self, context: Context, output: BasicVector) -> None:
        X_WB, V_WB_W, A_WB_W = self._of_body(context)
        p_BS_W = X_WB.rotation() @ self._X_BS.translation()
        a_WS_W = A_WB_W.Shift(p_BS_W, V_WB_W.rotational()).translational()  # (2)
        R_WS = X_WB.rotation() @ self._X_BS.rotation()
        output.SetFromVector(R_WS.inverse() @ (a_WS_W - self._g_W))  # (3)


class Gyroscope(_InertialSensor):
    """A gyroscope: the angular velocity of its body, equation (1) [rad/s].

    Its inputs, `body_poses` and `body_spatial_velocities`, are outputs of a plant.

    Args:
        body: B, that it is fixed to.
        X_BS: its pose in B; only its rotation matters.
    """

    def __init__(self, body: RigidBody, X_BS: RigidTransform) -> None:
        super().__init__(body, X_BS, ("body_poses", "body_spatial_velocities"))

    def _calc_measurement(self, context: Context, output: BasicVector) -> None:
        X_WB, V_WB_W = self._of_body(context)
        R_WS = X_WB.rotation() @ self._X_BS.rotation()
        output.SetFromVector(R_WS.inverse() @ V_WB_W.rotational())  # (1)


Accelerometer_ = SystemTemplate(Accelerometer)
Gyroscope_ = SystemTemplate(Gyroscope)
