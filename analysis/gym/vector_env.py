"""Many worlds of one diagram as a vector environment of Gymnasium: all of them take a step in one compiled call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from merganser.analysis.batches.batch_simulation import BatchSimulator
from merganser.analysis.batches.worlds import Worlds
from merganser.analysis.gym.drake_gym_env import input_port_of, output_port_of, space_of
from merganser.analysis.simulation.simulator_config import SimulatorConfig
from merganser.framework import Context, OutputPort, OutputPortIndex, PortDataType, RandomGenerator, System

Array = NDArray[Any]
OfWorlds = Callable[[Worlds], ArrayLike]


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
