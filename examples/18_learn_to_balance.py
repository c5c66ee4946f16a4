"""A policy learns by trial: proximal policy optimization in numpy, on many worlds side by side.

    python examples/18_learn_to_balance.py [--output FOLDER] [--robot cart_pole|quadruped] [--iterations NUMBER]

A cart-pole learns to hold its pole upright; a quadruped, which is pushed at the start of each episode, learns how to
move its joints around its stance so that it stays on its feet. MakeVectorEnv makes a vector environment of Gymnasium
of the diagram (extra `gym`): all worlds take a step in one compiled call. The method is that of Schulman et al. 2017,
with advantages by Schulman et al. 2016.

Upright for 10 s is 500 steps of the cart-pole, and 2 s on its feet are 50 of the quadruped: in 50 iterations
(`--robot quadruped --iterations 50`, some 400,000 steps) its episodes grow from 33 to 48 steps.

Writes learning_<robot>.png into the output folder.
"""

import argparse
import itertools
import os
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # several take longer for matrices as small as these

import numpy as np
from gymnasium.vector import AutoresetMode

from merganser.analysis.gym import MakeVectorEnv
from merganser.framework import DiagramBuilder
from merganser.framework.math import RigidTransform
from merganser.geometry import AddContactMaterial, HalfSpace, ProximityProperties
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction
from merganser.multibody.tree import JointActuatorIndex, PdControllerGains

MODELS = Path(__file__).parent / "models"
NUM_ENVS, NUM_STEPS = 64, 128  # in one iteration
DISCOUNT, SMOOTHING, CLIP = 0.99, 0.95, 0.2
EPOCHS, BATCH, RATE = 8, 1024, 1e-3


# 1. Two robots: environments, the size of an action's unit, and the scale of what the policy sees.
def cart_pole():
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step=0.01)
    Parser(plant).AddModels(str(MODELS / "cart_pole.sdf"))
    plant.Finalize()
    builder.ExportInput(plant.get_actuation_input_port(), "force")
    builder.ExportOutput(plant.get_state_output_port(), "state")
    n = plant.num_positions()
    hinge = plant.GetPositionNames(add_model_instance_prefix=False, always_add_suffix=False).index("PolePin")

    def begin(context, generator):
        random = np.random.default_rng(generator())
        state = random.uniform(-0.1, 0.1, 2 * n)
        state[hinge] += np.pi  # upright
        plant.SetPositionsAndVelocities(plant.GetMyContextFromRoot(context), state)

    def is_over(worlds):
        return (np.abs(worlds.states[hinge] - np.pi) > 0.3) | (np.abs(worlds.states[1 - hinge]) > 1.5)

    env = MakeVectorEnv(
        builder.Build(), NUM_ENVS, 0.02, lambda worlds: 1.0 - is_over(worlds), terminated=is_over,
        max_episode_steps=500, reset_handler=begin, autoreset_mode=AutoresetMode.SAME_STEP,
    )  # fmt: skip
    middle = np.zeros(2 * n)
    middle[hinge] = np.pi
    return env, 10.0, np.zeros(1), (middle, np.array([1.0, 0.2, 2.0, 2.0])), slice(None)


