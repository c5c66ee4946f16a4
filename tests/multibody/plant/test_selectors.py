"""Selector matrices, what joints move, and pictures of the topology."""

import itertools

import numpy as np
import pytest
from plants import arm_and_box, box_inertia

from merganser.multibody.plant import MultibodyPlant, plot_topology
from merganser.multibody.tree import JointActuatorIndex, JointIndex, RevoluteJoint


@pytest.fixture
def plant():
    return arm_and_box(0.0)


def joint(plant, name):
    return plant.GetJointByName(name).index()


def test_pseudoinverse_gives_the_actuation_back(plant):
    B, B_plus = plant.MakeActuationMatrix(), plant.MakeActuationMatrixPseudoinverse()
    np.testing.assert_array_equal(B_plus.toarray(), np.linalg.pinv(B))
    assert B_plus.nnz == 2


def test_actuators_of_one_joint_share_its_force():
    plant = MultibodyPlant(0.0)
    body = plant.AddRigidBody("b", box_inertia())
    pin = plant.AddJoint(RevoluteJoint("j", plant.world_frame(), body.body_frame(), [0, 0, 1]))
    plant.AddJointActuator("a", pin)
    plant.AddJointActuator("b", pin)
    plant.Finalize()
    np.testing.assert_allclose(plant.MakeActuationMatrixPseudoinverse().toarray(), [[0.5], [0.5]])


def test_state_selector_takes_joints_in_the_given_order(plant):
    S = plant.MakeStateSelectorMatrix(user_to_joint_index_map=[joint(plant, "slide"), joint(plant, "shoulder")])
    x = np.arange(17.0)
    np.testing.assert_array_equal(S @ x, [1.0, 0.0, 10.0, 9.0])
    assert plant.MakeStateSelectorMatrix([]).shape == (0, 17)
    with pytest.raises(RuntimeError, match=r"MakeStateSelectorMatrix\(\): joint 'slide' is listed more than once"):
        plant.MakeStateSelectorMatrix([joint(plant, "slide")] * 2)
    with pytest.raises(RuntimeError, match="index 99"):
        plant.MakeStateSelectorMatrix([JointIndex(99)])
    with pytest.raises(RuntimeError, match=r"MakeStateSelectorMatrix\(\) needs a finalized plant"):
        MultibodyPlant(0.0).MakeStateSelectorMatrix([])


def test_actuator_selector_takes_actuators_or_joints(plant):
    expected = [[0.0, 1.0], [1.0, 0.0]]
    by_actuators = [JointActuatorIndex(1), JointActuatorIndex(0)]
    by_joints = [joint(plant, "slide"), joint(plant, "shoulder")]
    np.testing.assert_array_equal(plant.MakeActuatorSelectorMatrix(by_actuators), expected)
    np.testing.assert_array_equal(plant.MakeActuatorSelectorMatrix(by_joints), expected)
    np.testing.assert_array_equal(plant.MakeActuatorSelectorMatrix(user_to_joint_index_map=by_joints), expected)
    assert plant.MakeActuatorSelectorMatrix([]).shape == (2, 0)
    with pytest.raises(RuntimeError, match="joint 'box' has no actuator"):
        plant.MakeActuatorSelectorMatrix([joint(plant, "box")])
    for bad in (([0],), ([by_joints[0], by_actuators[0]],), ()):
        with pytest.raises(TypeError, match="MakeActuatorSelectorMatrix"):
            plant.MakeActuatorSelectorMatrix(*bad)


def test_joints_move_what_is_outboard_of_them(plant):
    def names(*joints):
        indices = plant.GetBodiesKinematicallyAffectedBy(joint_indexes=[joint(plant, j) for j in joints])
        return [plant.get_body(i).name() for i in indices]

    assert names("shoulder") == ["upper", "lower", "tool"]
    assert names("slide", "box", "box") == ["lower", "tool", "box"]
    weld = next(plant.get_joint(i) for i in plant.GetJointIndices() if plant.get_joint(i).type_name() == "weld")
    assert plant.GetBodiesKinematicallyAffectedBy([weld.index()]) == []
    with pytest.raises(RuntimeError, match="index 99"):
        plant.GetBodiesKinematicallyAffectedBy([JointIndex(99)])


def test_graphviz_string_holds_bodies_by_instance_and_joints_from_child_to_parent(plant):
    text = plant.GetTopologyGraphvizString()
    assert text.startswith("digraph MultibodyPlant {\n") and text.endswith("}\n")
    assert 'subgraph cluster2 {\n label="arm";\n body1 [label="upper"];' in text
    assert 'body1 -> body0 [label="shoulder [revolute]"];' in text
    assert 'body4 -> body0 [label="box [quaternion_floating]"];' in text


def test_graphviz_before_finalize_has_no_joints_of_loose_bodies_and_escapes_names():
    plant = MultibodyPlant(0.0)
    plant.AddRigidBody('a "b"', box_inertia())
    text = plant.GetTopologyGraphvizString()
    assert r'body1 [label="a \"b\""];' in text
    assert "->" not in text


def test_picture_shows_every_body_and_joint_without_overlap(plant, tmp_path):
    figure = plot_topology(plant, tmp_path / "plant.png", "An arm")
    assert (tmp_path / "plant.png").stat().st_size > 1000
    texts = [text.get_text() for text in figure.axes[0].texts]
    for name in ("An arm", "world", "upper", "lower", "tool", "box", "shoulder\n[revolute]"):
        assert name in texts
    boxes = sorted((p.get_y(), p.get_x(), p.get_x() + p.get_width()) for p in figure.axes[0].patches)
    for (y0, _, right), (y1, left, _) in itertools.pairwise(boxes):
        assert y0 != y1 or right < left
