"""Forces of a fluid around bodies: closed forms, energy, derivatives, and corners at rest and in symmetric motion."""

from __future__ import annotations

import math

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework.autodiff import ExtractGradient, ExtractValue, InitializeAutoDiff
from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.framework.symbolic import Evaluate
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import FluidForceOnBox, FluidForceOnEllipsoid, SpatialInertia
from merganser.multibody.tree.force_elements.fluid import added_mass_of_ellipsoid

X_BG = RigidTransform(RollPitchYaw(0.3, 0.2, 0.9), [0.05, -0.1, 0.02])
SIZE = [0.3, 0.2, 0.5]
TYPES = [FluidForceOnBox, FluidForceOnEllipsoid]


def make_plant(cls, X=X_BG, size=SIZE, density=1.3, viscosity=0.2, wind=(0.0, 0.0, 0.0)):
    """One free body without gravity, of mass 1 and of moments 1, 2 and 2.5."""
    plant = MultibodyPlant(0.0)
    body = plant.AddRigidBody("b", SpatialInertia.MakeFromCentralInertia(1.0, [0, 0, 0], _moments()))
    element = plant.AddForceElement(cls(body, X, size, density, viscosity, wind))
    plant.mutable_gravity_field().set_gravity_vector([0.0, 0.0, 0.0])
    plant.Finalize()
    return plant, element


def _moments():
    from merganser.multibody.tree import RotationalInertia

    return RotationalInertia(1.0, 2.0, 2.5)


def acceleration(plant, q, v) -> np.ndarray:
    context = plant.CreateDefaultContext()
    plant.SetPositions(context, q)
    plant.SetVelocities(context, v)
    return plant.EvalTimeDerivatives(context).CopyToVector()[7:]


Q = np.array([0.9, 0.1, -0.3, 0.2, 0.4, 0.5, 0.6]) / np.array([*[np.sqrt(0.95)] * 4, 1, 1, 1])
LEVEL = np.array([1.0, 0, 0, 0, 0, 0, 0])


@pytest.mark.parametrize("cls", TYPES)
def test_a_slow_ball_has_the_drag_of_stokes(cls):
    size = [0.2] * 3 if cls is FluidForceOnEllipsoid else [0.4] * 3  # semi-axes, or lengths
    plant, _ = make_plant(cls, RigidTransform(), size, density=0.0, viscosity=0.7)
    vdot = acceleration(plant, LEVEL, [0, 0, 3.0, 2.0, 0, 0])
    assert vdot[3] == pytest.approx(-6.0 * math.pi * 0.7 * 0.2 * 2.0)
    assert 2.5 * vdot[2] == pytest.approx(-8.0 * math.pi * 0.7 * 0.2**3 * 3.0)


def test_faces_of_a_box_and_the_section_of_an_ellipsoid_bear_the_pressure():
    box, _ = make_plant(FluidForceOnBox, RigidTransform(), density=2.0, viscosity=0.0)
    assert acceleration(box, LEVEL, [0, 0, 0, 0, -3.0, 0])[4] == pytest.approx(0.5 * 2.0 * 0.3 * 0.5 * 9.0)
    ellipsoid, _ = make_plant(FluidForceOnEllipsoid, RigidTransform(), density=2.0, viscosity=0.0)
    section, largest = math.pi * 0.3 * 0.5, math.pi * 0.3 * 0.5
    expected = 2.0 * 9.0 * (0.5 * section + 0.25 * (largest - section))
    assert acceleration(ellipsoid, LEVEL, [0, 0, 0, 0, -3.0, 0])[4] == pytest.approx(expected)


def test_a_ball_has_half_the_mass_of_the_fluid_that_it_displaces_added_to_its_own():
    mass, moments = added_mass_of_ellipsoid([0.3, 0.3, 0.3])
    np.testing.assert_allclose(mass, 0.5 * 4.0 / 3.0 * math.pi * 0.3**3)
    np.testing.assert_array_equal(moments, 0.0)
    mass, moments = added_mass_of_ellipsoid([1e-4, 1.0, 1.0])  # a disc: 8/3 r^3 and 16/45 r^5, see Lamb
    assert mass[0] == pytest.approx(8.0 / 3.0, rel=1e-3)
    np.testing.assert_allclose(moments[1:], 16.0 / 45.0, rtol=1e-3)


