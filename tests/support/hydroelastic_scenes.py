"""Scenes of hydroelastic geometries: shapes, properties and resultants of contact surfaces."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import merganser.geometry as geometry
from merganser.framework.math import RigidTransform, RotationMatrix

SHAPES = ("sphere", "box", "slab", "cube", "rod", "disk", "round_disk", "capsule", "ellipsoid", "convex", "obj", "vtk")
WEDGE = """# vtk DataFile Version 3.0
a wedge with one inner vertex
ASCII
DATASET UNSTRUCTURED_GRID
POINTS 9 double
-1 -1 -1
1 -1 -1
-1 1 -1
1 1 -1
-1 -1 1
1 -1 1
-1 1 0.2
1 1 0.2
0 0 -0.4
CELLS 12 60
4 8 0 2 1
4 8 1 2 3
4 8 4 5 6
4 8 5 7 6
4 8 0 1 4
4 8 1 5 4
4 8 2 6 3
4 8 3 6 7
4 8 0 4 2
4 8 2 4 6
4 8 1 3 5
4 8 3 7 5
CELL_TYPES 12
10
10
10
10
10
10
10
10
10
10
10
10
"""


def make_shape(library: Any, name: str, folder: Path) -> Any:
    """A shape of a size of 0.1 m; `library` is merganser.geometry or pydrake.geometry."""
    points = np.random.default_rng(0).normal(size=(3, 12)) * 0.07
    if name == "obj":
        path = folder / "solid.obj"
        path.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
        return library.Mesh(str(path), 0.2)
    if name == "vtk":
        path = folder / "solid.vtk"
        path.write_text(WEDGE)
        return library.Mesh(str(path), 0.1)
    return {
        "sphere": lambda: library.Sphere(0.1),
        "box": lambda: library.Box(0.2, 0.15, 0.25),
        "slab": lambda: library.Box(0.2, 0.12, 0.12),
        "cube": lambda: library.Box(0.15, 0.15, 0.15),
        "rod": lambda: library.Cylinder(0.06, 0.2),
        "disk": lambda: library.Cylinder(0.1, 0.08),
        "round_disk": lambda: library.Cylinder(0.08, 0.16),
        "capsule": lambda: library.Capsule(0.06, 0.12),
        "ellipsoid": lambda: library.Ellipsoid(0.06, 0.09, 0.12),
        "convex": lambda: library.Convex(points, "points"),
        "half_space": lambda: library.HalfSpace(),
    }[name]()


def make_properties(library: Any, shape: Any, kind: str, modulus: float = 1e5, hint: float = 0.05) -> Any:
    """Proximity properties of a "rigid" or "compliant" shape, or of one that is "undefined"."""
    properties = library.ProximityProperties()
    if kind == "rigid":
        library.AddRigidHydroelasticProperties(hint, properties)
    elif kind == "compliant" and isinstance(shape, library.HalfSpace):
        library.AddCompliantHydroelasticPropertiesForHalfSpace(0.1, modulus, properties)
    elif kind == "compliant":
        library.AddCompliantHydroelasticProperties(hint, modulus, properties)
    return properties


class Scene:
    """A SceneGraph of either library with one frame for each geometry.

    Args:
        items: shapes and their properties.
        library: merganser.geometry or pydrake.geometry.
    """

    def __init__(self, items: Sequence[tuple[Any, Any]], library: Any = geometry, pose: Any = RigidTransform) -> None:
        self.library, self.pose = library, pose
        self.scene_graph = library.SceneGraph()
        self.source = self.scene_graph.RegisterSource("bodies")
        self.frames, self.ids = [], []
        for i, (shape, properties) in enumerate(items):
            frame = self.scene_graph.RegisterFrame(self.source, library.GeometryFrame(f"frame{i}"))
            instance = library.GeometryInstance(pose(), shape, f"body{i}")
            self.ids.append(self.scene_graph.RegisterGeometry(self.source, frame, instance))
            self.scene_graph.AssignRole(self.source, self.ids[-1], properties)
            self.frames.append(frame)
        self.context = self.scene_graph.CreateDefaultContext()
        self.query = self.scene_graph.get_query_output_port().Eval(self.context)

    def place(self, X_WF: Sequence[Any]) -> Any:
        """Puts the frames at poses, given as matrices of shape [4, 4]; returns the query object."""
        poses = self.library.FramePoseVector()
        for frame, X in zip(self.frames, X_WF, strict=True):
            poses.set_value(frame, self.pose(np.asarray(X)))
        self.scene_graph.get_source_pose_port(self.source).FixValue(self.context, poses)
        return self.query

    def surfaces(self, X_WF: Sequence[Any], representation: str = "kPolygon") -> Any:
        kind = getattr(self.library.HydroelasticContactRepresentation, representation)
        return self.place(X_WF).ComputeContactSurfaces(kind)


def random_pose(rng: np.random.Generator, size: float) -> Any:
    """A matrix of any orientation and a position within a cube, shape [4, 4]."""
    w, x, y, z = rng.normal(size=4)
    R = RotationMatrix.ProjectToRotationMatrix(
        np.array(
            [
                [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
                [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
                [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
            ]
        )
        / (w * w + x * x + y * y + z * z)
    ).matrix()
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = R, rng.uniform(-size, size, 3)
    return X


def resultant(surface: Any) -> tuple[Any, Any, float, Any]:
    """Of the pressure on M, one point a face: force, moment about Wo, area and centroid."""
    faces = range(surface.num_faces())
    field = surface.tri_e_MN() if surface.is_triangle() else surface.poly_e_MN()
    areas = np.array([surface.area(f) for f in faces])
    centroids = np.array([surface.centroid(f) for f in faces])
    normals = np.array([surface.face_normal(f) for f in faces])
    pressures = np.array([field.EvaluateCartesian(f, centroids[f]) for f in faces])
    forces = (areas * pressures)[:, None] * normals
    return forces.sum(axis=0), np.cross(centroids, forces).sum(axis=0), areas.sum(), np.array(surface.centroid())
