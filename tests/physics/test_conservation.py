"""Laws of mechanics that a plant obeys on random trees of all joints: nothing here needs a reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from joint_mechanisms import library
from plant_comparison import Side, assert_equal
from plants import Controller
from random_plants import CURVILINEAR, HINGES, KINDS, RandomPlant

from merganser.analysis import RungeKutta5Integrator, Simulator
from merganser.framework import BasicVector, DiagramBuilder, LeafSystem
from merganser.framework.autodiff import AutoDiffXd

OURS = library("ours")
SEEDS = pytest.mark.parametrize("seed", range(20))
EXACT = 1e-11  # relative: rounding errors of some 20 bodies, and accelerations of up to 1e4


def random_state(plant: Any, context: Any, seed: int) -> None:
    """Pitch angles within a quarter turn; quaternions of any length."""
    rng = np.random.default_rng(seed)
    plant.SetPositions(context, rng.uniform(-1.2, 1.2, plant.num_positions()))
    plant.SetVelocities(context, rng.normal(size=plant.num_velocities()))


def plant_with_inputs(seed: int, **options: Any) -> Side:
    """A random tree in a random state, with random actuation and applied forces."""
    plant = RandomPlant(OURS, seed, **options).build()
    side = Side(OURS, plant, plant.CreateDefaultContext(), (), seed)
    random_state(plant, side.context, seed)
    side.fix_inputs()
    return side


def applied_forces(side: Side) -> Any:
    """All forces but those of inertia, read from the input ports and the force elements."""
    plant, context = side.plant, side.context
    forces = OURS.MultibodyForces(plant)
    plant.CalcForceElementsContribution(context, forces)
    for force in plant.get_applied_spatial_force_input_port().Eval(context):
        body = plant.get_body(force.body_index)
        p_BoBq_W = plant.EvalBodyPoseInWorld(context, body).rotation().matrix() @ force.p_BoBq_B
        body.AddInForce(context, p_BoBq_W, force.F_Bq_W, plant.world_frame(), forces)
    tau = plant.get_applied_generalized_force_input_port().Eval(context)
    u = plant.get_actuation_input_port().Eval(context)
    forces.mutable_generalized_forces()[:] += tau + plant.MakeActuationMatrix() @ u
    return forces


def along_the_motion(side: Side, vdot: np.ndarray) -> tuple[Any, Any]:
    """The plant of AutoDiffXd and its Context, with the derivatives by time."""
    plant = side.plant.ToAutoDiffXd()
    context = plant.CreateDefaultContext()
    context.SetTimeStateAndParametersFrom(side.context)
    q, v = side.plant.GetPositions(side.context), side.plant.GetVelocities(side.context)
    qdot = side.plant.MapVelocityToQDot(side.context, v)
    plant.SetPositions(context, [AutoDiffXd(x, [dx]) for x, dx in zip(q, qdot)])
    plant.SetVelocities(context, [AutoDiffXd(x, [dx]) for x, dx in zip(v, vdot)])
    return plant, context


def rates(values: Any) -> np.ndarray:
    """Derivatives by time of an array of AutoDiffXd."""
    values = np.asarray(values, dtype=object)
    derivatives = [d[0] if len(d := value.derivatives()) else 0.0 for value in values.ravel()]
    return np.reshape(derivatives, values.shape)


def vdot_of(side: Side) -> np.ndarray:
    return side.plant.EvalTimeDerivatives(side.context).CopyToVector()[side.plant.num_positions() :]


# -- dynamics --------------------------------------------------------------------------------------


@SEEDS
def test_inverse_dynamics_undoes_forward_dynamics(seed):
    """M vdot + C v less all forces is nothing, relative to the bias: terms of that size cancel."""
    side = plant_with_inputs(seed)
    tau = side.plant.CalcInverseDynamics(side.context, vdot_of(side), applied_forces(side))
    largest = np.abs(side.plant.CalcMassMatrix(side.context) @ vdot_of(side)).max(initial=1.0)
    assert_equal(tau / largest, np.zeros(len(tau)), tolerance=EXACT)


@SEEDS
def test_momentum_changes_by_the_external_forces(seed):
    """dH/dt = F, about the origin of the world, for bodies that only forces connect to it."""
    side = plant_with_inputs(seed, num_joints=10, is_free=True)
    plant, context = side.plant, side.context
    free = plant.GetFloatingBaseBodies()
    tau = plant.get_applied_generalized_force_input_port().Eval(context).copy()
    for index in free:  # would be an external force
        start = plant.get_body(index).floating_velocities_start_in_v()
        tau[start : start + 6] = 0.0
    plant.get_applied_generalized_force_input_port().FixValue(context, tau)
    F_Wo = np.zeros(6)
    for body in side.bodies():
        p_WoBcm_W = plant.EvalBodyPoseInWorld(context, body) @ body.default_com()
        weight = body.default_mass() * plant.gravity_field().gravity_vector()
        F_Wo += np.concatenate([np.cross(p_WoBcm_W, weight), weight])
    for force in plant.get_applied_spatial_force_input_port().Eval(context):
        p_WoBq_W = plant.EvalBodyPoseInWorld(context, plant.get_body(force.body_index)) @ force.p_BoBq_B
        F_Wo += force.F_Bq_W.Shift(-p_WoBq_W).get_coeffs()
    moving, later = along_the_motion(side, vdot_of(side))
    H_Wo = moving.CalcSpatialMomentumInWorldAboutPoint(later, np.zeros(3)).get_coeffs()
    assert_equal(rates(H_Wo), F_Wo, tolerance=1e-10)


@SEEDS
def test_energy_changes_by_the_power_of_what_has_no_potential(seed):
    """d(T + V)/dt = power of actuators, applied forces, and damping of joints and elements; T with rotors."""
    side = plant_with_inputs(seed, num_joints=10, has_bushings=False)
    plant, context = side.plant, side.context
    power = power_of_forces_without_potential(plant, context)
    for force in plant.get_applied_spatial_force_input_port().Eval(context):
        body = plant.get_body(force.body_index)
        R_WB = plant.EvalBodyPoseInWorld(context, body).rotation().matrix()
        V_WBq_W = plant.EvalBodySpatialVelocityInWorld(context, body).Shift(R_WB @ force.p_BoBq_B)
        power += force.F_Bq_W.get_coeffs() @ V_WBq_W.get_coeffs()
    power += plant.get_applied_generalized_force_input_port().Eval(context) @ plant.GetVelocities(context)
    moving, later = along_the_motion(side, vdot_of(side))
    [rate] = rates([moving.CalcKineticEnergy(later) + moving.CalcPotentialEnergy(later)])
    potential = rates([moving.CalcPotentialEnergy(later)])
    assert_equal(potential, [-plant.CalcConservativePower(context)], tolerance=EXACT)
    assert_equal(rate, power, tolerance=1e-10)


def power_of_forces_without_potential(plant: Any, context: Any) -> float:
    """Power of actuation, of damping in the joints and of the force elements [W]."""
    v = plant.GetVelocities(context)
    u = plant.get_actuation_input_port().Eval(context)
    damping = np.concatenate([plant.get_joint(j).GetDampingVector(context) for j in joints_by_velocity(plant)])
    power = v @ (plant.MakeActuationMatrix() @ u) - damping @ v**2
    return float(power + plant.CalcNonConservativePower(context))


def joints_by_velocity(plant: Any) -> list[Any]:
    return sorted(plant.GetJointIndices(), key=lambda index: plant.get_joint(index).velocity_start())


@SEEDS
def test_rate_of_mass_matrix_less_twice_coriolis_does_no_work(seed):
    """v^T (Mdot - 2 C) v = 0, for all joints."""
    side = plant_with_inputs(seed, num_joints=12)
    v = side.plant.GetVelocities(side.context)
    moving, later = along_the_motion(side, np.zeros(len(v)))
    Mdot = rates(moving.CalcMassMatrix(later))
    Cv = side.plant.CalcBiasTerm(side.context)
    assert_equal(v @ Mdot @ v, 2.0 * v @ Cv, tolerance=EXACT)


@pytest.mark.parametrize("seed", range(6))
def test_rate_of_mass_matrix_less_twice_coriolis_is_skew(seed):
    """With C = 1/2 d(C v)/dv, the Christoffel symbols times v where qdot = v."""
    side = plant_with_inputs(seed, num_joints=6, kinds=HINGES, is_free=False)
    v = side.plant.GetVelocities(side.context)
    moving, later = along_the_motion(side, np.zeros(len(v)))
    Mdot = rates(moving.CalcMassMatrix(later))
    moving.SetVelocities(later, [AutoDiffXd(x, e) for x, e in zip(v, np.eye(len(v)))])
    moving.SetPositions(later, [AutoDiffXd(x) for x in side.plant.GetPositions(side.context)])
    C = 0.5 * np.array([element.derivatives() for element in moving.CalcBiasTerm(later)])
    assert np.abs(Mdot - 2.0 * C).max() > 1e-3
    assert_equal(Mdot - 2.0 * C, -(Mdot - 2.0 * C).T, tolerance=EXACT)


# -- simulations -----------------------------------------------------------------------------------


class WorkMeter(LeafSystem):
    """Integrates the power of the forces without potential."""

    def __init__(self, plant: Any) -> None:
        super().__init__()
        self.plant, self.room = plant, plant.CreateDefaultContext()
        self.DeclareVectorInputPort("u", plant.num_actuated_dofs())
        self.DeclareVectorInputPort("x", plant.num_multibody_states())
        self.DeclareContinuousState(BasicVector([0.0]))

    def DoCalcTimeDerivatives(self, context, derivatives):
        u, x = (self.GetInputPort(name).Eval(context) for name in "ux")
        self.plant.SetPositionsAndVelocities(self.room, x)
        self.plant.get_actuation_input_port().FixValue(self.room, u)
        derivatives.SetFromVector([power_of_forces_without_potential(self.plant, self.room)])


@pytest.mark.parametrize("seed", range(4))
def test_work_of_actuation_damping_and_springs_is_the_change_of_energy(seed):
    plant = RandomPlant(OURS, seed, num_joints=5, kinds=(*HINGES, "WeldJoint"), has_bushings=False).build()
    builder = DiagramBuilder()
    builder.AddSystem(plant)
    num_u = plant.num_actuated_dofs()
    controller = builder.AddSystem(Controller(num_u, lambda t: np.full(num_u, 3.0 * np.sin(9.0 * t))))
    meter = builder.AddSystem(WorkMeter(plant))
    builder.Connect(controller.get_output_port(), plant.get_actuation_input_port())
    builder.Connect(controller.get_output_port(), meter.GetInputPort("u"))
    builder.Connect(plant.get_state_output_port(), meter.GetInputPort("x"))
    simulator = Simulator(builder.Build())
    simulator.get_mutable_integrator().set_target_accuracy(1e-8)
    root = simulator.get_mutable_context()
    context = plant.GetMyMutableContextFromRoot(root)
    random_state(plant, context, seed)

    def energy() -> float:
        return plant.CalcKineticEnergy(context) + plant.CalcPotentialEnergy(context)

    start = energy()
    simulator.AdvanceTo(0.2)
    work = meter.GetMyContextFromRoot(root).get_continuous_state_vector()[0]
    assert abs(work) > 0.01
    assert energy() - start == pytest.approx(work, abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_momentum_of_a_free_tree_without_gravity_stays_for_ten_seconds(seed):
    """Joints, damping and springs pull the bodies at each other: no momentum comes of that, to 1e-12 relative.

    Without paths: where their curvature jumps, so does the angular velocity of who moves along them.
    """
    kinds = tuple(kind for kind in KINDS if kind != CURVILINEAR)
    plant = RandomPlant(OURS, seed, num_joints=5, kinds=kinds, is_free=True).build()
    context = plant.CreateDefaultContext()
    simulator = Simulator(plant, context)
    plant.gravity_field().SetGravityVector(context, [0, 0, 0])
    integrator = simulator.reset_integrator(RungeKutta5Integrator(plant, context))
    integrator.set_target_accuracy(1e-13)
    random_state(plant, context, seed)
    plant.SetVelocities(context, 0.3 * plant.GetVelocities(context))
    plant.get_actuation_input_port().FixValue(context, np.full(plant.num_actuated_dofs(), 0.1))

    def momentum() -> np.ndarray:
        return plant.CalcSpatialMomentumInWorldAboutPoint(context, np.zeros(3)).get_coeffs()

    start, v = momentum(), plant.GetVelocities(context)
    simulator.AdvanceTo(10.0)
    assert np.abs(plant.GetVelocities(context) - v).max() > 0.1
    np.testing.assert_allclose(momentum(), start, rtol=0.0, atol=1e-12 * np.abs(start).max())
