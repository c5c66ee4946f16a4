"""PidControlledSystem: a plant with a PID controller around it."""

from __future__ import annotations

from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike

from merganser.analysis.controllers.pid_controller import PidController
from merganser.framework.core.declarations.ports import InputPort, OutputPort
from merganser.framework.core.diagram.diagram import Diagram
from merganser.framework.core.diagram.diagram_builder import DiagramBuilder
from merganser.framework.core.system.system import System
from merganser.framework.core.values.arguments import bind_overload
from merganser.framework.primitives.arithmetic import Adder, Saturation

_INDICES = {"state_output_port_index": 0, "plant_input_port_index": 0}


class PidControlledSystem(Diagram):
    """A Diagram of a plant, a PidController and an Adder: the plant gets control + feedforward.

    Input port 0, 'feedforward_control', has the size of the plant's input; input port 1, 'desired_state', holds the
    desired positions and velocities of the controlled degrees of freedom. The output ports are those of the plant,
    under their names. Other input ports of the plant are not exported.

    Args:
        plant: the system to be controlled; it becomes part of this Diagram.
        feedback_selector: matrix that selects the controlled state from the plant's state output, shape
            [2 n, size of that output]; by default the identity. It goes between `plant` and `kp`.
        kp: proportional gains, shape [n], or one number for all.
        ki: integral gains, shape [n], or one number for all.
        kd: derivative gains, shape [n], or one number for all.
        state_output_port_index: the plant's output port with positions and velocities.
        plant_input_port_index: the plant's input port for the sum.

    Raises:
        ValueError: sizes do not fit together.
        IndexError: the plant has no such port.
    """

    @overload
    def __init__(
        self,
        plant: System,
        kp: ArrayLike,
        ki: ArrayLike,
        kd: ArrayLike,
        state_output_port_index: int = 0,
        plant_input_port_index: int = 0,
    ) -> None: ...
    @overload
    def __init__(
        self,
        plant: System,
        feedback_selector: ArrayLike,
        kp: ArrayLike,
        ki: ArrayLike,
        kd: ArrayLike,
        state_output_port_index: int = 0,
        plant_input_port_index: int = 0,
    ) -> None: ...
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        has_selector = "feedback_selector" in kwargs or (len(args) > 1 and np.ndim(args[1]) == 2)
        names = ("plant", *(("feedback_selector",) if has_selector else ()), "kp", "ki", "kd", *_INDICES)
        given = bind_overload("PidControlledSystem", names, _INDICES, args, kwargs)
        plant = given["plant"]
        if not isinstance(plant, System):
            raise TypeError(f"PidControlledSystem: plant must be a System, got {type(plant).__name__}.")
        plant_input = plant.get_input_port(given["plant_input_port_index"])
        self._state_output_port_index = given["state_output_port_index"]
        state_output = plant.get_output_port(self._state_output_port_index)
        gains = [_for_each(given[name], plant_input.size()) for name in ("kp", "ki", "kd")]
        builder = DiagramBuilder()
        builder.AddSystem(plant)
        selector = [given["feedback_selector"]] if has_selector else []
        ports = PidControlledSystem.ConnectController(plant_input, state_output, *selector, *gains, builder)
        builder.ExportInput(ports.control_input_port, "feedforward_control")
        builder.ExportInput(ports.state_input_port, "desired_state")
        for index in range(plant.num_output_ports()):
            port = plant.get_output_port(index)
            builder.ExportOutput(port, port.get_name())
        builder.BuildInto(self)

    class ConnectResult(NamedTuple):
        """The ports that remain to be connected: the feedforward control, and the desired state."""

        control_input_port: InputPort
        state_input_port: InputPort

    def get_control_input_port(self) -> InputPort:
        """Returns the input port of the feedforward control."""
        return self.get_input_port(0)

    def get_state_input_port(self) -> InputPort:
        """Returns the input port of the desired state."""
        return self.get_input_port(1)

    def get_state_output_port(self) -> OutputPort:
        """Returns the output port of the plant's state."""
        return self.get_output_port(self._state_output_port_index)

    @staticmethod
    def ConnectController(*args: Any, **kwargs: Any) -> ConnectResult:
        """Puts a PidController and an Adder around a plant in a builder.

        Called as `(plant_input, plant_output, feedback_selector, Kp, Ki, Kd, builder)`; without `feedback_selector`,
        the whole state is fed back.

        Args:
            plant_input: the plant's input port for control + feedforward.
            plant_output: the plant's output port with positions and velocities.
            feedback_selector: matrix that selects the controlled state, shape [2 n, size of plant_output].
            Kp, Ki, Kd: gains, shapes [n].
            builder: to which the plant has been added.

        Returns:
            The input ports of the feedforward control and of the desired state.
        """
        return _connect("ConnectController", (), args, kwargs)

    @staticmethod
    def ConnectControllerWithInputSaturation(*args: Any, **kwargs: Any) -> ConnectResult:
        """Does what `ConnectController` does, with a Saturation before the plant's input.

        Called as `(plant_input, plant_output, feedback_selector, Kp, Ki, Kd, min_plant_input, max_plant_input,
        builder)`; without `feedback_selector`, the whole state is fed back. The integral of the error goes on growing
        while the input is saturated.

        Args:
            min_plant_input: lower limits, shape [size of plant_input].
            max_plant_input: upper limits, shape [size of plant_input].
        """
        limits = ("min_plant_input", "max_plant_input")
        return _connect("ConnectControllerWithInputSaturation", limits, args, kwargs)


def _connect(
    function: str, limits: tuple[str, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> PidControlledSystem.ConnectResult:
    names = ["plant_input", "plant_output", "feedback_selector", "Kp", "Ki", "Kd", *limits, "builder"]
    if len(args) + len(kwargs) < len(names):
        names.remove("feedback_selector")
    given = bind_overload(f"PidControlledSystem.{function}", names, {}, args, kwargs)
    builder = given["builder"]
    projection = {"state_projection": given["feedback_selector"]} if "feedback_selector" in given else {}
    controller = PidController(kp=given["Kp"], ki=given["Ki"], kd=given["Kd"], **projection)
    saturation = Saturation(*(given[name] for name in limits)) if limits else None
    adder = Adder(2, given["plant_input"].size())
    systems: list[System] = [system for system in (saturation, controller, adder) if system is not None]
    added: list[System] = []
    try:
        for system in systems:
            added.append(builder.AddSystem(system))
        target = given["plant_input"]
        if saturation is not None:
            builder.Connect(saturation.get_output_port(), target)
            target = saturation.get_input_port()
        builder.Connect(given["plant_output"], controller.get_input_port_estimated_state())
        builder.Connect(controller.get_output_port_control(), adder.get_input_port(0))
        builder.Connect(adder.get_output_port(), target)
    except Exception:
        for system in added:
            builder.RemoveSystem(system)
        raise
    return PidControlledSystem.ConnectResult(adder.get_input_port(1), controller.get_input_port_desired_state())


def _for_each(gain: ArrayLike, size: int) -> ArrayLike:
    """Expands a single number to equal gains for all inputs of the plant."""
    return np.repeat(gain, size) if np.ndim(gain) == 0 else gain
