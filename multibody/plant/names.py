"""Names and limits of the coordinates and inputs of a plant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from merganser.multibody.plant.delegation import from_tree
from merganser.multibody.plant.topology_graph import PlantTopologyGraph
from merganser.multibody.tree import MultibodyTree
from merganser.multibody.tree.coordinate_names import actuator_names, position_names, velocity_names

__all__ = ["PlantNames"]

Array = NDArray[Any]


class PlantNames(PlantTopologyGraph):
    """Names and limits of positions, velocities and inputs, in the order of q, v and u.

    The functions that give names take, by position or by keyword,

        model_instance: which instance; left out for all.
        add_model_instance_prefix: whether names start with that of the instance; by default only if no
            instance is given.
        always_add_suffix: whether joints with a single coordinate have its suffix too; by default they do.
            Not for GetStateNames() and GetActuatorNames().

    Raises:
        RuntimeError: before Finalize(), or there is no such model instance.
        TypeError: other arguments.
    """

    @overload
    def GetPositionNames(self, add_model_instance_prefix: bool = True, always_add_suffix: bool = True) -> list[str]: ...
    @overload
    def GetPositionNames(
        self, model_instance: int, add_model_instance_prefix: bool = False, always_add_suffix: bool = True
    ) -> list[str]: ...
    def GetPositionNames(self, *args: Any, **kwargs: Any) -> list[str]:
        """Returns the names of the positions in the order of q; see the class for the arguments."""
        return self._names("GetPositionNames", position_names, _OPTIONS, args, kwargs)

    @overload
    def GetVelocityNames(self, add_model_instance_prefix: bool = True, always_add_suffix: bool = True) -> list[str]: ...
    @overload
    def GetVelocityNames(
        self, model_instance: int, add_model_instance_prefix: bool = False, always_add_suffix: bool = True
    ) -> list[str]: ...
    def GetVelocityNames(self, *args: Any, **kwargs: Any) -> list[str]:
        """Returns the names of the velocities in the order of v; see the class for the arguments."""
        return self._names("GetVelocityNames", velocity_names, _OPTIONS, args, kwargs)

    @overload
    def GetStateNames(self, add_model_instance_prefix: bool = True) -> list[str]: ...
    @overload
    def GetStateNames(self, model_instance: int, add_model_instance_prefix: bool = False) -> list[str]: ...
    def GetStateNames(self, *args: Any, **kwargs: Any) -> list[str]:
        """Returns the names of positions, then of velocities; see the class for the arguments."""

        def state_names(*arguments: Any) -> list[str]:
            return position_names(*arguments) + velocity_names(*arguments)

        return self._names("GetStateNames", state_names, _OPTIONS[:1], args, kwargs)

    @overload
    def GetActuatorNames(self, add_model_instance_prefix: bool = True) -> list[str]: ...
    @overload
    def GetActuatorNames(self, model_instance: int, add_model_instance_prefix: bool = False) -> list[str]: ...
    def GetActuatorNames(self, *args: Any, **kwargs: Any) -> list[str]:
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
        self._require_finalized(f"{caller}()")
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

    # ------------------------------------------------------------------ limits

    GetPositionLowerLimits = from_tree(MultibodyTree.position_lower_limits)
    GetPositionUpperLimits = from_tree(MultibodyTree.position_upper_limits)
    GetVelocityLowerLimits = from_tree(MultibodyTree.velocity_lower_limits)
    GetVelocityUpperLimits = from_tree(MultibodyTree.velocity_upper_limits)
    GetAccelerationLowerLimits = from_tree(MultibodyTree.acceleration_lower_limits)
    GetAccelerationUpperLimits = from_tree(MultibodyTree.acceleration_upper_limits)

    def GetEffortUpperLimits(self) -> Array:
        """Returns the upper limits of the inputs u, shape [num_actuated_dofs]."""
        self._require_finalized("GetEffortUpperLimits()")
        return self._tree.effort_limits()

    def GetEffortLowerLimits(self) -> Array:
        """Returns the lower limits of the inputs u, shape [num_actuated_dofs]."""
        return -self.GetEffortUpperLimits()


_OPTIONS = ("add_model_instance_prefix", "always_add_suffix")
