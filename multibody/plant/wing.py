"""A wing: the forces of a flow on a flat plate."""

from __future__ import annotations

from typing import Any

import numpy as np

from merganser.framework import BasicVector, Context, DiagramBuilder, InputPort, LeafSystem, OutputPort, Value
from merganser.framework.math import RigidTransform
from merganser.multibody.math import SpatialForce
from merganser.multibody.plant.externally_applied_spatial_force import ExternallyAppliedSpatialForce
from merganser.multibody.plant.multibody_plant import MultibodyPlant
from merganser.multibody.plant.propeller import item_of_body
from merganser.multibody.tree import BodyIndex

__all__ = ["Wing"]


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
