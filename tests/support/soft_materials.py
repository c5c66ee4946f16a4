"""Kinds of material that a program brings: Saint Venant and Kirchhoff's, and fibers along one direction in rubber."""

from __future__ import annotations

from merganser.multibody.fem import MaterialKind
from merganser.multibody.fem.materials import neo_hookean

# Psi = mu E : E + lambda / 2 theta^2,   E = (F^T F - 1) / 2,   theta = tr E                             (1)
# P = F (2 mu E + lambda theta 1)                                                                        (2)


def set_growth(material, point):
    F = point["F"]
    growth = -1.5 + 0.0 * F[0, 0]
    for i in range(3):
        for j in range(3):
            growth += 0.5 * F[i, j] * F[i, j]
            point["slope"][i, j] = F[i, j]
    point["growth"] = growth


def add_energy(material, point, energy_out):
    F, growth = point["F"], point["growth"]
    squares = 0.0 * F[0, 0]
    for i in range(3):
        for j in range(3):
            e = -0.5 if i == j else 0.0
            for k in range(3):
                e = e + 0.5 * F[k, i] * F[k, j]
            squares += e * e
    energy_out[0] += material["mu"] * squares + 0.5 * material["lambda"] * growth * growth


def set_stress(material, point):
    F, mu, pressure = point["F"], material["mu"], material["lambda"] * point["growth"]
    for i in range(3):
        for j in range(3):
            total = (pressure - mu) * F[i, j]
            for k in range(3):
                for l in range(3):
                    total += mu * F[i, k] * F[l, k] * F[l, j]
            point["P"][i, j] = total


def set_derivative(material, point, derivative_out):
    F, mu = point["F"], material["mu"]
    pressure = material["lambda"] * point["growth"] - mu
    share = material["lambda"] if material["is_averaged"] == 0 else 0.0
    kept = 0.0 if point["is_convex"] != 0 else 1.0  # of what the stress does to a turning element
    for i in range(3):
        for j in range(3):
            for k in range(3):
                for l in range(3):
                    value = share * F[i, j] * F[k, l] + mu * F[i, l] * F[k, j]
                    for m in range(3):
                        if i == k:
                            value += kept * mu * F[m, l] * F[m, j]
                        if j == l:
                            value += mu * F[i, m] * F[k, m]
                    if i == k and j == l:
                        value += kept * pressure
                    derivative_out[3 * i + j, 3 * k + l] = value


SAINT_VENANT_KIRCHHOFF = MaterialKind(
    "saint_venant_kirchhoff", add_energy, set_stress, set_derivative, set_growth=set_growth
)

# Psi = that of the neo-Hookean material + k / 8 (|F a|^2 - 1)^2, with the numbers k, a_x, a_y, a_z         (3)


def add_energy_with_fibers(material, point, energy_out):
    neo_hookean.add_energy(material, point, energy_out)
    F, numbers, squares = point["F"], material["constants"], -1.0 + 0.0 * point["F"][0, 0]
    for i in range(3):
        along = F[i, 0] * numbers[1] + F[i, 1] * numbers[2] + F[i, 2] * numbers[3]
        squares += along * along
    energy_out[0] += 0.125 * numbers[0] * squares * squares


def set_stress_with_fibers(material, point):
    neo_hookean.set_stress(material, point)
    F, numbers = point["F"], material["constants"]
    along = (F[0, 0] * numbers[1] + F[0, 1] * numbers[2] + F[0, 2] * numbers[3],
             F[1, 0] * numbers[1] + F[1, 1] * numbers[2] + F[1, 2] * numbers[3],
             F[2, 0] * numbers[1] + F[2, 1] * numbers[2] + F[2, 2] * numbers[3])  # fmt: skip
    tension = 0.5 * numbers[0] * (along[0] * along[0] + along[1] * along[1] + along[2] * along[2] - 1.0)
    for i in range(3):
        for j in range(3):
            point["P"][i, j] += tension * along[i] * numbers[1 + j]


def set_derivative_with_fibers(material, point, derivative_out):
    neo_hookean.set_derivative(material, point, derivative_out)
    F, numbers = point["F"], material["constants"]
    along = (F[0, 0] * numbers[1] + F[0, 1] * numbers[2] + F[0, 2] * numbers[3],
             F[1, 0] * numbers[1] + F[1, 1] * numbers[2] + F[1, 2] * numbers[3],
             F[2, 0] * numbers[1] + F[2, 1] * numbers[2] + F[2, 2] * numbers[3])  # fmt: skip
    tension = 0.5 * numbers[0] * (along[0] * along[0] + along[1] * along[1] + along[2] * along[2] - 1.0)
    if point["is_convex"] != 0:
        tension = max(tension, 0.0)
    for i in range(3):
        for j in range(3):
            for k in range(3):
                for l in range(3):
                    value = numbers[0] * along[i] * along[k] + (tension if i == k else 0.0)
                    derivative_out[3 * i + j, 3 * k + l] += value * numbers[1 + j] * numbers[1 + l]


FIBERS = MaterialKind(
    "fibers", add_energy_with_fibers, set_stress_with_fibers, set_derivative_with_fibers,
    prepare=neo_hookean.KIND.prepare, set_growth=neo_hookean.KIND.set_growth, stable_for="a Poisson's ratio above 1/8",
)  # fmt: skip
