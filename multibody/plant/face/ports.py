"""Functions of MultibodyPlant: output ports."""

from __future__ import annotations

from merganser.framework import LeafOutputPort
from merganser.multibody.plant.outputs import OutputPorts

__all__ = ["PortsFace"]


class PortsFace:
    """Output ports. All but that of geometry poses are there after Finalize(); before, RuntimeError is raised."""

    _outputs: OutputPorts

    # ------------------------------------------------------------------ ports

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
