"""Deformable links of SDF files."""

from __future__ import annotations

from typing import Any

import pytest

import merganser.all as ours

COLLISION = '<collision name="c"><geometry><sphere><radius>0.1</radius></sphere></geometry>{}</collision>'
PROPERTIES = (
    "<drake:youngs_modulus>1e5</drake:youngs_modulus><drake:poissons_ratio>0.4</drake:poissons_ratio>"
    "<drake:mass_damping>0.1</drake:mass_damping><drake:stiffness_damping>0.02</drake:stiffness_damping>"
    "<drake:mass_density>500</drake:mass_density><drake:material_model>corotated</drake:material_model>"
)
FRICTION = "<drake:proximity_properties><drake:mu_dynamic>0.3</drake:mu_dynamic></drake:proximity_properties>"
WALL = (
    "<drake:wall_boundary_condition><drake:point_on_plane>-0.09 0 0</drake:point_on_plane>"
    "<drake:outward_normal>1 0 0</drake:outward_normal></drake:wall_boundary_condition>"
)


def model(link: str = COLLISION.format(""), properties: str = PROPERTIES, others: str = "") -> str:
    return (
        f'<sdf version="1.7" xmlns:drake="drake.mit.edu"><model name="m"><link name="jelly"><pose>0 0 1 0 0 0.2</pose>'
        f"{link}<drake:deformable_properties>{properties}</drake:deformable_properties></link>{others}</model></sdf>"
    )


def read(text: str, lib: Any = ours, h: float = 0.01) -> tuple[Any, Any, Any]:
    builder = lib.DiagramBuilder()
    plant, scene_graph = lib.AddMultibodyPlantSceneGraph(builder, h)
    lib.Parser(builder).AddModelsFromString(text, "sdf")
    return plant, scene_graph, builder


@pytest.mark.reference
def test_a_link_becomes_the_body_that_pydrake_makes_of_it() -> None:
    drake: Any = pytest.importorskip("pydrake.all")
    results: list[list[Any]] = []
    ends = []
    for lib in (ours, drake):
        plant, scene_graph, builder = read(model(COLLISION.format(FRICTION) + WALL), lib)
        deformables = plant.deformable_model()
        assert plant.num_bodies() == 1 and deformables.num_bodies() == 1
        id = deformables.GetBodyIds(plant.GetModelInstanceByName("m"))[0]
        body, inspector = deformables.GetBody(id), scene_graph.model_inspector()
        config, geometry_id = body.config(), body.geometry_id()
        friction = inspector.GetProximityProperties(geometry_id).GetProperty("material", "coulomb_friction")
        assert inspector.GetIllustrationProperties(geometry_id) is not None
        plant.Finalize()
        simulator = lib.Simulator(builder.Build())
        simulator.AdvanceTo(0.05)
        ends.append(deformables.GetPositions(plant.GetMyContextFromRoot(simulator.get_context()), id))
        results.append([
            body.name(), inspector.GetName(geometry_id), config.youngs_modulus(), config.poissons_ratio(),
            config.mass_damping_coefficient(), config.stiffness_damping_coefficient(), config.mass_density(),
            config.material_model().name, friction.dynamic_friction(),
        ])  # fmt: skip
    assert results[0] == results[1]
    assert ends[0] == pytest.approx(ends[1], abs=1e-5)


def test_what_is_not_said_is_as_in_a_new_config() -> None:
    plant, _, _ = read(model(properties=""))
    body = plant.deformable_model().GetBodyByName("jelly")
    assert body.config().youngs_modulus() == 1e8 and body.num_dofs() == 21
    hint = "<drake:proximity_properties><drake:mesh_resolution_hint>0.1</drake:mesh_resolution_hint>"
    finer, _, _ = read(model(COLLISION.format(f"{hint}</drake:proximity_properties>")))
    assert finer.deformable_model().GetBodyByName("jelly").num_dofs() > 21


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (model("<inertial/>"), "link 'jelly' must have one <collision>.* it has 0 and 0"),
        (model(COLLISION.format("") + COLLISION.format("").replace('"c"', '"d"')), "it has 2 and 0"),
        (model(properties=PROPERTIES.replace("corotated", "rubber")), "material model 'rubber'"),
        (model(properties=PROPERTIES.replace("0.4", "0.5")), r"deformable link .*set_poissons_ratio"),
        (
            model(others='<link name="a"/><joint name="j" type="fixed"><parent>a</parent><child>jelly</child></joint>'),
            "'j' is fixed to the deformable link 'jelly', but only rigid links",
        ),
    ],
)
def test_impossible_arguments_are_errors(text: str, words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        read(text)


def test_continuous_plants_refuse_them_by_name() -> None:
    with pytest.raises(RuntimeError, match="deformable body 'jelly' needs a discrete plant"):
        read(model(), h=0.0)
