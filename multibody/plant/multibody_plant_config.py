"""Making a plant and a SceneGraph that are wired to each other, also by MultibodyPlantConfig, its settings as data."""

from __future__ import annotations

import dataclasses
import enum
import math
from typing import Any, NamedTuple, TypeVar

from merganser.framework import DiagramBuilder
from merganser.framework.common.errors import warn_deprecated
from merganser.framework.common.records import set_known, settings
from merganser.framework.core.inside import scalar_of
from merganser.framework.core.scalars.templates import instantiate
from merganser.geometry import HydroelasticContactRepresentation, SceneGraph
from merganser.multibody.plant.model import ContactModel, DiscreteContactApproximation, DiscreteContactSolver
from merganser.multibody.plant.multibody_plant import MultibodyPlant


class AddMultibodyPlantSceneGraphResult(NamedTuple):
    """The two systems that AddMultibodyPlantSceneGraph() added."""

    plant: MultibodyPlant
    scene_graph: SceneGraph


def AddMultibodyPlantSceneGraph(
    builder: DiagramBuilder,
    time_step: float | MultibodyPlant | None = None,
    scene_graph: SceneGraph | None = None,
    *,
    plant: MultibodyPlant | None = None,
) -> AddMultibodyPlantSceneGraphResult:
    """Adds a plant and a SceneGraph to a diagram, and connects poses one way and queries the other.

    Args:
        builder: of the diagram.
        time_step: of a new plant [s], 0 for a continuous one; or
        plant: a plant that is not finalized yet; new ones are of the scalar type of the builder.
        scene_graph: by default a new one.

    Returns:
        (plant, scene_graph), named "plant" and "scene_graph" in the diagram unless they have names.

    Raises:
        TypeError: neither a time step nor a plant is given, or both; or the scene graph is none.
        RuntimeError: the plant belongs to another SceneGraph, or is finalized without having one.
        ValueError: the time step is wrong; a system of the diagram has the name, or one of the two is in a
            diagram already.
    """
    if isinstance(time_step, MultibodyPlant):
        if plant is not None:
            raise TypeError("AddMultibodyPlantSceneGraph() was given two plants.")
        time_step, plant = None, time_step
    if (time_step is None) == (plant is None):
        raise TypeError("AddMultibodyPlantSceneGraph() takes either a time step or a plant.")
    if plant is None:
        assert time_step is not None
        plant = instantiate(MultibodyPlant, scalar_of(builder))(time_step)
    scene_graph = instantiate(SceneGraph, scalar_of(builder))() if scene_graph is None else scene_graph
    _check_plant_and_graph(plant, scene_graph)
    for system, name in ((plant, "plant"), (scene_graph, "scene_graph")):
        if system.get_name():
            builder.AddSystem(system)
        else:
            builder.AddNamedSystem(name, system)
    source_id = plant.get_source_id()
    if source_id is None:
        source_id = plant.RegisterAsSourceForSceneGraph(scene_graph)
    builder.Connect(plant.get_geometry_pose_output_port(), scene_graph.get_source_pose_port(source_id))
    builder.Connect(
        plant.get_deformable_body_configuration_output_port(), scene_graph.get_source_configuration_port(source_id)
    )
    builder.Connect(scene_graph.get_query_output_port(), plant.get_geometry_query_input_port())
    return AddMultibodyPlantSceneGraphResult(plant, scene_graph)


def _check_plant_and_graph(plant: MultibodyPlant, scene_graph: SceneGraph) -> None:
    """Refuses what cannot be wired, before anything is changed."""
    if not isinstance(plant, MultibodyPlant) or not isinstance(scene_graph, SceneGraph):
        raise TypeError(
            "AddMultibodyPlantSceneGraph() takes a MultibodyPlant and a SceneGraph, got "
            f"{type(plant).__name__} and {type(scene_graph).__name__}."
        )
    source_id = plant.get_source_id()
    if source_id is not None and not scene_graph.SourceIsRegistered(source_id):
        raise RuntimeError(
            f"AddMultibodyPlantSceneGraph(): plant '{plant.get_name()}' is registered with another "
            "SceneGraph; pass that one."
        )
    if source_id is None and plant.is_finalized():
        raise RuntimeError(
            f"AddMultibodyPlantSceneGraph(): plant '{plant.get_name()}' is finalized, so its bodies can no "
            "longer get frames in the SceneGraph. Call this function before Finalize()."
        )


