"""The properties that contact models and viewers read, and functions that fill them in.

| group        | property                    | value                                      | unit |
|--------------|-----------------------------|--------------------------------------------|------|
| `material`   | `hunt_crossley_dissipation` | dissipation of the Hunt-Crossley model     | s/m  |
| `material`   | `point_contact_stiffness`   | stiffness of a compliant point contact     | N/m  |
| `material`   | `coulomb_friction`          | static and dynamic coefficient of friction |      |
| `phong`      | `diffuse`                   | color, Rgba                                |      |
"""

from __future__ import annotations

import math
from typing import Any, overload

from numpy.typing import ArrayLike

from merganser.geometry.properties import IllustrationProperties, ProximityProperties
from merganser.geometry.rgba import Rgba

__all__ = ["AddContactMaterial", "MakePhongIllustrationProperties"]

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
        raise RuntimeError(
            f"The point contact stiffness must be finite and positive; given {point_stiffness}."
        )
    given = {_DISSIPATION: dissipation, _STIFFNESS: point_stiffness, _FRICTION: friction}
    given = {name: value for name, value in given.items() if value is not None}
    for name in given:
        if properties.HasProperty(_GROUP, name):
            present = f"property ('{_GROUP}', '{name}') exists already"
            raise RuntimeError(f"AddContactMaterial(): {present}. Use UpdateProperty() to change it.")
    for name, value in given.items():
        properties.AddProperty(_GROUP, name, value if name == _FRICTION else float(value))


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
