"""MJCF files read by merganser and by MuJoCo give the same bodies, masses and forces, and pydrake's names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.multibody.parsing import PackageMap, Parser
from merganser.multibody.parsing.errors import Diagnostics
from merganser.multibody.parsing.mjcf import SetMjcfKeyframe
from merganser.multibody.parsing.mjcf.reader import read_mjcf
from merganser.multibody.parsing.xml_reader import read_xml
from merganser.multibody.plant import AddMultibodyPlantSceneGraph
from tests.support.mjcf_documents import DOCUMENTS, FILES, write_files
from tests.support.mujoco_models import MODELS, SUITE, ModelPair, path_of

mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed (extra `reference`)")

pytestmark = [
    pytest.mark.reference,
    pytest.mark.filterwarnings("ignore::DeprecationWarning:mujoco.*"),
]

GRIPPER = Path(__file__).parents[4] / "examples" / "models" / "gripper.xml"
NUM_STATES = 20
TOLERANCE = 1e-9  # of poses [m], and of shares of the largest element


@pytest.fixture(autouse=True)
def _log_elsewhere(tmp_path, monkeypatch):
    """MuJoCo writes its warnings into a file in the working folder."""
    monkeypatch.chdir(tmp_path)


needs_dm_control = pytest.mark.skipif(not SUITE, reason="dm_control is not installed (extra `reference`)")


def read_both(path: Path) -> tuple[ModelPair, str, Any]:
    """Both models, merganser's report, and the SceneGraph."""
    plant, scene_graph = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.001)
    parser = Parser(plant)
    (instance,) = parser.AddModels(path)
    plant.Finalize()
    model = mujoco.MjModel.from_xml_path(str(path))
    warnings = "\n".join(message for _, message in parser._diagnostics.warnings)
    pair = ModelPair(mujoco, model, plant, instance)
    pair.parser = parser
    return pair, warnings, scene_graph


def check(path: Path) -> None:
    """Compares at random states what the report does not except."""
    pair, report, _ = read_both(path)
    mass = pair.plant.CalcTotalMass(pair.context)
    assert mass == pytest.approx(pair.model.body_mass.sum(), rel=1e-12)
    has_all_inertia = "armature" not in report
    has_all_springs = not any(word in report for word in ("make no forces", "<spatial>", "stiffness: the spring"))
    # Springs of tendons are not among the plant's force elements; see ../test_tendons.py.
    has_all_springs &= not (pair.model.tendon_stiffness.any() or pair.model.tendon_damping.any())
    rng = np.random.default_rng(0)
    for _ in range(NUM_STATES):
        pair.random_state(rng)
        assert pair.pose_error() < TOLERANCE
        if has_all_inertia:
            assert pair.mass_matrix_error() < TOLERANCE
        assert pair.bias_error() < TOLERANCE
        if has_all_springs:
            assert pair.passive_error() < TOLERANCE


@needs_dm_control
@pytest.mark.parametrize("name", MODELS)
def test_bodies_masses_and_forces_are_those_of_mujoco(name):
    check(path_of(name))


@pytest.mark.parametrize("name", [*DOCUMENTS, *FILES, "gripper"])
def test_corners_of_the_format_are_those_of_mujoco(name, tmp_path):
    write_files(tmp_path)
    (tmp_path / "document.xml").write_text(DOCUMENTS.get(name, ""))
    check(GRIPPER if name == "gripper" else tmp_path / ("document.xml" if name in DOCUMENTS else f"{name}.xml"))


@pytest.mark.parametrize("name", [*DOCUMENTS])
def test_names_and_the_initial_configuration_are_those_of_mujoco(name, tmp_path):
    (tmp_path / "document.xml").write_text(DOCUMENTS[name])
    pair, _, _ = read_both(tmp_path / "document.xml")
    model = pair.model
    for kind, count, found in (("body", model.nbody, pair.bodies), ("joint", model.njnt, pair.joints)):
        for i, element in enumerate(found[:count]):
            expected = getattr(model, kind)(i).name
            assert expected in ("", element.name()) or element.type_name() == "quaternion_floating"
    home = next((i for i in range(model.nkey) if model.key(i).name == "home"), None)
    pair.set_state(model.qpos0 if home is None else model.key_qpos[home], np.zeros(model.nv))
    np.testing.assert_allclose(
        pair.plant.GetDefaultPositions(), pair.plant.GetPositions(pair.context), atol=1e-15
    )


