"""Contact of deformable bodies is pydrake's: by SAP vertices, poses and forces are the same in the same steps.

By Lagged and Similar, which do not come to rest there in long steps, motion is the same in short ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from soft_bodies import bar_mesh
from soft_scenes import SoftScene

import merganser.all as ours

drake: Any = pytest.importorskip("pydrake.all")
drake_fem: Any = pytest.importorskip("pydrake.multibody.fem")
pytestmark = pytest.mark.reference

HUNT_CROSSLEY = pytest.mark.parametrize("approximation", ["kLagged", "kSimilar"])


def mesh_shape(lib: Any, size: Any, cells: Any) -> Any:
    """A block of tetrahedra as a file, which both read."""
    mesh = bar_mesh(size, cells)
    vertices, n = mesh.vertex_array() - [size[0] / 2.0, 0.0, 0.0], mesh.num_elements()
    points = "\n".join(" ".join(f"{x:.17g}" for x in p) for p in vertices)
    cells = "\n".join("4 " + " ".join(map(str, c)) for c in mesh.tetrahedron_array().tolist())
    text = (
        "# vtk DataFile Version 3.0\nmesh\nASCII\nDATASET UNSTRUCTURED_GRID\n"
        f"POINTS {len(vertices)} double\n{points}\nCELLS {n} {5 * n}\n{cells}\nCELL_TYPES {n}\n" + "10\n" * n
    )
    return lib.Mesh(lib.InMemoryMesh(mesh_file=lib.MemoryFile(text, ".vtk", "block.vtk")))


def both(**kwargs: Any) -> list[SoftScene]:
    drake.DeformableBodyConfig, drake.MaterialModel = drake_fem.DeformableBodyConfig, drake_fem.MaterialModel
    return [SoftScene(lib, **{"approximation": "kSap", **kwargs}) for lib in (ours, drake)]


def assert_same_forces(scenes: list[SoftScene], relative: float) -> None:
    mine, theirs = (scene.forces() for scene in scenes)
    assert [one[:2] for one in mine] == [one[:2] for one in theirs] != []
    for (*_, f), (*_, g) in zip(mine, theirs, strict=True):
        assert f == pytest.approx(g, abs=relative * np.linalg.norm(g))


def test_a_block_falls_onto_its_edge_and_comes_to_rest_as_theirs() -> None:
    scenes = both()
    for scene in scenes:
        scene.add_soft(mesh_shape(scene.lib, (0.2, 0.1, 0.1), (4, 2, 2)), (0.0, 0.0, 0.13), rpy=(0.2, 0.5, 0.3))
        scene.finish().advance(0.3)
    assert scenes[0].vertices() == pytest.approx(scenes[1].vertices(), abs=1e-3)
    for scene in scenes:
        scene.advance(1.0)
    assert scenes[0].vertices() == pytest.approx(scenes[1].vertices(), abs=1e-3)
    assert_same_forces(scenes, 1e-3)


def test_a_ball_that_is_thrown_obliquely_bounces_as_theirs() -> None:
    scenes = both()
    for scene in scenes:
        scene.add_soft(scene.lib.Sphere(0.1), (0.0, 0.0, 0.105), hint=0.12)
        scene.finish().throw(0, [1.0, 0.3, -0.5])
        scene.advance(0.15)
    assert scenes[0].vertices() == pytest.approx(scenes[1].vertices(), abs=1e-8)
    assert scenes[0].velocities() == pytest.approx(scenes[1].velocities(), abs=1e-6)
    assert_same_forces(scenes, 1e-5)


@HUNT_CROSSLEY
@pytest.mark.parametrize("num_balls", [1, 2])
def test_balls_bounce_as_theirs_the_better_the_shorter_the_step(
    approximation: str, num_balls: int
) -> None:
    differences = []
    for h in (0.004, 0.002, 0.001):
        scenes = both(approximation=approximation, h=h)
        for scene in scenes:
            for k in range(num_balls):
                scene.add_soft(scene.lib.Sphere(0.1), (0.01 * k, 0.005 * k, 0.105 + 0.2 * k), hint=0.12)
            scene.finish()
            for k in range(num_balls):
                scene.throw(k, [1.0, 0.3, -0.5])
            scene.advance(0.1)
        differences.append(max(abs(scenes[0].vertices(k) - scenes[1].vertices(k)).max() for k in range(num_balls)))
    assert differences[2] < 0.6 * differences[1] < 0.36 * differences[0]
    assert differences[2] < 1e-3


@HUNT_CROSSLEY
def test_a_block_lies_by_the_laws_of_hunt_and_crossley_where_theirs_does(approximation: str) -> None:
    """In steps of 1 ms, in which theirs comes to rest."""
    scenes = both(approximation=approximation, h=0.001)
    for scene in scenes:
        scene.add_soft(mesh_shape(scene.lib, (0.2, 0.1, 0.1), (4, 2, 2)), (0.0, 0.0, 0.0499), damping=0.05)
        scene.finish().advance(0.5)
    assert scenes[0].vertices() == pytest.approx(scenes[1].vertices(), abs=1e-6)
    assert_same_forces(scenes, 1e-4)


@pytest.mark.parametrize("shape", ["Sphere", "Cylinder", "Capsule", "Ellipsoid"])
def test_rigid_bodies_on_a_ball_move_as_theirs(shape: str) -> None:
    sizes = {"Sphere": (0.05,), "Cylinder": (0.07, 0.1), "Capsule": (0.05, 0.1), "Ellipsoid": (0.05, 0.07, 0.09)}
    scenes, poses = both(mu=0.8), []
    for scene in scenes:
        scene.add_soft(scene.lib.Sphere(0.1), (0.0, 0.0, 0.1), hint=0.12, E=5e4)
        body = scene.add_rigid(getattr(scene.lib, shape)(*sizes[shape]))
        scene.finish()
        scene.plant.SetFreeBodyPose(scene.context, body, scene.lib.RigidTransform([0.01, 0.02, 0.3]))
        scene.advance(0.4)
        poses.append(scene.plant.EvalBodyPoseInWorld(scene.context, body).GetAsMatrix4())
    assert scenes[0].vertices() == pytest.approx(scenes[1].vertices(), abs=1e-7)
    assert poses[0] == pytest.approx(poses[1], abs=1e-6)
    assert_same_forces(scenes, 1e-4)


@pytest.mark.parametrize("model", ["kCorotated", "kNeoHookean"])
def test_materials_that_are_not_linear_touch_as_theirs(model: str) -> None:
    """pydrake stops Newton's method at a residual that moves vertices by some 10 um."""
    scenes = both()
    for scene in scenes:
        scene.add_soft(scene.lib.Sphere(0.1), (0.0, 0.0, 0.11), hint=0.12, model=model)
        scene.finish().advance(0.3)
    assert scenes[0].vertices() == pytest.approx(scenes[1].vertices(), abs=1e-4)
    assert_same_forces(scenes, 1e-2)


