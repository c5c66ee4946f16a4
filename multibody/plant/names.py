"""Names, limits and selection of the coordinates and inputs of a plant."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from merganser.multibody.kernels.transmissions import FIXED
from merganser.multibody.plant.model import PlantModel
from merganser.multibody.tree import BodyIndex, JointActuatorIndex, JointIndex
from merganser.multibody.tree.coordinates import actuator_names, position_names, velocity_names

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix


Array = NDArray[Any]


class PlantNames:
    """Names of positions, velocities and inputs, in the order of q, v and u, and limits of inputs.

    Functions that give names take the arguments as MultibodyPlant does, and as it got them.
    """

    def __init__(self, model: PlantModel) -> None:
        self._model, self._tree = model, model.tree

    @overload
    def get_position_names(
        self, add_model_instance_prefix: bool = True, always_add_suffix: bool = True
    ) -> list[str]: ...
    @overload
    def get_position_names(
        self, model_instance: int, add_model_instance_prefix: bool = False, always_add_suffix: bool = True
    ) -> list[str]: ...
    def get_position_names(self, *args: Any, **kwargs: Any) -> list[str]:
        """Returns the names of the positions in the order of q; see the class for the arguments."""
        return self._names("GetPositionNames", position_names, _OPTIONS, args, kwargs)

    @overload
    def get_velocity_names(
        self, add_model_instance_prefix: bool = True, always_add_suffix: bool = True
    ) -> list[str]: ...
    @overload
    def get_velocity_names(
        self, model_instance: int, add_model_instance_prefix: bool = False, always_add_suffix: bool = True
    ) -> list[str]: ...
    def get_velocity_names(self, *args: Any, **kwargs: Any) -> list[str]:
        """Returns the names of the velocities in the order of v; see the class for the arguments."""
        return self._names("GetVelocityNames", velocity_names, _OPTIONS, args, kwargs)

    @overload
    def get_state_names(self, add_model_instance_prefix: bool = True) -> list[str]: ...
    @overload
    def get_state_names(self, model_instance: int, add_model_instance_prefix: bool = False) -> list[str]: ...
    def get_state_names(self, *args: Any, **kwargs: Any) -> list[str]:
        """Returns the names of positions, then of velocities; see the class for the arguments."""

        def state_names(*arguments: Any) -> list[str]:
            return position_names(*arguments) + velocity_names(*arguments)

        return self._names("GetStateNames", state_names, _OPTIONS[:1], args, kwargs)

    @overload
    def get_actuator_names(self, add_model_instance_prefix: bool = True) -> list[str]: ...
    @overload
    def get_actuator_names(self, model_instance: int, add_model_instance_prefix: bool = False) -> list[str]: ...
    def get_actuator_names(self, *args: Any, **kwargs: Any) -> list[str]:
        """Returns the names of the actuators in the order of u; see the class for the arguments."""
        return self._names("GetActuatorNames", actuator_names, _OPTIONS[:1], args, kwargs)

    def _names(
        self,
        caller: str,
        names_of: Callable[..., list[str]],
        options: tuple[str, ...],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> list[str]:
        self._model.require_finalized(f"{caller}()")
        is_instance_given = "model_instance" in kwargs or (args and not isinstance(args[0], (bool, np.bool_)))
        order = ("model_instance", *options) if is_instance_given else options
        given = dict(zip(order, args))
        if len(args) > len(order) or given.keys() & kwargs.keys() or kwargs.keys() - set(order):
            raise TypeError(f"{caller}() takes model_instance (or not), then {' and '.join(options)}.")
        given |= kwargs
        instance = given.pop("model_instance", None)
        if instance is not None:
            self._tree.GetModelInstanceName(instance)  # refuses one that does not exist
        given.setdefault("add_model_instance_prefix", instance is None)
        return names_of(self._tree, instance, *(given[name] for name in options if name in given))

    def get_effort_upper_limits(self) -> Array:
        """Returns the upper limits of the inputs u, shape [num_actuated_dofs]."""
        self._model.require_finalized("GetEffortUpperLimits()")
        return np.array([actuator.effort_range()[1] for actuator in self._tree.actuators], dtype=np.float64)

    def get_effort_lower_limits(self) -> Array:
        """Returns the lower limits of the inputs u, shape [num_actuated_dofs]."""
        self._model.require_finalized("GetEffortLowerLimits()")
        return np.array([actuator.effort_range()[0] for actuator in self._tree.actuators], dtype=np.float64)


_OPTIONS = ("add_model_instance_prefix", "always_add_suffix")


class Selectors:
    """Matrices that depend on the topology of a finalized plant alone."""

    def __init__(self, model: PlantModel) -> None:
        self._model, self._tree = model, model.tree

    def make_actuation_matrix(self) -> Array:
        """Returns B with tau = B u, shape [num_velocities, num_actuated_dofs].

        Raises:
            RuntimeError: before Finalize(), or an actuator is along a transmission whose moment arms follow positions.
        """
        driven, num_v = self._tree.actuated_velocity_indices(), self._tree.num_velocities()
        B = np.zeros((num_v, len(driven)))
        for k, actuator in enumerate(self._tree.actuators):
            transmission = actuator.transmission()
            if transmission is None:
                B[driven[k], k] = 1.0
                continue
            if transmission.kind() is not FIXED:
                raise RuntimeError(
                    f"MakeActuationMatrix(): actuator '{actuator.name()}' of plant '{self._model.path()}' is along "
                    f"transmission '{transmission.name()}', whose moment arms follow the positions. Its column in a "
                    "Context is transmission().CalcMomentArms(context)."
                )
            record = self._tree.transmission_records[transmission.index()]
            nodes = self._tree.transmission_nodes[record["first"] : record["end"]]
            np.add.at(B[:, k], nodes["v"], nodes["number"])
        return B

    def make_actuation_matrix_pseudoinverse(self) -> csc_matrix:
        """Returns the pseudoinverse B+ of the actuation matrix, shape [num_actuated_dofs, num_velocities].

        With u = B+ tau, actuators of one joint share its force equally.

        Raises:
            RuntimeError: before Finalize().
        """
        from scipy.sparse import csc_matrix

        driven = self._tree.actuated_velocity_indices()
        num_v = self._tree.num_velocities()
        if (driven >= num_v).any():
            return csc_matrix(np.linalg.pinv(self.make_actuation_matrix()))
        sharers = np.bincount(driven, minlength=num_v)
        entries = 1.0 / sharers[driven], (np.arange(len(driven)), driven)
        return csc_matrix(entries, shape=(len(driven), num_v))

    def make_state_selector_matrix(self, user_to_joint_index_map: Sequence[JointIndex]) -> Array:
        """Returns S with x_s = S x: positions, then velocities, of joints in the given order.

        Args:
            user_to_joint_index_map: indices of the joints.

        Returns:
            Zeros and ones, shape [number of selected states, num_multibody_states].

        Raises:
            RuntimeError: before Finalize(), a joint does not exist, or is listed twice.
        """
        self._model.require_finalized("MakeStateSelectorMatrix()")
        joints = [self._tree.get_joint(index) for index in user_to_joint_index_map]
        for i, joint in enumerate(joints):
            if joint in joints[:i]:
                raise RuntimeError(f"MakeStateSelectorMatrix(): joint '{joint.name()}' is listed more than once.")
        num_q = self._tree.num_positions()
        q = [range(joint.position_start(), joint.position_start() + joint.num_positions()) for joint in joints]
        v = [range(joint.velocity_start(), joint.velocity_start() + joint.num_velocities()) for joint in joints]
        columns = [i for place in q for i in place] + [num_q + i for place in v for i in place]
        S = np.zeros((len(columns), num_q + self._tree.num_velocities()))
        S[np.arange(len(columns)), columns] = 1.0
        return S

    @overload
    def make_actuator_selector_matrix(self, user_to_actuator_index_map: Sequence[JointActuatorIndex]) -> Array: ...
    @overload
    def make_actuator_selector_matrix(self, user_to_joint_index_map: Sequence[JointIndex]) -> Array: ...
    def make_actuator_selector_matrix(self, *args: Any, **kwargs: Any) -> Array:
        """Returns S with u = S u_s, for the inputs u_s of some actuators in a given order.

        Args:
            user_to_actuator_index_map: indices of the actuators; or
            user_to_joint_index_map: indices of the joints that they drive.

        Returns:
            Zeros and ones, shape [num_actuated_dofs, number of selected inputs].

        Raises:
            RuntimeError: before Finalize(), an element does not exist, or a joint has no actuator.
            TypeError: other arguments.
        """
        caller = "MakeActuatorSelectorMatrix"
        self._model.require_finalized(f"{caller}()")
        names = ("user_to_actuator_index_map", "user_to_joint_index_map")
        if len(args) + len(kwargs) != 1 or not set(kwargs) <= set(names):
            raise TypeError(f"{caller}() takes {names[0]} or {names[1]}.")
        indices = list(args[0] if args else next(iter(kwargs.values())))
        are_joints = names[1] in kwargs or (bool(args) and all(isinstance(i, JointIndex) for i in indices))
        if are_joints and indices:
            inputs = [self._input_of(caller, index) for index in indices]
        elif all(isinstance(i, JointActuatorIndex) for i in indices):
            inputs = [self._tree.get_joint_actuator(index).input_start() for index in indices]
        else:
            raise TypeError(f"{caller}() takes a list of JointActuatorIndex or of JointIndex, got {indices!r}.")
        S = np.zeros((self._tree.num_actuated_dofs(), len(inputs)))
        S[inputs, np.arange(len(inputs))] = 1.0
        return S

    def _input_of(self, caller: str, joint_index: JointIndex) -> int:
        """The index in u of the input of the first actuator of a joint."""
        joint = self._tree.get_joint(joint_index)
        for actuator in self._tree.actuators:
            if actuator._driven is joint:
                return actuator.input_start()
        raise RuntimeError(f"{caller}(): joint '{joint.name()}' has no actuator.")

    def get_bodies_kinematically_affected_by(self, joint_indexes: Iterable[JointIndex]) -> list[BodyIndex]:
        """Returns the indices of the bodies whose velocities depend on those of some joints, ascending.

        They are the bodies outboard of these joints. Welds move nothing.

        Raises:
            RuntimeError: before Finalize(), or a joint does not exist.
        """
        self._model.require_finalized("GetBodiesKinematicallyAffectedBy()")
        tree = self._tree
        affected: set[int] = set()
        for index in joint_indexes:
            if tree.get_joint(index).num_velocities():
                mobod = tree.mobod_of_joint[index]
                affected.update(range(mobod, tree.topology["subtree_end"][mobod]))
        return [body.index() for body in tree.bodies if body._mobod in affected]
