"""Collision filters of Finalize(): bodies that are welded together, and neighbors along joints."""

import pytest

from merganser.framework import DiagramBuilder
from merganser.framework.math import RigidTransform
from merganser.geometry import CollisionFilterDeclaration, SceneGraph, Sphere
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction, MultibodyPlant
from merganser.multibody.tree import QuaternionFloatingJoint, RevoluteJoint, RigidBody, RpyFloatingJoint, SpatialInertia

WELDED = {"bc", "ef", "we", "wf"}
JOINED = {"ab", "cd", "ei", "gh"}


class Mechanism:
    """world -revolute- a -revolute- b -weld- c -revolute- d -quaternion- g -rpy- h; world -weld- e -weld- f;
    e -revolute- i; j is free."""

    def __init__(self) -> None:
        self.plant, self.graph = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.0)
        M_BBo_B = SpatialInertia.SolidSphereWithMass(1.0, 0.1)
        self.bodies: dict[str, RigidBody] = {"w": self.plant.world_body()}
        self.bodies |= {name: self.plant.AddRigidBody(name, M_BBo_B) for name in "abcdefghij"}
        for parent, child in ("wa", "ab", "cd", "ei"):
            frames = (self.bodies[parent].body_frame(), self.bodies[child].body_frame())
            self.plant.AddJoint(RevoluteJoint(parent + child, *frames, [0, 0, 1]))
        for parent, child in ("bc", "we", "ef"):
            self.plant.WeldFrames(self.bodies[parent].body_frame(), self.bodies[child].body_frame())
        d, g, h = (self.bodies[name].body_frame() for name in "dgh")
        self.plant.AddJoint(QuaternionFloatingJoint("dg", d, g))
        self.plant.AddJoint(RpyFloatingJoint("gh", g, h))
        for name, body in self.bodies.items():
            self.plant.RegisterCollisionGeometry(body, RigidTransform(), Sphere(1), name, CoulombFriction(1, 1))

    def filtered(self) -> set[str]:
        return filtered(self.graph)


def filtered(graph: SceneGraph) -> set[str]:
    inspector = graph.model_inspector()
    ids = inspector.GetAllGeometryIds()
    pairs = [(a, b) for i, a in enumerate(ids) for b in ids[i + 1 :]]
    return {inspector.GetName(a) + inspector.GetName(b) for a, b in pairs if inspector.CollisionFiltered(a, b)}


def test_welded_and_adjacent_bodies_do_not_collide() -> None:
    mechanism = Mechanism()
    assert mechanism.filtered() == set()
    mechanism.plant.Finalize()
    assert mechanism.filtered() == WELDED | JOINED


def test_adjacent_bodies_collide_if_so_chosen() -> None:
    mechanism = Mechanism()
    mechanism.plant.set_adjacent_bodies_collision_filters(False)
    mechanism.plant.Finalize()
    assert mechanism.filtered() == WELDED


def test_geometries_of_bodies_can_be_filtered_together() -> None:
    mechanism = Mechanism()
    bodies = [mechanism.bodies[name] for name in "ahj"]
    geometries = mechanism.plant.CollectRegisteredGeometries(bodies)
    mechanism.graph.collision_filter_manager().Apply(CollisionFilterDeclaration().ExcludeWithin(geometries))
    assert mechanism.filtered() == {"ah", "aj", "hj"}
    plain = MultibodyPlant(0.0)
    with pytest.raises(RuntimeError, match="not registered with a SceneGraph"):
        plain.CollectRegisteredGeometries([plain.world_body()])
    with pytest.raises((RuntimeError, TypeError), match="CollectRegisteredGeometries"):
        mechanism.plant.CollectRegisteredGeometries([plain.world_body()])
