"""Meldis: what DrakeVisualizer and contact results send over LCM is drawn, and moves; damaged messages are left out."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest

pytest.importorskip("umsgpack", reason="extra `view`")
import umsgpack

from merganser.framework import DiagramBuilder
from merganser.framework.lcm import DrakeLcm
from merganser.framework.lcm.messages import (
    lcmt_contact_results_for_viz,
    lcmt_point_pair_contact_info_for_viz,
    lcmt_viewer_geometry_data,
    lcmt_viewer_link_data,
    lcmt_viewer_load_robot,
)
from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.geometry import (
    Box,
    Capsule,
    Cylinder,
    DrakeVisualizer,
    Ellipsoid,
    HeightField,
    InMemoryMesh,
    MemoryFile,
    Mesh,
    MeshcatParams,
    Sphere,
)
from merganser.multibody.plant import AddMultibodyPlantSceneGraph
from merganser.multibody.tree import SpatialInertia
from merganser.multibody.visualization import Meldis

TETRAHEDRON = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
SHAPES = [
    Box(0.1, 0.2, 0.3), Sphere(0.1), Cylinder(0.1, 0.2), Capsule(0.1, 0.2), Ellipsoid(0.1, 0.2, 0.3),
    HeightField([[0.0, 0.1], [0.0, 0.2]], 1.0, 1.0),
    Mesh(InMemoryMesh(mesh_file=MemoryFile(TETRAHEDRON, ".obj", "tetrahedron"))),
]  # fmt: skip


@pytest.fixture
def meldis() -> Meldis:
    return Meldis(meshcat_params=MeshcatParams(port=0), lcm=DrakeLcm("memq://"))


def pose_at(meldis: Meldis, path: str) -> np.ndarray:
    return np.array(umsgpack.unpackb(meldis.meshcat._GetPackedTransform(path))["matrix"]).reshape(4, 4).T


def test_what_drake_visualizer_sends_is_drawn_where_it_is(meldis: Meldis) -> None:
    builder = DiagramBuilder()
    plant, scene_graph = AddMultibodyPlantSceneGraph(builder, 0.0)
    X_WB, X_BG = RigidTransform(RollPitchYaw(0.1, 0.2, 0.3), [1.0, 2.0, 3.0]), RigidTransform([0.0, 0.0, 0.5])
    for number, shape in enumerate(SHAPES):
        body = plant.AddRigidBody(f"body{number}", SpatialInertia.SolidSphereWithMass(1.0, 0.1))
        plant.RegisterVisualGeometry(body, X_BG, shape, "look", np.array([0.1, 0.2, 0.3, 0.4]))
        plant.SetDefaultFloatingBaseBodyPose(body, X_WB)
    plant.Finalize()
    DrakeVisualizer.AddToBuilder(builder, scene_graph, meldis._lcm)
    diagram = builder.Build()
    for _ in range(2):  # the second time it is there already
        diagram.ForcedPublish(diagram.CreateDefaultContext())
        assert meldis.draw_messages() > 0
    for number in range(len(SHAPES)):
        path = f"/DRAKE_VIEWER/1/plant/body{number}"
        np.testing.assert_allclose(pose_at(meldis, path), X_WB.GetAsMatrix4(), atol=1e-6)
        np.testing.assert_allclose(pose_at(meldis, f"{path}/0"), X_BG.GetAsMatrix4(), atol=1e-6)
        assert meldis.meshcat._GetPackedObject(f"{path}/0")


def test_forces_at_points_are_arrows(meldis: Meldis) -> None:
    contact: Any = lcmt_point_pair_contact_info_for_viz()
    contact.body1_name, contact.body2_name = "a", "b"
    contact.contact_point, contact.contact_force, contact.normal = (1.0, 2.0, 3.0), (0.0, 0.0, 5.0), (0.0, 0.0, 1.0)
    message: Any = lcmt_contact_results_for_viz()
    message.num_point_pair_contacts, message.point_pair_contact_info = 1, [contact]
    meldis._lcm.Publish("CONTACT_RESULTS", message.encode())
    assert meldis.draw_messages() == 1
    np.testing.assert_allclose(pose_at(meldis, "/CONTACT_RESULTS/point/a+b")[:3, 3], [1.0, 2.0, 3.0])


def test_damaged_messages_are_left_out_with_a_warning(meldis: Meldis, caplog: pytest.LogCaptureFixture) -> None:
    bad, good = lcmt_viewer_geometry_data(), lcmt_viewer_geometry_data()
    bad.type, bad.num_float_data, bad.float_data = bad.SPHERE, 1, [-1.0]
    good.type, good.num_float_data, good.float_data = good.SPHERE, 1, [1.0]
    bad.quaternion = good.quaternion = (1.0, 0.0, 0.0, 0.0)
    link, message = lcmt_viewer_link_data(), lcmt_viewer_load_robot()
    link.name, link.num_geom, link.geom = "ball", 2, [bad, good]
    message.num_links, message.link = 1, [link]
    with caplog.at_level(logging.WARNING):
        meldis._lcm.Publish("DRAKE_VIEWER_LOAD_ROBOT", message.encode())
        meldis._lcm.Publish("DRAKE_VIEWER_DRAW", b"no message")
        meldis.draw_messages()
    assert "geometry 0 of 'ball' is not drawn" in caplog.text
    assert "a message on channel 'DRAKE_VIEWER_DRAW' is not drawn" in caplog.text
    assert meldis.meshcat.HasPath("/DRAKE_VIEWER/0/ball/1") and not meldis.meshcat.HasPath("/DRAKE_VIEWER/0/ball/0")


def test_without_a_page_it_ends_after_its_timeout(meldis: Meldis) -> None:
    meldis.serve_forever(idle_timeout=0.01)
    with pytest.raises(ValueError, match="idle_timeout must be positive or None; given 0"):
        meldis.serve_forever(idle_timeout=0.0)
