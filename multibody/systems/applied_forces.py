"""Systems whose outputs are forces on a plant: propellers, a wing, and lists of forces that become one."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np

from merganser.framework import (
    BasicVector,
    Context,
    DiagramBuilder,
    InputPort,
    LeafSystem,
    OutputPort,
    Value,
    kUseDefaultName,
)
from merganser.framework.common.records import settings
from merganser.framework.math import RigidTransform
from merganser.multibody.math import SpatialForce
from merganser.multibody.plant.input_ports import ExternallyAppliedSpatialForce
from merganser.multibody.plant.multibody_plant import MultibodyPlant
from merganser.multibody.tree import BodyIndex


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
    """The entry for one body in the list from a port of a plant.

    Raises:
        RuntimeError: the list is too short.
    """
    if int(body_index) >= len(values):
        raise RuntimeError(
            f"{type(system).__name__} '{system.GetSystemPathname()}' belongs to body {int(body_index)}, but its inputs "
            f"are for {len(values)} bodies. Connect the ports of the plant that has this body."
        )
    return values[int(body_index)]


class Wing(LeafSystem):
    """A flat plate in a flow, fixed to a body.

    With the velocity v of Bo relative to the air, in the frame A of the wing (Ax along the chord to the leading edge,
    Ay along the span, Az up), the lift and drag coefficients 2 sin(a) cos(a) and 2 sin(a)^2 of the angle of attack a
    make one force, normal to the plate:

        F_A = [0, 0, -rho S v_z sqrt(v_x^2 + v_z^2)]

    at the aerodynamic centre. As in pydrake, v is not that of the aerodynamic centre: the spin of B has no part in it.
    To have it, fix the wing to a body of its own, welded to B, whose origin is the aerodynamic centre.

    Input ports: `body_poses` and `body_spatial_velocities`, to be connected to the ports of these names of a plant;
    and, if wanted, `wind_velocity_at_aerodynamic_center`, in the world [m/s], and `fluid_density` [kg/m^3]. Output
    ports: `spatial_force`, for the plant's `applied_spatial_force`, and `aerodynamic_center`, its position in the
    world, which does not feed through the wind, so that a wind may depend on it.

    Source: S. Hoerner, H. Borst, Fluid-Dynamic Lift (1985), chapter 4; R. Cory, R. Tedrake, Experiments in Fixed-Wing
    UAV Perching (2008).

    Args:
        body_index: which body B.
        surface_area: S [m^2].
        X_BodyWing: pose of the wing in B; its origin is the aerodynamic centre.
        fluid_density: rho where the port is not connected [kg/m^3]; by default that of dry air at 20 degrees Celsius.
    """

    def __init__(
        self,
        body_index: BodyIndex,
        surface_area: float,
        X_BodyWing: RigidTransform | None = None,
        fluid_density: float = 1.204,
    ) -> None:
        super().__init__()
        self._body_index = BodyIndex(body_index)
        self._surface_area = float(surface_area)
        self._X_BA = RigidTransform() if X_BodyWing is None else X_BodyWing
        self._fluid_density = float(fluid_density)
        self._poses_port = self.DeclareAbstractInputPort("body_poses", Value([]))
        self._velocities_port = self.DeclareAbstractInputPort("body_spatial_velocities", Value([]))
        self._wind_port = self.DeclareVectorInputPort("wind_velocity_at_aerodynamic_center", 3)
        self._density_port = self.DeclareVectorInputPort("fluid_density", 1)
        self._force_port = self.DeclareAbstractOutputPort(
            "spatial_force", lambda: Value([]), self._calc_force, {self.all_input_ports_ticket()}
        )
        self._center_port = self.DeclareVectorOutputPort(
            "aerodynamic_center", 3, self._calc_center, {self._poses_port.ticket()}
        )

    @staticmethod
    def AddToBuilder(
        builder: DiagramBuilder,
        plant: MultibodyPlant,
        body_index: BodyIndex,
        surface_area: float,
        X_BodyWing: RigidTransform | None = None,
        fluid_density: float = 1.204,
    ) -> Wing:
        """Adds a wing to a diagram and connects it to a plant; see the class for the arguments.

        Raises:
            RuntimeError: the plant's port for applied forces is connected already; use an
                ExternallyAppliedSpatialForceMultiplexer.
        """
        wing: Wing = builder.AddSystem(Wing(body_index, surface_area, X_BodyWing, fluid_density))
        builder.Connect(plant.get_body_poses_output_port(), wing.get_body_poses_input_port())
        builder.Connect(plant.get_body_spatial_velocities_output_port(), wing.get_body_spatial_velocities_input_port())
        builder.Connect(wing.get_spatial_force_output_port(), plant.get_applied_spatial_force_input_port())
        return wing

    def get_body_poses_input_port(self) -> InputPort:
        """The poses of all bodies of the plant."""
        return self._poses_port

    def get_body_spatial_velocities_input_port(self) -> InputPort:
        """The velocities of all bodies of the plant."""
        return self._velocities_port

    def get_wind_velocity_input_port(self) -> InputPort:
        """Velocity of the wind at the aerodynamic centre, in the world [m/s]; 0 if it is not connected."""
        return self._wind_port

    def get_fluid_density_input_port(self) -> InputPort:
        """Density of the fluid [kg/m^3]; if it is not connected, that of the constructor."""
        return self._density_port

    def get_spatial_force_output_port(self) -> OutputPort:
        """A list of the one force."""
        return self._force_port

    def get_aerodynamic_center_output_port(self) -> OutputPort:
        """Position of the aerodynamic centre in the world [m], shape [3]."""
        return self._center_port

    def _pose(self, context: Context) -> Any:
        """X_WA of the wing."""
        return item_of_body(self, self._poses_port.Eval(context), self._body_index) @ self._X_BA

    def _calc_force(self, context: Context, output: Any) -> None:
        R_WA, p_BoAo_B = self._pose(context).rotation(), np.array(self._X_BA.translation())
        v_W = item_of_body(self, self._velocities_port.Eval(context), self._body_index).translational()
        if self._wind_port.HasValue(context):
            v_W = v_W - self._wind_port.Eval(context)
        density = self._density_port.Eval(context)[0] if self._density_port.HasValue(context) else self._fluid_density
        v_A = R_WA.inverse() @ v_W
        square = v_A[0] * v_A[0] + v_A[2] * v_A[2]
        # At rest the derivative of the force is 0, and that of the root infinite. Expressions have no value.
        speed = square if getattr(square, "real", 1.0) == 0.0 else np.sqrt(square)
        normal_force = -density * self._surface_area * v_A[2] * speed
        F_Ao_W = SpatialForce(np.zeros(3), normal_force * R_WA.col(2))
        output.set_value([ExternallyAppliedSpatialForce(self._body_index, p_BoAo_B, F_Ao_W)])

    def _calc_center(self, context: Context, output: BasicVector) -> None:
        output.SetFromVector(self._pose(context).translation())


class ExternallyAppliedSpatialForceMultiplexer(LeafSystem):
    """Joins lists of ExternallyAppliedSpatialForce into one, y0 = u0 + u1 + ...

    A plant has one input port for applied forces; this lets several systems push.

    Args:
        num_inputs: how many lists, 0 or more.

    Raises:
        ValueError: num_inputs is negative.
    """

    def __init__(self, num_inputs: int) -> None:
        super().__init__()
        if num_inputs < 0:
            raise ValueError(
                f"ExternallyAppliedSpatialForceMultiplexer: num_inputs must be 0 or more, got {num_inputs}."
            )
        self._lists: list[InputPort] = [
            self.DeclareAbstractInputPort(kUseDefaultName, Value([])) for _ in range(num_inputs)
        ]
        self.DeclareAbstractOutputPort(
            kUseDefaultName, lambda: Value([]), self._calc_forces, {self.all_input_ports_ticket()}
        )

    def _calc_forces(self, context: Context, output: Any) -> None:
        output.set_value([force for port in self._lists for force in port.Eval(context)])
