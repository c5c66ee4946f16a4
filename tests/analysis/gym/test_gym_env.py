"""DrakeGymEnv: what Gymnasium's checker asks for, and what programs for pydrake expect."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import EventStatus, LeafSystem, RandomGenerator

gymnasium = pytest.importorskip("gymnasium")
from gymnasium.utils.env_checker import check_env  # noqa: E402

from merganser.analysis.gym import DrakeGymEnv  # noqa: E402

STEP = 0.1  # [s]


class Cart(LeafSystem):
    """A cart on a rail that starts at random; the reward falls with the distance from 0."""

    def __init__(self) -> None:
        super().__init__()
        self.DeclareVectorInputPort("force", 1)
        self.DeclareStateOutputPort("state", self.DeclareContinuousState(1, 1, 0))
        self.DeclareVectorOutputPort("reward", 1, self.calc_reward)
        self.num_published = 0
        self.DeclareForcedPublishEvent(self.publish)

    def SetRandomState(self, context: Any, state: Any, generator: Any) -> None:
        state.get_mutable_continuous_state().SetFromVector([generator() / 2**32, 0.0])

    def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
        x = context.get_continuous_state_vector().value()
        if abs(x[0]) > 50.0:
            raise RuntimeError("the cart has left the rail")
        derivatives.get_mutable_vector().SetFromVector([x[1], self.get_input_port().Eval(context)[0]])

    def calc_reward(self, context: Any, output: Any) -> None:
        output.SetAtIndex(0, -abs(context.get_continuous_state_vector().GetAtIndex(0)))

    def publish(self, context: Any) -> EventStatus:
        self.num_published += 1
        return EventStatus.Succeeded()


def make_simulator(generator: RandomGenerator | None = None) -> Simulator:
    simulator = Simulator(Cart())
    simulator.set_monitor(
        lambda context: EventStatus.ReachedTermination(simulator.get_system(), "out")
        if abs(context.get_continuous_state_vector().GetAtIndex(0)) > 3.0
        else EventStatus.DidNothing()
    )
    return simulator


def make_env(simulator: Any = make_simulator, **settings: Any) -> DrakeGymEnv:
    given = {"action_space": None, "observation_space": None, "reward": "reward", **settings}
    return DrakeGymEnv(simulator, STEP, **given)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("is_made_anew", [False, True])
@pytest.mark.parametrize("mode", [None, "human", "ansi"])
def test_the_checker_of_gymnasium_is_content(is_made_anew: bool, mode: str | None) -> None:
    env = make_env(
        make_simulator if is_made_anew else make_simulator(),
        action_space=gymnasium.spaces.Box(-1.0, 1.0, (1,)),
        observation_space=gymnasium.spaces.Box(-5.0, 5.0, (2,)),
        render_mode=mode,
    )
    check_env(env, skip_render_check=True)
    env.reset(seed=0)
    env.render()


def test_a_step_advances_the_simulator_under_the_action() -> None:
    env = make_env(
        reward=lambda system, context: 10.0 + context.get_time(),
        info_handler=lambda simulator: {"steps": simulator.get_num_steps_taken()},
    )
    start, info = env.reset(seed=3)
    assert info["steps"] == 0 and start.dtype == np.float64
    observation, reward, terminated, truncated, info = env.step(np.array([2.0], dtype=np.float32))
    np.testing.assert_allclose(observation, [start[0] + 0.5 * 2.0 * STEP**2, 2.0 * STEP], rtol=1e-12)
    assert (reward, terminated, truncated) == (10.0 + STEP, False, False) and info["steps"] > 0
    again, _ = env.reset(seed=3)
    np.testing.assert_array_equal(again, start)
    assert env.reset()[0][0] != start[0]  # the generator goes on


def test_observations_have_the_number_type_of_the_space() -> None:
    box = gymnasium.spaces.Box(-10.0, 10.0, (2,), np.float32)
    env = make_env(observation_space=box)
    observation, _ = env.reset(seed=0)
    assert observation.dtype == np.float32 and box.contains(observation)


def test_the_monitor_ends_an_episode_and_a_failure_truncates_it() -> None:
    env = make_env()
    env.reset(seed=0)
    ends = [env.step([60.0])[2] for _ in range(4)]
    assert ends == [False, False, True, True]
    simulator = Simulator(Cart())
    env = make_env(simulator, reset_handler=lambda simulator, context, seed: context.SetContinuousState([49.0, 50.0]))
    before, _ = env.reset()
    with pytest.warns(UserWarning, match="the cart has left the rail"):
        observation, reward, terminated, truncated, info = env.step([0.0])
    np.testing.assert_array_equal(observation, before)
    assert (reward, terminated, truncated, info) == (0.0, False, True, {})


def test_rendering() -> None:
    env = make_env(render_mode="human")
    with pytest.raises(RuntimeError, match=re.escape("render: call reset() first")):
        make_env(action_space=env.action_space, observation_space=env.observation_space).render()
    env.reset(seed=0)
    cart: Any = env.simulator.get_system()  # type: ignore[union-attr]
    before = cart.num_published
    env.render()
    assert cart.num_published == before + 1
    env = make_env(render_mode="ansi")
    env.reset(seed=0)
    assert "states" in env.render()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"observation_space": gymnasium.spaces.Box(-1, 1, (3,))}, r"shape \(3,\), but Output port 'state'.* size 2"),
        ({"action_space": gymnasium.spaces.Discrete(2)}, r"action_space has shape \(\).*'force'.* size 1"),
        ({"reward": "state"}, "a reward is one number, but Output port 'state'"),
        ({"reward": "prize"}, "prize"),
        ({"action_port_id": "torque"}, "torque"),
        ({"render_mode": "opengl"}, "one of human, ansi and rgb_array, got 'opengl'"),
        ({"render_mode": "rgb_array"}, "needs render_rgb_port_id"),
    ],
)
def test_wrong_arguments_are_refused_by_name(settings: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, RuntimeError, LookupError), match=message):
        make_env(make_simulator(), **settings)


def test_without_gymnasium_the_extra_is_named() -> None:
    code = "import sys; sys.modules['gymnasium'] = None\nimport merganser.analysis.gym"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install 'merganser[gym]'" in run.stderr