def test_soft_balls_on_each_other_move_as_theirs() -> None:
    scenes = both()
    for scene in scenes:
        scene.add_soft(scene.lib.Sphere(0.1), (0.0, 0.0, 0.1), hint=0.12)
        scene.add_soft(scene.lib.Sphere(0.1), (0.01, 0.005, 0.295), hint=0.12)
        scene.finish().throw(1, [0.0, 0.2, -0.5])
        scene.advance(0.05)
    for k in range(2):
        assert scenes[0].vertices(k) == pytest.approx(scenes[1].vertices(k), abs=1e-8)
    assert len(scenes[0].forces()) == 2
    assert_same_forces(scenes, 1e-4)


def test_a_ball_fixed_to_a_hand_that_slides_moves_with_it_as_theirs_until_the_floor() -> None:
    """Where hands turn, theirs drives what is fixed along its tangent, and gains energy."""
    scenes, motions = both(), []
    for scene in scenes:
        lib, plant = scene.lib, scene.plant
        id = scene.add_soft(lib.Sphere(0.1), (0.0, 0.0, 0.3), hint=0.12)
        hand = plant.AddRigidBody("hand", lib.SpatialInertia.SolidBoxWithMass(2.0, 0.1, 0.1, 0.1))
        X_BA, shape = lib.RigidTransform([0.0, 0.0, -0.15]), lib.Box(0.3, 0.3, 0.16)
        scene.model.AddFixedConstraint(id, hand, X_BA, shape, lib.RigidTransform())
        at = plant.AddFrame(lib.FixedOffsetFrame("at", plant.world_frame(), lib.RigidTransform([0.0, 0.0, 0.45])))
        plant.AddJoint(lib.PrismaticJoint("slide", at, hand.body_frame(), [0.3, 0.1, 1.0]))
        scene.finish()
        plant.SetVelocities(scene.context, [-0.4])
        scene.advance(0.35)
        motions.append(plant.GetPositionsAndVelocities(scene.context))
    assert scenes[0].vertices() == pytest.approx(scenes[1].vertices(), abs=1e-7)
    assert motions[0] == pytest.approx(motions[1], abs=1e-5)
    assert_same_forces(scenes, 1e-4)


