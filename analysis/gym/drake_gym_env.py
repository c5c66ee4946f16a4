"""DrakeGymEnv: a diagram and its Simulator as an environment of Gymnasium; its ports and the spaces of their values."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from merganser.analysis.batches.batch_simulation import BatchSimulator
from merganser.analysis.batches.worlds import Worlds
from merganser.analysis.simulation.simulator import Simulator
from merganser.analysis.simulation.simulator_config import SimulatorConfig
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

Array = NDArray[Any]
OfWorlds = Callable[[Worlds], ArrayLike]


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


def MakeVectorEnv(
    system: System,
    num_envs: int,
    time_step: float,
    reward: OfWorlds | OutputPort | OutputPortIndex | str,
    *,
    terminated: OfWorlds | OutputPort | OutputPortIndex | str | None = None,
    max_episode_steps: int | None = None,
    action_space: gymnasium.Space[Any] | None = None,
    observation_space: gymnasium.Space[Any] | None = None,
    action_port_id: Any = None,
    observation_port_id: Any = None,
    reset_handler: Callable[[Context, RandomGenerator], None] | None = None,
    autoreset_mode: AutoresetMode = AutoresetMode.NEXT_STEP,
    config: SimulatorConfig | None = None,
    parallelize: bool | int = True,
) -> DrakeVectorEnv:
    """Makes many environments of one system, which run side by side as `Worlds` of a BatchSimulator.

    Each of them is, to the last bit, the DrakeGymEnv with the same ports and seed. An episode begins at time 0.

    Args:
        system: shared by all; see BatchSimulator for what runs compiled.
        num_envs: how many.
        time_step: length of a step [s].
        reward: an output port of size 1 by name, index or itself, or a function of the `Worlds` after a step that
            returns numbers, shape [num_envs].
        terminated: whether episodes end, likewise: numbers other than 0 or True; by default they do not.
        max_episode_steps: after which an episode is truncated; None for no limit.
        action_space: of one environment; None for all vectors of the action port's size.
        observation_space: of one environment; None for all vectors of the observation port's size.
        action_port_id: vector input port of the system, by name, index or itself; by default the first one.
        observation_port_id: vector output port, likewise.
        reset_handler: function (root context, generator) that changes the default state as an episode begins; by
            default the Context is set at random (`System.SetRandomContext`).
        autoreset_mode: when an environment restarts, see Gymnasium: at the next step, which does not look at its
            action; at the same step, with the last observation in the info "final_obs"; or when `reset` says so by
            `options={"reset_mask": ...}`.
        config: settings of the simulators.
        parallelize: number of threads; True for as many as there are processors. Results do not depend on it.

    Raises:
        ValueError: sizes do not match, or a number is not positive.
        TypeError: an argument is of another kind.
    """
    return DrakeVectorEnv(
        system,
        num_envs,
        time_step,
        (reward, terminated),
        max_episode_steps,
        (action_space, observation_space),
        (action_port_id, observation_port_id),
        reset_handler,
        autoreset_mode,
        BatchSimulator(system, config=config, parallelize=parallelize),
    )


class DrakeVectorEnv(gymnasium.vector.VectorEnv[Array, Array, Array]):
    """What MakeVectorEnv returns, which see.

    Attributes:
        worlds: one for each environment; states and parameters may be read between two steps.
        time_step: [s].
    """

    def __init__(
        self,
        system: System,
        num_envs: int,
        time_step: float,
        functions: tuple[Any, Any],
        max_episode_steps: int | None,
        spaces: tuple[Any, Any],
        port_ids: tuple[Any, Any],
        reset_handler: Callable[[Context, RandomGenerator], None] | None,
        autoreset_mode: AutoresetMode,
        batch: BatchSimulator,
    ) -> None:
        if num_envs < 1:
            raise ValueError(f"MakeVectorEnv: num_envs must be positive, got {num_envs!r}.")
        if not time_step > 0.0:
            raise ValueError(f"MakeVectorEnv: time_step must be positive, got {time_step!r} s.")
        if not (max_episode_steps is None or max_episode_steps > 0):
            raise ValueError(f"MakeVectorEnv: max_episode_steps must be positive, got {max_episode_steps!r}.")
        self._action_port = input_port_of(system, port_ids[0])
        self._observation_port = output_port_of(system, port_ids[1])
        for port in (self._action_port, self._observation_port):
            if port.get_data_type() is not PortDataType.kVectorValued:
                raise ValueError(f"MakeVectorEnv: {port.GetFullDescription()} does not carry a vector.")
        self._reward = _function_of_worlds(system, functions[0], "reward")
        self._terminated = None if functions[1] is None else _function_of_worlds(system, functions[1], "terminated")
        self.num_envs, self.time_step = num_envs, time_step
        self.single_action_space = space_of(self._action_port, spaces[0], "action_space")
        self.single_observation_space = space_of(self._observation_port, spaces[1], "observation_space")
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._mode = AutoresetMode(autoreset_mode)
        self.metadata = {"autoreset_mode": self._mode}
        self._most_steps = np.inf if max_episode_steps is None else max_episode_steps
        self._batch, self._handler = batch, reset_handler
        self._generators = [RandomGenerator(seed) for seed in range(num_envs)]
        self._num_steps = np.zeros(num_envs, dtype=np.int64)
        self._has_ended = np.zeros(num_envs, dtype=bool)
        self.worlds = batch.make_worlds(num_envs, self._begin)

    def _begin(self, context: Any, index: int) -> None:
        """Sets what a world starts with."""
        system, generator = context.system, self._generators[index]
        mine = self._action_port.get_system().GetMyContextFromRoot(context)
        self._action_port.FixValue(mine, np.zeros(self._action_port.size()))
        if self._handler is not None:
            system.SetDefaultContext(context)
        else:
            system.SetRandomContext(context, generator)
        context.SetTime(0.0)
        if self._handler is not None:
            self._handler(context, generator)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begins episodes.

        Args:
            seed: of the first environment, the next one of the second, and so on; or one for each. None goes on with
                the generators.
            options: "reset_mask" says which environments, bool, shape [num_envs]; by default all.

        Returns:
            The observations, shape [num_envs, size], and an empty info.

        Raises:
            ValueError: there are other options, or numbers do not match.
        """
        others = {key: value for key, value in (options or {}).items() if key != "reset_mask"}
        mask = np.asarray((options or {}).get("reset_mask", np.ones(self.num_envs, bool)))
        if others or mask.shape != (self.num_envs,) or mask.dtype != np.bool_:
            raise ValueError(
                f"DrakeVectorEnv.reset takes the option 'reset_mask', {self.num_envs} values True or False; got "
                f"{options!r}."
            )
        seeds = [seed + n for n in range(self.num_envs)] if isinstance(seed, (int, np.integer)) else seed
        if seeds is not None and len(seeds) != self.num_envs:
            raise ValueError(f"DrakeVectorEnv: {self.num_envs} environments take as many seeds, got {len(seeds)}.")
        for n in np.flatnonzero(mask).tolist():
            if seeds is not None and (chosen := seeds[n]) is not None:
                self._generators[n] = RandomGenerator(chosen)
        self._renew(mask)
        return self._observations(), {}

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Advances all environments by `time_step`, but for those that begin an episode in this step.

        Args:
            actions: one for each environment, shape [num_envs, size].

        Returns:
            Observations, rewards, where the episode has terminated, where it has been truncated (by its length, or as
            the step has failed: then with a reward of 0), and info.

        Raises:
            ValueError: the shape of `actions` does not fit.
            RuntimeError: an episode has ended, and nothing begins another (`AutoresetMode.DISABLED`).
        """
        worlds = self.worlds
        worlds.fix_values(self._action_port, np.asarray(actions, dtype=np.float64).T)
        begins = self._has_ended
        if begins.any():
            if self._mode is AutoresetMode.DISABLED:
                raise RuntimeError(
                    f"The episodes of environments {np.flatnonzero(begins).tolist()} have ended; reset them first: "
                    "reset(options={'reset_mask': ...})."
                )
            self._renew(begins)
        times = worlds.times
        failures: dict[int, Exception] = {}
        self._batch.advance(worlds, np.where(begins, times, times + self.time_step), failures=failures)
        has_failed = np.zeros(self.num_envs, dtype=bool)
        has_failed[list(failures)] = True
        self._num_steps += ~begins
        rewards = np.where(begins | has_failed, 0.0, self._reward(worlds))
        terminated = np.zeros(self.num_envs, dtype=bool)
        if self._terminated is not None:
            terminated = (np.asarray(self._terminated(worlds)) != 0) & ~begins & ~has_failed
        truncated = has_failed | ((self._num_steps >= self._most_steps) & ~terminated)
        observations, info = self._observations(), {}
        self._has_ended = terminated | truncated
        if self._mode is AutoresetMode.SAME_STEP and self._has_ended.any():
            final = np.full(self.num_envs, None, dtype=object)
            for n in np.flatnonzero(self._has_ended):
                final[n] = observations[n].copy()
            info = {"final_obs": final, "_final_obs": self._has_ended.copy()}
            self._renew(self._has_ended)
            observations = self._observations()
        return observations, rewards, terminated, truncated, info

    def _renew(self, mask: Array) -> None:
        self.worlds.renew(np.flatnonzero(mask).tolist())
        self._num_steps = np.where(mask, 0, self._num_steps)
        self._has_ended = self._has_ended & ~mask

    def _observations(self) -> Array:
        dtype = self.single_observation_space.dtype
        values: Array = np.ascontiguousarray(self.worlds.eval_output(self._observation_port).T, dtype=dtype)
        return values


def _function_of_worlds(system: System, given: Any, what: str) -> Callable[[Worlds], Array]:
    """A function of worlds that returns one number for each, from a function or an output port."""
    if callable(given) and not isinstance(given, OutputPort):

        def checked(worlds: Worlds) -> Array:
            values = np.asarray(given(worlds))
            if values.shape != (len(worlds),):
                raise ValueError(
                    f"MakeVectorEnv: {what} must return {len(worlds)} numbers, one for each environment; got an array "
                    f"of shape {values.shape}."
                )
            return values

        return checked
    port = output_port_of(system, given)
    if port.get_data_type() is not PortDataType.kVectorValued or port.size() != 1:
        raise ValueError(f"MakeVectorEnv: {what} is one number, but {port.GetFullDescription()} gives others.")
    return lambda worlds: worlds.eval_output(port)[0]
