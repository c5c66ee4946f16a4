"""Constants of a Schunk WSG 50 gripper: two fingers on rails, driven against each other.

The fingers of its model are two joints with positions q_0 <= 0 and q_1 >= 0, so that they are w = q_1 - q_0 apart.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework import LeafSystem, kUseDefaultName
from merganser.framework.common.records import settings
from merganser.framework.core.declarations.native_function import native
from merganser.framework.primitives import MatrixGain
from merganser.framework.primitives.native_parts import magnitude

Array = NDArray[Any]


@settings
@dataclasses.dataclass(kw_only=True, eq=False)
class SchunkWsgDriver:
    """Settings of the driver of a gripper in a simulation, like its real firmware.

    Attributes:
        pid_gains: of the fingers: elasticity of the belt [N/m], 0, friction of the gears [N s/m], shape [3].
        lcm_bus: name of the bus of commands and status.
    """

    pid_gains: NDArray[np.float64] = dataclasses.field(default_factory=lambda: np.array([7200.0, 0.0, 5.0]))
    lcm_bus: str = "default"


def GetSchunkWsgOpenPosition() -> Array:
    """Returns the positions of the fingers of an open gripper [m], shape [2]."""
    return np.array([-0.0550667, 0.0550667])


def MakeMultibodyStateToWsgStateSystem() -> MatrixGain:
    """Returns a block from the state [q_0, q_1, v_0, v_1] of the fingers to the distance between them and its rate."""
    return MatrixGain([[-1.0, 1.0, 0.0, 0.0], [0.0, 0.0, -1.0, 1.0]])


@native
def grip(f: Array, y: Array) -> None:
    """y = |f_0 - f_1|."""
    y[0] = magnitude(f[0] - f[1])


class _GripForce(LeafSystem):
    """Computes the force between the fingers [N] from their generalized forces, shape [2]."""

    def __init__(self) -> None:
        super().__init__()
        f = self.DeclareVectorInputPort(kUseDefaultName, 2)
        self.DeclareVectorOutputPort(kUseDefaultName, 1, grip.given(f=f))


def MakeMultibodyForceToWsgForceSystem() -> LeafSystem:
    """Returns a block from the generalized forces of the fingers, shape [2], to the force between them [N]."""
    return _GripForce()
