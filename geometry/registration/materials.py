"""The properties that contact models and viewers read, and functions that fill them in.

| group        | property                    | value                                      | unit |
|--------------|-----------------------------|--------------------------------------------|------|
| `material`   | `hunt_crossley_dissipation` | dissipation of the Hunt-Crossley model     | s/m  |
| `material`   | `point_contact_stiffness`   | stiffness of a compliant point contact     | N/m  |
| `material`   | `coulomb_friction`          | static and dynamic coefficient of friction |      |
| `material`   | `relaxation_time`           | dissipation of the SAP contact model       | s    |
| `material`   | `single_contact_point`      | True: touches others at one point, not several |  |
| `material`   | `adhesion`                  | by which each point of contact is pulled together | N |
| `material`   | `surface_velocity`          | of a belt, vector in the geometry's frame  | m/s  |
| `hydroelastic` | `compliance_type`         | HydroelasticType                           |      |
| `hydroelastic` | `hydroelastic_modulus`    | pressure per relative penetration          | Pa   |
| `hydroelastic` | `resolution_hint`         | length of the edges of a mesh              | m    |
| `hydroelastic` | `slab_thickness`          | thickness of a half space's compliant layer | m   |
| `hydroelastic` | `margin`                  | thickness of the layer before contact      | m    |
| `hydroelastic` | `pressure_law`            | function of relative depth and modulus, to Pa |   |
| `hydroelastic` | `pressure_layers`         | number of layers of a pressure law         |      |
| `phong`      | `diffuse`                   | color, Rgba                                |      |
| `phong`      | `diffuse_map`               | image file, seen by cameras                |      |
| `label`      | `id`                        | RenderLabel of label images                |      |
| `renderer`   | `accepting`                 | names of the engines that show the geometry |     |

Coulomb friction coefficients of a surface, which are part of its contact material.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from typing import Any, overload

from numpy.typing import ArrayLike

from merganser.framework.common.enumeration import Enumeration
from merganser.framework.core.values.arguments import checked_number
from merganser.geometry.registration.colors import Rgba
from merganser.geometry.registration.properties import IllustrationProperties, ProximityProperties


class HydroelasticContactRepresentation(Enumeration):
    """What the faces of contact surfaces are."""

    kTriangle = 0
    kPolygon = 1


class HydroelasticType(enum.Enum):
    """Value of the property `compliance_type`: how a geometry takes part in hydroelastic contact, if at all."""

    kUndefined = "undefined"
    kRigid = "rigid"
    kCompliant = "compliant"


_GROUP = "material"
_DISSIPATION = "hunt_crossley_dissipation"
_STIFFNESS = "point_contact_stiffness"
_FRICTION = "coulomb_friction"


@overload
def AddContactMaterial(
    properties: ProximityProperties,
    dissipation: float | None = None,
    point_stiffness: float | None = None,
    friction: Any = None,
) -> None: ...
@overload
def AddContactMaterial(
    dissipation: float | None, point_stiffness: float | None, friction: Any, properties: ProximityProperties
) -> None: ...
def AddContactMaterial(*args: Any, **kwargs: Any) -> None:
    """Adds to `properties` whatever of the contact material is given, and nothing else.

    The properties may also stand last: `AddContactMaterial(dissipation, point_stiffness, friction,
    properties)`.

    Args:
        properties: takes the values.
        dissipation: Hunt-Crossley dissipation [s/m], not negative.
        point_stiffness: stiffness of a compliant point contact [N/m], positive.
        friction: a CoulombFriction, stored as it is.

    Raises:
        TypeError: `properties` is missing or not a ProximityProperties.
        RuntimeError: a value is out of its range, or `properties` has one of them already; then nothing is
            added.
    """
    if args and not isinstance(args[0], ProximityProperties) and len(args) == 4:
        args = (args[3], *args[:3])
    _add_contact_material(*args, **kwargs)


def _add_contact_material(
    properties: ProximityProperties,
    dissipation: float | None = None,
    point_stiffness: float | None = None,
    friction: Any = None,
) -> None:
    if not isinstance(properties, ProximityProperties):
        raise TypeError(f"AddContactMaterial() adds to ProximityProperties; given {properties!r}.")
    if dissipation is not None and not (math.isfinite(dissipation) and dissipation >= 0):
        raise RuntimeError(f"The dissipation must be finite and not negative; given {dissipation}.")
    if point_stiffness is not None and not (math.isfinite(point_stiffness) and point_stiffness > 0):
        raise RuntimeError(f"The point contact stiffness must be finite and positive; given {point_stiffness}.")
    given = {_DISSIPATION: dissipation, _STIFFNESS: point_stiffness, _FRICTION: friction}
    given = {name: value for name, value in given.items() if value is not None}
    _require_absent("AddContactMaterial", properties, _GROUP, given)
    for name, value in given.items():
        properties.AddProperty(_GROUP, name, value if name == _FRICTION else float(value))


@overload
def AddRigidHydroelasticProperties(resolution_hint: float, properties: ProximityProperties) -> None: ...
@overload
def AddRigidHydroelasticProperties(properties: ProximityProperties) -> None: ...
def AddRigidHydroelasticProperties(*args: Any, **kwargs: Any) -> None:
    """Makes a geometry a rigid one of hydroelastic contact.

    Args:
        resolution_hint: length of the edges into which the surface of a primitive shape is divided [m]; not needed
            for shapes that are not divided, like half spaces and meshes.
        properties: takes the values.

    Raises:
        TypeError: `properties` is missing or not a ProximityProperties.
        RuntimeError: the length is not positive and finite, or `properties` has one of the values already; then
            nothing is added.
    """
    if len(args) == 1 and "properties" not in kwargs:
        kwargs["properties"] = args[0]
        args = ()
    _add_rigid(*args, **kwargs)


def _add_rigid(resolution_hint: float | None = None, properties: ProximityProperties | None = None) -> None:
    values: dict[str, Any] = {"compliance_type": HydroelasticType.kRigid}
    if resolution_hint is not None:
        values["resolution_hint"] = _length("AddRigidHydroelasticProperties", "resolution_hint", resolution_hint)
    _add_hydroelastic("AddRigidHydroelasticProperties", properties, values)


def AddCompliantHydroelasticProperties(
    resolution_hint: float, hydroelastic_modulus: float, properties: ProximityProperties
) -> None:
    """Makes a geometry a compliant one of hydroelastic contact: its pressure grows with the depth.

    Args:
        resolution_hint: length of the edges into which the shape is divided [m].
        hydroelastic_modulus: pressure where the depth is greatest [Pa].
        properties: takes the values.

    Raises:
        TypeError: `properties` is not a ProximityProperties, or a number is none.
        RuntimeError: a number is not positive and finite, or `properties` has one of the values
            already; then nothing is added.
    """
    caller = "AddCompliantHydroelasticProperties"
    values = {"resolution_hint": _length(caller, "resolution_hint", resolution_hint)}
    _add_compliant(caller, properties, values, hydroelastic_modulus)


def AddCompliantHydroelasticPropertiesForHalfSpace(
    slab_thickness: float, hydroelastic_modulus: float, properties: ProximityProperties
) -> None:
    """Makes a half space a compliant one of hydroelastic contact: a compliant layer on a rigid core.

    Args:
        slab_thickness: thickness of the layer [m].
        hydroelastic_modulus: pressure at the bottom of the layer [Pa].
        properties: takes the values.

    Raises:
        TypeError: `properties` is not a ProximityProperties, or a number is none.
        RuntimeError: a number is not positive and finite, or `properties` has one of the values
            already; then nothing is added.
    """
    caller = "AddCompliantHydroelasticPropertiesForHalfSpace"
    values = {"slab_thickness": _length(caller, "slab_thickness", slab_thickness)}
    _add_compliant(caller, properties, values, hydroelastic_modulus)


def AddHydroelasticPressureLaw(
    pressure_law: Callable[[float, float], float], properties: ProximityProperties, num_layers: int = 8
) -> None:
    """Gives a compliant geometry a pressure of its own in place of the linear one; pydrake has no such function.

    Tissue that stiffens, say: `AddHydroelasticPressureLaw(lambda e, E: E * e**2, properties)`. The geometry is divided
    into layers, in each of which the pressure is linear, and contact surfaces are found as those of other geometries.
    Plants that are to be pickled need a function of a module.

    Args:
        pressure_law: returns the pressure [Pa] for the depth, as a share e of the greatest depth, and the hydroelastic
            modulus E [Pa]; 0 at e = 0, and growing. It is called once for each end of a layer.
        properties: takes the law.
        num_layers: how many layers there are.

    Raises:
        TypeError: the law cannot be called, or `properties` is not a ProximityProperties.
        RuntimeError: there is not at least one layer, or `properties` has a law already. Laws that are not 0 at 0, or
            do not grow, are refused with the name of the geometry when contact surfaces are first looked for.
    """
    caller = "AddHydroelasticPressureLaw"
    if not callable(pressure_law):
        raise TypeError(f"{caller}(): a pressure law must be a function of depth and modulus; given {pressure_law!r}.")
    if not 1 <= int(num_layers) == num_layers:
        raise RuntimeError(f"{caller}(): num_layers must be a whole number of at least 1; given {num_layers}.")
    _add_hydroelastic(caller, properties, {"pressure_law": pressure_law, "pressure_layers": int(num_layers)})


def _add_compliant(caller: str, properties: ProximityProperties, values: dict[str, Any], modulus: float) -> None:
    modulus = checked_number(modulus, f"{caller}(): hydroelastic modulus [Pa]")
    if not 0.0 < modulus < math.inf:
        raise RuntimeError(f"{caller}(): the hydroelastic modulus must be positive and finite; given {modulus}.")
    values.update(compliance_type=HydroelasticType.kCompliant, hydroelastic_modulus=modulus)
    _add_hydroelastic(caller, properties, values)


def _length(caller: str, name: str, value: float) -> float:
    length = checked_number(value, f"{caller}(): {name} [m]")
    if not 0.0 < length < math.inf:
        raise RuntimeError(f"{caller}(): {name} must be positive and finite; given {value}.")
    return length


def _add_hydroelastic(caller: str, properties: ProximityProperties | None, values: dict[str, Any]) -> None:
    if not isinstance(properties, ProximityProperties):
        raise TypeError(f"{caller}() adds to ProximityProperties; given {properties!r}.")
    _require_absent(caller, properties, "hydroelastic", values)
    for name, value in values.items():
        properties.AddProperty("hydroelastic", name, value)


def _require_absent(caller: str, properties: ProximityProperties, group: str, values: dict[str, Any]) -> None:
    for name in values:
        if properties.HasProperty(group, name):
            raise RuntimeError(
                f"{caller}(): property ('{group}', '{name}') exists already. Use UpdateProperty() to change it."
            )


def MakePhongIllustrationProperties(diffuse: ArrayLike) -> IllustrationProperties:
    """Returns illustration properties with a diffuse color.

    Args:
        diffuse: red, green, blue and opacity, each in [0, 1]; shape [4].

    Raises:
        RuntimeError: a value is outside [0, 1], or there are not 3 or 4 of them.
    """
    color = Rgba()
    color.set(diffuse)
    properties = IllustrationProperties()
    properties.AddProperty("phong", "diffuse", color)
    return properties


class CoulombFriction:
    """Static and dynamic coefficients of friction, without unit; it never changes.

    Args:
        static_friction: ratio of the largest tangential to the normal force at rest.
        dynamic_friction: the same ratio when sliding, at most the static one.

    Raises:
        ValueError: a coefficient is negative or not finite, or the dynamic one is the larger.
    """

    __slots__ = ("_dynamic", "_static")

    def __init__(self, static_friction: float = 0.0, dynamic_friction: float = 0.0) -> None:
        for name, value in (("static", static_friction), ("dynamic", dynamic_friction)):
            if not (math.isfinite(value) and value >= 0.0):
                raise ValueError(f"The {name} friction coefficient must be finite and not negative, got {value}.")
        if dynamic_friction > static_friction:
            raise ValueError(
                f"The dynamic friction coefficient ({dynamic_friction}) cannot exceed the static one "
                f"({static_friction})."
            )
        self._static, self._dynamic = float(static_friction), float(dynamic_friction)

    def static_friction(self) -> float:
        """The coefficient at rest."""
        return self._static

    def dynamic_friction(self) -> float:
        """The coefficient when sliding."""
        return self._dynamic

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CoulombFriction):
            return NotImplemented
        return (self._static, self._dynamic) == (other._static, other._dynamic)

    def __hash__(self) -> int:
        return hash((self._static, self._dynamic))

    def __deepcopy__(self, memo: dict[int, Any]) -> CoulombFriction:
        return self

    def __repr__(self) -> str:
        return f"CoulombFriction(static_friction={self._static}, dynamic_friction={self._dynamic})"
