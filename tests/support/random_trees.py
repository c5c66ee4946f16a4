"""Random trees as record arrays, and convenient calls of the kernels on them, for tests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from merganser.multibody import kernels
from merganser.multibody.kernels.actuators import DOF, NUM_DRIVE_NUMBERS, NUM_DRIVE_VALUES, NUM_WORK_VALUES
from merganser.multibody.kernels.layout import (
    BALL_QUATERNION,
    BALL_RPY,
    CURVILINEAR,
    PLANAR,
    PRISMATIC,
    QUATERNION_FLOATING,
    REVOLUTE,
    RPY_FLOATING,
    SCREW,
    UNIVERSAL,
    WELD,
    parameter_dtype,
    position_dtype,
    scratch_dtype,
    topology_dtype,
    velocity_dtype,
)
from merganser.multibody.kernels.mobilizers import kind_of, set_kind
from merganser.multibody.kernels.velocity_products import num_passes

ALL_KINDS = (
    WELD, REVOLUTE, PRISMATIC, SCREW, CURVILINEAR, UNIVERSAL, PLANAR, BALL_RPY, RPY_FLOATING, QUATERNION_FLOATING,
    BALL_QUATERNION,
)  # fmt: skip
SIMPLE_KINDS = (REVOLUTE, PRISMATIC, WELD)
BALLS = (BALL_RPY, BALL_QUATERNION)
NUM_SEGMENTS = 3  # of every random path
GRAVITY = np.array([0.3, -0.2, -9.81])


def poisoned(shape: Any, dtype: Any) -> np.ndarray:
    """An array of NaN in every field."""
    scalars = np.dtype(dtype)
    out = np.empty(shape, dtype=scalars)
    for name in scalars.names or ():
        out[name] = np.nan
    if scalars.names is None:
        out[...] = np.nan
    return out


def random_rotation(rng: np.random.Generator) -> np.ndarray:
    """A rotation matrix, uniformly distributed."""
    R, upper = np.linalg.qr(rng.normal(size=(3, 3)))
    R = R * np.sign(np.diag(upper))
    return R if np.linalg.det(R) > 0 else -R


def random_unit_inertia(rng: np.random.Generator, p_BoBcm_B: np.ndarray) -> np.ndarray:
    """Unit inertia about Bo of eight particles of random mass about the centre of mass."""
    masses = rng.uniform(0.5, 1.5, size=8)
    masses /= masses.sum()
    points = rng.normal(scale=0.2, size=(8, 3))
    points += p_BoBcm_B - masses @ points
    return sum(m * (p @ p * np.eye(3) - np.outer(p, p)) for m, p in zip(masses, points))


def make_topology(parents: list[int], mobilizers: list[int]) -> np.ndarray:
    """Topology records of mobods given depth first, the world (parent -1, weld) included."""
    topology = np.zeros(len(parents), dtype=topology_dtype)
    topology["parent"] = parents
    for node, kind in zip(topology, mobilizers):
        set_kind(node, kind_of(kind))
    topology["q_start"] = np.cumsum(topology["num_q"]) - topology["num_q"]
    topology["v_start"] = np.cumsum(topology["num_v"]) - topology["num_v"]
    topology["subtree_end"] = np.arange(len(parents)) + 1
    for i in range(len(parents) - 1, 0, -1):
        end = topology["subtree_end"]
        end[parents[i]] = max(end[parents[i]], end[i])
    has_path = topology["mobilizer"] == CURVILINEAR
    topology["path_end"] = len(parents) + NUM_SEGMENTS * np.cumsum(has_path)
    topology["path_start"] = topology["path_end"] - NUM_SEGMENTS * has_path
    return topology


def random_parents(rng: np.random.Generator, num_bodies: int) -> list[int]:
    """Parents of a random tree in depth first order."""
    parents = [-1]
    path = [0]  # from the world to the body added last
    for body in range(1, num_bodies + 1):
        depth = int(rng.integers(max(len(path) - 3, 0), len(path)))
        path = path[: depth + 1]
        parents.append(path[-1])
        path.append(body)
    return parents


def random_parameters(rng: np.random.Generator, topology: np.ndarray) -> np.ndarray:
    """Random frames, mass properties, damping, reflected inertia, pitches and paths.

    The pieces of the paths do not fit together, so each result depends on the current piece alone.
    """
    parameters = np.zeros(topology["path_end"].max(), dtype=parameter_dtype())
    for node in topology[topology["mobilizer"] == CURVILINEAR]:
        segments = parameters[node["path_start"] : node["path_end"]]
        for segment in segments:
            segment["R_PF"], segment["p_PoFo_P"] = random_rotation(rng), rng.normal(scale=0.4, size=3)
        segments["arc_start"] = np.arange(NUM_SEGMENTS) - 1.0
        segments["turning_rate"] = [rng.uniform(0.5, 1.5), 0.0, rng.uniform(-1.5, -0.5)]
    for node, record in zip(topology, parameters):
        record["R_PF"], record["R_MB"] = random_rotation(rng), random_rotation(rng)
        record["p_PoFo_P"], record["p_MoBo_M"] = rng.normal(scale=0.4, size=(2, 3))
        axis = rng.normal(size=3)
        record["axis_F"] = axis / np.linalg.norm(axis)
        record["mass"] = rng.uniform(0.5, 4.0)
        record["p_BoBcm_B"] = rng.normal(scale=0.2, size=3)
        record["G_BBo_B"] = random_unit_inertia(rng, record["p_BoBcm_B"])
        record["damping"] = rng.uniform(0.0, 2.0, size=6)
        armature, may_have_it = rng.uniform(0.0, 0.5), node["num_v"] == 1 or node["mobilizer"] in BALLS
        record["reflected_inertia"] = armature if may_have_it else 0.0
        if node["mobilizer"] in (SCREW, CURVILINEAR):
            record["pitch"] = rng.uniform(0.1, 0.3) if node["mobilizer"] == SCREW else 0.0
    return parameters


@dataclass
class Tree:
    """A tree with a state and everything the kernels compute of it, in one scalar type."""

    topology: np.ndarray
    parameters: np.ndarray
    q: np.ndarray
    v: np.ndarray
    gravity: np.ndarray = field(default_factory=lambda: GRAVITY.copy())
    scalar: Any = np.float64

    def __post_init__(self) -> None:
        n = len(self.topology)
        self.num_q, self.num_v = len(self.q), len(self.v)
        self.position = poisoned(n, position_dtype(self.scalar))
        self.velocity = poisoned(n, velocity_dtype(self.scalar))
        self.scratch = poisoned(n, scratch_dtype(self.scalar))
        self.zero_force = np.zeros((n, 6)).astype(self.scalar)

    def astype(self, scalar: Any) -> Tree:
        """This tree and state with another scalar type."""
        return Tree(
            self.topology,
            self.parameters.astype(parameter_dtype(scalar)),
            *(a.astype(scalar) for a in (self.q, self.v, self.gravity)),
            scalar=scalar,
        )

    def call(self, kernel: Any, *args: Any) -> Any:
        """Calls `kernel`, compiled or, for objects, interpreted."""
        return kernel.interpreted(*args) if self.scalar is object else kernel(*args)

    def array(self, values: Any) -> np.ndarray:
        return np.asarray(values).astype(self.scalar)

    def out(self, *shape: int) -> np.ndarray:
        return poisoned(shape, self.scalar)

    def update(self, q: Any = None, v: Any = None) -> Tree:
        """Computes position and velocity kinematics, of a new state if one is given."""
        self.q = self.q if q is None else self.array(q)
        self.v = self.v if v is None else self.array(v)
        self.call(kernels.position_kinematics, self.topology, self.parameters, self.q, self.position)
        self.call(
            kernels.velocity_kinematics,
            self.topology, self.parameters, self.position, self.q, self.v, self.velocity,
        )  # fmt: skip
        return self

    def update_at_once(self) -> Tree:
        """Computes position and velocity kinematics again, by the kernel that does both, over poison."""
        self.position[:] = poisoned(self.position.shape, self.position.dtype)
        self.velocity[:] = poisoned(self.velocity.shape, self.velocity.dtype)
        self.call(
            kernels.kinematics, self.topology, self.parameters, self.q, self.v, self.position, self.velocity
        )
        return self

    def inverse_dynamics(self, vdot: Any, F_applied: Any = None, gravity: Any = None) -> np.ndarray:
        tau = self.out(self.num_v)
        F = self.zero_force if F_applied is None else self.array(F_applied)
        g = self.gravity if gravity is None else self.array(gravity)
        self.call(
            kernels.inverse_dynamics, self.topology, self.parameters, g, self.position, self.velocity,
            self.array(vdot), F, self.scratch, tau,
        )  # fmt: skip
        return tau

    def state_inverse_dynamics(self, vdot: Any, F_applied: Any) -> np.ndarray:
        """This state with new kinematics, over poison."""
        self.position[:] = poisoned(self.position.shape, self.position.dtype)
        self.velocity[:] = poisoned(self.velocity.shape, self.velocity.dtype)
        tau = self.out(self.num_v)
        self.call(
            kernels.state_inverse_dynamics, self.topology, self.parameters, self.gravity, self.q, self.v,
            self.array(vdot), self.array(F_applied), self.position, self.velocity, self.scratch, tau,
        )  # fmt: skip
        return tau

    def bias(self) -> np.ndarray:
        """C(q, v) v."""
        return self.inverse_dynamics(np.zeros(self.num_v), gravity=np.zeros(3))

    def mass_matrix(self) -> np.ndarray:
        M = self.out(self.num_v, self.num_v)
        self.call(kernels.mass_matrix, self.topology, self.parameters, self.position, self.scratch, M)
        return M

    def gravity_forces(self) -> np.ndarray:
        tau_g = self.out(self.num_v)
        self.call(
            kernels.gravity_forces,
            self.topology, self.parameters, self.gravity, self.position, self.scratch, tau_g,
        )  # fmt: skip
        return tau_g

    def forward_dynamics(self, tau: Any, F_applied: Any = None, extra: Any = None) -> tuple[int, np.ndarray]:
        """Status and vdot."""
        vdot = self.out(self.num_v)
        F = self.zero_force if F_applied is None else self.array(F_applied)
        extra = self.array(np.zeros(self.num_v) if extra is None else extra)
        status = self.call(
            kernels.forward_dynamics, self.topology, self.parameters, self.gravity, self.position,
            self.velocity, self.array(tau), F, extra, self.scratch, vdot,
        )  # fmt: skip
        return status, vdot

    def energies(self) -> np.ndarray:
        energy = self.out(2)
        self.call(
            kernels.energies,
            self.topology, self.parameters, self.gravity, self.position, self.velocity, energy,
        )  # fmt: skip
        return energy

    def qdot(self) -> np.ndarray:
        qdot = self.out(self.num_q)
        self.call(kernels.velocity_to_qdot, self.topology, self.q, self.v, qdot)
        return qdot

    def velocity_of(self, qdot: Any) -> np.ndarray:
        v = self.out(self.num_v)
        self.call(kernels.qdot_to_velocity, self.topology, self.q, self.array(qdot), v)
        return v

    def derivatives(self, tau: Any, F_applied: Any) -> tuple[int, np.ndarray]:
        """Status and result of `state_derivatives`."""
        x = self.array(np.concatenate([self.q, self.v]))
        out = self.out(len(x))
        status = self.call(
            kernels.state_derivatives, self.topology, self.parameters, self.gravity, x, self.array(tau),
            self.array(F_applied), self.position, self.velocity, self.scratch, out,
        )  # fmt: skip
        return status, out

    def step(
        self, tau: Any, F_applied: Any, time_step: float, *, drives: Any = (), values: Any = (),
        kernel: Any = kernels.discrete_step,
    ) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
        """Status of a discrete step, its result, the efforts of its drives, and u of the last pass."""
        x = self.array(np.concatenate([self.q, self.v]))
        out, efforts, mean = self.out(len(x)), self.out(len(drives)), self.out(self.num_v)
        numbers = np.zeros((len(drives), NUM_DRIVE_NUMBERS), np.int64)
        numbers[:, DOF] = drives
        status = self.call(
            kernel, self.topology, self.parameters, self.gravity, time_step, num_passes(self.topology), x,
            self.array(tau), self.array(F_applied), numbers,
            self.array(np.reshape(values, (len(drives), NUM_DRIVE_VALUES))),
            self.position, self.velocity, self.scratch, self.out(len(drives), NUM_WORK_VALUES), efforts, mean,
            poisoned(self.velocity.shape, self.velocity.dtype), out,
        )  # fmt: skip
        return status, out, efforts, mean


def random_tree(seed: int, num_bodies: int, kinds: tuple[int, ...] = ALL_KINDS) -> Tree:
    """A random tree in a random state, its kinematics computed.

    Mobilizers are drawn from `kinds`; a body on the world floats by a quaternion instead in half of the cases.
    Quaternions are not of unit length, and pitch angles not near a quarter turn.
    """
    rng = np.random.default_rng(seed)
    parents = random_parents(rng, num_bodies)
    mobilizers = [WELD]
    for parent in parents[1:]:
        floats = parent == 0 and rng.random() < 0.5
        mobilizers.append(QUATERNION_FLOATING if floats else int(rng.choice(kinds)))
    topology = make_topology(parents, mobilizers)
    parameters = random_parameters(rng, topology)
    q, v = rng.normal(size=topology["num_q"].sum()), rng.normal(size=topology["num_v"].sum())
    for node in topology:
        if node["mobilizer"] in (BALL_RPY, RPY_FLOATING):
            q[node["q_start"] + 1] = rng.uniform(-1.2, 1.2)
    return Tree(topology, parameters, q, v).update()
