"""Bodies whose surfaces go round an axis, as those of conveyor belts do: axes, and how far the surfaces have moved."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework import BusValue, Context, InputPort, LeafOutputPort, Value
from merganser.framework.core.values.values import AbstractValue
from merganser.multibody.kernels.scalars import real_part
from merganser.multibody.math.vectors import as_vector
from merganser.multibody.plant.input_ports import InputPorts
from merganser.multibody.plant.model import PlantModel
from merganser.multibody.plant.state_views import StateViews
from merganser.multibody.tree import RigidBody


class PlantBelts:
    """Belts of a plant.

    Args:
        model, views, inputs: of the plant.
    """

    def __init__(self, model: PlantModel, views: StateViews, inputs: InputPorts) -> None:
        self._model, self._tree, self._views, self._inputs = model, model.tree, views, inputs
        self._port: LeafOutputPort | None = None

    def declare(self) -> None:
        """Declares the ports of a finalized plant with belts."""
        system = self._model.system
        if not self._tree.belts():
            return
        self._inputs.surface_speeds = system.DeclareAbstractInputPort("surface_speeds", Value(BusValue()))
        states = {system.xd_ticket()} if self._model.is_discrete else {system.z_ticket()}
        self._port = system.DeclareAbstractOutputPort(
            "surface_displacements", lambda: Value(BusValue()), self._calc_displacements, states
        )

    def set_axis(self, body: RigidBody, axis_B: npt.ArrayLike | None) -> None:
        """Sets the axis about which the surface of a body goes round; before Finalize().

        With the speed s that comes through the port `surface_speeds`, the surface moves by s axis x n on the body,
        where n is the normal that points out of it.

        Args:
            body: not the world.
            axis_B: in the frame of the body, shape [3], of any length but 0; None for no axis.

        Raises:
            RuntimeError: after Finalize(), the body is the world or one of another plant, or the axis has no direction.
        """
        self._tree._check_not_finalized("SetSurfaceVelocityAxis")
        self._tree._check_mine("SetSurfaceVelocityAxis", "it", body)
        if axis_B is None:
            body._surface_axis = None
            return
        axis = as_vector(axis_B, 3, "SetSurfaceVelocityAxis: axis_B").astype(float)
        largest = np.abs(axis).max()
        if body.index() == self._tree.world_body().index():
            raise RuntimeError("SetSurfaceVelocityAxis(): the surface of the world does not move; name another body.")
        if not 0.0 < largest < np.inf:
            raise RuntimeError(f"SetSurfaceVelocityAxis(): axis_B of body '{body.name()}' is {axis}, no direction.")
        axis /= largest
        body._surface_axis = axis / np.linalg.norm(axis)

    def get_axis(self, body: RigidBody) -> npt.NDArray[Any] | None:
        """Returns the axis about which the surface of a body goes round, of length 1, in its frame; None without.

        Raises:
            RuntimeError: the body is one of another plant.
        """
        self._tree._check_mine("GetSurfaceVelocityAxis", "it", body)
        axis = body._surface_axis
        return None if axis is None else axis.copy()

    def get_output_port(self) -> LeafOutputPort[BusValue]:
        """Returns the port with a BusValue: how far the surface of each belt has moved [m], by scoped names of bodies.

        Displacements are states, 0 in a default Context.

        Raises:
            RuntimeError: before Finalize(), or the plant has no belts.
        """
        self._require("get_surface_displacements_output_port()")
        assert self._port is not None
        return self._port

    def get_input_port(self) -> InputPort[BusValue]:
        """Returns the port for a BusValue of speeds of surfaces [m/s], by scoped names of bodies; optional.

        They are of bodies with SetSurfaceVelocityAxis(); what the bus does not name has the speed 0.

        Raises:
            RuntimeError: before Finalize(), or there is no such body.
        """
        self._require("get_surface_speeds_input_port()")
        assert self._inputs.surface_speeds is not None
        return self._inputs.surface_speeds

    def _require(self, what: str) -> None:
        self._model.require_finalized(what)
        if self._port is None:
            raise RuntimeError(
                f"Plant '{self._model.path()}' has no belts, and no port for {what}: call SetSurfaceVelocityAxis() for "
                "a body before Finalize()."
            )

    def num_misc_continuous_states(self) -> int:
        """Returns the number of continuous states that are neither positions nor velocities.

        These are activations and other states of actuators, and displacements of belts.
        """
        self._model.require_finalized("num_misc_continuous_states()")
        return 0 if self._model.is_discrete else self._views.num_activations

    def _calc_displacements(self, context: Context, bus: AbstractValue) -> None:
        belts, value = self._tree.belts(), bus.get_mutable_value()
        displacements = self._views.workspace(context).activations
        for k, body in enumerate(belts, start=len(displacements) - len(belts)):
            value.Set(body.scoped_name().get_full(), Value(float(real_part(displacements[k]))))