Choice = TypeVar("Choice", bound=enum.Enum)

_CONTACT_MODELS = {
    "point": ContactModel.kPoint,
    "hydroelastic": ContactModel.kHydroelastic,
    "hydroelastic_with_fallback": ContactModel.kHydroelasticWithFallback,
}
_APPROXIMATIONS = {
    "tamsi": DiscreteContactApproximation.kTamsi,
    "sap": DiscreteContactApproximation.kSap,
    "similar": DiscreteContactApproximation.kSimilar,
    "lagged": DiscreteContactApproximation.kLagged,
}
_SOLVERS = {"tamsi": DiscreteContactSolver.kTamsi, "sap": DiscreteContactSolver.kSap}
_REPRESENTATIONS = {
    "triangle": HydroelasticContactRepresentation.kTriangle,
    "polygon": HydroelasticContactRepresentation.kPolygon,
}


@settings
@dataclasses.dataclass(kw_only=True)
class MultibodyPlantConfig:
    """Settings of a plant; the defaults are those of MultibodyPlant, but for the time step.

    To and from dictionaries: `dataclasses.asdict(config)` and `MultibodyPlantConfig(**settings)`; to and from YAML:
    `yaml_dump_typed` and `yaml_load_typed` of merganser.framework.yaml.

    Attributes:
        time_step: of the plant, 0 for a continuous one [s].
        use_sampled_output_ports: see MultibodyPlant.SetUseSampledOutputPorts(); discrete plants only.
        penetration_allowance: see MultibodyPlant.set_penetration_allowance() [m].
        stiction_tolerance: see MultibodyPlant.set_stiction_tolerance() [m/s].
        contact_model: "point", "hydroelastic" or "hydroelastic_with_fallback".
        discrete_contact_approximation: "tamsi", "sap", "similar" or "lagged"; discrete plants only.
        sap_near_rigid_threshold: see MultibodyPlant.set_sap_near_rigid_threshold().
        contact_surface_representation: "triangle" or "polygon".
        adjacent_bodies_collision_filters: see MultibodyPlant.set_adjacent_bodies_collision_filters().
        discrete_contact_solver: deprecated; "tamsi" or "sap" set the approximation of this name. It reads as "".
    """

    time_step: float = 0.001
    use_sampled_output_ports: bool = True
    penetration_allowance: float = 0.001
    stiction_tolerance: float = 0.0001
    contact_model: str = "hydroelastic_with_fallback"
    discrete_contact_approximation: str = "lagged"
    sap_near_rigid_threshold: float = 1.0
    contact_surface_representation: str = "polygon"
    adjacent_bodies_collision_filters: bool = True
    discrete_contact_solver: dataclasses.InitVar[str] = ""

    def __post_init__(self, discrete_contact_solver: str) -> None:
        if discrete_contact_solver:
            self.discrete_contact_solver = discrete_contact_solver

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "discrete_contact_solver":
            _check_choice(name, value, _SOLVERS)
            warn_deprecated(
                "MultibodyPlantConfig.discrete_contact_solver is deprecated. Use discrete_contact_approximation, from "
                "which the solver follows."
            )
            name = "discrete_contact_approximation"
        set_known(self, name, value)


def AddMultibodyPlant(*args: Any, **kwargs: Any) -> AddMultibodyPlantSceneGraphResult:
    """Adds a plant with these settings and a SceneGraph to a diagram, wired as AddMultibodyPlantSceneGraph() does.

    Two forms:

        AddMultibodyPlant(config, builder)
        AddMultibodyPlant(plant_config, scene_graph_config, builder)

    Args:
        config: settings of the plant.
        builder: of the diagram.
        scene_graph_config: settings of the SceneGraph, for its function set_config().

    Returns:
        (plant, scene_graph).

    Raises:
        RuntimeError: a setting is unknown or out of range; then nothing has been added.
        TypeError: the arguments fit neither form.
    """
    if len(args) + len(kwargs) == 3:
        return _add_with_scene_graph_config(*args, **kwargs)
    return _add(*args, **kwargs)


