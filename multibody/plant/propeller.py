"""Propellers: thrust and moment on bodies, in proportion to a command."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np

from merganser.framework import Context, InputPort, LeafSystem, OutputPort, Value
from merganser.framework.common.records import settings
from merganser.framework.math import RigidTransform
from merganser.multibody.math import SpatialForce
from merganser.multibody.plant.externally_applied_spatial_force import ExternallyAppliedSpatialForce
from merganser.multibody.tree import BodyIndex

__all__ = ["Propeller", "PropellerInfo", "item_of_body"]


@settings
@dataclasses.dataclass(eq=False)
class PropellerInfo:
    """One propeller, whose frame P is fixed to body B; it pushes along Pz.

    Attributes:
        body_index: which body B.
        X_BP: pose of P in B.
        thrust_ratio: force by command [N].
        moment_ratio: moment about Pz by command [N m]; 0 for a thruster.
    """

    body_index: BodyIndex
    X_BP: RigidTransform = dataclasses.field(default_factory=RigidTransform)
    thrust_ratio: float = 1.0
    moment_ratio: float = 0.0


class Propeller(LeafSystem):
    """One or more propellers: F_Po_W = R_WP [0, 0, moment_ratio u, 0, 0, thrust_ratio u].

    Input ports: `command` u, one element for each propeller; `body_poses`, to be connected to the port of that name
    of a plant. Output port: `spatial_forces`, for the plant's `applied_spatial_force`.

    Args:
        body_index: the body that a single propeller is fixed to; or a list of PropellerInfo, alone (also as
            `propeller_info=`).
        X_BP, thrust_ratio, moment_ratio: of a single propeller, see PropellerInfo.

    Raises:
        TypeError: neither a BodyIndex nor a list of PropellerInfo is given.
    """

    def __init__(
        self,
        body_index: BodyIndex | Iterable[PropellerInfo] | None = None,
        X_BP: RigidTransform | None = None,
        thrust_ratio: float = 1.0,
        moment_ratio: float = 0.0,
        *,
        propeller_info: Iterable[PropellerInfo] | None = None,
    ) -> None:
        super().__init__()
        given = body_index if propeller_info is None else propeller_info
        if isinstance(given, BodyIndex):
            X_BP = RigidTransform() if X_BP is None else X_BP
            self._propellers = [PropellerInfo(given, X_BP, float(thrust_ratio), float(moment_ratio))]
        elif isinstance(given, Iterable):
            self._propellers = [dataclasses.replace(info) for info in given]
        else:
            raise TypeError(f"Propeller takes a BodyIndex, or a list of PropellerInfo; got {given!r}.")
        self._command_port = self.DeclareVectorInputPort("command", len(self._propellers))
        self._poses_port = self.DeclareAbstractInputPort("body_poses", Value([]))
        self._forces_port = self.DeclareAbstractOutputPort(
            "spatial_forces", lambda: Value([]), self._calc_forces, {self.all_input_ports_ticket()}
        )

    def num_propellers(self) -> int:
        """The number of propellers."""
        return len(self._propellers)

    def get_command_input_port(self) -> InputPort:
        """The commands, one element for each propeller."""
        return self._command_port

    def get_body_poses_input_port(self) -> InputPort:
        """The poses of all bodies of the plant."""
        return self._poses_port

    def get_spatial_forces_output_port(self) -> OutputPort:
        """The list of forces, one for each propeller."""
        return self._forces_port

    def _calc_forces(self, context: Context, output: Any) -> None:
        command, poses = self._command_port.Eval(context), self._poses_port.Eval(context)
        forces = []
        for u, info in zip(command, self._propellers):
            Pz_W = (item_of_body(self, poses, info.body_index).rotation() @ info.X_BP.rotation()).col(2)
            F_Po_W = SpatialForce(info.moment_ratio * u * Pz_W, info.thrust_ratio * u * Pz_W)
            forces.append(ExternallyAppliedSpatialForce(info.body_index, np.array(info.X_BP.translation()), F_Po_W))
        output.set_value(forces)


def item_of_body(system: LeafSystem, values: list[Any], body_index: BodyIndex) -> Any:
    """What the list from a port of a plant says about one body.

    Raises:
        RuntimeError: the list is too short.
    """
    if int(body_index) >= len(values):
        raise RuntimeError(
            f"{type(system).__name__} '{system.GetSystemPathname()}' belongs to body {int(body_index)}, but its inputs "
            f"tell about {len(values)} bodies. Connect the ports of the plant that has this body."
        )
    return values[int(body_index)]
