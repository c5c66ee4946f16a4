"""Functions of MultibodyPlant: joints that close loops."""

from __future__ import annotations

from merganser.multibody.plant.delegation import from_part, from_tree
from merganser.multibody.plant.loops import LoopJoints
from merganser.multibody.tree.lookup import TreeLookup

__all__ = ["LoopsFace"]


class LoopsFace:
    """Joints that close loops. These functions are not Drake's, which has no loop joints.

        M vdot + C v = tau + K^T mu,   K vdot = -k - 2/T gdot - 1/T^2 g

    with the errors g of the constraints, gdot = K v and gddot = K vdot + k, see kernels/constraints/. A discrete step
    holds the same rows, as it does constraints between bodies (contact/README.md); T plays no part there.
    """

    _loops: LoopJoints

    AddLoopJoint = from_part(LoopJoints.add)
    GetLoopJointByName = from_tree(TreeLookup.GetLoopJointByName)
    HasLoopJointNamed = from_tree(TreeLookup.HasLoopJointNamed)
    get_loop_joint = from_tree(TreeLookup.get_loop_joint)
    num_loop_joints = from_tree(TreeLookup.num_loop_joints)
    CalcLoopJointErrors = from_part(LoopJoints.calc_errors)
    CalcLoopJointJacobian = from_part(LoopJoints.calc_jacobian)
    CalcLoopJointSpatialForce = from_part(LoopJoints.calc_spatial_force)
    CloseLoops = from_part(LoopJoints.close)
