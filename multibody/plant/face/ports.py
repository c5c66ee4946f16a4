"""Functions of MultibodyPlant: ports."""

from __future__ import annotations

from merganser.multibody.plant.delegation import from_part
from merganser.multibody.plant.input_ports import InputPorts
from merganser.multibody.plant.outputs import OutputPorts
from merganser.multibody.plant.step.sampling import Sampling

__all__ = ["PortsFace"]


class PortsFace:
    """Ports. All but those of geometry are there after Finalize(); before, RuntimeError is raised."""

    _inputs: InputPorts
    _outputs: OutputPorts
    _sampling: Sampling

    # ------------------------------------------------------------------ input ports

    get_actuation_input_port = from_part(InputPorts.get_actuation_input_port)
    get_desired_state_input_port = from_part(InputPorts.get_desired_state_input_port)
    get_applied_generalized_force_input_port = from_part(InputPorts.get_applied_generalized_force_input_port)
    get_applied_spatial_force_input_port = from_part(InputPorts.get_applied_spatial_force_input_port)
    get_geometry_query_input_port = from_part(InputPorts.get_geometry_query_input_port)

    # ------------------------------------------------------------------ sampling

    def SetUseSampledOutputPorts(self, use_sampled_output_ports: bool) -> None:
        """Chooses whether output ports that follow from forces show the last step of a discrete plant, or the moment.

        Raises:
            RuntimeError: the plant is finalized already, or sampling is asked of a continuous plant.
        """
        self._sampling.set_use(use_sampled_output_ports)

    def has_sampled_output_ports(self) -> bool:
        """Returns whether output ports that follow from forces change at steps only; False for a continuous plant."""
        return bool(self._sampling.is_used)

    # ------------------------------------------------------------------ output ports

    get_state_output_port = from_part(OutputPorts.get_state_output_port)
    get_body_poses_output_port = from_part(OutputPorts.get_body_poses_output_port)
    get_body_spatial_velocities_output_port = from_part(OutputPorts.get_body_spatial_velocities_output_port)
    get_body_spatial_accelerations_output_port = from_part(OutputPorts.get_body_spatial_accelerations_output_port)
    get_generalized_acceleration_output_port = from_part(OutputPorts.get_generalized_acceleration_output_port)
    get_net_actuation_output_port = from_part(OutputPorts.get_net_actuation_output_port)
    get_reaction_forces_output_port = from_part(OutputPorts.get_reaction_forces_output_port)
    get_contact_results_output_port = from_part(OutputPorts.get_contact_results_output_port)
    get_generalized_contact_forces_output_port = from_part(OutputPorts.get_generalized_contact_forces_output_port)
    get_geometry_pose_output_port = from_part(OutputPorts.get_geometry_pose_output_port)
    get_deformable_body_configuration_output_port = from_part(OutputPorts.get_deformable_body_configuration_output_port)
