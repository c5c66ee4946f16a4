"""Functions of MultibodyPlant: ports."""

from __future__ import annotations

from merganser.framework import InputPort, LeafOutputPort
from merganser.multibody.plant.input_ports import InputPorts
from merganser.multibody.plant.outputs import OutputPorts
from merganser.multibody.plant.sampling import Sampling

__all__ = ["PortsFace"]


class PortsFace:
    """Ports. All but those of geometry are there after Finalize(); before, RuntimeError is raised."""

    _inputs: InputPorts
    _outputs: OutputPorts
    _sampling: Sampling

    # ------------------------------------------------------------------ input ports

    def get_actuation_input_port(self, model_instance: int | None = None) -> InputPort:
        """Returns the port for actuation u, of the whole plant or of one model instance.

        What both carry adds up; what is not connected counts as zero. If nothing drives the actuators of a model
        instance, the logger `merganser.multibody.plant` says so once. Effort limits hold for the sum.
        """
        return self._inputs.get_actuation_input_port(model_instance)

    def get_desired_state_input_port(self, model_instance: int) -> InputPort:
        """Returns the port for desired positions, then velocities, of the actuators of a model instance.

        Size 2 n for n actuators, in each half in the order of their indices. Actuators with PD gains
        (JointActuator.set_controller_gains) follow it; what it says about others is ignored. Where it is not connected,
        the controllers of the model instance are disarmed, and its actuators exert what the actuation ports carry.
        """
        return self._inputs.get_desired_state_input_port(model_instance)

    def get_applied_generalized_force_input_port(self) -> InputPort:
        """Returns the port for generalized forces, in the order of v, shape [nv]; optional."""
        return self._inputs.get_applied_generalized_force_input_port()

    def get_applied_spatial_force_input_port(self) -> InputPort:
        """Returns the port for a list of ExternallyAppliedSpatialForce, which add up; optional."""
        return self._inputs.get_applied_spatial_force_input_port()

    def get_geometry_query_input_port(self) -> InputPort:
        """Returns the port for the QueryObject of a SceneGraph."""
        return self._inputs.get_geometry_query_input_port()

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

    def get_state_output_port(self, model_instance: int | None = None) -> LeafOutputPort:
        """Returns the port with [q; v], of the whole plant or of one model instance."""
        return self._outputs.get_state_output_port(model_instance)

    def get_body_poses_output_port(self) -> LeafOutputPort:
        """Returns the port with a list of the poses X_WB of all bodies, by BodyIndex."""
        return self._outputs.get_body_poses_output_port()

    def get_body_spatial_velocities_output_port(self) -> LeafOutputPort:
        """Returns the port with a list of the spatial velocities V_WB_W of all bodies, by BodyIndex."""
        return self._outputs.get_body_spatial_velocities_output_port()

    def get_body_spatial_accelerations_output_port(self) -> LeafOutputPort:
        """Returns the port with a list of the spatial accelerations A_WB_W of all bodies, by BodyIndex."""
        return self._outputs.get_body_spatial_accelerations_output_port()

    def get_generalized_acceleration_output_port(self, model_instance: int | None = None) -> LeafOutputPort:
        """Returns the port with vdot, of the whole plant or of one model instance."""
        return self._outputs.get_generalized_acceleration_output_port(model_instance)

    def get_net_actuation_output_port(self, model_instance: int | None = None) -> LeafOutputPort:
        """Returns the port with what actuators exert, of the whole plant or of one model instance.

        That is actuation and PD control, within the effort limits. Controllers of locked joints do not contribute.
        """
        return self._outputs.get_net_actuation_output_port(model_instance)

    def get_reaction_forces_output_port(self) -> LeafOutputPort:
        """Returns the port with a list of the joints' reaction forces F_CJc_Jc, by JointIndex.

        Each is the spatial force that the joint exerts, with its actuators, damping and springs on its coordinates, on
        its child body C at the origin of the frame Jc that it has there, expressed in Jc.
        """
        return self._outputs.get_reaction_forces_output_port()

    def get_contact_results_output_port(self) -> LeafOutputPort:
        """Returns the port with the ContactResults."""
        return self._outputs.get_contact_results_output_port()

    def get_generalized_contact_forces_output_port(self, model_instance: int) -> LeafOutputPort:
        """Returns the port with the generalized forces of all contacts on a model instance, in the order of its v."""
        return self._outputs.get_generalized_contact_forces_output_port(model_instance)

    def get_geometry_pose_output_port(self) -> LeafOutputPort:
        """Returns the port with the poses of the frames that the plant has in the SceneGraph."""
        return self._outputs.get_geometry_pose_output_port()
