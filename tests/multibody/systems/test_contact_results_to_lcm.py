"""Contact results as messages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from merganser.framework import DiagramBuilder
from merganser.framework.lcm import DrakeLcm
from merganser.framework.lcm.messages import lcmt_contact_results_for_viz
from merganser.framework.math import RigidTransform
from merganser.geometry import (
    AddCompliantHydroelasticProperties,
    AddContactMaterial,
    Box,
    ProximityProperties,
    SceneGraph,
    Sphere,
)
from merganser.multibody.plant import (
    AddMultibodyPlantSceneGraph,
    ConnectContactResultsToDrakeVisualizer,
    ContactResultsToLcmSystem,
    CoulombFriction,
    MultibodyPlant,
)
from merganser.multibody.tree import SpatialInertia


def ball_on_ground(is_hydroelastic: bool, with_derivatives: bool = False) -> tuple[Any, Any]:
    """The message, and the plant's results."""
    builder, lcm, got = DiagramBuilder(), DrakeLcm("memq://"), []
    plant, scene_graph = AddMultibodyPlantSceneGraph(builder, time_step=0.0)
    properties = ProximityProperties()
    AddContactMaterial(friction=CoulombFriction(0.5, 0.5), properties=properties)
    if is_hydroelastic:
        AddCompliantHydroelasticProperties(0.1, 1e6, properties)
    plant.RegisterCollisionGeometry(
        plant.world_body(), RigidTransform([0.0, 0.0, -0.5]), Box(4.0, 4.0, 1.0), "ground", properties
    )
    ball = plant.AddRigidBody("ball", SpatialInertia.SolidSphereWithMass(1.0, 0.1))
    plant.RegisterCollisionGeometry(ball, RigidTransform(), Sphere(0.1), "skin", properties)
    plant.Finalize()
    lcm.Subscribe("CONTACT_RESULTS", got.append)
    if with_derivatives:  # what sends messages has floats only
        to_lcm = builder.AddSystem(ContactResultsToLcmSystem(plant))
        builder.Connect(plant.get_contact_results_output_port(), to_lcm.get_contact_result_input_port())
        builder.ExportOutput(to_lcm.get_lcm_message_output_port())
        diagram = builder.Build().ToAutoDiffXd()
    else:
        publisher = ConnectContactResultsToDrakeVisualizer(builder, plant, scene_graph, lcm)
        assert publisher.get_name() == "contact_results_publisher"
        diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    context.SetTime(1.5)
    plant = diagram.GetSubsystemByName("plant")
    own = plant.GetMyMutableContextFromRoot(context)
    plant.SetPositions(own, [1.0, 0.0, 0.0, 0.0, 0.3, 0.2, 0.099])
    if with_derivatives:
        got.append(diagram.get_output_port().Eval(context).encode())
    diagram.ForcedPublish(context)
    lcm.HandleSubscriptions(0)
    return lcmt_contact_results_for_viz.decode(got[0]), plant.get_contact_results_output_port().Eval(own)


def test_point_contacts_name_bodies_with_their_models() -> None:
    sent, results = ball_on_ground(is_hydroelastic=False)
    assert (sent.timestamp, sent.num_point_pair_contacts, sent.num_hydroelastic_contacts) == (1_500_000, 1, 0)
    contact, info = sent.point_pair_contact_info[0], results.point_pair_contact_info(0)
    assert {contact.body1_name, contact.body2_name} == {"world(0)", "ball(1)"}
    assert contact.contact_point == tuple(info.contact_point()) and contact.contact_force == tuple(info.contact_force())
    assert contact.normal == tuple(info.point_pair().nhat_BA_W)


def test_contact_surfaces_are_sent_with_mesh_pressure_and_names() -> None:
    sent, results = ball_on_ground(is_hydroelastic=True)
    assert (sent.num_point_pair_contacts, sent.num_hydroelastic_contacts) == (0, 1)
    contact, info = sent.hydroelastic_contacts[0], results.hydroelastic_contact_info(0)
    names = {name.rpartition("::")[2] for name in (contact.geometry1_name, contact.geometry2_name)}
    assert names == {"skin", "ground"}
    assert {contact.body1_name, contact.body2_name} == {"ball", "world"}
    assert contact.body1_unique and contact.collision_count1 == 1
    assert contact.force_C_W == tuple(info.F_Ac_W().translational())
    vertices = np.array([[p.x, p.y, p.z] for p in contact.p_WV])
    assert len(vertices) == contact.num_vertices == len(contact.pressure) and max(contact.pressure) > 0
    at, areas, middle = 0, 0.0, np.zeros(3)
    while at < contact.poly_data_int_count:  # each face: how many corners, and which
        corners = vertices[list(contact.poly_data[at + 1 : at + 1 + contact.poly_data[at]])]
        for k in range(1, len(corners) - 1):
            area = 0.5 * np.linalg.norm(np.cross(corners[k] - corners[0], corners[k + 1] - corners[0]))
            areas, middle = areas + area, middle + area * corners[[0, k, k + 1]].mean(axis=0)
        at += 1 + contact.poly_data[at]
    assert areas == pytest.approx(info.contact_surface().total_area())
    assert middle / areas == pytest.approx(contact.centroid_W)


def test_derivatives_are_left_behind() -> None:
    plain, derived = (ball_on_ground(False, with_derivatives)[0] for with_derivatives in (False, True))
    force = plain.point_pair_contact_info[0].contact_force
    assert derived.point_pair_contact_info[0].contact_force == pytest.approx(force)


def test_bad_arguments_are_named_and_nothing_is_added() -> None:
    builder, lcm = DiagramBuilder(), DrakeLcm("memq://")
    plant, scene_graph = AddMultibodyPlantSceneGraph(builder, time_step=0.0)
    with pytest.raises(RuntimeError, match=r"call plant.Finalize\(\) before"):
        ContactResultsToLcmSystem(plant)
    with pytest.raises(TypeError, match="takes a MultibodyPlant"):
        ContactResultsToLcmSystem(scene_graph)
    plant.Finalize()
    with pytest.raises(TypeError, match="a DiagramBuilder, a plant and a SceneGraph"):
        ConnectContactResultsToDrakeVisualizer(builder, plant, plant, lcm)
    with pytest.raises(RuntimeError, match=r"-1\.0"):
        ConnectContactResultsToDrakeVisualizer(builder, plant, scene_graph, lcm, -1.0)
    other = MultibodyPlant(0.0)
    other.Finalize()
    with pytest.raises(ValueError, match="contact_results"):
        ConnectContactResultsToDrakeVisualizer(builder, other, SceneGraph(), lcm)
    assert {system.get_name() for system in builder.GetSystems()} == {"plant", "scene_graph"}
    system = ContactResultsToLcmSystem(plant)
    context = system.CreateDefaultContext()
    system.get_contact_result_input_port().FixValue(context, plant.get_contact_results_output_port().Allocate())
    assert system.get_lcm_message_output_port().Eval(context).num_point_pair_contacts == 0


def test_a_diagram_may_have_several_publishers_of_contacts() -> None:
    builder, lcm = DiagramBuilder(), DrakeLcm("memq://")
    plant, scene_graph = AddMultibodyPlantSceneGraph(builder, time_step=0.0)
    plant.Finalize()
    made = [ConnectContactResultsToDrakeVisualizer(builder, plant, scene_graph, lcm) for _ in range(2)]
    assert [each.get_name() for each in made] == ["contact_results_publisher", "contact_results_publisher_2"]
    assert builder.Build().HasSubsystemNamed("contact_to_lcm_2")