def test_keyframes_are_the_states_to_which_mujoco_resets(tmp_path):
    rng, keys = np.random.default_rng(0), ""
    for name in ("home", "run", "crouch"):
        values = rng.normal(size=24)
        values[3] = abs(values[3])  # of a quaternion, whose opposite is the same rotation
        q, v = (" ".join(map(str, part)) for part in (values[:13], values[13:]))
        keys += f'<key name="{name}" qpos="{q}"' + ("/>" if name == "crouch" else f' qvel="{v}"/>')
    (tmp_path / "m.xml").write_text(
        '<mujoco><worldbody><body name="a"><freejoint/><geom size=".1"/><body name="b"><joint name="h" axis="1 0 0"/>'
        '<joint name="s" type="slide" axis="0 1 0" ref=".2"/><geom size=".1" pos=".1 0 0"/><body name="c" '
        'euler="10 20 30"><joint name="ball" type="ball"/><geom size=".2" pos="0 .3 0"/></body></body></body>'
        f"</worldbody><keyframe>{keys}</keyframe></mujoco>"
    )
    pair, report, _ = read_both(tmp_path / "m.xml")
    assert not report
    (instance,) = (parser := pair.parser)._instruments
    default = pair.plant.GetDefaultPositions()
    for i, name in enumerate(("home", "run", "crouch")):
        pair.set_state(pair.model.key_qpos[i], pair.model.key_qvel[i] if name != "crouch" else np.zeros(11))
        expected = pair.plant.GetPositionsAndVelocities(pair.context)
        context = pair.plant.CreateDefaultContext()
        SetMjcfKeyframe(parser, context, name)
        np.testing.assert_allclose(pair.plant.GetPositionsAndVelocities(context), expected, atol=1e-14)
        if name == "home":
            np.testing.assert_allclose(default, expected[:13], atol=1e-14)
    with pytest.raises(RuntimeError, match=r"m\.xml' has no key 'crawl'. .*crouch"):
        SetMjcfKeyframe(parser, context, "crawl", instance)


# ---------------------------------------------------------------------- contact


def has_no_contact(model: Any) -> bool:
    """Whether flags of the file switch contacts off."""
    off = mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    return bool(model.opt.disableflags & int(off))


def allowed_pairs(model: Any) -> set[tuple[int, int]]:
    """The pairs of geometries that MuJoCo lets touch."""
    if has_no_contact(model):
        return set()
    weld, parent = model.body_weldid, model.body_parentid
    excluded = {(int(s) >> 16, int(s) & 0xFFFF) for s in model.exclude_signature}
    pairs = {tuple(sorted(pair)) for pair in zip(model.pair_geom1.tolist(), model.pair_geom2.tolist())}
    for i in range(model.ngeom):
        for j in range(i + 1, model.ngeom):
            a, b = int(model.geom_bodyid[i]), int(model.geom_bodyid[j])
            wa, wb = weld[a], weld[b]
            types, affinities = model.geom_contype, model.geom_conaffinity
            meets = types[i] & affinities[j] or types[j] & affinities[i]
            are_neighbours = wa and wb and (wa == weld[parent[wb]] or wb == weld[parent[wa]])
            if meets and wa != wb and not are_neighbours and not excluded & {(a, b), (b, a)}:
                pairs.add((i, j))
    return pairs


