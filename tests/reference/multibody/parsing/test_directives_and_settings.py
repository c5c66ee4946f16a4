"""Model directives, constraints, plant configs and motion of frames are as in pydrake."""

from __future__ import annotations

import dataclasses
import itertools
import os
from pathlib import Path

import numpy as np
import pytest
from explicit_products import as_pydrake

import merganser.framework
import merganser.framework.math
import merganser.multibody.parsing
import merganser.multibody.plant
import merganser.multibody.tree
from merganser.framework.yaml import yaml_dump_typed
from merganser.multibody.plant import MultibodyPlantConfig

drake = pytest.importorskip("pydrake.all", reason="pydrake is not installed (extra `reference`)")
drake_parsing = pytest.importorskip("pydrake.multibody.parsing")
drake_plant = pytest.importorskip("pydrake.multibody.plant")
drake_tree = pytest.importorskip("pydrake.multibody.tree")
drake_yaml = pytest.importorskip("pydrake.common.yaml")

pytestmark = pytest.mark.reference

MODELS = Path(os.environ.get("MERGANSER_MODELS", Path(__file__).parents[4].parent / "shared" / "models"))
STATION = """directives:
- add_model:
    name: iiwa
    file: package://drake_models/iiwa_description/urdf/iiwa14_primitive_collision.urdf
    default_joint_positions:
      iiwa_joint_2: [0.4]
      iiwa_joint_4: [-1.2]
- add_weld: {parent: world, child: iiwa::base, X_PC: {translation: [0.1, 0.2, 0.3], rotation: !Rpy {deg: [0, 0, 30]}}}
- add_frame:
    name: iiwa::grasp
    X_PF: {base_frame: iiwa::iiwa_link_7, translation: [0, 0, 0.1], rotation: !Rpy {deg: [90, 20, 10]}}
- add_model: {name: wsg, file: package://drake_models/wsg_50_description/sdf/schunk_wsg_50_no_tip.sdf}
- add_weld: {parent: grasp, child: wsg::body}
- add_model_instance: {name: table}
- add_model:
    name: table::brick
    file: package://drake_models/manipulation_station/061_foam_brick.sdf
    default_free_body_pose:
      base_link: {translation: [1, 2, 3], rotation: !AngleAxis {angle_deg: 40, axis: [0, 1, 0]}}
- add_model:
    name: table::held
    file: package://drake_models/manipulation_station/061_foam_brick.sdf
    default_free_body_pose:
      base_link: {base_frame: 'wsg::body', translation: [0, 0.1, 0]}
- add_collision_filter_group:
    name: arm
    members: ['iiwa::iiwa_link_6', 'iiwa::iiwa_link_5']
    ignored_collision_filter_groups: [hand, arm]
- add_collision_filter_group: {name: hand, members: ['wsg::body', 'table::held::base_link']}
"""


def loaded(parsing, plant_module, framework):
    plant, scene_graph = plant_module.AddMultibodyPlant(plant_module.MultibodyPlantConfig(), framework.DiagramBuilder())
    parser = parsing.Parser(plant, scene_graph)
    if parser.package_map().Contains("drake_models"):
        parser.package_map().Remove("drake_models")
    parser.package_map().Add("drake_models", str(MODELS))
    infos = parsing.ProcessModelDirectives(parsing.LoadModelDirectivesFromString(STATION), parser)
    return plant, scene_graph, parser, infos


