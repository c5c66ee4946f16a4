"""InverseDynamics: the generalized forces that a desired acceleration takes."""

from __future__ import annotations

import enum
from typing import Any

from merganser.framework import Context, InputPort, LeafOutputPort, LeafSystem
from merganser.multibody.controllers.native_code import ControllerCode
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.plant.scratch_plant import ScratchPlant


class InverseDynamics(LeafSystem):
    """Generalized forces for a desired acceleration, or against gravity only; limits of actuators do not count.

    With the state (q, v) at input port 'estimated_state' and vd_d at 'desired_acceleration', output port
    'generalized_force' gives

        tau = M(q) vd_d + C(q, v) v - tau_g(q) - tau_app(q, v),                 (1)

    where tau_app are the forces of force elements and damping; or, in the mode kGravityCompensation, which has no port
    for accelerations,

        tau = -tau_g(q).                                                        (2)

    By the recursive Newton-Euler algorithm (Featherstone 2008, section 5.3).

    Args:
        plant: finalized; it is not copied.
        mode: what to compensate for.
        plant_context: parameters of the plant, copied; by default those of its default context.

    Raises:
        RuntimeError: the plant is not finalized.
        ValueError: the context belongs to another plant.
    """

    class InverseDynamicsMode(enum.IntEnum):
        """Purpose of the generalized forces."""

        kInverseDynamics = 0
        kGravityCompensation = 1

        __str__ = enum.Enum.__str__

    kInverseDynamics = InverseDynamicsMode.kInverseDynamics
    kGravityCompensation = InverseDynamicsMode.kGravityCompensation

    def __init__(
        self,
        plant: MultibodyPlant,
        mode: InverseDynamicsMode = InverseDynamicsMode.kInverseDynamics,
        plant_context: Context | None = None,
    ) -> None:
        super().__init__()
        if not isinstance(mode, InverseDynamics.InverseDynamicsMode):
            raise TypeError(f"InverseDynamics: mode must be an InverseDynamicsMode, got {mode!r}.")
        self._model = ScratchPlant(self, plant, plant_context)
        self._mode = mode
        self._state = self.DeclareVectorInputPort("estimated_state", plant.num_multibody_states())
        needs = {self._state.ticket()}
        self._acceleration: InputPort | None = None
        if not self.is_pure_gravity_compensation():
            self._acceleration = self.DeclareVectorInputPort("desired_acceleration", plant.num_velocities())
            needs.add(self._acceleration.ticket())
        self._force = self.DeclareVectorOutputPort("generalized_force", plant.num_velocities(), self._calc_force, needs)
        mode_name = "GRAVITY_COMPENSATION" if self.is_pure_gravity_compensation() else "INVERSE_DYNAMICS"
        self._force.cache_entry().use_native(ControllerCode(self._model, mode_name))

    def is_pure_gravity_compensation(self) -> bool:
        """Returns whether only gravity is compensated for."""
        return self._mode is InverseDynamics.InverseDynamicsMode.kGravityCompensation

    def get_input_port_estimated_state(self) -> InputPort:
        """Returns the input port of the state (q, v)."""
        return self._state

    def get_input_port_desired_acceleration(self) -> InputPort:
        """Returns the input port of the desired acceleration, shape [num_velocities].

        Raises:
            RuntimeError: the mode is kGravityCompensation.
        """
        if self._acceleration is None:
            raise RuntimeError(
                f"System '{self.GetSystemPathname()}' compensates for gravity only and has no input port "
                "'desired_acceleration'; make it with InverseDynamics.kInverseDynamics."
            )
        return self._acceleration

    def get_output_port_generalized_force(self) -> LeafOutputPort:
        """Returns the output port of the generalized forces, shape [num_velocities]."""
        return self._force

    def _calc_force(self, context: Context, output: Any) -> None:
        model = self._model
        plant_context = model.at(context, self._state.Eval(context))
        if self._acceleration is None:
            output.SetFromVector(-model.plant.CalcGravityGeneralizedForces(plant_context))  # (2)
            return
        forces = model.force_elements(plant_context)
        vd_d = self._acceleration.Eval(context)
        output.SetFromVector(model.plant.CalcInverseDynamics(plant_context, vd_d, forces))  # (1)