@needs_dm_control
@pytest.mark.parametrize("name", SUITE)
def test_the_same_geometries_touch(name):
    pair, _, scene_graph = read_both(path_of(name))
    model, inspector = pair.model, scene_graph.model_inspector()
    ids: dict[int, Any] = {}
    for i, body in enumerate(pair.bodies):
        own = [g for g in range(model.ngeom) if model.geom_bodyid[g] == i]
        found = {
            inspector.GetName(g).rpartition("::")[2]: g for g in pair.plant.GetCollisionGeometriesForBody(body)
        }
        for number, g in enumerate(own):
            ids[g] = found.get(model.geom(g).name or f"geom{number}")
    candidates = {frozenset(pair) for pair in inspector.GetCollisionCandidates()}
    expected = {frozenset((ids[i], ids[j])) for i, j in allowed_pairs(model)}
    assert candidates == expected


@needs_dm_control
@pytest.mark.parametrize("name", ["cartpole", "humanoid", "quadruped", "walker"])
def test_models_fall_and_come_to_rest_on_the_ground(name):
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, 0.002)
    (instance,) = Parser(plant).AddModels(path_of(f"dm_control/suite/{name}.xml"))
    plant.Finalize()
    simulator = Simulator(builder.Build())
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    plant.get_actuation_input_port().FixValue(context, np.zeros(plant.num_actuated_dofs()))
    states = plant.get_desired_state_input_port(instance)
    states.FixValue(context, np.zeros(states.size()))
    start = plant.CalcCenterOfMassPositionInWorld(context)[2]
    simulator.AdvanceTo(1.0)
    end = plant.CalcCenterOfMassPositionInWorld(context)[2]
    assert np.isfinite(plant.GetPositionsAndVelocities(context)).all()
    assert 0.0 < end <= start + 1e-6


# ---------------------------------------------------------------------- actuators and constraints


def test_forces_of_actuators_are_those_of_mujoco(tmp_path):
    # Inertia along tendons is left out, with a warning; damping ratios would count it.
    (tmp_path / "document.xml").write_text(DOCUMENTS["actuators"].replace('name="sp" armature="1"', 'name="sp"'))
    pair, _, _ = read_both(tmp_path / "document.xml")
    model, data, plant = pair.model, pair.data, pair.plant
    rng = np.random.default_rng(0)
    pair.random_state(rng)
    for index in plant.GetJointActuatorIndices():
        actuator = plant.get_joint_actuator(index)
        if actuator.law() is not None or actuator.transmission() is not None:  # see ../test_tendons.py
            continue
        name = actuator.name()
        i = model.actuator(name).id  # its control is the same one, as those with several come later
        gear, gain, bias = model.actuator_gear[i, 0], model.actuator_gainprm[i, 0], model.actuator_biasprm[i]
        data.ctrl[:] = 0.0
        data.ctrl[i] = 0.3
        mujoco.mj_forward(model, data)
        joint = actuator.joint()
        dof = model.jnt_dofadr[model.actuator_trnid[i, 0]]
        force = data.actuator_force[i] * gear
        q, v = data.qpos[model.jnt_qposadr[model.actuator_trnid[i, 0]]], data.qvel[dof]
        if not actuator.has_controller():
            expected = gear * gain * 0.3
        else:
            p, d = actuator.get_controller_gains().p, actuator.get_controller_gains().d
            # What the user has to give: the desired position of (gain u + b0) / (-b1 gear), or a speed.
            desired = (gain * 0.3 + bias[0]) * gear
            expected = desired - p * q - d * v
        limited = model.actuator_forcelimited[i]
        low, high = (model.actuator_forcerange[i] if limited else (-np.inf, np.inf))
        assert force == pytest.approx(gear * np.clip(expected / gear, low, high), rel=1e-12), name
        assert joint.num_velocities() == 1