def quadruped():
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step=0.002)
    plant.SetUseSampledOutputPorts(False)
    Parser(plant).AddModels(str(MODELS / "quadruped.urdf"))
    ground = ProximityProperties()
    AddContactMaterial(friction=CoulombFriction(0.8, 0.8), properties=ground)
    plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(), HalfSpace(), "ground", ground)
    for n in range(plant.num_actuators()):
        plant.get_joint_actuator(JointActuatorIndex(n)).set_controller_gains(PdControllerGains(p=60.0, d=2.0))
    plant.Finalize()
    model = plant.GetModelInstanceByName("quadruped")
    builder.ExportInput(plant.get_desired_state_input_port(model), "desired_state")
    builder.ExportOutput(plant.get_state_output_port(), "state")
    stance = np.tile([0.0, 0.8, -1.6], 4)
    standing = np.concatenate([[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.02 + 0.4 * np.cos(0.8)], stance])

    def begin(context, generator):
        mine = plant.GetMyContextFromRoot(context)
        random = np.random.default_rng(generator())
        plant.SetPositions(mine, standing)
        plant.SetVelocities(mine, [*random.uniform(-0.6, 0.6, 3), *random.uniform(-1.6, 1.6, 2), 0.0, *np.zeros(12)])

    def uprightness(worlds):
        w, x, y, z = worlds.states[:4]
        return w**2 - x**2 - y**2 + z**2

    def is_over(worlds):
        return (uprightness(worlds) < 0.7) | (worlds.states[6] < 0.15)

    def reward(worlds):
        effort = 0.02 * (worlds.states[25:] ** 2).mean(axis=0)
        return uprightness(worlds) - np.minimum(effort, 0.5) - 0.5 * np.abs(worlds.states[6] - standing[6])

    env = MakeVectorEnv(
        builder.Build(), NUM_ENVS, 0.04, reward, terminated=is_over, max_episode_steps=50, reset_handler=begin,
        autoreset_mode=AutoresetMode.SAME_STEP,
    )  # fmt: skip
    of_speeds = np.concatenate([np.full(3, 1.0), np.full(3, 1.0), np.full(12, 5.0)])
    scale = np.concatenate([np.full(4, 0.2), np.full(3, 0.2), np.full(12, 0.3), of_speeds])
    rest, middle = np.concatenate([stance, np.zeros(12)]), np.concatenate([standing, np.zeros(18)])
    return env, 0.15, rest, (middle, scale), slice(12)


# 2. Networks with two hidden layers, and Adam (Kingma and Ba 2015).
class Network:
    def __init__(self, random, sizes, last_scale):
        self.W = [random.normal(size=(m, n)) / np.sqrt(m) for m, n in itertools.pairwise(sizes)]
        self.W[-1] *= last_scale
        self.parameters = [*self.W, *(np.zeros(n) for n in sizes[1:])]
        self.moments = [(np.zeros_like(p), np.zeros_like(p)) for p in self.parameters]
        self.num_updates = 0

    def forward(self, x):
        self.layers = [x]
        for W, b in zip(self.W, self.parameters[len(self.W) :]):
            z = self.layers[-1] @ W + b
            self.layers.append(z if W is self.W[-1] else np.tanh(z))
        return self.layers[-1]

    def gradient(self, by_output):
        """Of a sum over the last batch, by all parameters."""
        by_W, by_b = [], []
        for W, below in zip(reversed(self.W), reversed(self.layers[:-1])):
            by_W.insert(0, below.T @ by_output)
            by_b.insert(0, by_output.sum(axis=0))
            by_output = (by_output @ W.T) * (1.0 - below**2)
        return by_W + by_b

    def descend(self, gradient):
        self.num_updates += 1
        t = self.num_updates
        for p, g, (m, v) in zip(self.parameters, gradient, self.moments):
            m += 0.1 * (g - m)
            v += 0.001 * (g**2 - v)
            p -= RATE * (m / (1.0 - 0.9**t)) / (np.sqrt(v / (1.0 - 0.999**t)) + 1e-8)