def _add(config: MultibodyPlantConfig, builder: DiagramBuilder) -> AddMultibodyPlantSceneGraphResult:
    _check(config)
    result = AddMultibodyPlantSceneGraph(builder, config.time_step)
    ApplyMultibodyPlantConfig(config, result.plant)
    return result


def _add_with_scene_graph_config(
    plant_config: MultibodyPlantConfig, scene_graph_config: Any, builder: DiagramBuilder
) -> AddMultibodyPlantSceneGraphResult:
    _check(plant_config)
    result = _add(plant_config, builder)
    scene_graph: Any = result.scene_graph
    scene_graph.set_config(scene_graph_config)
    return result


def ApplyMultibodyPlantConfig(config: MultibodyPlantConfig, plant: MultibodyPlant) -> None:
    """Gives a plant these settings. Its time step cannot change.

    Raises:
        RuntimeError: the plant is finalized, has another time step, or a setting is unknown or out of range; then
            nothing is changed.
        TypeError: `config` is no MultibodyPlantConfig.
    """
    _check(config)
    plant._tree._check_not_finalized("ApplyMultibodyPlantConfig")
    if plant.time_step() != config.time_step:
        raise RuntimeError(
            f"ApplyMultibodyPlantConfig(): plant '{plant.GetSystemPathname()}' has the time step {plant.time_step()}, "
            f"but the config has {config.time_step}, which only the constructor can set: use "
            "AddMultibodyPlant(config, builder), or MultibodyPlant(config.time_step)."
        )
    if plant.is_discrete():
        # The one setting that depends on the plant comes first: TAMSI is refused where there are constraints.
        plant.set_discrete_contact_approximation(_APPROXIMATIONS[config.discrete_contact_approximation])
        plant.SetUseSampledOutputPorts(config.use_sampled_output_ports)
    plant.set_penetration_allowance(config.penetration_allowance)
    plant.set_stiction_tolerance(config.stiction_tolerance)
    plant.set_contact_model(_CONTACT_MODELS[config.contact_model])
    plant.set_sap_near_rigid_threshold(config.sap_near_rigid_threshold)
    plant.set_contact_surface_representation(_REPRESENTATIONS[config.contact_surface_representation])
    plant.set_adjacent_bodies_collision_filters(config.adjacent_bodies_collision_filters)


def _check(config: MultibodyPlantConfig) -> None:
    if not isinstance(config, MultibodyPlantConfig):
        raise TypeError(f"Expected a MultibodyPlantConfig, got {type(config).__name__}.")
    _check_choice("contact_model", config.contact_model, _CONTACT_MODELS)
    _check_choice("discrete_contact_approximation", config.discrete_contact_approximation, _APPROXIMATIONS)
    _check_choice("contact_surface_representation", config.contact_surface_representation, _REPRESENTATIONS)
    for name, number, is_valid, expected in (
        ("time_step", config.time_step, config.time_step >= 0.0, "not negative"),
        ("penetration_allowance", config.penetration_allowance, config.penetration_allowance > 0.0, "positive"),
        ("stiction_tolerance", config.stiction_tolerance, config.stiction_tolerance > 0.0, "positive"),
        (
            "sap_near_rigid_threshold",
            config.sap_near_rigid_threshold,
            config.sap_near_rigid_threshold >= 0.0,
            "not negative",
        ),
    ):
        if not (is_valid and math.isfinite(number)):
            raise RuntimeError(f"MultibodyPlantConfig: {name} must be {expected} and finite, but is {number}.")
    for name in ("use_sampled_output_ports", "adjacent_bodies_collision_filters"):
        if not isinstance(getattr(config, name), bool):
            raise TypeError(f"MultibodyPlantConfig: {name} must be True or False, but is {getattr(config, name)!r}.")


def _check_choice(name: str, value: str, choices: dict[str, Choice]) -> None:
    if value not in choices:
        raise RuntimeError(f"MultibodyPlantConfig: unknown {name} '{value}'; known are {', '.join(choices)}.")
