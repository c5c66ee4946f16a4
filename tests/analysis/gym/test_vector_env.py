"""Many environments at a time: each is its DrakeGymEnv, and episodes begin as Gymnasium's modes say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder, RandomGenerator
from merganser.framework.symbolic import Variable
from merganser.multibody.plant import AddMultibodyPlantSceneGraph
from merganser.multibody.tree import RevoluteJoint, SpatialInertia

gymnasium = pytest.importorskip("gymnasium")
from gymnasium.vector import AutoresetMode  # noqa: E402

from merganser.analysis.gym import DrakeGymEnv, MakeVectorEnv  # noqa: E402

pytest_plugins = ["compile_policy"]
pytestmark = pytest.mark.usefixtures("compile_at_once", "compiled_loop")

STEP, NUM = 0.05, 5


@pytest.fixture(scope="module")
def pendulum() -> Any:
    """A pendulum with a motor, which starts at a random angle."""
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step=0.01)
    rod = plant.AddRigidBody("rod", SpatialInertia.PointMass(1.0, [0.0, 0.0, -1.0]))
    joint = plant.AddJoint(RevoluteJoint("pin", plant.world_frame(), rod.body_frame(), [0.0, 1.0, 0.0]))
    joint.set_random_angle_distribution(2.0 * Variable("u", Variable.Type.RANDOM_UNIFORM) - 1.0)
    plant.AddJointActuator("motor", joint)
    plant.Finalize()
    builder.ExportInput(plant.get_actuation_input_port(), "torque")
    builder.ExportOutput(plant.get_state_output_port(), "state")
    return builder.Build()


def make_env(pendulum: Any, **settings: Any) -> Any:
    return MakeVectorEnv(pendulum, NUM, STEP, **{"reward": lambda worlds: -(worlds.states[0] ** 2), **settings})


def actions_at(step: int) -> Any:
    return np.sin(np.arange(NUM) + step)[:, None]


def minus_square(system: Any, context: Any) -> float:
    return float(-(context.get_discrete_state(0)[0] ** 2))


def test_each_environment_is_its_own_gym_environment_to_the_last_bit(pendulum: Any) -> None:
    env = make_env(pendulum)
    observations, info = env.reset(seed=7)
    assert observations.shape == (NUM, 2) and info == {}
    for n in range(NUM):
        single = DrakeGymEnv(Simulator(pendulum), STEP, None, None, minus_square)
        start, _ = single.reset(seed=7 + n)
        np.testing.assert_array_equal(start, observations[n])
    assert len(np.unique(observations[:, 0])) == NUM
    steps = [env.step(actions_at(k)) for k in range(4)]
    for n in range(NUM):
        single.reset(seed=7 + n)
        for k, (values, rewards, terminated, truncated, _) in enumerate(steps):
            observation, reward, *_ = single.step(actions_at(k)[n])
            np.testing.assert_array_equal(values[n], observation)
            assert rewards[n] == reward and not (terminated[n] or truncated[n])
    np.testing.assert_allclose(env.worlds.times, 4 * STEP, rtol=1e-12)


def is_far(worlds: Any) -> Any:
    return np.abs(worlds.states[1]) > 2.0


def test_an_episode_begins_at_the_next_step(pendulum: Any) -> None:
    env = make_env(pendulum, terminated=is_far, max_episode_steps=6)
    env.reset(seed=0)
    assert env.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    has_ended, num_steps = np.zeros(NUM, bool), np.zeros(NUM, int)
    total = 0
    for k in range(40):
        before = env.worlds.states.copy()
        observations, rewards, terminated, truncated, _ = env.step(4.0 * actions_at(k))
        num_steps = np.where(has_ended, 0, num_steps + 1)
        assert (env.worlds.times[has_ended] == 0.0).all() and (rewards[has_ended] == 0.0).all()
        assert (observations[has_ended, 1] == 0.0).all() and not (terminated | truncated)[has_ended].any()
        assert (before[:, ~has_ended] != env.worlds.states[:, ~has_ended]).any(axis=0).all()
        np.testing.assert_array_equal(terminated[~has_ended], (np.abs(observations[:, 1]) > 2.0)[~has_ended])
        np.testing.assert_array_equal(truncated, (num_steps == 6) & ~terminated)
        has_ended = terminated | truncated
        total += has_ended.sum()
    assert total > NUM


def test_an_episode_begins_at_the_same_step_and_its_last_observation_is_kept(pendulum: Any) -> None:
    env = make_env(pendulum, max_episode_steps=3, autoreset_mode=AutoresetMode.SAME_STEP)
    env.reset(seed=0)
    for _ in range(2):
        assert env.step(actions_at(0))[4] == {}
    observations, _, terminated, truncated, info = env.step(actions_at(0))
    assert truncated.all() and not terminated.any()
    assert info["_final_obs"].all() and all(abs(final[1]) > 0.0 for final in info["final_obs"])
    assert (observations[:, 1] == 0.0).all() and (env.worlds.times == 0.0).all()


def test_only_those_asked_for_begin_where_resets_are_the_programs(pendulum: Any) -> None:
    env = make_env(pendulum, max_episode_steps=1, autoreset_mode=AutoresetMode.DISABLED)
    env.reset(seed=0)
    assert env.step(actions_at(0))[3].all()
    with pytest.raises(RuntimeError, match=r"environments \[0, 1, 2, 3, 4\] have ended"):
        env.step(actions_at(0))
    mask = np.arange(NUM) < 3
    observations, _ = env.reset(options={"reset_mask": mask})
    np.testing.assert_array_equal(observations[:, 1] == 0.0, mask)
    with pytest.raises(ValueError, match="5 values True or False"):
        env.reset(options={"reset_mask": [True]})


def test_a_world_that_fails_is_truncated_alone(pendulum: Any) -> None:
    def begin(context: Any, generator: RandomGenerator) -> None:
        angle = generator() / 2**32
        plant = pendulum.GetSubsystemByName("plant")
        plant.SetPositions(plant.GetMyContextFromRoot(context), [angle])

    env = make_env(pendulum, reset_handler=begin)
    env.reset(seed=0)
    actions = np.zeros((NUM, 1))
    actions[2] = np.nan
    observations, rewards, terminated, truncated, _ = env.step(actions)
    np.testing.assert_array_equal(truncated, np.arange(NUM) == 2)
    assert rewards[2] == 0.0 and np.isfinite(observations).all() and not terminated.any()


def test_wrong_arguments_are_refused_by_name(pendulum: Any) -> None:
    with pytest.raises(ValueError, match="num_envs must be positive, got 0"):
        MakeVectorEnv(pendulum, 0, STEP, lambda worlds: worlds.times)
    with pytest.raises(ValueError, match=r"time_step must be positive, got 0\.0"):
        MakeVectorEnv(pendulum, 1, 0.0, lambda worlds: worlds.times)
    with pytest.raises(ValueError, match="reward is one number, but Output port 'state'"):
        make_env(pendulum, reward="state")
    env = make_env(pendulum, reward=lambda worlds: 0.0)
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"reward must return 5 numbers.* shape \(\)"):
        env.step(actions_at(0))
    with pytest.raises(ValueError, match=r"shape \(1, 5\) for Input port 'torque'"):
        env.step(np.zeros((2, 1)))
    with pytest.raises(ValueError, match="take as many seeds, got 2"):
        env.reset(seed=[1, 2])


def test_wrappers_of_gymnasium_take_it(pendulum: Any) -> None:
    from gymnasium.wrappers.vector import NormalizeObservation, RecordEpisodeStatistics

    env = NormalizeObservation(RecordEpisodeStatistics(make_env(pendulum, max_episode_steps=2)))
    env.reset(seed=0)
    infos = [env.step(actions_at(k))[4] for k in range(3)]
    assert infos[1]["episode"]["l"].tolist() == [2] * NUM
