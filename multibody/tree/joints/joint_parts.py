"""What every joint has beside its coordinates: dry friction, random positions, its motion as records of the kernels.

The records are those of kernels/layout.py.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from merganser.framework import RandomDistribution, RandomGenerator
from merganser.framework.core.system.random_values import draw
from merganser.framework.math import RigidTransform
from merganser.framework.math.rotations.rigid_transform import rigid_transform
from merganser.multibody.kernels import layout
from merganser.multibody.kernels.mobilizers import MOBILIZERS, set_kind
from merganser.multibody.math.spatial_vector import as_vector
from merganser.multibody.tree.element import NamedElement
from merganser.multibody.tree.inertia.validity import real_values

if TYPE_CHECKING:
    from merganser.framework import Context
    from merganser.multibody.tree.joints.joint import Joint

Vector = npt.NDArray[Any]


def check_coefficients(caller: str, what: str, joint: str, values: npt.ArrayLike, size: int) -> Vector:
    """A vector of coefficients of a joint, which must be finite and not negative.

    Raises:
        ValueError: the size is wrong.
        RuntimeError: a number is negative or not finite.
    """
    vector: Vector = as_vector(values, size, f"{caller}: {what} of joint {joint!r}")
    real = real_values(vector)
    if real is not None and not (np.isfinite(real).all() and (real >= 0.0).all()):
        raise RuntimeError(
            f"{caller}(): the {what} of joint {joint!r} must be finite and not negative, but is {vector}."
        )
    return vector


class JointFriction(NamedElement, ABC):
    """Dry (Coulomb) friction, a part of each Joint.

    Each velocity v of a joint with friction f is held by a force of up to f [N m or N], and where it moves all the
    same, f works against it. In a discrete step this is a constraint, with the rate at the end of the step and an
    impulse of at most h f; in continuous time the force is f v / sqrt(v^2 + v_s^2), where v_s [rad/s or m/s] is
    MultibodyPlant.set_stiction_tolerance().

    Which joints may have friction is decided before Finalize(): those whose default friction is not zero. How much it
    is can be changed in a Context. pydrake's joints have no dry friction: these functions are additions.
    """

    _default_friction: npt.NDArray[np.float64]
    _velocity_start: int | None
    _may_have_friction = False

    if TYPE_CHECKING:

        def num_velocities(self) -> int: ...
        def _mobod(self, caller: str) -> int: ...

    def default_friction_vector(self) -> Vector:
        """Returns the dry friction that new Contexts start with [N m or N], shape [num_velocities]."""
        return self._default_friction.copy()

    def set_default_friction_vector(self, friction: npt.ArrayLike) -> None:
        """Sets the dry friction that new Contexts start with [N m or N], shape [num_velocities].

        Raises:
            ValueError: if the size is wrong.
            RuntimeError: if a friction is negative or not finite; or if it is not zero, the plant is finalized, and
                this joint had no friction then.
        """
        values = self._check_friction("set_default_friction_vector", friction).astype(np.float64)
        self._may_have_friction = self._may_have_friction or bool(values.any())
        self._default_friction = values

    def GetFrictionVector(self, context: Context) -> Vector:
        """Returns the dry friction in the Context, shape [num_velocities]."""
        record = self.GetParentPlant()._views.parameters(context)[self._mobod("GetFrictionVector")]
        values: Vector = record["friction"][: self.num_velocities()].copy()
        return values

    def SetFrictionVector(self, context: Context, friction: npt.ArrayLike) -> None:
        """Sets the dry friction in the Context [N m or N], shape [num_velocities].

        Raises:
            ValueError: if the size is wrong.
            RuntimeError: if a friction is negative or not finite; or if it is not zero, and this joint had no default
                friction when the plant was finalized.
        """
        values = self._check_friction("SetFrictionVector", friction)
        parameters = self.GetParentPlant()._views.mutable_parameters(context)
        parameters["friction"][self._mobod("SetFrictionVector"), : self.num_velocities()] = values

    def _check_friction(self, caller: str, friction: npt.ArrayLike) -> Vector:
        values = check_coefficients(caller, "friction", self._name, friction, self.num_velocities())
        real = real_values(values)
        if self._velocity_start is not None and not self._may_have_friction and (real is None or real.any()):
            raise RuntimeError(
                f"{caller}(): joint {self._name!r} cannot get friction, as it had none when the plant was finalized. "
                "Give it a default friction before Finalize() (set_default_friction_vector), however small."
            )
        return values


# ---------------------------------------------------------------------- random positions

_DISTRIBUTIONS = {
    "RANDOM_UNIFORM": RandomDistribution.kUniform,
    "RANDOM_GAUSSIAN": RandomDistribution.kGaussian,
    "RANDOM_EXPONENTIAL": RandomDistribution.kExponential,
}


def draw_expressions(expressions: Sequence[Any], generator: RandomGenerator) -> npt.NDArray[np.float64]:
    """Draws every random variable once, in the order of their numbers, and evaluates.

    Args:
        expressions: numbers, variables of a RANDOM type, or expressions in such.
        generator: where randomness comes from.

    Returns:
        Shape [len(expressions)].

    Raises:
        RuntimeError: a variable is not of a RANDOM type.
    """
    expressions = [1.0 * e for e in expressions]  # a variable becomes an expression
    variables = {v.get_id(): v for e in expressions if hasattr(e, "GetVariables") for v in e.GetVariables()}
    values: dict[Any, float] = {}
    for _, variable in sorted(variables.items()):
        distribution = _DISTRIBUTIONS.get(variable.get_type().name)
        if distribution is None:
            raise RuntimeError(
                f"The variable '{variable}' in the distribution of a joint's positions is not random: its type is "
                f"{variable.get_type().name}. Make it by Variable(name, Variable.Type.RANDOM_UNIFORM), for example."
            )
        values[variable] = float(draw(distribution, 1, generator)[0])
    return np.array([e.Evaluate(values) if hasattr(e, "Evaluate") else float(e) for e in expressions])


# ---------------------------------------------------------------------- records of the kernels

Array = npt.NDArray[Any]


def make_records(joint: Joint, is_reversed: bool = False) -> tuple[Array, Array]:
    """Returns topology and parameter records of the world and one body, with P = F = W and M = B, that moves as M does.

    Args:
        joint: whose motion.
        is_reversed: whether F is the joint's frame on the child.
    """
    segments = joint._mobilizer_path()
    topology = np.zeros(2, layout.topology_dtype)
    topology["parent"] = -1, 0
    set_kind(topology[0], MOBILIZERS[layout.WELD])
    set_kind(topology[1], joint.kind)
    topology["subtree_end"] = 2
    topology["path_start"], topology["path_end"] = 2, (2, 2 + len(segments))
    parameters = np.zeros(2 + len(segments), layout.parameter_dtype())
    parameters["R_PF"] = parameters["R_MB"] = np.eye(3)
    write_motion(parameters[1], joint, is_reversed)
    write_segments(parameters[2:], joint)
    return topology, parameters


def write_motion(record: Any, joint: Joint, is_reversed: bool) -> None:
    """Writes the numbers that the mobilizer of a joint has beside its frames into its parameter record."""
    record["axis_F"] = -joint._mobilizer_axis() if is_reversed else joint._mobilizer_axis()
    record["pitch"] = joint._mobilizer_pitch()
    constants = joint._mobilizer_constants()
    record["constants"][: len(constants)] = constants


def write_segments(records: Array, joint: Joint) -> None:
    """Writes the segments of the path of a joint into as many parameter records."""
    for record, segment in zip(records, joint._mobilizer_path()):
        record["arc_start"], record["turning_rate"] = segment.arc_start, segment.turning_rate
        record["R_PF"], record["p_PoFo_P"] = segment.X_FM.rotation().matrix(), segment.X_FM.translation()


def calc_X_FM(joint: Joint, q: Array) -> RigidTransform:
    """Returns the pose of M in F at positions q of the joint, of any scalar type, shape [num_positions]."""
    topology, parameters = make_records(joint)
    R_FM, p_FoMo_F = np.empty((3, 3), q.dtype), np.empty(3, q.dtype)
    joint.kind.set_pose(topology[1], parameters[1], parameters, q, R_FM, p_FoMo_F)
    return joint._mobilizer_X_FM() @ rigid_transform(R_FM, p_FoMo_F)