# 3. Proximal policy optimization: actions are normal numbers around what the policy says.
def learn(env, unit, rest, scaling, where, num_iterations):
    random = np.random.default_rng(0)
    middle, scale = scaling
    size = len(range(*where.indices(len(rest))))
    policy = Network(random, [len(middle), 64, 64, size], 0.01)
    critic = Network(random, [len(middle), 64, 64, 1], 1.0)
    log_sigma = np.full(size, np.log(0.5))
    observation = (env.reset(seed=0)[0] - middle) / scale
    lengths, running, means = [], np.zeros(NUM_ENVS, int), []
    for iteration in range(num_iterations):
        start = time.perf_counter()
        seen = {name: [] for name in ("x", "a", "logp", "r", "end", "v")}
        for _ in range(NUM_STEPS):
            mean = policy.forward(observation)
            action = mean + np.exp(log_sigma) * random.normal(size=mean.shape)
            command = np.tile(rest, (NUM_ENVS, 1))
            command[:, where] += unit * action
            following, r, terminated, truncated, info = env.step(command)
            if truncated.any():  # what would have come after the end of the episode
                last = (np.stack(info["final_obs"][truncated]) - middle) / scale
                r[truncated] += DISCOUNT * critic.forward(last)[:, 0]
            values = observation, action, log_density(action, mean, log_sigma), r, terminated | truncated
            for name, value in zip(seen, (*values, critic.forward(observation)[:, 0])):
                seen[name].append(value)
            running += 1
            lengths += running[terminated | truncated].tolist()
            running[terminated | truncated] = 0
            observation = (following - middle) / scale
        x, a, logp, r, end, v = (np.array(values) for values in seen.values())
        advantage, last, sum_ = np.zeros_like(r), critic.forward(observation)[:, 0], 0.0
        for k in reversed(range(NUM_STEPS)):
            following = v[k + 1] if k + 1 < NUM_STEPS else last
            sum_ = r[k] + DISCOUNT * following * ~end[k] - v[k] + DISCOUNT * SMOOTHING * ~end[k] * sum_
            advantage[k] = sum_
        goal = (advantage + v).reshape(-1)
        x, a, logp, advantage = x.reshape(-1, len(middle)), a.reshape(-1, size), logp.reshape(-1), advantage.reshape(-1)
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        for batch in (b for _ in range(EPOCHS) for b in np.array_split(random.permutation(len(x)), len(x) // BATCH)):
            mean, sigma = policy.forward(x[batch]), np.exp(log_sigma)
            ratio, A = np.exp(log_density(a[batch], mean, log_sigma) - logp[batch]), advantage[batch]
            is_inside = ~(((ratio > 1.0 + CLIP) & (A > 0.0)) | ((ratio < 1.0 - CLIP) & (A < 0.0)))
            weight = -(A * ratio * is_inside)[:, None] / len(batch)
            z = (a[batch] - mean) / sigma
            policy.descend(policy.gradient(weight * z / sigma))
            log_sigma -= 0.01 * (weight * (z**2 - 1.0)).sum(axis=0)
            critic.descend(critic.gradient((critic.forward(x[batch])[:, 0] - goal[batch])[:, None] / len(batch)))
        means.append(np.mean(lengths[-200:]) if lengths else np.nan)
        rate = NUM_ENVS * NUM_STEPS / (time.perf_counter() - start)
        print(f"iteration {iteration + 1:3d}: episodes of {means[-1]:5.1f} steps, {rate:7.0f} steps/s")
    return means


def log_density(a, mean, log_sigma):
    return -0.5 * (((a - mean) / np.exp(log_sigma)) ** 2 + 2.0 * log_sigma + np.log(2.0 * np.pi)).sum(axis=1)


# 4. How long episodes last.
def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("output"))
    parser.add_argument("--robot", choices=["cart_pole", "quadruped"], default="cart_pole")
    parser.add_argument("--iterations", type=int, default=15)
    options = parser.parse_args()
    robot = {"cart_pole": cart_pole, "quadruped": quadruped}[options.robot]()
    means = learn(*robot, options.iterations)

    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axes = figure.subplots()
    axes.plot(np.arange(1, len(means) + 1) * NUM_ENVS * NUM_STEPS, means, "o-")
    axes.set(xlabel="steps", ylabel="length of an episode [steps]", title=f"{options.robot} learns to stay upright")
    axes.grid(alpha=0.3)
    options.output.mkdir(parents=True, exist_ok=True)
    path = options.output / f"learning_{options.robot}.png"
    figure.savefig(path)
    print(f"{path} shows how long it has stayed upright.")


if __name__ == "__main__":
    main()
