"""Deformable bodies move as pydrake's do: same meshes, materials and steps, the same vertices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from soft_bodies import bar_mesh

import merganser.all as ours
import merganser.multibody.fem as our_fem

drake: Any = pytest.importorskip("pydrake.all")
drake_fem: Any = pytest.importorskip("pydrake.multibody.fem")
pytestmark = pytest.mark.reference

BAR = bar_mesh()
G = [0.0, 0.0, -9.81]


def text_of(mesh: Any) -> str:
    """A mesh as a .vtk file."""
    points = "\n".join(" ".join(f"{x:.17g}" for x in p) for p in mesh.vertex_array())
    cells = "\n".join("4 " + " ".join(map(str, c)) for c in mesh.tetrahedron_array().tolist())
    n = mesh.num_elements()
    return (
        "# vtk DataFile Version 3.0\nmesh\nASCII\nDATASET UNSTRUCTURED_GRID\n"
        f"POINTS {mesh.num_vertices()} double\n{points}\nCELLS {n} {5 * n}\n{cells}\nCELL_TYPES {n}\n" + "10\n" * n
    )


class Scene:
    """A plant with one deformable body, of ours or theirs."""

    def __init__(self, lib: Any, fem: Any, shape: Any = None, h: float = 0.01, pose: Any = None, **material: Any):
        self.lib, builder = lib, lib.DiagramBuilder()
        self.plant, self.scene_graph = lib.AddMultibodyPlantSceneGraph(builder, h)
        self.builder = builder
        model = self.plant.mutable_deformable_model()
        config = fem.DeformableBodyConfig()
        config.set_material_model(getattr(fem.MaterialModel, material.get("model", "kLinearCorotated")))
        config.set_youngs_modulus(material.get("E", 1e6))
        config.set_poissons_ratio(material.get("nu", 0.3))
        config.set_mass_density(1000.0)
        config.set_mass_damping_coefficient(material.get("mass_damping", 0.0))
        config.set_stiffness_damping_coefficient(material.get("damping", 0.0))
        if material.get("tolerance"):
            config.set_relative_tolerance(material["tolerance"])
        if shape is None:
            shape = lib.Mesh(lib.InMemoryMesh(mesh_file=lib.MemoryFile(text_of(BAR), ".vtk", "bar.vtk")))
        X = lib.RigidTransform(**pose) if pose else lib.RigidTransform()
        geometry = lib.GeometryInstance(X, shape, "soft")
        geometry.set_proximity_properties(lib.ProximityProperties())
        self.id = model.RegisterDeformableBody(geometry, config, 0.05)
        self.model = model

    def finish(self) -> Scene:
        self.plant.Finalize()
        self.simulator = self.lib.Simulator(self.builder.Build())
        self.context = self.plant.GetMyMutableContextFromRoot(self.simulator.get_mutable_context())
        return self

    def vertices(self, time: float) -> np.ndarray:
        self.simulator.AdvanceTo(time)
        return self.model.GetPositions(self.context, self.id)


def both(**kwargs: Any) -> list[Scene]:
    return [Scene(lib, fem, **kwargs) for lib, fem in ((ours, our_fem), (drake, drake_fem))]


@pytest.mark.parametrize(
    ("model", "tolerance"),
    [("kLinear", 1e-12), ("kLinearCorotated", 1e-12), ("kCorotated", 1e-5), ("kNeoHookean", 1e-5)],
)
@pytest.mark.parametrize("damping", [0.0, 0.01])
def test_a_clamped_bar_swings_as_theirs_does(model: str, tolerance: float, damping: float) -> None:
    """Of materials that are not linear, pydrake stops Newton's method at a residual that moves vertices by some um."""
    scenes = both(model=model, damping=damping, mass_damping=50.0 * damping)
    for scene in scenes:
        scene.model.SetWallBoundaryCondition(scene.id, [1e-6, 0.0, 0.0], [1.0, 0.0, 0.0])
    mine, theirs = (scene.finish().vertices(0.5) for scene in scenes)
    assert mine == pytest.approx(theirs, abs=tolerance)
    assert abs(theirs - BAR.vertex_array().T).max() > 0.005


@pytest.mark.parametrize("model", ["kCorotated", "kNeoHookean"])
def test_steps_are_nearer_to_converged_ones_than_theirs(model: str) -> None:
    """From each of pydrake's states: its step, ours, and ours with the least residual that rounding allows."""
    mine, exact = (Scene(ours, our_fem, model=model, tolerance=tolerance) for tolerance in (None, 1e-14))
    theirs = Scene(drake, drake_fem, model=model)
    for scene in (mine, exact, theirs):
        scene.model.SetWallBoundaryCondition(scene.id, [1e-6, 0.0, 0.0], [1.0, 0.0, 0.0])
        scene.finish()
    errors, parts = [], (theirs.model.GetPositions, theirs.model.GetVelocities)
    for k in range(1, 21):
        state = [np.array(get(theirs.context, theirs.id)) for get in parts]
        for scene in (mine, exact):
            scene.model.SetPositionsAndVelocities(scene.context, scene.id, *state)
        found = [scene.vertices(0.01 * k) for scene in (mine, exact, theirs)]
        errors.append([abs(q - found[1]).max() for q in found])
    of_mine, _, of_theirs = np.max(errors, axis=0)
    assert of_mine < 1e-11 and 1e3 * of_mine < of_theirs < 1e-6