def test_bodies_that_are_switched_off_are_not_felt_as_in_pydrake() -> None:
    """pydrake reports where they overlap with others, with forces of zero."""
    scenes = both()
    for scene in scenes:
        scene.add_soft(scene.lib.Sphere(0.1), (0.0, 0.0, 0.095), hint=0.2)
        scene.add_soft(scene.lib.Sphere(0.1), (0.0, 0.0, 0.28), hint=0.2)
        scene.finish()
        scene.model.Disable(scene.ids[0], scene.context)
        scene.advance(0.03)
    assert scenes[0].vertices(1) == pytest.approx(scenes[1].vertices(1), abs=1e-12)
    assert scenes[0].forces() == []
    assert not any(f.any() for *_, f in scenes[1].forces())
    for scene in scenes:
        scene.model.Enable(scene.ids[0], scene.context)
        scene.advance(0.06)
    assert scenes[0].vertices(0) == pytest.approx(scenes[1].vertices(0), abs=1e-9)
    assert_same_forces(scenes, 1e-4)


def test_geometries_without_properties_and_rigid_ones_take_part_as_theirs() -> None:
    """The modulus is that of the SceneGraph's defaults; a half space is not felt."""
    from merganser.geometry import AddRigidHydroelasticProperties

    drops = []
    for scene, add in zip(both(floor=False), (AddRigidHydroelasticProperties, drake.AddRigidHydroelasticProperties)):
        lib, rigid = scene.lib, scene.properties()
        add(resolution_hint=0.1, properties=rigid)
        at = ((-1.0, lib.Sphere(0.5), rigid), (0.0, lib.Box(0.5, 1.0, 1.0), scene.properties()))
        for x, shape, properties in at:
            X_WG = lib.RigidTransform([x, 0.0, -0.5])
            scene.plant.RegisterCollisionGeometry(scene.plant.world_body(), X_WG, shape, f"at {x}", properties)
            scene.add_soft(lib.Sphere(0.1), (x + 0.02, 0.01, 0.1), hint=0.12)
        plane = lib.RigidTransform([1.0, 0.0, 0.0])
        scene.plant.RegisterCollisionGeometry(
            scene.plant.world_body(), plane, lib.HalfSpace(), "plane", scene.properties()
        )
        scene.finish()
        if lib is ours:
            with pytest.warns(RuntimeWarning, match=r"Half spaces \['plane'\] are not felt"):
                scene.advance(0.01)
        scene.advance(0.1)
        drops.append(np.hstack([scene.vertices(0), scene.vertices(1)]))
        assert len(scene.forces()) == 2
    assert drops[0] == pytest.approx(drops[1], abs=1e-8)