def test_points_and_frames_of_constraints_are_those_of_mujoco():
    root = read_xml(DOCUMENTS["equalities"], "<document>")
    (description,) = read_mjcf(root, PackageMap(), Diagnostics()).models
    model = mujoco.MjModel.from_xml_string(DOCUMENTS["equalities"])
    connect, weld, of_bodies = (
        int(value) for value in (mujoco.mjtEq.mjEQ_CONNECT, mujoco.mjtEq.mjEQ_WELD, mujoco.mjtObj.mjOBJ_BODY)
    )
    balls, welds = iter(description.ball_constraints), iter(description.weld_constraints)
    num_compared = 0
    for i in range(model.neq):
        if not model.eq_active0[i] or int(model.eq_type[i]) not in (connect, weld):
            continue
        is_weld = int(model.eq_type[i]) == weld
        found: Any = next(welds if is_weld else balls)
        if int(model.eq_objtype[i]) != of_bodies:  # sites, which are where the file puts them
            continue
        numbers = model.eq_data[i]
        if is_weld:
            np.testing.assert_allclose(found.X_BQ.translation(), numbers[:3], atol=1e-14)
            np.testing.assert_allclose(found.X_AP.translation(), numbers[3:6], atol=1e-14)
            q = found.X_AP.rotation().ToQuaternion().wxyz()
            np.testing.assert_allclose(q * np.sign(q @ numbers[6:10]), numbers[6:10] / np.linalg.norm(numbers[6:10]))
        else:
            np.testing.assert_allclose(found.p_AP, numbers[:3], atol=1e-14)
            np.testing.assert_allclose(found.p_BQ, numbers[3:6], atol=1e-14)
        num_compared += 1
    assert num_compared == 3


# ---------------------------------------------------------------------- pydrake


def _is_along_tendon(actuator: Any) -> bool:
    """Whether it drives a transmission, of which pydrake has none."""
    return hasattr(actuator, "transmission") and actuator.transmission() is not None


def names_of(plant: Any, scene_graph: Any) -> dict[str, Any]:
    """The names of a model's elements, in order."""
    inspector = scene_graph.model_inspector()
    joints = [plant.get_joint(index) for index in plant.GetJointIndices()]
    actuators = [plant.get_joint_actuator(index) for index in plant.GetJointActuatorIndices()]
    bodies = [plant.get_body(index) for index in _body_indices(plant)]
    geometries = {
        role: sorted(
            # Planes and boxes with a texture are drawn as meshes here.
            (body.name(), inspector.GetName(g), role == "felt" and type(inspector.GetShape(g)).__name__)
            for body in bodies
            for g in get(body)
        )
        for role, get in (("seen", plant.GetVisualGeometriesForBody), ("felt", plant.GetCollisionGeometriesForBody))
    }
    return {
        "bodies": [body.name() for body in bodies],
        "joints": [(j.name(), j.type_name(), j.parent_body().name(), j.child_body().name()) for j in joints],
        "frames": [(j.frame_on_parent().name(), j.frame_on_child().name()) for j in joints],
        "actuators": [(a.name(), a.joint().name()) for a in actuators if not _is_along_tendon(a)],
        "positions": list(plant.GetPositionNames()),
        "start": np.round(np.concatenate([j.default_positions() for j in joints] or [[]]), 12).tolist(),
        **geometries,
    }


def _body_indices(plant: Any) -> list[Any]:
    first = plant.world_body().index()
    return [type(first)(i) for i in range(plant.num_bodies())]


@needs_dm_control
@pytest.mark.parametrize(
    "name", [name for name in SUITE if not name.endswith(("dog.xml", "quadruped.xml"))]
)  # meshes and height fields that pydrake does not read
def test_names_are_those_that_pydrake_gives(name):
    drake = pytest.importorskip("pydrake.all", reason="pydrake is not installed (extra `reference`)")
    plant, scene_graph = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.001)
    Parser(plant).AddModels(path_of(name))
    plant.Finalize()
    builder = drake.DiagramBuilder()
    drake_plant, drake_scene_graph = drake.AddMultibodyPlantSceneGraph(builder, 0.001)
    drake.Parser(drake_plant).AddModels(str(path_of(name)))
    drake_plant.Finalize()
    ours, drakes = names_of(plant, scene_graph), names_of(drake_plant, drake_scene_graph)
    if has_no_contact(mujoco.MjModel.from_xml_path(str(path_of(name)))):  # which pydrake passes over
        assert not ours.pop("felt") and drakes.pop("felt")
    assert ours == drakes
