"""DrakeGymEnv: a diagram and its Simulator as an environment of Gymnasium; its ports and the spaces of their values."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from merganser.analysis.simulation.simulator import Simulator
from merganser.analysis.simulation.simulator_status import SimulatorStatus
from merganser.framework import (
    Context,
    InputPort,
    InputPortIndex,
    OutputPort,
    OutputPortIndex,
    PortDataType,
    RandomGenerator,
    System,
)


def input_port_of(system: System, port_id: Any) -> InputPort:
    """The port that is given, or has this index or name; by default the first one.

    Raises:
        ValueError: the system has no input port.
        TypeError: this names no port.
    """
    what = "gives its actions to an input port", "ExportInput(port, 'actions')"
    by = InputPort, system.num_input_ports(), system.get_input_port, system.GetInputPort
    return _port_of(system, port_id, what, *by)


def output_port_of(system: System, port_id: Any) -> OutputPort:
    """The same of output ports."""
    what = "observes an output port", "ExportOutput(port, 'observations')"
    by = OutputPort, system.num_output_ports(), system.get_output_port, system.GetOutputPort
    return _port_of(system, port_id, what, *by)


def _port_of(
    system: System, port_id: Any, what: tuple[str, str], kind: type, number: int, by_index: Any, by_name: Any
) -> Any:
    if isinstance(port_id, kind):
        return port_id
    name = system.GetSystemPathname()
    if port_id is None and number == 0:
        raise ValueError(f"An environment {what[0]}, and system '{name}' has none. Export one: builder.{what[1]}.")
    if port_id is None or isinstance(port_id, (InputPortIndex, OutputPortIndex, int)):
        return by_index(0 if port_id is None else int(port_id))
    if isinstance(port_id, str):
        return by_name(port_id)
    raise TypeError(f"A port of system '{name}' is given by its name, its index or itself; got {port_id!r}.")


def space_of(port: InputPort | OutputPort, space: gymnasium.Space[Any] | None, what: str) -> gymnasium.Space[Any]:
    """The space of a port's values: the one given, or all vectors of its size.

    Args:
        port: with vector or abstract values.
        space: None for all vectors.
        what: "action_space" or "observation_space", for messages.

    Raises:
        ValueError: the sizes differ, or abstract values take a space that only the program knows.
        TypeError: this is no space.
    """
    is_vector = port.get_data_type() is PortDataType.kVectorValued
    if space is None:
        if not is_vector:
            raise ValueError(f"{what} must be given: {port.GetFullDescription()} has no vector values.")
        return gymnasium.spaces.Box(-np.inf, np.inf, (port.size(),), np.float64)
    if not isinstance(space, gymnasium.Space):
        raise TypeError(f"{what} must be a gymnasium.spaces.Space or None, got {space!r}.")
    if is_vector and space.shape != (port.size(),):
        raise ValueError(f"{what} has shape {space.shape}, but {port.GetFullDescription()} has size {port.size()}.")
    return space


def as_observation(value: Any, space: gymnasium.Space[Any]) -> Any:
    """A port's value with the number type of the space; values that are no arrays stay as they are."""
    if isinstance(value, np.ndarray) and space.dtype is not None:
        return value.astype(space.dtype)
    return value


_TERMINATED = SimulatorStatus.ReturnReason.kReachedTerminationCondition


