"""Functions of MultibodyPlant: joints that close loops."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from numpy.typing import NDArray

from merganser.multibody.math import SpatialForce
from merganser.multibody.plant.delegation import from_tree
from merganser.multibody.plant.loops import LoopJoints
from merganser.multibody.tree import Joint
from merganser.multibody.tree.constraints.rows import DEFAULT_STABILIZATION_TIME
from merganser.multibody.tree.lookup import TreeLookup

__all__ = ["LoopsFace"]


class LoopsFace:
    """Joints that close loops. These functions are not Drake's, which has no loop joints.

        M vdot + C v = tau + K^T mu,   K vdot = -k - 2/T gdot - 1/T^2 g

    with the errors g of the constraints, gdot = K v and gddot = K vdot + k, see kernels/constraints/. A discrete step
    holds the same rows, as it does constraints between bodies (contact/README.md); T plays no part there.
    """

    _loops: LoopJoints

    def AddLoopJoint(self, joint: Joint, stabilization_time: float | None = DEFAULT_STABILIZATION_TIME) -> Joint:
        """Adds a joint that closes a loop; see MultibodyTree.AddLoopJoint for arguments and errors.

        Raises:
            RuntimeError: also if the plant is discrete and uses the TAMSI solver.
        """
        return self._loops.add(joint, stabilization_time)

    GetLoopJointByName = from_tree(TreeLookup.GetLoopJointByName)
    HasLoopJointNamed = from_tree(TreeLookup.HasLoopJointNamed)
    get_loop_joint = from_tree(TreeLookup.get_loop_joint)
    num_loop_joints = from_tree(TreeLookup.num_loop_joints)

    def CalcLoopJointErrors(self, context: Any) -> NDArray[Any]:
        """Returns the errors g of the constraints, zero where loops are closed [m, or sine of an angle].

        Row after row of the loop joints in the order of their indices: displacements of M in F that the joint does
        not allow, then cosines of angles that should be right.

        Returns:
            g, shape [num_rows].
        """
        return self._loops.calc_errors(context)

    def CalcLoopJointJacobian(self, context: Any) -> NDArray[Any]:
        """Returns K, with which gdot = K v, shape [num_rows, num_velocities]."""
        return self._loops.calc_jacobian(context)

    def CalcLoopJointSpatialForce(self, context: Any, joint: Joint) -> SpatialForce:
        """Returns the spatial force F_Mo_W of a loop joint on its child body, at the origin of its frame on the child.

        On the parent acts the opposite, at the same place. It follows from the forces at the moment; in a discrete
        plant from those of the step that would come next.

        Raises:
            RuntimeError: the joint is no loop joint of this plant.
        """
        return self._loops.calc_spatial_force(context, joint)

    def CloseLoops(
        self, context: Any, fixed_joints: Iterable[Joint] = (), tolerance: float = 1e-5, max_iterations: int = 100
    ) -> None:
        """Changes positions and velocities so that loops are closed and stay so.

        Positions change until g = 0, by Newton's method with the smallest change of coordinates in each iteration;
        then velocities by the smallest change that makes K v = 0. Which of several ways to close a loop is found
        depends on where the iteration starts.

        Args:
            context: of this plant, of floats.
            fixed_joints: joints whose coordinates stay; locked joints stay, too.
            tolerance: largest error that counts as closed [m, or sine of an angle]. Iterations go on as long as they
                make errors smaller, so that it matters for loops that cannot close exactly.
            max_iterations: of Newton's method.

        Raises:
            RuntimeError: the loops cannot be closed from here; positions and velocities are as before.
        """
        self._loops.close(context, fixed_joints, tolerance, max_iterations)
