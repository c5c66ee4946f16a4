"""SceneGraphConfig: the proximity properties of geometries that have none of their own."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

from merganser.framework.common.records import settings
from merganser.geometry.registration.materials import CoulombFriction, HydroelasticType
from merganser.geometry.registration.properties import ProximityProperties

_positive = (lambda value: value > 0.0, "positive")
_not_negative = (lambda value: value >= 0.0, "not negative")
_positive_finite = (lambda value: 0.0 < value < math.inf, "positive and finite")
_not_negative_finite = (lambda value: 0.0 <= value < math.inf, "finite and not negative")

_LIMITS: dict[str, tuple[Callable[[float], bool], str]] = {
    "hydroelastic_modulus": _positive,
    "resolution_hint": _positive_finite,
    "slab_thickness": _positive_finite,
    "margin": _not_negative_finite,
    "dynamic_friction": _not_negative,
    "static_friction": _not_negative,
    "hunt_crossley_dissipation": _not_negative,
    "relaxation_time": _not_negative_finite,
    "point_stiffness": _positive,
}


@settings
@dataclass(kw_only=True)
class DefaultProximityProperties:
    """Values for proximity properties that a geometry does not have itself; None gives it none.

    Attributes:
        compliance_type: "undefined", "rigid" or "compliant": whether a geometry takes part in hydroelastic contact.
        hydroelastic_modulus: stiffness of compliant hydroelastic geometry [Pa].
        resolution_hint: length of edges with which primitive shapes are divided [m].
        slab_thickness: thickness of the compliant layer of half spaces [m].
        margin: thickness of the layer in which constraints are added before there is contact [m].
        dynamic_friction: Coulomb coefficient when sliding; given if and only if `static_friction` is.
        static_friction: Coulomb coefficient at rest.
        hunt_crossley_dissipation: of all contact models but SAP's [s/m].
        relaxation_time: of SAP's contact model [s].
        point_stiffness: stiffness of a point contact [N/m].
    """

    compliance_type: str = "undefined"
    hydroelastic_modulus: float | None = 1e7
    resolution_hint: float | None = 0.02
    slab_thickness: float | None = None
    margin: float | None = None
    dynamic_friction: float | None = 0.5
    static_friction: float | None = 0.5
    hunt_crossley_dissipation: float | None = 50.0
    relaxation_time: float | None = 0.1
    point_stiffness: float | None = 1e6


@settings
@dataclass(kw_only=True)
class SceneGraphConfig:
    """Settings of a SceneGraph; see `SceneGraph.set_config`.

    Attributes:
        default_proximity_properties: what geometries of the proximity role get in a Context.
    """

    default_proximity_properties: DefaultProximityProperties = field(default_factory=DefaultProximityProperties)


def default_values(config: SceneGraphConfig) -> dict[tuple[str, str], Any]:
    """Returns the properties that a configuration stands for, by group and name.

    Raises:
        TypeError: the configuration, or a value in it, has the wrong type.
        RuntimeError: a value is out of its range.
    """
    if not isinstance(config, SceneGraphConfig):
        raise TypeError(f"A SceneGraphConfig was expected; given {config!r}.")
    defaults = config.default_proximity_properties
    if not isinstance(defaults, DefaultProximityProperties):
        raise TypeError(f"SceneGraphConfig.default_proximity_properties has the wrong type: {defaults!r}.")
    compliance = {kind.value: kind for kind in HydroelasticType}.get(defaults.compliance_type)
    if compliance is None:
        known = ", ".join(f"'{kind.value}'" for kind in HydroelasticType)
        raise RuntimeError(
            f"Invalid SceneGraphConfig: compliance_type must be one of {known}; given {defaults.compliance_type!r}."
        )
    values = {f.name: _checked(f.name, getattr(defaults, f.name)) for f in fields(defaults) if f.name in _LIMITS}
    static, dynamic = values["static_friction"], values["dynamic_friction"]
    if (static is None) != (dynamic is None):
        raise RuntimeError(
            f"Invalid SceneGraphConfig: static_friction ({static}) and dynamic_friction ({dynamic}) must both have "
            "a value, or neither."
        )
    if static is not None and dynamic is not None and dynamic > static:
        raise RuntimeError(
            f"Invalid SceneGraphConfig: dynamic_friction ({dynamic}) must not exceed static_friction ({static})."
        )
    properties: dict[tuple[str, str], Any] = {("hydroelastic", "compliance_type"): compliance}
    for name in ("hydroelastic_modulus", "resolution_hint", "slab_thickness", "margin"):
        properties["hydroelastic", name] = values[name]
    if static is not None:
        properties["material", "coulomb_friction"] = CoulombFriction(static, dynamic)  # type: ignore[arg-type]
    properties["material", "hunt_crossley_dissipation"] = values["hunt_crossley_dissipation"]
    properties["material", "relaxation_time"] = values["relaxation_time"]
    properties["material", "point_contact_stiffness"] = values["point_stiffness"]
    return {key: value for key, value in properties.items() if value is not None}


def with_defaults(properties: ProximityProperties, defaults: dict[tuple[str, str], Any]) -> ProximityProperties:
    """Adds the values that are missing to proximity properties, in place, and returns these."""
    for (group, name), value in defaults.items():
        if not properties.HasProperty(group, name):
            properties.AddProperty(group, name, value)
    return properties


def _checked(name: str, value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"Invalid SceneGraphConfig: {name} must be a number or None; given {value!r}.")
    within, what = _LIMITS[name]
    if not within(value):
        raise RuntimeError(f"Invalid SceneGraphConfig: {name} must be {what}; given {value}.")
    return float(value)
