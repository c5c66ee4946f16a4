"""Torsion and large deflection of bars, which converge to what theories of beams say as meshes get finer."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from soft_bodies import bar_mesh, clamped_bar, config

from merganser.multibody.fem import MaterialModel
from merganser.multibody.fem.body import FemBody

STATIC = 1e6  # a step so long that inertia is nothing [s]


def test_a_square_bar_is_twisted_as_saint_venant_says() -> None:
    """phi' = T / (G J), J = 0.1406 a^4, of the difference of two lengths, whose ends may not warp."""
    a, E, nu, angle = 0.1, 1e6, 0.3, 1e-3

    def flexibility(n: int, length: float) -> float:
        """Angle by torque of a bar whose ends are turned against each other [1/(N m)]."""
        mesh = bar_mesh((length, a, a), (round(2 * n * length / a), n, n))
        x, y, z = mesh.vertex_array().T
        at_end = x > length - 1e-9
        body = FemBody(mesh, config(MaterialModel.kLinear, E, nu), (x < 1e-9) | at_end)
        turned = mesh.vertex_array() + angle * (x / length)[:, np.newaxis] * np.stack([0.0 * x, -z, y], axis=1)
        q, _ = body.step(STATIC, turned, np.zeros(3 * len(x)), np.zeros(3 * len(x)))
        f = -body.elastic_forces(q).reshape(-1, 3)[at_end]
        return float(angle / (y[at_end] @ f[:, 2] - z[at_end] @ f[:, 1]))

    errors = []
    for n in (2, 4, 6):
        J = a / (flexibility(n, 3 * a) - flexibility(n, 2 * a)) / (E / (2.0 * (1.0 + nu)))
        errors.append(J / (0.1406 * a**4) - 1.0)
    assert 0.0 < errors[2] < 0.13
    assert errors[0] / errors[1] > 2.5  # about second order


def elastica(alpha: float) -> tuple[float, float]:
    """Height and deflection of the tip by the length, of a force across the clamp, alpha = F L^2 / (E I)."""

    def arc(kappa: float) -> np.ndarray:
        def slopes(_: float, y: np.ndarray) -> list[float]:
            return [y[1], -alpha * np.cos(y[0]), np.cos(y[0]), np.sin(y[0])]

        return solve_ivp(slopes, (0.0, 1.0), [0.0, kappa, 0.0, 0.0], rtol=1e-10, atol=1e-12).y[:, -1]

    end = arc(brentq(lambda kappa: arc(kappa)[1], 0.0, alpha))  # no moment at the tip
    return float(end[2]), float(end[3])


@pytest.mark.parametrize("model", [MaterialModel.kCorotated, MaterialModel.kLinearCorotated])
def test_a_slender_bar_bends_far_as_an_elastica_of_its_stiffness_does(model: MaterialModel) -> None:
    """The stiffness is that against small forces, which linear tetrahedra have too much of."""
    L, a, E, alpha = 0.4, 0.02, 1e6, 2.5
    body = clamped_bar(config(model, E, 0.0), size=(L, a, a), cells=(40, 2, 2))
    at_end = body.mesh.vertex_array()[:, 0] > L - 1e-9

    def tip(alpha: float) -> np.ndarray:
        """Where it is, by the length: height and deflection."""
        q, still, force = body.mesh.vertex_array().ravel(), np.zeros(3 * body.num_nodes), np.zeros((body.num_nodes, 3))
        force[at_end, 2] = alpha * E * a**4 / 12.0 / L**2 / at_end.sum()
        for _ in range(40):
            q_next, _ = body.step(STATIC, q, still, force)
            q, change = q_next, abs(q_next - q).max()
            if change < 1e-5 * L:
                break
        return np.asarray(q.reshape(-1, 3)[at_end].mean(axis=0)[[0, 2]] / L)

    assert elastica(2.0) == pytest.approx((0.8394, 0.4935), abs=1e-4)  # K. Bisshopp, D. Drucker (1945)
    softness = tip(1e-3)[1] / (1e-3 / 3.0)  # w = F L^3 / (3 E I)
    assert tip(alpha / softness) == pytest.approx(elastica(alpha), abs=1.5e-2)  # strains reach 5 %
