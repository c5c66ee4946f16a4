"""What a geometry is in hydroelastic contact: a rigid surface, a compliant volume with its pressure, or a half space.

The pressure of a compliant geometry at rest is p = E e, with the hydroelastic modulus E and the extent e: 0 on the
surface, 1 where the geometry is deepest, linear in each tetrahedron (Elandt et al. 2019, section III.A). With a margin
m, the volume is inflated by m and e = -m / d on its surface, where d is the greatest depth, so that e is 0 where the
surface was; of hulls and files, whose tetrahedra have different heights, only about there, as in pydrake.

With a pressure law of its own, p = f(e, E), a geometry is cut into layers, see pressure_layers.py.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from merganser.geometry.hydroelastic.mesh_shapes import (
    convex_volume,
    file_volume,
    inflated,
    shape_surface,
    surface_vertices,
)
from merganser.geometry.hydroelastic.pressure_layers import in_layers, pressures_of_layers
from merganser.geometry.meshes import ConvertVolumeToSurfaceMesh, TriangleSurfaceMesh, VolumeMesh
from merganser.geometry.meshes.volume_mesh import boundary_triangles
from merganser.geometry.registration.materials import HydroelasticType
from merganser.geometry.registration.properties import ProximityProperties
from merganser.geometry.shapes import SHAPES, Convex, HalfSpace, Mesh, Shape
from merganser.geometry.shapes.measures import is_surface_known

Array = NDArray[np.float64]

_LARGEST = 1e75  # whose fourth power, as of the square of an area, is a float, and the inverse's too [m]
_STEEPEST = 1e150  # whose square is a float, and the inverse's too [Pa/m]


@dataclass(frozen=True, eq=False)
class RigidSurface:
    """A surface that does not give way.

    Attributes:
        mesh: in G, with normals outwards.
    """

    mesh: TriangleSurfaceMesh


@dataclass(frozen=True, eq=False)
class Volume:
    """Tetrahedra and how deep they are.

    Attributes:
        mesh: in G.
        extent: at each vertex, see above, shape [num_vertices].
    """

    mesh: VolumeMesh
    extent: Array


@dataclass(frozen=True, eq=False)
class CompliantVolume:
    """A volume with a pressure that grows inwards.

    Attributes:
        volume: shared by all geometries of this shape.
        modulus: pressure where the extent is 1 [Pa].
    """

    volume: Volume
    modulus: float


@dataclass(frozen=True, eq=False)
class RigidHalfSpace:
    """A half space that does not give way."""


@dataclass(frozen=True, eq=False)
class CompliantHalfSpace:
    """A half space whose pressure grows with the depth.

    Attributes:
        pressure_per_depth: [Pa/m].
    """

    pressure_per_depth: float


Representation = RigidSurface | CompliantVolume | RigidHalfSpace | CompliantHalfSpace


def compliance_of(properties: ProximityProperties) -> HydroelasticType:
    """Returns how a geometry of these properties takes part in hydroelastic contact."""
    return HydroelasticType(
        properties.GetPropertyOrDefault("hydroelastic", "compliance_type", HydroelasticType.kUndefined)
    )


def make_representation(shape: Shape, properties: ProximityProperties, name: str) -> Representation | None:
    """Returns what a geometry is in hydroelastic contact; None if it takes no part.

    Primitive shapes of the same measures share one mesh, and so do all users of a Mesh or Convex.

    Args:
        shape: of the geometry.
        properties: its proximity properties.
        name: what messages call the geometry.

    Raises:
        RuntimeError: a property is missing or out of its range, there is no such representation of the shape, or its
            file cannot be read or is not fit for it.
    """
    compliance = compliance_of(properties)
    if compliance == HydroelasticType.kUndefined:
        return None
    given = _Given(shape, properties, name, compliance)
    try:
        return given.half_space() if isinstance(shape, HalfSpace) else given.body()
    except (RuntimeError, ImportError) as error:
        if str(error).startswith(name):
            raise
        raise RuntimeError(f"{name}, {given.what()}, cannot take part in hydroelastic contact: {error}.") from error


class _Given:
    """A geometry and its properties, which are read with messages that name both."""

    def __init__(self, shape: Shape, properties: ProximityProperties, name: str, compliance: HydroelasticType) -> None:
        self.shape, self.properties, self.name, self.compliance = shape, properties, name, compliance

    def what(self) -> str:
        return f"a {self.compliance.value} {type(self.shape).__name__}"

    def half_space(self) -> Representation:
        if self.compliance == HydroelasticType.kRigid:
            return RigidHalfSpace()
        if self.properties.HasProperty("hydroelastic", "pressure_law"):
            raise RuntimeError(
                f"{self.name}, {self.what()}, has a property ('hydroelastic', 'pressure_law'), but the pressure of "
                "half spaces is linear. Take a Box, or leave the law away."
            )
        adder = "AddCompliantHydroelasticPropertiesForHalfSpace()"
        thickness = self._number("slab_thickness", adder)
        modulus = self._number("hydroelastic_modulus", adder, math.inf)
        _check_growth(modulus, thickness)
        return CompliantHalfSpace(modulus / thickness)

    def body(self) -> Representation:
        is_rigid = self.compliance == HydroelasticType.kRigid
        adder = "AddRigidHydroelasticProperties()" if is_rigid else "AddCompliantHydroelasticProperties()"
        if self.shape.kind.medial is None and is_surface_known(self.shape):
            shape = self.shape
            if isinstance(shape, (Mesh, Convex)):
                shape.source().require_contents()
            if is_rigid:
                return shape._remember("hydroelastic surface", lambda: RigidSurface(shape_surface(shape)))
            margin = self._margin()
            modulus = self._number("hydroelastic_modulus", adder, math.inf)
            key = f"hydroelastic volume with margin {margin!r}"
            return self._compliant(shape._remember(key, lambda: _volume_of_hull(shape, margin)), modulus)
        if self.shape.kind.medial is None or self.shape.kind.half_lengths is None:
            kinds: list[type[Shape]] = [HalfSpace]
            kinds += [each for each in SHAPES if each.kind.medial is not None or each.kind.hull is not None]
            known = ", ".join(sorted(each.__name__ for each in kinds))
            raise RuntimeError(
                f"{self.name} is a {type(self.shape).__name__}, which cannot take part in hydroelastic contact. Leave "
                f"its hydroelastic properties away, or give it one of these shapes: {known}"
            )
        hint = self._number("resolution_hint", adder)
        if is_rigid:
            return _rigid_primitive(self.shape, hint)
        modulus = self._number("hydroelastic_modulus", adder, math.inf)
        _check_measures(self.shape, self._margin())
        _check_growth(modulus, min(self.shape.kind.half_lengths(self.shape)))
        return self._compliant(_compliant_primitive(self.shape, hint, self._margin()), modulus)

    def _compliant(self, volume: Volume, modulus: float) -> CompliantVolume:
        """The volume, with the pressure law of the properties if they have one."""
        law = self.properties.GetPropertyOrDefault("hydroelastic", "pressure_law", None)
        if law is not None:
            num_layers = self.properties.GetProperty("hydroelastic", "pressure_layers")
            volume = _layered(volume, tuple((pressures_of_layers(law, modulus, num_layers) / modulus).tolist()))
        return CompliantVolume(volume, modulus)

    def _number(self, property: str, adder: str, largest: float = math.nan) -> float:
        """A property that must be positive, and finite or at most `largest`."""
        if not self.properties.HasProperty("hydroelastic", property):
            raise RuntimeError(
                f"{self.name}, {self.what()}, lacks the property ('hydroelastic', '{property}'). Add it with {adder}, "
                "or set a default in the SceneGraphConfig."
            )
        value = self.properties.GetProperty("hydroelastic", property)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.0 < value < math.inf:
            raise RuntimeError(
                f"{self.name}, {self.what()}, has a property ('hydroelastic', '{property}') that must be positive and "
                f"finite; it is {value!r}. Change it with UpdateProperty()."
            )
        return float(value)

    def _margin(self) -> float:
        value = self.properties.GetPropertyOrDefault("hydroelastic", "margin", 0.0)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.0 <= value < math.inf:
            raise RuntimeError(
                f"{self.name}, {self.what()}, has a property ('hydroelastic', 'margin') that must be finite and not "
                f"negative; it is {value!r}. Change it with UpdateProperty()."
            )
        return float(value)


def _check_measures(shape: Shape, margin: float) -> None:
    """Raises if a primitive shape is so small or large that its areas cannot be computed."""
    assert shape.kind.half_lengths is not None
    measures = np.array(shape.kind.half_lengths(shape))
    if measures.all() and not (measures.min() > 1.0 / _LARGEST and measures.max() + margin < _LARGEST):
        raise RuntimeError(
            f"its measures and its margin, {', '.join(f'{m:g}' for m in [*measures, margin])} m, must be between "
            f"{1.0 / _LARGEST:g} and {_LARGEST:g} m, or the margin 0, where squares of areas are floats. Change them"
        )


def _check_growth(modulus: float, depth: float) -> None:
    """Raises if the pressure grows too slowly or fast by the depth [m] for computations with it."""
    if depth and not 1.0 / _STEEPEST < modulus / depth < _STEEPEST:
        raise RuntimeError(
            f"its pressure grows by {modulus / depth:g} Pa/m, its hydroelastic modulus of {modulus:g} Pa by a depth of "
            f"{depth:g} m, but must by {1.0 / _STEEPEST:g} to {_STEEPEST:g} Pa/m, whose squares are floats. Change one"
        )


@functools.lru_cache(maxsize=256)
def _compliant_primitive(shape: Shape, hint: float, margin: float) -> Volume:
    _check_measures(shape, margin)
    assert shape.kind.medial is not None
    (mesh, is_inner), on_surface = shape.kind.medial(shape, hint, margin)
    return Volume(mesh, np.where(is_inner, 1.0, on_surface))


@functools.lru_cache(maxsize=256)
def _rigid_primitive(shape: Shape, hint: float) -> RigidSurface:
    return RigidSurface(ConvertVolumeToSurfaceMesh(_compliant_primitive(shape, hint, 0.0).mesh))


@functools.lru_cache(maxsize=64)
def _layered(volume: Volume, pressures: tuple[float, ...]) -> Volume:
    return Volume(*in_layers(volume.mesh, volume.extent, np.array(pressures)))


def _volume_of_hull(shape: Shape, margin: float) -> Volume:
    if not isinstance(shape, Mesh) or shape.extension() != ".vtk":
        mesh = convex_volume(shape, margin)
    else:
        plain = file_volume(shape)
        vertices = inflated(plain.vertex_array(), boundary_triangles(plain), margin)
        mesh = VolumeMesh(plain.tetrahedron_array(), vertices)
    depths = depths_of_vertices(mesh)
    return Volume(mesh, np.where(surface_vertices(mesh), -margin, depths) / depths.max())


def depths_of_vertices(volume: VolumeMesh) -> Array:
    """How far each vertex of a mesh is from its surface [m], shape [num_vertices]."""
    from merganser.geometry.proximity.mesh_distance import MeshDistance  # loads the compiler

    distance = MeshDistance(volume.vertex_array(), boundary_triangles(volume))
    depths = np.zeros(volume.num_vertices())
    for v in np.flatnonzero(~surface_vertices(volume)).tolist():
        depths[v] = abs(distance(volume.vertex_array()[v])[0])
    return depths
