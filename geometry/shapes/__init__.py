"""Shapes: what a geometry looks like in its own frame G. All lengths in meters."""

from merganser.geometry.shapes.box import Box
from merganser.geometry.shapes.cylinder import Capsule, Cylinder, MeshcatCone
from merganser.geometry.shapes.from_file import Convex, Mesh
from merganser.geometry.shapes.height_field import HalfSpace, HeightField, TerrainMesh
from merganser.geometry.shapes.shape import Core, Shape, ShapeKind
from merganser.geometry.shapes.sphere import Ellipsoid, Sphere

SHAPES: tuple[type[Shape], ...] = (
    Box, Capsule, Convex, Cylinder, Ellipsoid, HalfSpace, HeightField, Mesh, MeshcatCone, Sphere,
    TerrainMesh,
)  # fmt: skip

__all__ = [
    "SHAPES",
    "Box",
    "Capsule",
    "Convex",
    "Core",
    "Cylinder",
    "Ellipsoid",
    "HalfSpace",
    "HeightField",
    "Mesh",
    "MeshcatCone",
    "Shape",
    "ShapeKind",
    "Sphere",
    "TerrainMesh",
]