class DrakeGymEnv(gymnasium.Env[Any, Any]):
    """An environment whose step gives an action to an input port and advances a Simulator.

    An episode ends (`terminated`) where the Simulator's monitor says so: `simulator.set_monitor`. A step that fails,
    because contact did not converge, say, ends it, too: `truncated` with a reward of 0 and the observation of before.

    Args:
        simulator: to advance, or a function that makes one from a RandomGenerator, which each `reset` calls.
        time_step: length of a step [s].
        action_space: of the actions; None for all vectors of the action port's size.
        observation_space: of the observations; None for all vectors of the observation port's size. Observations have
            the number type of the space.
        reward: a function (system, root context) -> number, or an output port of size 1 by name, index or itself.
        action_port_id: input port of the Simulator's system, by name, index or itself; by default the first one.
        observation_port_id: output port, likewise.
        render_rgb_port_id: output port with an ImageRgba8U, likewise, which "rgb_array" needs and selects.
        render_mode: "human" publishes, so that the visualizers of the diagram show the state; "ansi" returns the
            Context in words; "rgb_array" returns an image, shape [height, width, 3].
        reset_handler: function (simulator, root context, seed or None) that changes the default state at `reset`; by
            default the Context is set at random (`System.SetRandomContext`) by the seed.
        info_handler: function (simulator) -> dict, the info of `reset` and `step`.
        hardware: whether `reset` leaves the state as it is, but for `reset_handler`.

    Attributes:
        simulator: in use; None before the first reset, where a function makes it.
        time_step: as given.
        generator: of random Contexts; `reset(seed=...)` restarts it.

    Raises:
        ValueError: sizes do not match, `time_step` is not positive, or there is no such rendering.
        TypeError: an argument is of another kind.
    """

    metadata = {"render_modes": ["human", "ansi", "rgb_array"]}

    def __init__(
        self,
        simulator: Simulator | Callable[[RandomGenerator], Simulator],
        time_step: float,
        action_space: gymnasium.Space[Any] | None,
        observation_space: gymnasium.Space[Any] | None,
        reward: Callable[[System, Context], float] | OutputPort | OutputPortIndex | str,
        action_port_id: Any = None,
        observation_port_id: Any = None,
        render_rgb_port_id: Any = None,
        render_mode: str | None = "human",
        reset_handler: Callable[[Simulator, Context, int | None], None] | None = None,
        info_handler: Callable[[Simulator], dict[str, Any]] | None = None,
        hardware: bool = False,
    ) -> None:
        super().__init__()
        if not (isinstance(simulator, Simulator) or callable(simulator)):
            raise TypeError(f"DrakeGymEnv: simulator is a Simulator, or a function that makes one; got {simulator!r}.")
        if not time_step > 0.0:
            raise ValueError(f"DrakeGymEnv: time_step must be positive, got {time_step!r} s.")
        for name, handler in (("reset_handler", reset_handler), ("info_handler", info_handler)):
            if not (handler is None or callable(handler)):
                raise TypeError(f"DrakeGymEnv: {name} must be a function or None, got {handler!r}.")
        self.render_mode = "rgb_array" if render_rgb_port_id is not None else render_mode
        if self.render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(f"DrakeGymEnv: render_mode must be one of human, ansi and rgb_array, got {render_mode!r}.")
        if self.render_mode == "rgb_array" and render_rgb_port_id is None:
            raise ValueError("DrakeGymEnv: render_mode 'rgb_array' needs render_rgb_port_id, an output port of images.")
        self.metadata = {**self.metadata, "render_fps": round(1.0 / time_step) or 1}
        self.time_step = time_step
        self.generator = RandomGenerator()
        self.reset_handler = reset_handler
        self.info_handler = info_handler or (lambda simulator: {})
        self.hardware = hardware
        self._spaces = action_space, observation_space
        self._ports = action_port_id, observation_port_id, render_rgb_port_id
        self._reward = reward
        self.make_simulator = None if isinstance(simulator, Simulator) else simulator
        self.simulator: Simulator | None = None
        if action_space is not None and observation_space is not None:
            self.action_space, self.observation_space = action_space, observation_space
            if isinstance(simulator, Simulator):
                self._use(simulator)
        else:  # the ports say what the spaces are
            self._use(simulator if isinstance(simulator, Simulator) else simulator(self.generator))

    def _use(self, simulator: Simulator) -> None:
        """Finds the ports of a simulator's system."""
        system = simulator.get_system()
        action, observation, image = self._ports
        self.action_port, self.observation_port = input_port_of(system, action), output_port_of(system, observation)
        self.action_space = space_of(self.action_port, self._spaces[0], "action_space")
        self.observation_space = space_of(self.observation_port, self._spaces[1], "observation_space")
        self.render_rgb_port = None if image is None else output_port_of(system, image)
        if isinstance(self._reward, (OutputPort, OutputPortIndex, int, str)):
            port = output_port_of(system, self._reward)
            if port.get_data_type() is not PortDataType.kVectorValued or port.size() != 1:
                raise ValueError(f"DrakeGymEnv: a reward is one number, but {port.GetFullDescription()} gives others.")
            self.reward: Callable[[Any, Any], Any] = lambda system, context: port.Eval(context)[0]
        elif callable(self._reward):
            self.reward = self._reward
        else:
            raise TypeError(f"DrakeGymEnv: reward must be a function or an output port, got {self._reward!r}.")
        self.simulator = simulator

    def _simulator_in_use(self, method: str) -> Simulator:
        if self.simulator is None:
            raise RuntimeError(f"DrakeGymEnv.{method}: call reset() first, which makes the simulator.")
        return self.simulator

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins an episode at time 0.

        Args:
            seed: restarts the generator of random Contexts; without it, the generator goes on.
            options: none are known; None or an empty dict.

        Returns:
            The observation, and the info.

        Raises:
            ValueError: options are given.
        """
        super().reset(seed=seed)
        if options:
            raise ValueError(f"DrakeGymEnv.reset knows no options, got {options!r}.")
        if seed is not None:
            self.generator = RandomGenerator(seed)
        if self.make_simulator is not None:
            self._use(self.make_simulator(self.generator))
        simulator = self._simulator_in_use("reset")
        system, context = simulator.get_system(), simulator.get_mutable_context()
        if self.reset_handler is not None:
            system.SetDefaultContext(context)
        elif not self.hardware:
            system.SetRandomContext(context, self.generator)
        context.SetTime(0.0)
        if self.reset_handler is not None:
            self.reset_handler(simulator, context, seed)
        simulator.Initialize()
        return self._observation(simulator), self.info_handler(simulator)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Gives the action port a value and advances by `time_step`.

        Args:
            action: of the action space.

        Returns:
            Observation, reward, whether the monitor has ended the episode, whether the step has failed, and info.

        Raises:
            RuntimeError: there was no reset before, which makes the simulator.
        """
        simulator = self._simulator_in_use("step")
        context = simulator.get_mutable_context()
        self.action_port.FixValue(context, action)
        before = self._observation(simulator)
        try:
            status = simulator.AdvanceTo(context.get_time() + self.time_step)
        except RuntimeError as error:
            warnings.warn(f"The step has failed, so the episode ends: {error}", stacklevel=2)
            return before, 0.0, False, True, {}
        reward = float(self.reward(simulator.get_system(), context))
        info = self.info_handler(simulator)
        return self._observation(simulator), reward, status.reason() is _TERMINATED, False, info

    def render(self) -> Any:
        """What `render_mode` says: publishes, or returns a text or an image."""
        simulator = self._simulator_in_use("render")
        context = simulator.get_context()
        if self.render_mode == "human":
            simulator.get_system().ForcedPublish(context)
        elif self.render_mode == "ansi":
            return str(context)
        elif self.render_rgb_port is not None:
            return np.array(self.render_rgb_port.Eval(context).data[:, :, :3])
        return None

    def _observation(self, simulator: Simulator) -> Any:
        value = self.observation_port.Eval(simulator.get_context())
        return as_observation(value, self.observation_space)
