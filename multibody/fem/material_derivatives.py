"""Derivatives of where a deformable body is, by what it is made of.

A step is r(x, v+; p) = 0 in the velocities v+ after it, with the state x = (q, v) before it and the numbers p of the
material (assembly.py, equation (2)); rest is r(q; p) = -f(q; p) - f_ext(q; p) = 0. By the implicit function theorem

    dr/dv+ v+_p = -(dr/dx x_p + dr/dp)                                                    (1)
    dr/dq  q_p  = -dr/dp                                                                  (2)

from step to step, and q+_p = q_p + h/2 (v_p + v+_p). Everything that r hangs on is in (1) and (2): rotations of linear
corotated elements, damping, forces that follow from positions. They are solved by GMRES, which the factor of the
tangent matrix leads to the solution in a few iterations, with products dr . d by central differences of r along d, of
fourth order, so that steps can be long and digits are kept. r is linear in all numbers but Poisson's ratio.

Sources: S. Krantz, H. Parks, The Implicit Function Theorem (2002), chapter 1; D. Knoll, D. Keyes, Jacobian-free
Newton-Krylov Methods (2004), section 2.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.multibody.fem.config import DeformableBodyConfig

if TYPE_CHECKING:
    from merganser.framework import Context
    from merganser.multibody.deformable.body import DeformableBody
    from merganser.multibody.fem.body import FemBody

Array = NDArray[np.float64]

_AT_REST = 1e6  # a step so long that inertia and damping are nothing [s]
_MOST_STEPS = 500
_STILL = 1e-13  # a change of positions, by the size of the body, that counts as zero
_RELATIVE_STEP = 1e-4  # of differences: by the length of an edge, or by how far Poisson's ratio is from its limits
_TOLERANCE = 1e-8  # of GMRES
_MOST_ITERATIONS = 200


class MaterialDerivatives(NamedTuple):
    """Where the vertices of a body are, and derivatives by numbers of its material.

    Attributes:
        p_WV: positions in W [m], shape [3, num_vertices].
        v_WV: velocities in W [m/s], shape [3, num_vertices].
        dp_WV: derivatives of the positions, by the name of the number [m by its unit], shape [3, num_vertices] each.
        dv_WV: those of the velocities [m/s by its unit].
    """

    p_WV: Array
    v_WV: Array
    dp_WV: dict[str, Array]
    dv_WV: dict[str, Array]


def differentiate_equilibrium(
    body: DeformableBody, context: Context, parameters: Sequence[str], config: DeformableBodyConfig | None = None
) -> MaterialDerivatives:
    """Returns where a body comes to rest, and how that changes with its material.

    What holds it and pulls at it is as in the Context, where the search begins. The Context stays as it is.

    Args:
        body: of a finalized plant; without proximity properties, as contact does not count here.
        context: of the plant.
        parameters: names of numbers of a DeformableBodyConfig, such as "youngs_modulus".
        config: a material in place of that of the body.

    Raises:
        ValueError: there is no such parameter.
        RuntimeError: the body touches things or is fixed to a rigid body that moves; it finds no rest; or rest hangs
            by nothing, as that of a body that is not held.
    """
    equations = _Equations(body, context, parameters, config)
    q = equations.settle()
    v = np.zeros_like(q)
    return equations.result(q, v, [(dq, v) for dq in equations.derivatives_at_rest(q)])


def differentiate_motion(
    body: DeformableBody,
    context: Context,
    num_steps: int,
    parameters: Sequence[str],
    config: DeformableBodyConfig | None = None,
) -> MaterialDerivatives:
    """Returns where a body is after some steps of its plant, and how that changes with its material.

    It starts where it is in the Context, whatever it is made of. The Context stays as it is.

    Args:
        body: of a finalized plant; without proximity properties, as contact does not count here.
        context: of the plant; rigid bodies stay where they are, and so do values of input ports and the time.
        num_steps: how many steps.
        parameters: names of numbers of a DeformableBodyConfig, such as "youngs_modulus".
        config: a material in place of that of the body.

    Raises:
        ValueError: there is no such parameter, or the number of steps is negative.
        RuntimeError: the body touches things or is fixed to a rigid body that moves; or a step has no solution.
    """
    if num_steps < 0:
        raise ValueError(f"differentiate_motion(): num_steps must not be negative; given {num_steps}.")
    equations = _Equations(body, context, parameters, config)
    q, v = equations.q, equations.v
    changes = [(np.zeros_like(q), np.zeros_like(v)) for _ in parameters]
    for _ in range(num_steps):
        q_next, v_next = equations.step(q, v)
        changes = equations.derivatives_of_step(q, v, v_next, changes)
        q, v = q_next, v_next
    return equations.result(q, v, changes)


_NUMBERS = (
    "youngs_modulus", "poissons_ratio", "mass_density", "mass_damping_coefficient", "stiffness_damping_coefficient",
)  # fmt: skip


def _slope(function: Callable[[float], Array], step: float) -> Array:
    """The derivative of a function at zero, to fourth order."""
    near, far = (function(s) - function(-s) for s in (step, 2.0 * step))
    return (8.0 * near - far) / (12.0 * step)


class _Equations:
    """The equations of a body in a Context, of one material and of those a little beside it.

    Attributes:
        q, v: where the body is, and how fast [m], [m/s], shape [3 num_vertices].
    """

    def __init__(
        self, body: DeformableBody, context: Context, parameters: Sequence[str], config: DeformableBodyConfig | None
    ) -> None:
        from merganser.multibody.fem.body import FemBody

        body.check_alone(context, "Derivatives by the material")
        self._body, self._context, self._parameters = body, context, list(parameters)
        self._config = copy.copy(body.config() if config is None else config)
        own = body.fem_body()
        self._fem = FemBody(own.mesh, self._config, own.is_held, own.name)
        self._work, self._h = self._fem.make_work(), body.GetParentPlant().time_step()
        self._is_kept = 0  # of the last step
        self.q = body.place_held(context).ravel()
        self._moves = np.repeat(~own.is_held, 3)
        self.v = np.where(self._moves, body.GetVelocities(context).T.ravel(), 0.0)
        edges = np.ptp(own.mesh.vertex_array()[own.arrays.elements["nodes"]], axis=1)
        self._length, self._size = float(edges.max(axis=1).min()), float(np.ptp(own.mesh.vertex_array()))
        for name in parameters:
            if name not in _NUMBERS:
                raise ValueError(f"A material has no parameter {name!r}; there are {', '.join(_NUMBERS)}.")

    def _force(self, fem: FemBody, q: Array) -> Array:
        """External forces [N], shape [3 num_vertices]."""
        density = float(fem.config.mass_density())
        return self._body.calc_force(self._context, q.reshape(-1, 3), density).ravel()

    # ------------------------------------------------------------------ the state

    def settle(self) -> Array:
        """Where the body is at rest."""
        q, v = self.q, np.zeros_like(self.q)
        for _ in range(_MOST_STEPS):
            q_next, _ = self._fem.step(_AT_REST, q, v, self._force(self._fem, q), self._work)
            change = float(abs(q_next - q).max())
            q = q_next
            if change <= _STILL * max(self._size, float(abs(q).max())):
                return q
        raise RuntimeError(
            f"Deformable body '{self._fem.name}' finds no rest: after {_MOST_STEPS} steps of Newton's method it still "
            f"moves by {change:.3g} m. Start from a Context in which it is nearly at rest."
        )

    def step(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Positions and velocities after a step of the plant."""
        force = self._force(self._fem, q + self._h * v)
        after = self._fem.step(self._h, q, v, force, self._work, self._context.get_time())
        self._is_kept = int(self._work.report["is_damping_kept"])
        return after

    # ------------------------------------------------------------------ the equations

    def _residual(self, fem: FemBody, h: float, q: Array, v: Array, v_next: Array) -> Array:
        """r, of what moves [N]."""
        from merganser.multibody.fem.derivative_kernels import step_residual

        step_residual(fem.arrays, h, q, v, self._force(fem, q + h * v), v_next, self._is_kept, self._work)
        return self._work.residual[self._moves]

    def _along(self, residual: Callable[[float], Array], reach: float) -> Array:
        """The derivative of residual(s) at 0, where s = 1 moves vertices by some reach [m]."""
        if reach == 0.0:
            return np.zeros(int(self._moves.sum()))
        return _slope(residual, _RELATIVE_STEP * self._length / reach)

    def _by_number(self, k: int, h: float, q: Array, v: Array, v_next: Array) -> Array:
        """dr/dp of the k-th number."""
        name = self._parameters[k]
        value = getattr(self._config, name)()

        def residual(change: float) -> Array:
            config = copy.copy(self._config)
            getattr(config, f"set_{name}")(value + change)
            return self._residual(self._fem.with_material(config), h, q, v, v_next)

        if name == "poissons_ratio":
            return _slope(residual, _RELATIVE_STEP * min(value + 1.0, 0.5 - value))
        change = 1.0 / self._h if name == "mass_damping_coefficient" else self._h
        if name in ("youngs_modulus", "mass_density"):
            change = value
        return (residual(change) - residual(0.0)) / change

    def derivatives_at_rest(self, q: Array) -> list[Array]:
        """Equation (2)."""
        v = np.zeros_like(q)
        solve = self._make_solver(_AT_REST, q, v, v)

        def product(d: Array) -> Array:
            dq = self._of_all(d)
            return self._along(lambda s: self._residual(self._fem, _AT_REST, q + s * dq, v, v), float(abs(dq).max()))

        def guess(r: Array) -> Array:
            return 0.5 * _AT_REST * solve(r)  # A = h/2 K

        found = []
        for k in range(len(self._parameters)):
            found.append(self._of_all(self._solved(product, guess, -self._by_number(k, _AT_REST, q, v, v))))
        return found

    def derivatives_of_step(
        self, q: Array, v: Array, v_next: Array, changes: list[tuple[Array, Array]]
    ) -> list[tuple[Array, Array]]:
        """Equation (1), and positions from it."""
        h, solve = self._h, self._make_solver(self._h, q, v, v_next)

        def product(d: Array) -> Array:
            dv = self._of_all(d)
            reach = 0.5 * h * float(abs(dv).max())
            return self._along(lambda s: self._residual(self._fem, h, q, v, v_next + s * dv), reach)

        found = []
        for k, (dq, dv) in enumerate(changes):
            right = -self._by_state(q, v, v_next, dq, dv) - self._by_number(k, h, q, v, v_next)
            dv_next = self._of_all(self._solved(product, solve, right))
            found.append((dq + 0.5 * h * (dv + dv_next), dv_next))
        return found

    def _by_state(self, q: Array, v: Array, v_next: Array, dq: Array, dv: Array) -> Array:
        """dr/dx x_p, of a change of the state before a step."""
        reach = float((abs(dq) + self._h * abs(dv)).max())
        return self._along(lambda s: self._residual(self._fem, self._h, q + s * dq, v + s * dv, v_next), reach)

    def _of_all(self, values: Array) -> Array:
        """Values of all vertices, from those of what moves."""
        found = np.zeros_like(self.q)
        found[self._moves] = values
        return found

    def _make_solver(self, h: float, q: Array, v: Array, v_next: Array) -> Callable[[Array], Array]:
        """What solves with the tangent matrix at the end of a step."""
        from merganser.multibody.fem.derivative_kernels import factor_step, solve_step

        given = h, q, v, self._force(self._fem, q + h * v), v_next, self._is_kept
        if not factor_step(self._fem.arrays, *given, self._work):
            raise RuntimeError(self._not_determined())

        def solve(right: Array) -> Array:
            values = self._of_all(right)
            solve_step(self._fem.arrays, self._work, values)
            return values[self._moves]

        return solve

    def _not_determined(self) -> str:
        return (
            f"Deformable body '{self._fem.name}': its state does not determine how it changes with the material; it "
            "may be about to buckle, or be held by nothing. Hold more of its vertices, or change what pulls at it."
        )

    def _solved(self, product: Callable[[Array], Array], guess: Callable[[Array], Array], right: Array) -> Array:
        from scipy.sparse.linalg import LinearOperator, gmres

        n = len(right)
        if not n or not right.any():
            return np.zeros(n)
        A, M = (LinearOperator((n, n), f, dtype=np.float64) for f in (product, guess))
        d, status = gmres(A, right, rtol=_TOLERANCE, atol=0.0, maxiter=_MOST_ITERATIONS, M=M)
        if status != 0 or not np.isfinite(d).all():
            raise RuntimeError(self._not_determined())
        return np.asarray(d)

    def result(self, q: Array, v: Array, changes: list[tuple[Array, Array]]) -> MaterialDerivatives:
        """All in the shapes of GetPositions()."""

        def columns(values: Array) -> Array:
            return values.reshape(-1, 3).T.copy()

        of_q, of_v = ([columns(change[i]) for change in changes] for i in (0, 1))
        named = (dict(zip(self._parameters, of, strict=True)) for of in (of_q, of_v))
        return MaterialDerivatives(columns(q), columns(v), *named)