@pytest.mark.skipif(not MODELS.is_dir(), reason=f"no models at {MODELS}; set MERGANSER_MODELS")
def test_directives_make_the_same_station_as_in_pydrake():
    ours, our_graph, our_parser, our_infos = loaded(
        merganser.multibody.parsing, merganser.multibody.plant, merganser.framework
    )
    theirs, their_graph, their_parser, their_infos = loaded(drake_parsing, drake_plant, drake)
    for info, reference in zip(our_infos, their_infos, strict=True):
        for name in ("model_name", "model_path", "parent_frame_name", "child_frame_name"):
            assert getattr(info, name) == getattr(reference, name)
        assert int(info.model_instance) == int(reference.model_instance)
        np.testing.assert_allclose(info.X_PC.GetAsMatrix4(), reference.X_PC.GetAsMatrix4(), atol=1e-15)
    groups, expected = (parser.GetCollisionFilterGroups() for parser in (our_parser, their_parser))
    assert (groups.groups(), groups.exclusion_pairs()) == (expected.groups(), expected.exclusion_pairs())
    candidates = [
        {
            tuple(sorted(graph.model_inspector().GetName(id) for id in pair))
            for pair in graph.model_inspector().GetCollisionCandidates()
        }
        for graph in (our_graph, their_graph)
    ]
    assert candidates[0] == candidates[1]
    ours.Finalize()
    theirs.Finalize()
    np.testing.assert_allclose(ours.GetDefaultPositions(), theirs.GetDefaultPositions(), atol=1e-15)
    assert ours.GetPositionNames() == theirs.GetPositionNames()
    context, their_context = ours.CreateDefaultContext(), theirs.CreateDefaultContext()
    for name in ("iiwa::grasp", "wsg::left_finger", "table::brick::base_link", "table::held::base_link"):
        X_WF = merganser.multibody.parsing.GetScopedFrameByName(ours, name).CalcPoseInWorld(context)
        expected_pose = drake_parsing.GetScopedFrameByName(theirs, name).CalcPoseInWorld(their_context)
        np.testing.assert_allclose(X_WF.GetAsMatrix4(), expected_pose.GetAsMatrix4(), atol=1e-13)


def test_directives_are_written_as_in_pydrake():
    ours = merganser.multibody.parsing.LoadModelDirectivesFromString(STATION)
    theirs = drake_parsing.LoadModelDirectivesFromString(STATION)
    assert yaml_dump_typed(ours) == drake_yaml.yaml_dump_typed(theirs)


def test_plant_config_has_the_fields_defaults_and_text_of_pydrakes():
    theirs = drake_plant.MultibodyPlantConfig()
    for field in dataclasses.fields(MultibodyPlantConfig):
        assert getattr(MultibodyPlantConfig(), field.name) == getattr(theirs, field.name)
    assert [f.name for f in dataclasses.fields(MultibodyPlantConfig)] == [f.name for f in theirs.__fields__]
    text = yaml_dump_typed(MultibodyPlantConfig())
    assert text == drake_yaml.yaml_dump_typed(theirs)


@pytest.mark.parametrize("time_step", [0.0, 0.01])
def test_contact_defaults_are_pydrakes(time_step):
    ours = merganser.multibody.plant.MultibodyPlant(time_step)
    theirs = drake_plant.MultibodyPlant(time_step)
    for name in (
        "get_contact_model", "get_discrete_contact_approximation", "get_discrete_contact_solver",
        "get_contact_surface_representation",
    ):  # fmt: skip
        value, expected = getattr(ours, name)(), getattr(theirs, name)()
        assert (value.name, value.value) == (expected.name, expected.value)
    assert ours.get_sap_near_rigid_threshold() == theirs.get_sap_near_rigid_threshold()
    assert ours.get_adjacent_bodies_collision_filters() == theirs.get_adjacent_bodies_collision_filters()


def chain(tree, math, plant):
    """Two bodies on a chain and a third by itself, one constraint of each kind; returns the distance constraint."""
    M = tree.SpatialInertia(1.0, np.zeros(3), tree.UnitInertia(1.0, 1.0, 1.0))
    A, B, C = (plant.AddRigidBody(name, M) for name in "ABC")
    first = plant.AddJoint(tree.RevoluteJoint("first", plant.world_frame(), A.body_frame(), [0, 0, 1]))
    second = plant.AddJoint(tree.PrismaticJoint("second", A.body_frame(), B.body_frame(), [0, 0, 1]))
    plant.AddWeldConstraint(A, math.RigidTransform(), C, math.RigidTransform())
    distance = plant.AddDistanceConstraint(A, [0, 0, 0], B, [0, 0, 1], 2.0, 3.0, 4.0)
    plant.AddBallConstraint(A, [0, 0, 0], C)
    plant.AddCouplerConstraint(first, second, 2.0)
    return distance


