"""Functions of MultibodyPlant: positions and velocities."""

from __future__ import annotations

from typing import Any, overload

from numpy.typing import ArrayLike, NDArray

from merganser.framework import RandomGenerator
from merganser.framework.math import RigidTransform
from merganser.multibody.math import SpatialVelocity
from merganser.multibody.plant.free_bodies import FreeBodies
from merganser.multibody.plant.state import MISSING, PlantState
from merganser.multibody.tree import Frame, RigidBody

__all__ = ["StateFace"]

Array = NDArray[Any]


class StateFace:
    """State of a MultibodyPlant: x = [q; v], continuous or discrete.

    Every `Set...` function checks its arguments, and refuses values that are not finite, before it changes
    anything.

    *Free bodies* are those whose joint towards the world leaves them all six degrees of freedom. A *floating base body*
    is one that Finalize() connected to the world: the frames Jp and Jc of its joint are those of the world and of the
    body.
    """

    _state: PlantState
    _free_bodies: FreeBodies

    # ------------------------------------------------------------------ positions and velocities

    def GetPositions(self, context: Any, model_instance: int | None = None) -> Array:
        """Returns a copy of q, of one model instance or of all."""
        return self._state.get_positions(context, model_instance)

    def GetVelocities(self, context: Any, model_instance: int | None = None) -> Array:
        """Returns a copy of v, of one model instance or of all."""
        return self._state.get_velocities(context, model_instance)

    def GetPositionsAndVelocities(self, context: Any, model_instance: int | None = None) -> Array:
        """Returns a copy of [q; v], of one model instance or of all."""
        return self._state.get_positions_and_velocities(context, model_instance)

    @overload
    def SetPositions(self, context: Any, q: ArrayLike) -> None: ...
    @overload
    def SetPositions(self, context: Any, model_instance: int, q: ArrayLike) -> None: ...
    def SetPositions(self, context: Any, model_instance: Any = MISSING, q: Any = MISSING) -> None:  # type: ignore[misc]
        """Sets q of the plant, or of one model instance.

        Raises:
            ValueError: wrong size, a value is not finite, or a quaternion is zero.
            TypeError: other arguments, or complex numbers for a context of floats.
        """
        self._state.set_positions(context, model_instance, q)

    @overload
    def SetVelocities(self, context: Any, v: ArrayLike) -> None: ...
    @overload
    def SetVelocities(self, context: Any, model_instance: int, v: ArrayLike) -> None: ...
    def SetVelocities(self, context: Any, model_instance: Any = MISSING, v: Any = MISSING) -> None:  # type: ignore[misc]
        """Sets v of the plant, or of one model instance.

        Raises:
            ValueError: wrong size, or a value is not finite.
            TypeError: other arguments, or complex numbers for a context of floats.
        """
        self._state.set_velocities(context, model_instance, v)

    @overload
    def SetPositionsAndVelocities(self, context: Any, q_v: ArrayLike) -> None: ...
    @overload
    def SetPositionsAndVelocities(self, context: Any, model_instance: int, q_v: ArrayLike) -> None: ...
    def SetPositionsAndVelocities(  # type: ignore[misc]
        self, context: Any, model_instance: Any = MISSING, q_v: Any = MISSING
    ) -> None:
        """Sets [q; v] of the plant, or of one model instance.

        Raises:
            ValueError: wrong size, a value is not finite, or a quaternion is zero.
            TypeError: other arguments, or complex numbers for a context of floats.
        """
        self._state.set_positions_and_velocities(context, model_instance, q_v)

    # ------------------------------------------------------------------ parts of arrays

    def GetPositionsFromArray(self, model_instance: int, q: ArrayLike) -> Array:
        """Returns the positions of a model instance out of those of the whole plant."""
        return self._state.get_positions_from_array(model_instance, q)

    def GetVelocitiesFromArray(self, model_instance: int, v: ArrayLike) -> Array:
        """Returns the velocities of a model instance out of those of the whole plant."""
        return self._state.get_velocities_from_array(model_instance, v)

    def GetActuationFromArray(self, model_instance: int, u: ArrayLike) -> Array:
        """Returns the inputs of a model instance out of those of the whole plant."""
        return self._state.get_actuation_from_array(model_instance, u)

    def SetPositionsInArray(self, model_instance: int, q_instance: ArrayLike, q: Array) -> None:
        """Writes the positions of a model instance into those of the whole plant."""
        self._state.set_positions_in_array(model_instance, q_instance, q)

    def SetVelocitiesInArray(self, model_instance: int, v_instance: ArrayLike, v: Array) -> None:
        """Writes the velocities of a model instance into those of the whole plant."""
        self._state.set_velocities_in_array(model_instance, v_instance, v)

    def SetActuationInArray(self, model_instance: int, u_instance: ArrayLike, u: Array) -> None:
        """Writes the inputs of a model instance into those of the whole plant."""
        self._state.set_actuation_in_array(model_instance, u_instance, u)

    # ------------------------------------------------------------------ defaults

    def SetDefaultState(self, context: Any, state: Any) -> None:
        """Sets positions to the defaults of the joints, and velocities to zero."""
        self._state.set_default_state(context)

    def SetDefaultParameters(self, context: Any, parameters: Any) -> None:
        """Sets mass properties, frames, damping and gravity to the defaults of the elements.

        Raises:
            RuntimeError: before Finalize().
        """
        self._state.set_default_parameters(context)

    def SetRandomState(self, context: Any, state: Any, generator: RandomGenerator) -> None:
        """Sets positions to numbers drawn from the distributions of the joints (those without one to their
        defaults), and velocities to zero.
        """
        self._state.set_random_state(context, generator)

    def GetDefaultPositions(self, model_instance: int | None = None) -> Array:
        """Returns the positions that new contexts start with, of one model instance or of all."""
        return self._state.get_default_positions(model_instance)

    @overload
    def SetDefaultPositions(self, q: ArrayLike) -> None: ...
    @overload
    def SetDefaultPositions(self, model_instance: int, q_instance: ArrayLike) -> None: ...
    def SetDefaultPositions(  # type: ignore[misc]
        self, model_instance: Any = MISSING, q_instance: Any = MISSING, *, q: Any = MISSING
    ) -> None:
        """Sets the positions that new contexts start with, of the plant or of one model instance.

        Raises:
            ValueError: wrong size, a value is not finite, or a quaternion is zero.
            TypeError: other arguments.
        """
        self._state.set_default_positions(model_instance, q_instance, q=q)

    # ------------------------------------------------------------------ free bodies

    def SetFreeBodyPose(
        self,
        context: Any,
        body: RigidBody,
        X_JpJc: RigidTransform | None = None,
        *,
        X_PB: RigidTransform | None = None,
    ) -> None:
        """Sets the pose of a free body.

        Args:
            context: of this plant.
            body: a free body.
            X_JpJc: pose of the joint's frame on the child in that on the parent; X_WB of a floating base
                body.
            X_PB: older name of X_JpJc.

        Raises:
            RuntimeError: the body is not free, or before Finalize().
            ValueError: the pose is not finite.
            TypeError: it is not a RigidTransform.
        """
        self._free_bodies.set_free_body_pose(context, body, X_JpJc, X_PB=X_PB)

    def GetFreeBodyPose(self, context: Any, body: RigidBody) -> RigidTransform:
        """Returns the pose X_JpJc of a free body, X_WB of a floating base body.

        Raises:
            RuntimeError: the body is not free, or before Finalize().
        """
        return self._free_bodies.get_free_body_pose(context, body)

    def SetFloatingBaseBodyPoseInWorldFrame(self, context: Any, body: RigidBody, X_WB: RigidTransform) -> None:
        """Sets the pose X_WB of a floating base body.

        Raises:
            RuntimeError: the body is not a floating base body, or before Finalize().
            ValueError: the pose is not finite.
            TypeError: it is not a RigidTransform.
        """
        self._free_bodies.set_floating_base_body_pose_in_world_frame(context, body, X_WB)

    def SetFloatingBaseBodyPoseInAnchoredFrame(
        self, context: Any, frame_F: Frame, body: RigidBody, X_FB: RigidTransform
    ) -> None:
        """Sets the pose of a floating base body, given in a frame that does not move.

        Args:
            context: of this plant.
            frame_F: a frame of the world, or of a body that welds connect to it.
            body: a floating base body.
            X_FB: its pose in F.

        Raises:
            RuntimeError: F is not anchored, the body is not a floating base body, or before Finalize().
            ValueError: the pose is not finite.
            TypeError: an argument has another type.
        """
        self._free_bodies.set_floating_base_body_pose_in_anchored_frame(context, frame_F, body, X_FB)

    def SetFreeBodySpatialVelocity(
        self,
        context: Any = None,
        body: Any = None,
        V_JpJc: Any = None,
        *,
        V_PB: SpatialVelocity | None = None,
    ) -> None:
        """Sets the spatial velocity of a free body.

        The older form SetFreeBodySpatialVelocity(body, V_PB, context) works too.

        Args:
            context: of this plant.
            body: a free body.
            V_JpJc: spatial velocity of the joint's frame on the child in that on the parent; V_WB_W of a
                floating base body [rad/s, m/s].
            V_PB: older name of V_JpJc.

        Raises:
            RuntimeError: the body is not free, or before Finalize().
            ValueError: the velocity is not finite.
            TypeError: it is not a SpatialVelocity.
        """
        self._free_bodies.set_free_body_spatial_velocity(context, body, V_JpJc, V_PB=V_PB)
