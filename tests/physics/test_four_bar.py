"""A four-bar linkage, closed by a loop joint: its geometry in closed form, its energy, its gap."""

import numpy as np
import pytest

from merganser.analysis import ResetIntegratorFromFlags, Simulator
from merganser.framework import EventStatus
from merganser.framework.math import RigidTransform
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import FixedOffsetFrame, RevoluteJoint, SpatialInertia

GROUND, CRANK, COUPLER, ROCKER = 1.1, 0.5, 1.2, 0.75  # lengths [m]
DURATION = 10.0  # [s]
AXIS = [0, -1, 0]  # angles turn from x to z


def rod(length):
    """A rod of 1 kg along Bx, from Bo."""
    return SpatialInertia.ThinRodWithMassAboutEnd(1.0, length, [1, 0, 0])


def four_bar():
    """Crank and rocker turn on the world, the coupler on the crank; the loop closes where coupler and rocker meet."""
    plant = MultibodyPlant(0.0)
    crank, coupler, rocker = (
        plant.AddRigidBody(name, rod(length))
        for name, length in (("crank", CRANK), ("coupler", COUPLER), ("rocker", ROCKER))
    )

    def frame(name, on, x):
        return plant.AddFrame(FixedOffsetFrame(name, on.body_frame(), RigidTransform([x, 0, 0])))

    crank_end, coupler_end = frame("crank_end", crank, CRANK), frame("coupler_end", coupler, COUPLER)
    rocker_end, ground_end = frame("rocker_end", rocker, ROCKER), frame("ground_end", plant.world_body(), GROUND)
    plant.AddJoint(RevoluteJoint("crank", plant.world_frame(), crank.body_frame(), AXIS))
    plant.AddJoint(RevoluteJoint("coupler", crank_end, coupler.body_frame(), AXIS))
    plant.AddJoint(RevoluteJoint("rocker", ground_end, rocker.body_frame(), AXIS))
    plant.AddLoopJoint(RevoluteJoint("closure", coupler_end, rocker_end, AXIS))
    plant.Finalize()
    return plant


def angles(crank):
    """Angles of coupler (in the crank) and rocker for that of the crank, open branch: two circles that meet."""
    tip = CRANK * np.array([np.cos(crank), np.sin(crank)])
    way = tip - [GROUND, 0.0]
    d = np.hypot(*way)
    # Law of cosines, in the triangle of rocker, coupler and the diagonal d.
    beta = np.arccos((d**2 + ROCKER**2 - COUPLER**2) / (2.0 * d * ROCKER))
    rocker = np.arctan2(way[1], way[0]) - beta
    corner = np.array([GROUND, 0.0]) + ROCKER * np.array([np.cos(rocker), np.sin(rocker)])
    coupler = np.arctan2(*(corner - tip)[::-1]) - crank
    return np.array([coupler, rocker])


def start(plant, context, crank, rate):
    guess = angles(crank) + 0.1
    plant.SetPositions(context, [crank, *guess])
    plant.SetVelocities(context, [rate, 0.0, 0.0])
    plant.CloseLoops(context, [plant.GetJointByName("crank")])


def energy(plant, context):
    return plant.CalcKineticEnergy(context) + plant.CalcPotentialEnergy(context)


@pytest.mark.parametrize("crank", [-2.0, -0.4, 0.3, 1.5, 3.0])
def test_positions_and_rates_of_the_closed_linkage_follow_from_its_triangles(crank):
    plant = four_bar()
    context = plant.CreateDefaultContext()
    start(plant, context, crank, 2.0)
    difference = plant.GetPositions(context)[1:] - angles(crank)
    np.testing.assert_allclose(np.sin(difference / 2.0), 0.0, atol=1e-13)
    rates = (angles(crank + 1e-6) - angles(crank - 1e-6)) / 2e-6 * 2.0
    np.testing.assert_allclose(plant.GetVelocities(context), [2.0, *rates], atol=1e-8)


def test_the_reduced_equation_of_motion_gives_the_same_acceleration():
    """With one coordinate, d/dt (T + V) = 0: crank acceleration from T = m(crank) rate^2 / 2."""
    plant = four_bar()
    context = plant.CreateDefaultContext()
    h = 1e-4

    def reduced(crank):
        start(plant, context, crank, 1.0)
        return np.array([2.0 * plant.CalcKineticEnergy(context), plant.CalcPotentialEnergy(context)])

    mass = reduced(0.7)[0]
    mass_rate, force = (reduced(0.7 + h) - reduced(0.7 - h)) / (2.0 * h)
    rate = 1.7
    start(plant, context, 0.7, rate)
    acceleration = plant.EvalTimeDerivatives(context).CopyToVector()[3]
    assert acceleration == pytest.approx((-force - 0.5 * mass_rate * rate**2) / mass, rel=1e-6)


def test_the_gap_stays_closed_and_the_energy_constant_over_ten_seconds():
    plant = four_bar()
    simulator = Simulator(plant)
    context = simulator.get_mutable_context()
    start(plant, context, 1.2, 1.0)
    integrator = ResetIntegratorFromFlags(simulator, "runge_kutta5", 0.1)
    integrator.set_target_accuracy(1e-10)
    initial = energy(plant, context)
    gaps, energies = [], []

    def record(root):
        gaps.append(np.abs(plant.CalcLoopJointErrors(root)).max())
        energies.append(energy(plant, root))
        return EventStatus.DidNothing()

    simulator.set_monitor(record)
    simulator.AdvanceTo(DURATION)
    assert len(gaps) > 100
    assert np.ptp(plant.GetPositions(context)) > 0.1
    assert max(gaps) < 1e-10
    assert np.abs(np.array(energies) - initial).max() < 1e-8
    np.testing.assert_allclose(
        np.sin((plant.GetPositions(context)[1:] - angles(plant.GetPositions(context)[0])) / 2.0), 0.0, atol=1e-9
    )
