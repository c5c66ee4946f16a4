"""A scene registered with pydrake too: the same names, counts, answers and refusals."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pydrake = pytest.importorskip("pydrake", reason="compares with pydrake, extra `reference`")
import pydrake.geometry as drake  # noqa: E402
import pydrake.math as drake_math  # noqa: E402

import merganser.framework.math as our_math  # noqa: E402
import merganser.geometry as ours  # noqa: E402

pytestmark = pytest.mark.reference


class Scene:
    """Two sources with random frame trees and a geometry on each frame, in one of the two libraries."""

    def __init__(self, geometry: Any, math: Any) -> None:
        rng = np.random.default_rng(11)
        self.geometry = geometry
        self.math = math
        self.graph = geometry.SceneGraph()
        self.sources = [self.graph.RegisterSource(name) for name in ("a", "b")]
        self.frames: list[list[Any]] = [[], []]
        self.geometries: list[Any] = []
        self.X_PF: dict[Any, Any] = {}
        for i in range(20):
            which = i % 2
            parents = [self.graph.world_frame_id(), *self.frames[which]]
            parent = parents[rng.integers(len(parents))]
            frame = geometry.GeometryFrame(f"f{i}", i % 3)
            frame = self.graph.RegisterFrame(self.sources[which], parent, frame)
            self.frames[which].append(frame)
            self.X_PF[frame] = self.random_pose(rng)
            shape = geometry.Box(*rng.uniform(0.1, 1, 3)) if i % 4 else geometry.Sphere(0.5)
            instance = geometry.GeometryInstance(self.random_pose(rng), shape, f" g{i} ")
            if i % 2:
                instance.set_proximity_properties(geometry.ProximityProperties())
            if i % 3:
                instance.set_illustration_properties(geometry.MakePhongIllustrationProperties([1, 0, 0, 1]))
            self.geometries.append(self.graph.RegisterGeometry(self.sources[which], frame, instance))
        floor = geometry.GeometryInstance(self.random_pose(rng), geometry.HalfSpace(), "floor")
        self.geometries.append(self.graph.RegisterAnchoredGeometry(self.sources[1], floor))
        self.context = self.graph.CreateDefaultContext()
        for source, frames in zip(self.sources, self.frames):
            poses = geometry.FramePoseVector()
            for frame in frames:
                poses.set_value(frame, self.X_PF[frame])
            self.graph.get_source_pose_port(source).FixValue(self.context, poses)

    def random_pose(self, rng: np.random.Generator) -> Any:
        rpy, p = rng.uniform(-3, 3, 3), rng.normal(size=3)
        return self.math.RigidTransform(self.math.RollPitchYaw(rpy), p)

    def all_frames(self) -> list[Any]:
        return self.frames[0] + self.frames[1]

    def query(self) -> Any:
        return self.graph.get_query_output_port().Eval(self.context)


@pytest.fixture
def scenes() -> tuple[Scene, Scene]:
    return Scene(ours, our_math), Scene(drake, drake_math)


def test_poses_through_the_query_port_agree(scenes: tuple[Scene, Scene]) -> None:
    queries = [scene.query() for scene in scenes]
    pairs = list(zip(*(scene.geometries for scene in scenes)))
    pairs += list(zip(*(scene.all_frames() for scene in scenes)))
    for ids in pairs:
        X_W = [query.GetPoseInWorld(id).GetAsMatrix4() for query, id in zip(queries, ids)]
        np.testing.assert_allclose(X_W[0], X_W[1], rtol=0, atol=1e-14)
    for frames in zip(*(scene.all_frames() for scene in scenes)):
        X_PF = [query.GetPoseInParent(id).GetAsMatrix4() for query, id in zip(queries, frames)]
        np.testing.assert_allclose(X_PF[0], X_PF[1], rtol=0, atol=1e-15)


def test_inspectors_agree(scenes: tuple[Scene, Scene]) -> None:
    def facts(scene: Scene) -> dict[str, Any]:
        inspector, role = scene.query().inspector(), scene.geometry.Role
        frames = inspector.GetAllFrameIds()
        geometries = inspector.GetAllGeometryIds()
        roles = (role.kUnassigned, role.kProximity, role.kIllustration, role.kPerception)
        return {
            "numbers": (inspector.num_sources(), inspector.num_frames(), inspector.num_geometries()),
            "dynamic": (inspector.NumDynamicGeometries(), inspector.NumAnchoredGeometries()),
            "sources": [inspector.GetName(id) for id in inspector.GetAllSourceIds()],
            "frames": [inspector.GetName(id) for id in frames],
            "groups": [inspector.GetFrameGroup(id) for id in frames],
            "owners": [inspector.GetOwningSourceName(id) for id in [*frames, *geometries]],
            "geometries": [inspector.GetName(id) for id in geometries],
            "per role": [inspector.NumGeometriesWithRole(r) for r in roles],
            "per frame": [[inspector.NumGeometriesForFrameWithRole(id, r) for r in roles] for id in frames],
            "of source": [inspector.NumFramesForSource(id) for id in scene.sources],
            "belongs": [inspector.BelongsToSource(id, scene.sources[0]) for id in [*frames, *geometries]],
            "on frame": [inspector.GetName(inspector.GetFrameId(id)) for id in geometries],
            "shapes": [type(inspector.GetShape(id)).__name__ for id in geometries],
            "ports": [scene.graph.get_source_pose_port(id).get_name() for id in scene.sources],
            "query": scene.graph.get_query_output_port().get_name(),
        }

    assert facts(scenes[0]) == facts(scenes[1])


REFUSED: dict[str, Callable[[Scene], object]] = {
    "source name twice": lambda s: s.graph.RegisterSource("a"),
    "frame name twice": lambda s: s.graph.RegisterFrame(s.sources[0], s.geometry.GeometryFrame("f0")),
    "foreign parent": lambda s: s.graph.RegisterFrame(
        s.sources[0], s.frames[1][0], s.geometry.GeometryFrame("new")
    ),
    "foreign geometry": lambda s: s.graph.RemoveGeometry(s.sources[0], s.geometries[1]),
    "role twice": lambda s: s.graph.AssignRole(
        s.sources[1], s.geometries[1], s.geometry.ProximityProperties()
    ),
    "nothing to replace": lambda s: s.graph.AssignRole(
        s.sources[0], s.geometries[0], s.geometry.ProximityProperties(), s.geometry.RoleAssign.kReplace
    ),
    "frame renamed to a name in use": lambda s: s.graph.RenameFrame(s.frames[0][0], "f2"),
    "no such name": lambda s: (
        s.query().inspector().GetGeometryIdByName(s.frames[0][0], s.geometry.Role.kProximity, "missing")
    ),
    "unknown frame": lambda s: s.query().GetPoseInWorld(s.geometry.FrameId.get_new_id()),
    "nameless geometry": lambda s: s.geometry.GeometryInstance(
        s.math.RigidTransform(), s.geometry.Sphere(1), " "
    ),
    "property twice": lambda s: add_twice(s.geometry.ProximityProperties()),
    "no such property": lambda s: s.geometry.ProximityProperties().GetProperty("a", "b"),
    "color out of range": lambda s: s.geometry.Rgba(1, 2, 0),
    "mesh of no size": lambda s: s.geometry.Mesh("a.obj", 0.0),
    "default query": lambda s: s.geometry.QueryObject().GetPoseInWorld(s.frames[0][0]),
    "pose of another source's frame": lambda s: fix_poses(s, s.frames[1]),
    "pose missing": lambda s: fix_poses(s, s.frames[0][1:]),
}


def add_twice(properties: Any) -> None:
    for value in (1, 2):
        properties.AddProperty("a", "b", value)


def fix_poses(scene: Scene, frames: list[Any]) -> object:
    poses = scene.geometry.FramePoseVector()
    for frame in frames:
        poses.set_value(frame, scene.X_PF[frame])
    scene.graph.get_source_pose_port(scene.sources[0]).FixValue(scene.context, poses)
    return scene.query().GetPoseInWorld(scene.frames[0][0])


@pytest.mark.parametrize("what", REFUSED)
def test_both_refuse_with_a_runtime_error(scenes: tuple[Scene, Scene], what: str) -> None:
    for scene in scenes:
        with pytest.raises(RuntimeError):
            REFUSED[what](scene)


@pytest.mark.parametrize("seed", range(3))
def test_shapes_agree(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = {
        "Sphere": 1,
        "Box": 3,
        "Cylinder": 2,
        "Capsule": 2,
        "Ellipsoid": 3,
        "MeshcatCone": 3,
        "HalfSpace": 0,
    }
    for name, size in sizes.items():
        measures = rng.uniform(0.1, 2, size)
        shapes = [getattr(library, name)(*measures) for library in (ours, drake)]
        assert ours.CalcVolume(shapes[0]) == pytest.approx(drake.CalcVolume(shapes[1]), rel=1e-14)
    normal, p_FB = rng.normal(size=3), rng.normal(size=3)
    X_FH = [library.HalfSpace.MakePose(normal, p_FB).GetAsMatrix4() for library in (ours, drake)]
    # Hz and Ho are given; Hx and Hy may point anywhere in the plane.
    np.testing.assert_allclose(X_FH[0][:, 2:], X_FH[1][:, 2:], rtol=0, atol=1e-15)


def test_mesh_descriptions_agree() -> None:
    for name in ("Mesh", "Convex"):
        meshes = [getattr(library, name)("robot/arm.OBJ", scale3=[1, -2, 3]) for library in (ours, drake)]
        assert meshes[0].source().path() == meshes[1].source().path()
        assert meshes[0].source().description() == meshes[1].source().description()
        assert meshes[0].extension() == meshes[1].extension()
        assert meshes[0].scale3().tolist() == meshes[1].scale3().tolist()


def test_contact_materials_agree() -> None:
    properties = [library.ProximityProperties() for library in (ours, drake)]
    for library, filled in zip((ours, drake), properties):
        library.AddContactMaterial(properties=filled, dissipation=2.0, point_stiffness=1e5)
        assert filled.num_groups() == 2
    groups = [filled.GetPropertiesInGroup("material") for filled in properties]
    values = [{name: box.get_value() for name, box in group.items()} for group in groups]
    assert values[0] == values[1]


@pytest.mark.parametrize("cls", sorted(set(ours.__all__) & set(dir(drake))))
def test_public_functions_of_a_class_are_among_those_of_pydrake(cls: str) -> None:
    extra = {
        "CollisionFilterDeclaration": {"statements"},
        "CollisionFilterManager": {"Activate", "Deactivate"},  # of Drake 1.58
        "MeshcatVisualizer": {"surface_displacements_input_port"},  # of Drake 1.58
        "ContactSurface": {"Save", "as_triangles"},
        "FramePoseVector": {"frame_ids", "poses_of", "poses", "rows", "set_poses"},
        "GeometryInstance": {"properties", "set_properties"},
        "GeometrySet": {"frame_ids", "geometry_ids"},
        "GeometryVersion": {"note_change"},
        "MeshcatAnimation": {"message", "note_sliders", "set_drawing", "set_poses"},
        "MeshSource": {"read", "require_contents", "stamp", "supporting_file"},
        "PolygonSurfaceMesh": {"corner_arrays", "normal_array", "triangle_array", "vertex_array"},
        "QueryObject": {
            "ComputeContactManifolds", "bind", "is_bound_to", "proximity_queries", "takes_poses_from", "world_poses",
        },
        "RenderEngine": {
            "DoClone", "DoGetParameterYaml", "DoRegisterVisual", "DoRemoveGeometry", "DoRenderColorImage",
            "DoRenderDepthImage", "DoRenderLabelImage", "DoUpdateVisualPose",  # which users write there, too
            "geometry_ids", "type_name", "update_poses", "update_surface",
        },
        "RenderEngineGlParams": {"cast_shadows", "shadow_map_size"},  # of Drake 1.58
        "RenderLabel": {"of_number"},
        "SceneGraph": {"SourceIsRegistered"},
        "SceneGraphInspector": {"GetFrameIds", "GetParentFrame"},
        "TriangleSurfaceMesh": {"triangle_array", "vertex_array"},
        "VolumeMesh": {"tetrahedron_array", "vertex_array"},
    }
    if cls in ("Role", "RoleAssign") or not isinstance(getattr(ours, cls), type):
        return
    public = {name for name in vars(getattr(ours, cls)) if not name.startswith("_") and name not in ("role", "kind")}
    known = set(dir(getattr(drake, cls))) | {"SetDefaultParameters"}
    assert public - known == extra.get(cls, set())


def filtered_pairs(scene: Scene) -> set[tuple[str, str]]:
    inspector = scene.graph.model_inspector()
    ids = inspector.GetAllGeometryIds(scene.geometry.Role.kProximity)
    pairs = [(a, b) for i, a in enumerate(ids) for b in ids[i + 1 :]]
    return {(inspector.GetName(a), inspector.GetName(b)) for a, b in pairs if inspector.CollisionFiltered(a, b)}


@pytest.mark.parametrize("seed", range(3))
def test_random_collision_filters_agree(scenes: tuple[Scene, Scene], seed: int) -> None:
    """Persistent and transient declarations about random sets of frames and geometries, some taken away again."""
    kinds = ("ExcludeBetween", "AllowBetween", "ExcludeWithin", "AllowWithin")
    answers = []
    for scene in scenes:
        rng = np.random.default_rng(seed)
        manager = scene.graph.collision_filter_manager()
        frames, geometries = scene.all_frames(), scene.geometries[:-1]

        def some(ids: list[Any], rng: np.random.Generator = rng) -> list[Any]:
            return [ids[i] for i in rng.integers(len(ids), size=4)]

        seen, history = [], []
        for step in range(30):
            declaration = scene.geometry.CollisionFilterDeclaration()
            for _ in range(2):
                kind = kinds[rng.integers(4)]
                sets = [scene.geometry.GeometrySet(some(geometries), some(frames)) for _ in range(2)]
                getattr(declaration, kind)(*(sets if "Between" in kind else sets[:1]))
            if step < 10:
                manager.Apply(declaration)
            elif rng.random() < 0.7 or not history:
                history.append(manager.ApplyTransient(declaration))
            else:
                assert manager.RemoveDeclaration(history.pop(rng.integers(len(history))))
            candidates = scene.graph.model_inspector().GetCollisionCandidates()
            seen.append((filtered_pairs(scene), len(candidates), manager.has_transient_history()))
        answers.append(seen)
    assert answers[0] == answers[1]


def test_default_proximity_properties_agree() -> None:
    from pydrake.multibody.plant import CoulombFriction as DrakeFriction

    from merganser.multibody.plant import CoulombFriction as OurFriction

    def facts(geometry: Any, math: Any, friction: Any, chosen: dict[str, Any]) -> dict[str, Any]:
        graph = geometry.SceneGraph()
        defaults = geometry.DefaultProximityProperties(**chosen)
        graph.set_config(geometry.SceneGraphConfig(default_proximity_properties=defaults))
        instance = geometry.GeometryInstance(math.RigidTransform(), geometry.Sphere(1.0), "ball")
        properties = geometry.ProximityProperties()
        geometry.AddContactMaterial(properties, point_stiffness=5.0)
        instance.set_proximity_properties(properties)
        ball = graph.RegisterAnchoredGeometry(graph.RegisterSource(), instance)
        query = graph.get_query_output_port().Eval(graph.CreateDefaultContext())
        found = query.inspector().GetProximityProperties(ball)
        values: dict[str, Any] = {}
        for group in found.GetGroupNames():
            for name, box in found.GetPropertiesInGroup(group).items():
                # pydrake does not return this value to Python.
                value = None if name == "compliance_type" else box.get_value()
                if isinstance(value, friction):
                    value = (value.static_friction(), value.dynamic_friction())
                values[f"{group}.{name}"] = value
        return values

    cases: list[dict[str, Any]] = [
        {},
        {"compliance_type": "compliant", "slab_thickness": 0.3, "margin": 1e-3},
        {"static_friction": None, "dynamic_friction": None, "relaxation_time": None, "resolution_hint": None},
        {"static_friction": 1.0, "dynamic_friction": 0.2, "hunt_crossley_dissipation": 0.0},
    ]
    for chosen in cases:
        assert facts(ours, our_math, OurFriction, chosen) == facts(drake, drake_math, DrakeFriction, chosen)


def test_hydroelastic_properties_have_the_names_of_pydrake() -> None:
    adders: dict[str, tuple[float, ...]] = {
        "AddRigidHydroelasticProperties": (0.1,),
        "AddCompliantHydroelasticProperties": (0.1, 1e7),
        "AddCompliantHydroelasticPropertiesForHalfSpace": (0.1, 1e7),
    }
    for name, numbers in adders.items():
        properties = [library.ProximityProperties() for library in (ours, drake)]
        for library, filled in zip((ours, drake), properties):
            getattr(library, name)(*numbers, filled)
        groups = [filled.GetPropertiesInGroup("hydroelastic") for filled in properties]
        assert set(groups[0]) == set(groups[1])
        for key in set(groups[0]) - {"compliance_type"}:
            assert groups[0][key].get_value() == groups[1][key].get_value()