def test_a_ball_falls_as_theirs_does_with_the_same_numbers_about_it() -> None:
    scenes = [
        Scene(lib, fem, lib.Sphere(0.1), 0.005, {"p": [0.1, 0.2, 1.0], "rpy": lib.RollPitchYaw(0.1, 0.2, 0.3)})
        for lib, fem in ((ours, our_fem), (drake, drake_fem))
    ]
    v = np.random.default_rng(1).normal(size=(3, scenes[0].model.GetBody(scenes[0].id).num_dofs() // 3))
    results = []
    for scene in scenes:
        scene.finish()
        scene.model.SetVelocities(scene.context, scene.id, v)
        q, body = scene.vertices(0.2), scene.model.GetBody(scene.id)
        results.append([
            q, scene.model.GetVelocities(scene.context, scene.id), body.CalcCenterOfMassPositionInWorld(scene.context),
            body.CalcCenterOfMassTranslationalVelocityInWorld(scene.context),
            body.CalcEffectiveAngularVelocity(scene.context), body.reference_positions(),
            scene.context.get_discrete_state(scene.model.GetDiscreteStateIndex(scene.id)).value(),
        ])  # fmt: skip
        assert body.num_dofs() == q.size and not body.has_fixed_constraint()
        assert repr(body) == "<DeformableBody name='soft' index=0 model_instance=1>"
    for mine, theirs in zip(*results, strict=True):
        assert mine == pytest.approx(theirs, abs=1e-9)


def test_default_poses_walls_and_switched_off_bodies_are_as_theirs() -> None:
    results = []
    for scene in both():
        scene.model.SetWallBoundaryCondition(scene.id, [1e-6, 0.0, 0.0], [1.0, 0.0, 0.0])
        body = scene.model.GetMutableBody(scene.id)
        body.set_default_pose(scene.lib.RigidTransform([0.0, 0.0, 0.01]))
        scene.finish()
        start = scene.model.GetPositions(scene.context, scene.id)
        q = scene.vertices(0.1)
        scene.model.Disable(scene.id, scene.context)
        stopped = scene.model.GetPositionsAndVelocities(scene.context, scene.id)
        still = scene.vertices(0.2)
        assert not scene.model.is_enabled(scene.id, scene.context)
        scene.model.Enable(scene.id, scene.context)
        results.append([start, q, stopped, still, scene.vertices(0.3)])
    for mine, theirs in zip(*results, strict=True):
        assert mine == pytest.approx(theirs, abs=1e-10)


@pytest.mark.parametrize("density_type", ["kPerCurrentVolume", "kPerReferenceVolume"])
def test_external_forces_push_as_theirs_do(density_type: str) -> None:
    results = []
    for lib, fem in ((ours, our_fem), (drake, drake_fem)):

        class Wind(lib.ForceDensityField):  # type: ignore[misc, name-defined]
            def DoEvaluateAt(self, context: Any, p_WQ: Any) -> Any:
                return np.array([0.0, 3e4 * p_WQ[0], 1e3])

            def DoClone(self) -> Any:
                return type(self)(self.density_type())

        scene, wind = Scene(lib, fem), Wind(getattr(fem.ForceDensityType, density_type))
        scene.model.AddExternalForce(wind)
        scene.model.SetWallBoundaryCondition(scene.id, [1e-6, 0.0, 0.0], [1.0, 0.0, 0.0])
        results.append(scene.finish().vertices(0.3))
        assert len(scene.model.GetExternalForces(scene.id)) == 2
    assert results[0] == pytest.approx(results[1], abs=1e-10)


def test_bodies_fixed_to_the_world_hang_as_theirs_do() -> None:
    """pydrake holds them by stiff springs, which give by some um; a body that is welded to the world it refuses."""
    results = []
    for scene in both(pose={"p": [1.0, 0.0, 0.0]}):
        X_BA = scene.lib.RigidTransform([1.0, 0.0, 0.0])
        scene.model.AddFixedConstraint(
            body_A_id=scene.id, body_B=scene.plant.world_body(), X_BA=X_BA, shape_G=scene.lib.Box(0.02, 0.5, 0.5),
            X_BG=X_BA,
        )  # fmt: skip
        assert scene.model.HasConstraint(scene.id)
        results.append(scene.finish().vertices(0.3))
    assert results[0] == pytest.approx(results[1], abs=2e-5)


def test_balls_have_the_same_vertices_and_tetrahedra() -> None:
    for hint in (1.0, 0.6, 0.3):
        meshes = []
        for lib in (ours, drake):
            scene_graph = lib.SceneGraph()
            source = scene_graph.RegisterSource("test")
            geometry = lib.GeometryInstance(lib.RigidTransform(), lib.Sphere(0.5), "ball")
            world = scene_graph.world_frame_id()
            id = scene_graph.RegisterDeformableGeometry(
                source_id=source, frame_id=world, geometry=geometry, resolution_hint=hint
            )
            inspector = scene_graph.model_inspector()
            assert inspector.IsDeformableGeometry(id) and inspector.GetAllDeformableGeometryIds() == [id]
            assert inspector.NumDeformableGeometriesWithRole(lib.Role.kProximity) == 0
            meshes.append(inspector.GetReferenceMesh(id))
            names = [scene_graph.get_input_port(k).get_name() for k in range(scene_graph.num_input_ports())]
            assert names == ["test_pose", "test_configuration"]
        assert np.array(meshes[0].vertices()) == pytest.approx(np.array(meshes[1].vertices()), abs=1e-15)
        corners = [[[t.vertex(k) for k in range(4)] for t in mesh.tetrahedra()] for mesh in meshes]
        assert corners[0] == corners[1]
