"""DifferentialInverseKinematicsController: positions and velocities of joints that follow poses of frames."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from merganser.framework import Context, Diagram, DiagramBuilder
from merganser.framework.core.values.arguments import require_types
from merganser.framework.primitives import DiscreteTimeIntegrator, Selector, SelectorParams, WrapToSystem
from merganser.multibody.inverse_kinematics.differential_system import DifferentialInverseKinematicsSystem


class _PositionIntegrator(DiscreteTimeIntegrator):
    """An integrator whose initial positions are unknown until they are set."""

    def SetDefaultState(self, context: Context, state: Any) -> None:
        """Sets positions to NaN."""
        group = state.get_mutable_discrete_state().get_mutable_vector(0)
        group.SetFromVector(np.full(group.size(), np.nan))


class DifferentialInverseKinematicsController(Diagram):
    """A `DifferentialInverseKinematicsSystem` whose velocities are added up, q[n+1] = q[n] + dt v[n].

    Inputs: `estimated_state` [q; v] of the plant, of which the positions that are not active are taken;
    `desired_poses`; `nominal_posture`. Outputs: `commanded_position` and `commanded_velocity`, of the active degrees of
    freedom. Set where positions start with `set_initial_position`; until then they are not numbers.

    Args:
        differential_inverse_kinematics: the system; it may have no other controller.
        planar_rotation_dof_indices: which commanded positions are kept within +-pi.

    Raises:
        IndexError: there is no such position.
        TypeError: the system is of another type.
    """

    def __init__(
        self,
        differential_inverse_kinematics: DifferentialInverseKinematicsSystem,
        planar_rotation_dof_indices: Sequence[int],
    ) -> None:
        super().__init__()
        system, kind = differential_inverse_kinematics, DifferentialInverseKinematicsSystem
        require_types("DifferentialInverseKinematicsController", differential_inverse_kinematics=(system, kind))
        self._system, mask = system, system.active_dof()
        count = mask.count()
        builder = DiagramBuilder()
        builder.AddSystem(system)
        self._integrator = builder.AddSystem(_PositionIntegrator(count, system.time_step()))
        merging = _merging(mask.GetFullToSelectedIndex(), system.plant().num_multibody_states())
        merge = builder.AddSystem(Selector(merging))
        wrap = builder.AddSystem(WrapToSystem(count))
        for index in planar_rotation_dof_indices:
            wrap.set_interval(index, -math.pi, math.pi)
        builder.Connect(merge.get_output_port(), system.get_input_port_position())
        builder.Connect(system.get_output_port_commanded_velocity(), self._integrator.get_input_port())
        builder.Connect(self._integrator.get_output_port(), wrap.get_input_port())
        builder.Connect(self._integrator.get_output_port(), merge.get_input_port(0))
        builder.ExportInput(merge.get_input_port(1), "estimated_state")
        builder.ExportInput(system.get_input_port_desired_cartesian_poses(), "desired_poses")
        builder.ExportInput(system.get_input_port_nominal_posture(), "nominal_posture")
        builder.ExportOutput(wrap.get_output_port(), "commanded_position")
        builder.ExportOutput(system.get_output_port_commanded_velocity(), "commanded_velocity")
        builder.BuildInto(self)

    def set_initial_position(self, context: Context, value: ArrayLike) -> None:
        """Sets where positions start, shape [num_positions] of the plant; those that are not active do not count.

        Raises:
            ValueError: wrong size.
        """
        mine = self.GetMutableSubsystemContext(self._integrator, context)
        self._integrator.set_integral_value(mine, self._system.active_dof().GetFromArray(np.asarray(value, float)))

    def differential_inverse_kinematics(self) -> DifferentialInverseKinematicsSystem:
        """Returns the system."""
        return self._system

    def get_mutable_differential_inverse_kinematics(self) -> DifferentialInverseKinematicsSystem:
        """Returns the system."""
        return self._system


def _merging(places: Sequence[int | None], num_states: int) -> SelectorParams:
    """Active positions from the first input, the others from the second."""
    selections = [
        SelectorParams.OutputSelection(input_port_index=int(place is None), input_offset=i if place is None else place)
        for i, place in enumerate(places)
    ]
    count = sum(place is not None for place in places)
    return SelectorParams(
        inputs=[SelectorParams.InputPortParams(size=count), SelectorParams.InputPortParams(size=num_states)],
        outputs=[SelectorParams.OutputPortParams(selections=selections)],
    )