@pytest.mark.parametrize("cls", TYPES)
def test_energy_only_falls_in_a_fluid_at_rest_by_the_power_of_the_force(cls):
    plant, element = make_plant(cls, density=20.0)
    simulator = Simulator(plant)
    context = simulator.get_mutable_context()
    simulator.get_mutable_integrator().set_target_accuracy(1e-9)
    plant.SetVelocities(context, [1.0, -2.0, 0.5, 2.0, 1.0, -1.0])
    energies = [plant.CalcKineticEnergy(context)]
    for time in np.linspace(0.05, 1.0, 20):
        simulator.AdvanceTo(time)
        energies.append(plant.CalcKineticEnergy(context))
        xdot = plant.EvalTimeDerivatives(context).CopyToVector()
        rate = plant.GetVelocities(context) @ plant.CalcMassMatrix(context) @ xdot[7:]
        power = element.CalcNonConservativePower(context)
        assert power < 0.0
        assert plant.CalcNonConservativePower(context) == pytest.approx(power)
        V_M_dot = _power_of_gyroscopic_forces(plant, context)
        assert rate + V_M_dot == pytest.approx(power, rel=1e-6)
    assert (np.diff(energies) < 0.0).all()
    assert element.CalcPotentialEnergy(context) == element.CalcConservativePower(context) == 0.0


def _power_of_gyroscopic_forces(plant, context) -> float:
    """Velocities are in the world, so that the mass matrix changes: v . (C v)."""
    return float(plant.GetVelocities(context) @ plant.CalcBiasTerm(context))


@pytest.mark.parametrize("cls", TYPES)
def test_what_moves_with_the_fluid_feels_nothing_of_it(cls):
    wind = np.array([0.3, -0.2, 0.5])
    plant, element = make_plant(cls, wind=wind)
    np.testing.assert_allclose(acceleration(plant, Q, [0, 0, 0, *wind]), np.zeros(6), atol=1e-15)
    context = plant.CreateDefaultContext()
    element.SetWind(context, [0.0, 0.0, 0.0])
    np.testing.assert_array_equal(element.GetWind(context), np.zeros(3))
    np.testing.assert_array_equal(plant.EvalTimeDerivatives(context).CopyToVector()[7:], np.zeros(6))


VELOCITIES = {
    "at rest": np.zeros(6),
    "along an axis": np.array([0, 0, 0, 0.7, 0, 0]),
    "turning": np.array([0, 0.4, 0, 0, 0, 0]),
    "any": np.array([0.3, -0.5, 0.2, 0.6, -0.1, 0.4]),
}


@pytest.mark.parametrize("where", VELOCITIES)
@pytest.mark.parametrize("X", [X_BG, RigidTransform()], ids=["oblique", "aligned"])
@pytest.mark.parametrize("cls", TYPES)
def test_derivatives_are_those_of_differences_at_rest_too(cls, X, where):
    plant, _ = make_plant(cls, X)
    q, v = LEVEL, VELOCITIES[where]
    x = InitializeAutoDiff(np.concatenate([q, v])).ravel()
    found = acceleration(plant.ToAutoDiffXd(), x[:7], x[7:])
    np.testing.assert_allclose(ExtractValue(found).ravel(), acceleration(plant, q, v), atol=1e-14)
    h = 1e-5
    columns = [(acceleration(plant, q, v + h * e) - acceleration(plant, q, v - h * e)) / (2 * h) for e in np.eye(6)]
    gradient = ExtractGradient(found)[:, 7:]
    np.testing.assert_allclose(gradient, np.transpose(columns), atol=2e-5)  # |v| v has a kink of its slope at zero
    if where == "at rest":
        assert np.linalg.eigvals(gradient).real.max() < 0.0


@pytest.mark.parametrize("where", ["at rest", "any"])
@pytest.mark.parametrize("cls", TYPES)
def test_symbols_give_the_same_numbers(cls, where):
    plant, _ = make_plant(cls)
    symbolic = plant.ToSymbolic()
    context = symbolic.CreateDefaultContext()
    symbolic.SetPositions(context, Q)
    symbolic.SetVelocities(context, VELOCITIES[where])
    vdot = symbolic.EvalTimeDerivatives(context).CopyToVector()[7:]
    np.testing.assert_allclose(Evaluate(vdot).ravel(), acceleration(plant, Q, VELOCITIES[where]), atol=1e-12)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"size": [1, 0, 1]}, ValueError, "the size must be positive"),
        ({"size": [1, 1]}, ValueError, "size"),
        ({"density": -1.0}, RuntimeError, "the density must be finite and at least 0, but is -1"),
        ({"wind": [0, np.nan, 0]}, ValueError, "wind must be finite"),
        ({"X": np.eye(4)}, TypeError, "X_BG must be a RigidTransform, not a ndarray"),
    ],
)
@pytest.mark.parametrize("cls", TYPES)
def test_numbers_that_cannot_be_are_refused(cls, given, error, message):
    with pytest.raises(error, match=message):
        make_plant(cls, **given)
