"""Laws that every kernel obeys in every scalar type.

A line in KERNELS puts a kernel under all of them: same result compiled for float64, compiled for complex128
and interpreted on opaque objects that refuse to be compared; outputs written in full; inputs left alone; no
allocation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import measured_points
import numpy as np
import pytest
from random_elements import Elements
from random_trees import ALL_KINDS, Tree, poisoned, random_tree

from merganser.multibody import algorithms, kernels
from merganser.multibody.kernels.actuators import GAIN, LIMIT, NUM_DRIVE_VALUES, OFFSET
from merganser.multibody.kernels.configuration_derivatives import composite_dtype
from merganser.multibody.kernels.inverse_dynamics_derivatives import sensitivity_dtype
from merganser.multibody.kernels.layout import CURVILINEAR
from merganser.multibody.kernels.mobilizers import MOBILIZERS
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.plant.workspace import Workspace
from merganser.multibody.tree import RevoluteJoint, SpatialInertia


class Opaque:
    """A scalar that adds, multiplies and has sin, cos, as a symbol does, without order or truth value."""

    def __init__(self, value: float) -> None:
        self.value = value

    @staticmethod
    def _value(other: Any) -> float:
        return other.value if isinstance(other, Opaque) else float(other)

    def __add__(self, other: Any) -> Opaque:
        return Opaque(self.value + self._value(other))

    def __sub__(self, other: Any) -> Opaque:
        return Opaque(self.value - self._value(other))

    def __rsub__(self, other: Any) -> Opaque:
        return Opaque(self._value(other) - self.value)

    def __mul__(self, other: Any) -> Opaque:
        return Opaque(self.value * self._value(other))

    def __truediv__(self, other: Any) -> Opaque:
        return Opaque(self.value / self._value(other))

    def __rtruediv__(self, other: Any) -> Opaque:
        return Opaque(self._value(other) / self.value)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Opaque:
        return Opaque(-self.value)

    def sin(self) -> Opaque:
        return Opaque(float(np.sin(self.value)))

    def cos(self) -> Opaque:
        return Opaque(float(np.cos(self.value)))

    def sqrt(self) -> Opaque:
        return Opaque(float(np.sqrt(self.value)))

    def tanh(self) -> Opaque:
        return Opaque(float(np.tanh(self.value)))

    def arctan2(self, x: Any) -> Opaque:
        return Opaque(float(np.arctan2(self.value, self._value(x))))

    def __bool__(self) -> bool:
        raise AssertionError("a kernel took a decision on a scalar value")

    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = __abs__ = __bool__  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]


def opaque_tree(tree: Tree) -> Tree:
    """The tree with all its values but flags wrapped as Opaque objects."""
    wrap = np.frompyfunc(Opaque, 1, 1)
    opaque = tree.astype(object)
    for name in set(opaque.parameters.dtype.names or ()) - {"is_locked"}:
        opaque.parameters[name] = wrap(tree.parameters[name])
    opaque.q, opaque.v, opaque.gravity = wrap(tree.q), wrap(tree.v), wrap(tree.gravity)
    return opaque


def numbers(values: Any) -> np.ndarray:
    """Results of any scalar type as floats."""
    values = np.atleast_1d(values)
    if values.dtype == object:
        return np.array([Opaque._value(v) for v in values.ravel()]).reshape(values.shape)
    return values.real


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(5).normal(size=shape)


def forces(tree: Tree) -> tuple[np.ndarray, np.ndarray]:
    """Generalized forces (or accelerations) and applied spatial forces."""
    return normal(tree.num_v), normal(len(tree.topology), 6)


def elements(tree: Tree) -> Elements:
    """Force elements of every kind, the same for the tree in every scalar type."""
    return Elements.random(tree, 3).on(tree)


def measured(tree: Tree) -> measured_points.Measured:
    """Frames and points, the same for the tree in every scalar type."""
    return measured_points.Measured(tree, 4)


def position_values(tree: Tree, position: np.ndarray | None = None) -> np.ndarray:
    """Every defined value of the position records, those of the tree or others."""
    position = tree.position if position is None else position
    fields = [position[name].ravel() for name in position.dtype.names if name != "H_PB_W"]
    H = [body["H_PB_W"][: node["num_v"]].ravel() for body, node in zip(position, tree.topology)]
    return np.concatenate([*fields, *H])


def poses(tree: Tree, is_whole: bool) -> np.ndarray:
    """The poses in position records of which nothing else is valid, or all values after the rest has followed."""
    position = poisoned(tree.position.shape, tree.position.dtype)
    tree.call(kernels.poses, tree.topology, tree.parameters, tree.q, position)
    if not is_whole:
        return np.concatenate([position[name].ravel() for name in ("R_WB", "p_WoBo_W", "p_PoBo_W", "R_WF", "p_MoBo_W")])
    tree.call(kernels.hinges_and_inertias, tree.topology, tree.parameters, tree.q, position)
    return position_values(tree, position)


def velocity_values(tree: Tree) -> np.ndarray:
    return np.concatenate([tree.velocity[name].ravel() for name in tree.velocity.dtype.names])


def step_from_kinematics(tree: Tree) -> np.ndarray:
    """A step where the kinematics are known, with drives on every hinge of one velocity, every other at its limit."""
    hinges = tree.topology[tree.topology["num_v"] == 1]
    values = tree.array(np.zeros((len(hinges), NUM_DRIVE_VALUES)))
    values[:, OFFSET], values[:, GAIN] = 3.0, 0.7
    values[:, LIMIT] = np.where(np.arange(len(hinges)) % 2, 1e-3, np.inf)
    tree.call(kernels.kinematics, tree.topology, tree.parameters, tree.q, tree.v, tree.position, tree.velocity)
    given = {"drives": hinges["v_start"], "values": values, "kernel": kernels.step_from_kinematics}
    status, x_next, efforts, mean = tree.step(*forces(tree), 0.01, **given)
    assert status == 0 and (np.abs(efforts[1::2].real) == 1e-3).all()
    return np.concatenate([x_next, efforts, mean])


def next_pass(tree: Tree) -> np.ndarray:
    """Velocities without constraints in the first pass after a step, and u of that."""
    tau, F = forces(tree)
    _, x_next, _, mean = tree.step(tau, F, 0.01)
    x, v_next = tree.array(np.concatenate([tree.q, tree.v])), x_next[tree.num_q :].copy()
    tree.call(
        kernels.next_pass, tree.topology, tree.parameters, tree.gravity, 0.01, x, tree.array(tau), tree.array(F),
        tree.position, tree.velocity, v_next, tree.scratch, mean, poisoned(tree.velocity.shape, tree.velocity.dtype),
        x_next,
    )  # fmt: skip
    return np.concatenate([x_next[tree.num_q :], mean])


def mean_kinematics(tree: Tree) -> np.ndarray:
    """How the bodies move in the middle of a step."""
    records = poisoned(tree.velocity.shape, tree.velocity.dtype)
    tree.call(
        kernels.mean_kinematics, tree.topology, tree.parameters, 0.01, tree.position, tree.velocity, tree.q,
        tree.array(normal(tree.num_v)), records,
    )  # fmt: skip
    return np.concatenate([records[name].ravel() for name in records.dtype.names])


def momentum_matrix(tree: Tree) -> np.ndarray:
    A = tree.out(6, tree.num_v)
    tree.call(kernels.momentum_matrix, tree.topology, tree.position, tree.scratch, A)
    return A


def derivatives(tree: Tree, is_forward: bool) -> np.ndarray:
    """tau, M and the derivatives of inverse dynamics, or those of forward dynamics."""
    n = tree.num_v
    work = poisoned(len(tree.topology), sensitivity_dtype(tree.scalar))
    tau, dq, dv, M, dtau = tree.out(n), *(tree.out(n, n) for _ in range(4))
    vdot, F = forces(tree)
    tree.call(
        kernels.inverse_dynamics_derivatives, tree.topology, tree.parameters, tree.gravity, tree.position, tree.v,
        tree.array(vdot), tree.array(F), work, tau, dq, dv, M,
    )  # fmt: skip
    if not is_forward:
        return np.concatenate([tau, *(a.ravel() for a in (dq, dv, M))])
    tree.call(kernels.forward_dynamics_derivatives, tree.topology, tree.parameters, M, dq, dv, dtau)
    return np.concatenate([a.ravel() for a in (dq, dv, dtau)])


def state_derivatives_of_forward_dynamics(tree: Tree) -> np.ndarray:
    """xdot and the derivatives of forward dynamics."""
    n, x = tree.num_v, np.concatenate([tree.q, tree.v])
    work = poisoned(len(tree.topology), sensitivity_dtype(tree.scalar))
    xdot, (dq, dv, M, dtau) = tree.out(len(x)), (tree.out(n, n) for _ in range(4))
    tau, F = forces(tree)
    status = tree.call(
        kernels.state_forward_dynamics_derivatives, tree.topology, tree.parameters, tree.gravity, tree.array(x),
        tree.array(tau), tree.array(F), tree.position, tree.velocity, tree.scratch, work, tree.out(n), xdot,
        dq, dv, M, dtau,
    )  # fmt: skip
    assert status == 0
    return np.concatenate([xdot, dq.ravel(), dv.ravel(), dtau.ravel()])


def derivatives_by_positions(tree: Tree) -> np.ndarray:
    """The mass matrix and its derivatives."""
    n = tree.num_v
    M, dM = (tree.array(np.zeros(shape)) for shape in ((n, n), (n * n, n)))
    work = poisoned(len(tree.topology), composite_dtype(tree.scalar)), tree.out(6, n)
    tree.call(kernels.mass_matrix_derivatives, tree.topology, tree.parameters, tree.position, 0, *work, M, dM)
    return np.concatenate([M.ravel(), dM.ravel()])


KERNELS: dict[str, Callable[[Tree], Any]] = {
    "poses": lambda tree: poses(tree, False),
    "hinges_and_inertias": lambda tree: poses(tree, True),
    "position_kinematics": position_values,
    "velocity_kinematics": velocity_values,
    "kinematics": lambda tree: velocity_values(tree.update_at_once()),
    "inverse_dynamics": lambda tree: tree.inverse_dynamics(*forces(tree)),
    "mass_matrix": lambda tree: tree.mass_matrix(),
    "forward_dynamics": lambda tree: tree.forward_dynamics(*forces(tree))[1],
    "gravity_forces": lambda tree: tree.gravity_forces(),
    "velocity_to_qdot": lambda tree: tree.qdot(),
    "qdot_to_velocity": lambda tree: tree.velocity_of(normal(tree.num_q)),
    "energies": lambda tree: tree.energies(),
    "state_inverse_dynamics": lambda tree: tree.state_inverse_dynamics(*forces(tree)),
    "state_derivatives": lambda tree: tree.derivatives(*forces(tree))[1],
    "discrete_step": lambda tree: tree.step(*forces(tree), 0.01)[1],
    "step_from_kinematics": step_from_kinematics,
    "next_pass": next_pass,
    "mean_kinematics": lambda tree: mean_kinematics(tree),
    "force_elements": lambda tree: np.concatenate([a.ravel() for a in elements(tree).forces(*forces(tree))]),
    "element_energies": lambda tree: elements(tree).energies(),
    "bushing_forces": lambda tree: elements(tree).bushing_forces().ravel(),
    "relative_pose": lambda tree: measured(tree).relative_pose(tree).ravel(),
    "point_positions": lambda tree: measured(tree).positions(tree).ravel(),
    "point_velocities": lambda tree: measured(tree).velocities(tree).ravel(),
    "point_accelerations": lambda tree: measured(tree).accelerations(tree, normal(tree.num_v)).ravel(),
    "frame_velocity": lambda tree: measured(tree).frame_velocity(tree),
    "frame_acceleration": lambda tree: measured(tree).frame_acceleration(tree, normal(tree.num_v)),
    "spatial_accelerations": lambda tree: measured_points.spatial_accelerations(tree, normal(tree.num_v)).ravel(),
    "reaction_forces": lambda tree: measured_points.reaction_forces(tree, forces(tree)[1]).ravel(),
    "jacobian": lambda tree: measured(tree).jacobian(tree).ravel(),
    "qdot_jacobian": lambda tree: measured_points.qdot_jacobian(tree, measured(tree).jacobian(tree)).ravel(),
    "jacobian_derivatives": lambda tree: measured(tree).jacobian_derivatives(tree),
    "mass_matrix_derivatives": derivatives_by_positions,
    "pose_matrices": lambda tree: measured(tree).pose_matrices(tree).ravel(),
    "body_jacobians": lambda tree: measured(tree).body_jacobians(tree).ravel(),
    "center_of_mass": lambda tree: measured(tree).center_of_mass(tree),
    "center_of_mass_jacobian": lambda tree: measured(tree).center_of_mass_jacobian(tree).ravel(),
    "center_of_mass_acceleration": lambda tree: measured(tree).center_of_mass_acceleration(tree, normal(tree.num_v)),
    "momentum": lambda tree: measured_points.momentum(tree, measured(tree).members, normal(3)),
    "total_inertia": lambda tree: np.concatenate(
        [a.ravel() for a in measured_points.total_inertia(tree, measured(tree).members, normal(3))]
    ),
    "generalized_forces": lambda tree: measured_points.generalized_forces(tree, forces(tree)[1]),
    "mass_matrix_by_columns": lambda tree: measured_points.mass_matrix_by_columns(tree).ravel(),
    "momentum_matrix": lambda tree: momentum_matrix(tree).ravel(),
    "inverse_dynamics_derivatives": lambda tree: derivatives(tree, False),
    "forward_dynamics_derivatives": lambda tree: derivatives(tree, True),
    "state_forward_dynamics_derivatives": state_derivatives_of_forward_dynamics,
}

# Kernels on trees with loops: tests/multibody/plant/test_loops.py has them in every scalar type.
OF_LOOPS = {"constraint_rows", "constrained_forward_dynamics", "constrained_state_derivatives"}

# Kernels that compare values: their derivatives are exact, but symbols will not do.
DECIDING = {"step_from_kinematics"}

SEED, NUM_BODIES = 1214, 14  # one of the smallest trees with all mobilizers, so that interpreted runs stay quick


def test_every_kernel_is_under_these_laws() -> None:
    assert set(KERNELS) | OF_LOOPS == set(kernels.__all__)


def test_the_tree_has_every_mobilizer() -> None:
    assert set(random_tree(SEED, NUM_BODIES).topology["mobilizer"][1:]) == set(ALL_KINDS)
    assert set(ALL_KINDS) == {kind.number for kind in MOBILIZERS}


@pytest.mark.parametrize("name", KERNELS)
def test_outputs_are_written_in_full(name: str) -> None:
    """Records, workspace and outputs hold NaN before the first call."""
    assert np.all(np.isfinite(KERNELS[name](random_tree(SEED, NUM_BODIES))))


@pytest.mark.parametrize("name", KERNELS)
def test_compiled_for_complex_equals_compiled_for_float(name: str) -> None:
    tree = random_tree(SEED, NUM_BODIES)
    values = KERNELS[name](tree.astype(complex).update())
    assert values.dtype == np.complex128 and not np.any(values.imag)
    # Same operations in the same order, up to the complex sine and cosine and reciprocal.
    np.testing.assert_allclose(values.real, KERNELS[name](tree), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("name", [name for name in KERNELS if name not in DECIDING])
def test_interpreted_on_opaque_objects_equals_compiled_for_float(name: str) -> None:
    # A path is made of pieces, between which kernels branch.
    tree = random_tree(SEED, NUM_BODIES, tuple(kind for kind in ALL_KINDS if kind != CURVILINEAR))
    tree.topology["has_explicit_products"] = 1  # as symbols have it
    values = KERNELS[name](opaque_tree(tree).update())
    assert values.dtype == object
    np.testing.assert_allclose(numbers(values), KERNELS[name](tree), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("name", KERNELS)
def test_complex_step_equals_central_difference(name: str) -> None:
    """The derivative along one direction of (q, v); differences are good to about 1e-9 relative."""
    tree = random_tree(SEED, NUM_BODIES)
    dq, dv = normal(tree.num_q), normal(tree.num_v)
    ahead = tree.astype(complex).update(tree.q + 1e-100j * dq, tree.v + 1e-100j * dv)
    exact = KERNELS[name](ahead).imag / 1e-100
    q, v, h = tree.q, tree.v, 1e-5
    above = KERNELS[name](tree.update(q + h * dq, v + h * dv))
    below = KERNELS[name](tree.update(q - h * dq, v - h * dv))
    np.testing.assert_allclose((above - below) / (2 * h), exact, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", KERNELS)
def test_inputs_are_not_written(name: str) -> None:
    tree = random_tree(SEED, NUM_BODIES)
    inputs = (tree.topology, tree.parameters, tree.q, tree.v, tree.gravity, tree.zero_force)
    before = [array.copy() for array in inputs]
    kinematics = position_values(tree), velocity_values(tree)
    KERNELS[name](tree)
    for array, copy in zip(inputs, before):
        np.testing.assert_array_equal(array, copy)
    np.testing.assert_array_equal(position_values(tree), kinematics[0])
    np.testing.assert_array_equal(velocity_values(tree), kinematics[1])


def count_allocations(monkeypatch: pytest.MonkeyPatch, owner: type) -> dict[str, list[tuple[int, int, int]]]:
    """From now on `owner.call` counts, by kernel: memory allocated, its headers, and array arguments."""
    reason = "allocations are counted by numba's own runtime"
    runtime = pytest.importorskip("numba.core.runtime", reason=reason)
    nrt = pytest.importorskip("numba.core.runtime._nrt_python", reason=reason)
    counts: dict[str, list[tuple[int, int, int]]] = {}

    def call(self: Any, kernel: Any, *arguments: Any) -> Any:
        kernel(*arguments)  # compiles it
        nrt.memsys_enable_stats()
        before = runtime.rtsys.get_allocation_stats()
        status = kernel(*arguments)
        after = runtime.rtsys.get_allocation_stats()
        nrt.memsys_disable_stats()
        num_arrays = sum(isinstance(argument, np.ndarray) for argument in arguments)
        count = after.alloc - before.alloc, after.mi_alloc - before.mi_alloc, num_arrays
        counts.setdefault(kernel.__name__, []).append(count)
        return status

    monkeypatch.setattr(owner, "call", call)
    return counts


def assert_nothing(counts: dict[str, list[tuple[int, int, int]]], name: str) -> None:
    """Kernels are compiled without numba's runtime, and then not even array arguments have headers."""
    for memory, headers, _ in counts[f"calc_{name}"]:
        assert memory == headers == 0, name


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_allocate_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = count_allocations(monkeypatch, Tree)
    KERNELS[name](random_tree(SEED, NUM_BODIES))
    assert_nothing(counts, name)


def test_kernels_of_loops_allocate_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    plant = MultibodyPlant(0.0)
    bodies = [plant.AddRigidBody(name, SpatialInertia.SolidBoxWithMass(1.0, 0.1, 0.2, 0.3)) for name in "PC"]
    P, C = (body.body_frame() for body in bodies)
    plant.AddJoint(RevoluteJoint("base", plant.world_frame(), P, [0, 1, 0]))
    plant.AddLoopJoint(RevoluteJoint("loop", P, C, [0, 1, 0]))
    plant.Finalize()
    context = plant.CreateDefaultContext()
    counts = count_allocations(monkeypatch, Workspace)
    plant.EvalTimeDerivatives(context)
    plant.CalcLoopJointErrors(context)
    algorithms.dynamics(algorithms.MechanismState(plant, context))
    for name in OF_LOOPS:
        assert_nothing(counts, name)
