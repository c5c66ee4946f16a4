"""Contact settings of a plant, and MultibodyPlantConfig."""

import dataclasses
import math

import pytest
from plants import box_inertia

from merganser.framework import DiagramBuilder
from merganser.framework.common.errors import DrakeDeprecationWarning
from merganser.framework.math import RigidTransform
from merganser.framework.yaml import yaml_dump_typed, yaml_load_typed
from merganser.geometry import HydroelasticContactRepresentation, Sphere
from merganser.multibody.parsing import ParsingError
from merganser.multibody.plant import (
    AddMultibodyPlant,
    ApplyMultibodyPlantConfig,
    ContactModel,
    CoulombFriction,
    DiscreteContactApproximation,
    DiscreteContactSolver,
    MultibodyPlant,
    MultibodyPlantConfig,
)

OTHER = MultibodyPlantConfig(
    time_step=0.25,
    use_sampled_output_ports=False,
    penetration_allowance=0.5,
    stiction_tolerance=0.125,
    contact_model="point",
    discrete_contact_approximation="tamsi",
    sap_near_rigid_threshold=0.375,
    contact_surface_representation="triangle",
    adjacent_bodies_collision_filters=False,
)


def test_every_setting_of_a_config_reaches_the_plant():
    plant, scene_graph = AddMultibodyPlant(OTHER, builder := DiagramBuilder())
    assert builder.GetSystems() == [plant, scene_graph]
    assert (plant.time_step(), plant.has_sampled_output_ports()) == (0.25, False)
    assert plant.get_contact_model() is ContactModel.kPoint is ContactModel.kPointContactOnly
    assert plant.get_discrete_contact_approximation() is DiscreteContactApproximation.kTamsi
    assert plant.get_discrete_contact_solver() is DiscreteContactSolver.kTamsi
    assert plant.get_sap_near_rigid_threshold() == 0.375
    assert plant.get_contact_surface_representation() is HydroelasticContactRepresentation.kTriangle
    assert not plant.get_adjacent_bodies_collision_filters()
    assert (plant._settings.choices.penetration_allowance, plant._settings.choices.stiction_tolerance) == (0.5, 0.125)


def test_the_defaults_of_a_config_are_those_of_a_plant():
    bare = MultibodyPlant(0.001)
    configured, _ = AddMultibodyPlant(MultibodyPlantConfig(), DiagramBuilder())
    for name in (
        "contact_model", "contact_approximation", "near_rigid_threshold", "penetration_allowance",
        "stiction_tolerance", "filters_adjacent_bodies",
    ):  # fmt: skip
        assert getattr(bare._settings.choices, name) == getattr(configured._settings.choices, name)
    assert bare.has_sampled_output_ports() == configured.has_sampled_output_ports()
    assert bare.get_contact_surface_representation() is configured.get_contact_surface_representation()


def test_a_config_goes_through_dictionaries_and_yaml():
    assert MultibodyPlantConfig(**dataclasses.asdict(OTHER)) == OTHER
    assert yaml_load_typed(schema=MultibodyPlantConfig, data=yaml_dump_typed(OTHER)) == OTHER
    assert yaml_load_typed(defaults=OTHER, data="{time_step: 1e-2}") == dataclasses.replace(OTHER, time_step=0.01)
    assert yaml_dump_typed(dataclasses.replace(OTHER, time_step=2.0), defaults=OTHER) == "time_step: 2.0\n"
    with pytest.raises(ParsingError, match="<string>:2: the document has the unknown entry 'time_stp'"):
        yaml_load_typed(schema=MultibodyPlantConfig, data="contact_model: point\ntime_stp: 0.1\n")


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"contact_model": "hydro"}, "unknown contact_model 'hydro'; known are point"),
        ({"discrete_contact_approximation": ""}, "unknown discrete_contact_approximation"),
        ({"contact_surface_representation": "x"}, "unknown contact_surface_representation"),
        ({"penetration_allowance": 0.0}, "penetration_allowance must be positive"),
        ({"stiction_tolerance": math.nan}, "stiction_tolerance must be positive"),
        ({"sap_near_rigid_threshold": -1.0}, "sap_near_rigid_threshold must be not negative"),
        ({"time_step": -1.0}, "time_step must be not negative"),
    ],
)
def test_a_wrong_setting_is_refused_before_anything_is_changed(setting, message):
    builder = DiagramBuilder()
    with pytest.raises(RuntimeError, match=message):
        AddMultibodyPlant(MultibodyPlantConfig(**setting), builder)
    assert builder.empty()


