"""Names and limits of the coordinates and inputs of a plant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from merganser.multibody.plant.model import PlantModel
from merganser.multibody.tree.coordinate_names import actuator_names, position_names, velocity_names

__all__ = ["PlantNames"]

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
        return self._tree.effort_limits()

    def get_effort_lower_limits(self) -> Array:
        """Returns the lower limits of the inputs u, shape [num_actuated_dofs]."""
        return -self.get_effort_upper_limits()


_OPTIONS = ("add_model_instance_prefix", "always_add_suffix")