def test_constraints_are_counted_ordered_and_changed_as_in_pydrake():
    ours, theirs = merganser.multibody.plant.MultibodyPlant(0.01), drake_plant.MultibodyPlant(0.01)
    ids = []
    for plant, tree, math, module in (
        (ours, merganser.multibody.tree, merganser.framework.math, merganser.multibody.plant),
        (theirs, drake_tree, drake, drake_plant),
    ):
        distance = chain(tree, math, plant)
        plant.Finalize()
        context = plant.CreateDefaultContext()
        params = plant.GetDistanceConstraintParams(context, distance)
        numbers = [int(params.bodyA()), int(params.bodyB()), params.distance(), params.stiffness(), params.damping()]
        changed = module.DistanceConstraintParams(params.bodyA(), [1, 2, 3], params.bodyB(), [4, 5, 6], 7.0, 8.0, 9.0)
        plant.SetDistanceConstraintParams(context, distance, changed)
        plant.SetConstraintActiveStatus(context, distance, False)
        values = plant.GetConstraintIds()
        order = [values.index(id) for id in sorted(values, key=lambda id: id.get_value())]
        status = [plant.GetConstraintActiveStatus(context, id) for id in values]
        read = plant.GetDistanceConstraintParams(context)[distance]
        ids.append((plant.num_constraints(), order, status, numbers, read.p_AP().tolist(), read.damping()))
    assert ids[0] == ids[1]


@pytest.mark.skipif(not MODELS.is_dir(), reason=f"no models at {MODELS}; set MERGANSER_MODELS")
@pytest.mark.parametrize("time_step", [0.0, 0.001])
def test_motion_of_frames_is_that_of_pydrake(time_step):
    rng = np.random.default_rng(5)
    q, v, u = rng.normal(size=7), rng.normal(size=7), rng.normal(size=7)
    results = []
    for parsing, plant_module in (
        (merganser.multibody.parsing, merganser.multibody.plant), (drake_parsing, drake_plant),
    ):  # fmt: skip
        plant = as_pydrake(plant_module.MultibodyPlant(time_step))
        parsing.Parser(plant).AddModels(str(MODELS / "iiwa_description/sdf/iiwa7_no_collision.sdf"))
        plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("iiwa_link_0"))
        plant.Finalize()
        context = plant.CreateDefaultContext()
        plant.SetPositions(context, q)
        plant.SetVelocities(context, v)
        plant.get_actuation_input_port().FixValue(context, u)
        names = ("iiwa_joint_5_parent", "iiwa_link_2", "iiwa_link_4", "iiwa_link_6")
        F, B, M, E = map(plant.GetFrameByName, names)
        found = [F.CalcAngularVelocity(context, M, E), F.EvalAngularVelocityInWorld(context)]
        for kind, (X, Y) in itertools.product(("Velocity", "Acceleration"), ((F, B), (B, F))):
            found += [
                getattr(X, f"CalcSpatial{kind}InWorld")(context).get_coeffs(),
                getattr(X, f"CalcSpatial{kind}")(context, M, E).get_coeffs(),
                getattr(X, f"CalcRelativeSpatial{kind}InWorld")(context, Y).get_coeffs(),
                getattr(X, f"CalcRelativeSpatial{kind}")(context, Y, M, E).get_coeffs(),
            ]
        results.append(np.concatenate(found))
    scale = np.abs(results[1]).max()
    np.testing.assert_allclose(results[0] / scale, results[1] / scale, atol=1e-11)