def test_the_name_of_a_solver_sets_its_approximation_with_a_warning():
    plant, continuous = MultibodyPlant(0.1), MultibodyPlant(0.0)
    for solver, approximation in (
        (DiscreteContactSolver.kTamsi, DiscreteContactApproximation.kTamsi),
        (DiscreteContactSolver.kSap, DiscreteContactApproximation.kSap),
    ):
        with pytest.warns(DrakeDeprecationWarning, match="Use set_discrete_contact_approximation"):
            plant.set_discrete_contact_solver(contact_solver=solver)
        assert plant.get_discrete_contact_solver() is solver
        assert plant.get_discrete_contact_approximation() is approximation
        with pytest.warns(DrakeDeprecationWarning):
            continuous.set_discrete_contact_solver(solver)
        assert continuous.get_discrete_contact_approximation() is DiscreteContactApproximation.kLagged
        config = MultibodyPlantConfig()
        assert config.discrete_contact_solver == ""
        with pytest.warns(DrakeDeprecationWarning, match="Use discrete_contact_approximation"):
            config.discrete_contact_solver = solver.name[1:].lower()
        with pytest.warns(DrakeDeprecationWarning):
            assert MultibodyPlantConfig(discrete_contact_solver=solver.name[1:].lower()) == config
        assert AddMultibodyPlant(config, DiagramBuilder()).plant.get_discrete_contact_approximation() is approximation
    with pytest.raises(RuntimeError, match="unknown discrete_contact_solver 'newton'; known are tamsi, sap"):
        MultibodyPlantConfig(discrete_contact_solver="newton")
    with pytest.raises(TypeError, match="takes a DiscreteContactSolver, not a str"):
        plant.set_discrete_contact_solver("sap")


def test_a_config_fits_a_plant_of_its_time_step_that_is_not_finalized():
    plant = MultibodyPlant(0.5)
    with pytest.raises(RuntimeError, match=r"time step 0.5, but the config has 0.25"):
        ApplyMultibodyPlantConfig(OTHER, plant)
    plant.Finalize()
    with pytest.raises(RuntimeError, match="finalized already"):
        ApplyMultibodyPlantConfig(dataclasses.replace(OTHER, time_step=0.5), plant)
    continuous, _ = AddMultibodyPlant(dataclasses.replace(OTHER, time_step=0.0), DiagramBuilder())
    assert continuous.get_discrete_contact_approximation() is DiscreteContactApproximation.kLagged


def test_settings_are_refused_after_finalize_and_of_wrong_kinds():
    plant = MultibodyPlant(0.5)
    with pytest.raises(TypeError, match="takes a ContactModel, not a str"):
        plant.set_contact_model("point")
    with pytest.raises(RuntimeError, match=r"threshold .* must not be negative"):
        plant.set_sap_near_rigid_threshold(-1.0)
    with pytest.raises(RuntimeError, match="continuous"):
        MultibodyPlant(0.0).set_discrete_contact_approximation(DiscreteContactApproximation.kSap)
    plant.Finalize()
    with pytest.raises(RuntimeError, match=r"set_contact_model\(\): .* is finalized already"):
        plant.set_contact_model(ContactModel.kPoint)
    plant.set_penetration_allowance(0.1)
    plant.set_stiction_tolerance(0.1)
    for wrong in (0.0, -1.0, math.inf):
        with pytest.raises(RuntimeError, match="must be strictly positive"):
            plant.set_stiction_tolerance(wrong)


def test_contact_time_scale_is_that_of_falling_through_the_allowance():
    plant, _ = AddMultibodyPlant(MultibodyPlantConfig(penetration_allowance=0.02), DiagramBuilder())
    body = plant.AddRigidBody("body", box_inertia())
    plant.RegisterCollisionGeometry(body, RigidTransform(), Sphere(0.1), "ball", CoulombFriction(1.0, 1.0))
    plant.mutable_gravity_field().set_gravity_vector([0.0, 3.0, -4.0])
    with pytest.raises(RuntimeError, match="finalized"):
        plant.get_contact_penalty_method_time_scale()
    plant.Finalize()
    assert plant.get_contact_penalty_method_time_scale() == pytest.approx(math.sqrt(0.02 / 5.0), rel=1e-15)
    plant.set_penetration_allowance(0.05)
    assert plant.get_contact_penalty_method_time_scale() == pytest.approx(0.1, rel=1e-15)
    empty = MultibodyPlant(0.01)
    empty.Finalize()
    assert empty.get_contact_penalty_method_time_scale() == -1.0
