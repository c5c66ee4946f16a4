"""Propellers, wings, and lists of applied forces."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder, Value
from merganser.framework.autodiff import AutoDiffXd, ExtractGradient, InitializeAutoDiff
from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.framework.primitives import ConstantVectorSource
from merganser.multibody.math import SpatialForce, SpatialVelocity
from merganser.multibody.plant import (
    ExternallyAppliedSpatialForce,
    ExternallyAppliedSpatialForceMultiplexer,
    MultibodyPlant,
    Propeller,
    Propeller_,
    PropellerInfo,
    Wing,
    Wing_,
)
from merganser.multibody.tree import BodyIndex, SpatialInertia

G = 9.81


def free_body_plant(builder: DiagramBuilder) -> MultibodyPlant:
    plant: MultibodyPlant = builder.AddSystem(MultibodyPlant(0.0))
    plant.AddRigidBody("body", SpatialInertia.SolidBoxWithMass(2.0, 0.4, 0.5, 0.1))
    plant.Finalize()
    return plant


def force(x: float) -> ExternallyAppliedSpatialForce:
    return ExternallyAppliedSpatialForce(BodyIndex(1), np.zeros(3), SpatialForce([0, 0, 0], [x, 0, 0]))


def test_multiplexer_joins_lists_in_the_order_of_its_inputs() -> None:
    multiplexer = ExternallyAppliedSpatialForceMultiplexer(3)
    context = multiplexer.CreateDefaultContext()
    for i, values in enumerate(([1.0, 2.0], [], [3.0])):
        multiplexer.get_input_port(i).FixValue(context, Value([force(x) for x in values]))
    joined = multiplexer.get_output_port().Eval(context)
    assert [f.F_Bq_W.translational()[0] for f in joined] == [1.0, 2.0, 3.0]
    assert [multiplexer.get_input_port(i).get_name() for i in range(3)] == ["u0", "u1", "u2"]
    assert ExternallyAppliedSpatialForceMultiplexer(num_inputs=0).num_input_ports() == 0
    with pytest.raises(ValueError, match="num_inputs must be 0 or more, got -1"):
        ExternallyAppliedSpatialForceMultiplexer(-1)


def test_propellers_hold_a_body_in_the_air_and_turn_it() -> None:
    builder = DiagramBuilder()
    plant = free_body_plant(builder)
    index = plant.GetBodyByName("body").index()
    arms = ([0.2, 0.2, 0.0], [-0.2, -0.2, 0.0])
    infos = [PropellerInfo(index, RigidTransform(np.array(arm)), 2.0, 0.1) for arm in arms]
    propeller = builder.AddSystem(Propeller(infos))
    assert propeller.num_propellers() == 2 and propeller.get_command_input_port().size() == 2
    command = builder.AddSystem(ConstantVectorSource([G / 2.0, G / 2.0]))  # 2 G in all, the weight
    builder.Connect(command.get_output_port(), propeller.get_command_input_port())
    builder.Connect(plant.get_body_poses_output_port(), propeller.get_body_poses_input_port())
    builder.Connect(propeller.get_spatial_forces_output_port(), plant.get_applied_spatial_force_input_port())
    simulator = Simulator(builder.Build())
    simulator.AdvanceTo(0.5)
    state = plant.GetPositionsAndVelocities(plant.GetMyContextFromRoot(simulator.get_context()))
    np.testing.assert_allclose(state[4:7], 0.0, atol=1e-10)
    inertia = 2.0 * (0.4**2 + 0.5**2) / 12.0
    np.testing.assert_allclose(state[7:10], [0.0, 0.0, 0.5 * 0.1 * G / inertia], rtol=1e-6, atol=1e-10)


def test_propeller_pushes_along_its_own_axis() -> None:
    X_BP, X_WB = (
        RigidTransform(RollPitchYaw(0.3, -0.4, 1.0), [1.0, 2.0, 3.0]),
        RigidTransform(RollPitchYaw(1, 2, 3), [0, 0, 1]),
    )
    propeller = Propeller(BodyIndex(1), X_BP, 3.0, 0.5)
    context = propeller.CreateDefaultContext()
    propeller.get_command_input_port().FixValue(context, [2.0])
    propeller.get_body_poses_input_port().FixValue(context, Value([RigidTransform(), X_WB]))
    (applied,) = propeller.get_spatial_forces_output_port().Eval(context)
    axis = (X_WB @ X_BP).rotation().matrix()[:, 2]
    np.testing.assert_allclose(applied.F_Bq_W.get_coeffs(), np.concatenate([1.0 * axis, 6.0 * axis]), atol=1e-14)
    np.testing.assert_array_equal(applied.p_BoBq_B, [1.0, 2.0, 3.0])


def test_propeller_of_another_plant_is_reported() -> None:
    propeller = Propeller(BodyIndex(7))
    context = propeller.CreateDefaultContext()
    propeller.get_command_input_port().FixValue(context, [1.0])
    propeller.get_body_poses_input_port().FixValue(context, Value([RigidTransform()]))
    with pytest.raises(RuntimeError, match=r"Propeller .* belongs to body 7, but its inputs are for 1 bodies"):
        propeller.get_spatial_forces_output_port().Eval(context)
    with pytest.raises(TypeError, match="BodyIndex, or a list of PropellerInfo"):
        Propeller(3)  # type: ignore[arg-type]


def wing_force(wing: Any, X_WB: Any, V_WB_W: Any, wind: Any = None, density: float | None = None) -> Any:
    context = wing.CreateDefaultContext()
    wing.get_body_poses_input_port().FixValue(context, Value([RigidTransform(), X_WB]))
    wing.get_body_spatial_velocities_input_port().FixValue(context, Value([SpatialVelocity.Zero(), V_WB_W]))
    if wind is not None:
        wing.get_wind_velocity_input_port().FixValue(context, wind)
    if density is not None:
        wing.get_fluid_density_input_port().FixValue(context, [density])
    (applied,) = wing.get_spatial_force_output_port().Eval(context)
    return applied.F_Bq_W


@pytest.mark.parametrize("angle", [-0.4, 0.1, 1.2])
def test_wing_has_the_lift_and_drag_of_a_flat_plate(angle: float) -> None:
    speed, area = 15.0, 0.3
    wing, X_WB = Wing(BodyIndex(1), area), RigidTransform(RollPitchYaw(0.0, -angle, 0.0), [0, 0, 0])  # nose up
    F = wing_force(wing, X_WB, SpatialVelocity([0, 0, 0], [speed, 0, 0])).translational()
    pressure = 0.5 * 1.204 * speed**2 * area
    lift, drag = 2.0 * math.sin(angle) * math.cos(angle), 2.0 * math.sin(angle) ** 2
    np.testing.assert_allclose(F, pressure * np.array([-drag, 0.0, lift]), atol=1e-12)


def test_wind_and_density_come_through_ports() -> None:
    wing, V = Wing(BodyIndex(1), 0.3), SpatialVelocity([0, 0, 0], [10.0, 0.0, -1.0])
    still = wing_force(wing, RigidTransform(), V).get_coeffs()
    moving = wing_force(wing, RigidTransform(), SpatialVelocity.Zero(), wind=[-10.0, 0.0, 1.0], density=2.408)
    np.testing.assert_allclose(moving.get_coeffs(), 2.0 * still, rtol=1e-14)


def test_spin_of_the_body_does_not_count_unless_the_wing_has_a_body_of_its_own() -> None:
    arm, w, v = np.array([0.5, 0.2, 0.0]), np.array([0.0, 3.0, 0.0]), np.array([10.0, 0.0, -1.0])
    wing = Wing(BodyIndex(1), 0.3, RigidTransform(arm))
    still = wing_force(wing, RigidTransform(), SpatialVelocity([0, 0, 0], v)).get_coeffs()
    np.testing.assert_array_equal(wing_force(wing, RigidTransform(), SpatialVelocity(w, v)).get_coeffs(), still)
    at_center = SpatialVelocity(w, v).Shift(arm)
    damped = wing_force(Wing(BodyIndex(1), 0.3), RigidTransform(arm), at_center).get_coeffs()
    assert damped[5] > 1.5 * still[5]  # the wing sinks at 2.5 m/s, not at 1 m/s


def test_a_wing_added_to_a_diagram_glides() -> None:
    builder = DiagramBuilder()
    plant = free_body_plant(builder)
    index = plant.GetBodyByName("body").index()
    wing = Wing.AddToBuilder(builder, plant, index, 1.0)
    simulator = Simulator(builder.Build())
    simulator.AdvanceTo(3.0)
    context = plant.GetMyContextFromRoot(simulator.get_context())
    # A flat plate that falls: m g = rho S v^2 in the end.
    assert plant.GetVelocities(context)[5] == pytest.approx(-math.sqrt(2.0 * G / 1.204), rel=1e-3)
    center = wing.get_aerodynamic_center_output_port().Eval(wing.GetMyContextFromRoot(simulator.get_context()))
    np.testing.assert_allclose(center, plant.GetPositions(context)[4:])


def test_aerodynamic_center_does_not_feed_the_wind_through() -> None:
    wing = Wing(BodyIndex(1), 1.0)
    through = wing.GetDirectFeedthroughs()
    center = wing.get_aerodynamic_center_output_port().get_index()
    assert [i for i, o in through if o == center] == [wing.get_body_poses_input_port().get_index()]


def test_derivatives_go_through_propellers_and_wings() -> None:
    wing = Wing(BodyIndex(1), 0.3, RigidTransform([0.1, 0.2, 0.3])).ToAutoDiffXd()
    assert isinstance(wing, Wing_[AutoDiffXd])
    v = np.array([10.0, 1.0, -2.0])
    V_WB_W = SpatialVelocity(
        np.array([0.1, 0.2, 0.3]) + 0.0 * InitializeAutoDiff(v).ravel(), InitializeAutoDiff(v).ravel()
    )
    gradient = ExtractGradient(wing_force(wing, RigidTransform(), V_WB_W).translational())
    plain = Wing(BodyIndex(1), 0.3, RigidTransform([0.1, 0.2, 0.3]))
    for k in range(3):
        d = 1e-6 * np.eye(3)[k]
        ends = [wing_force(plain, RigidTransform(), SpatialVelocity([0.1, 0.2, 0.3], v + s * d)) for s in (1, -1)]
        np.testing.assert_allclose(
            gradient[:, k], (ends[0].translational() - ends[1].translational()) / 2e-6, atol=1e-7
        )
    assert isinstance(Propeller(BodyIndex(1)).ToAutoDiffXd(), Propeller_[AutoDiffXd])


def test_at_rest_the_force_of_a_wing_does_not_change_to_first_order() -> None:
    wing = Wing(BodyIndex(1), 0.3).ToAutoDiffXd()
    v = InitializeAutoDiff(np.zeros(3)).ravel()
    force = wing_force(wing, RigidTransform(), SpatialVelocity(0.0 * v, v)).translational()
    np.testing.assert_array_equal(ExtractGradient(force), np.zeros((3, 3)))
