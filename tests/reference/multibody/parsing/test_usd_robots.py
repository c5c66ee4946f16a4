"""Robots in USD that the package newton ships are, to rounding, their twins in URDF and MJCF.

Where a file itself says another number than its twin, the twin's text is given that number: `CHANGES` has all of them.
"""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from merganser.framework import DiagramBuilder
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import AddMultibodyPlantSceneGraph
from merganser.multibody.tree import BodyIndex

pytest.importorskip("pxr", reason="usd-core is not installed (extra `usd`)")
pytestmark = pytest.mark.reference

TOLERANCE = 1e-6  # shares of the largest element: numbers of the files have 24 bits
NO_LABELS = ("include", "asset", "sensor", "visual", "statistic", "keyframe", "custom")
INERTIA = r'<inertia ixx="0.1" ixy="0.0" ixz="0.0" iyy="0.1" iyz="0.0" izz="0.1"/>'


def inertia(xx: float, yy: float, zz: float) -> str:
    return f'<inertia ixx="{xx}" iyy="{yy}" izz="{zz}" ixy="0" ixz="0" iyz="0"/>'


def box(mass: float, x: float, y: float, z: float) -> str:
    return inertia(*(mass / 12 * (a**2 + b**2) for a, b in ((y, z), (x, z), (x, y))))


# By robot: the twin and, as patterns and what is put there, the numbers and names in which the USD file differs.
ON_RAIL = [('link="slider"|link name="slider"', lambda m: m[0].replace("slider", "world"))]
OF_LEGS = {
    "hip_1": "front_left_leg", "ankle_1": "front_left_foot", "hip_2": "front_right_leg", "ankle_2": "front_right_foot",
    "hip_3": "left_back_leg", "ankle_3": "left_back_foot", "hip_4": "right_back_leg", "ankle_4": "right_back_foot",
}  # fmt: skip
CHANGES: dict[str, tuple[str, list[tuple[str, Any]]]] = {
    "newton/examples/assets/cartpole.usda": (
        "newton/examples/assets/cartpole.urdf",
        [
            *ON_RAIL, ('"slider_to_cart"', '"railCartJoint"'), ('"cart_to_pole1"', '"cartPoleJoint"'),
            ('"pole1_to_pole2"', '"polePoleJoint"'), ('xyz="0.12 0 0"', 'xyz="0.11 0 0"'),
            ('xyz="0 0 0.47"', 'xyz="0 0 0.5"'),
            (rf'(<mass value="1"/>\s*){INERTIA}', rf"\1{inertia(0.0085, 0.0067, 0.0085)}"),
            (INERTIA, inertia(0.0209, 0.0209, 0.0001)),
        ],
    ),
    "newton/examples/assets/cartpole_single_pendulum.usda": (
        "newton/examples/assets/cartpole.urdf",
        [
            *ON_RAIL, (r'<link name="pole2">.*(?=</robot>)', ""), ('"cart_to_pole1"', '"cart_to_pole"'),
            ('"pole1"', '"pole"'), (rf'(<mass value="1"/>\s*){INERTIA}', rf"\1{box(1.0, 0.2, 0.25, 0.2)}"),
            (INERTIA, box(1.0, 0.04, 0.06, 1.0)), ('mass value="0.25"', 'mass value="1"'),
        ],
    ),
    "newton/tests/assets/cartpole_mjc.usda": (
        "dm_control/mujoco/testing/assets/cartpole.xml",
        [(r"<body name='mocap1'.*(?=</worldbody>)", ""), ("ctrlrange='-1 1'", "ctrlrange='-3 3'")],
    ),
    "newton/tests/assets/ant.usda": (
        "newton/examples/assets/nv_ant.xml",
        [
            (r'density="5.0"', 'density="1"'), ('damping="0.1"', 'damping="0"'),
            ("<option ", '<option gravity="0 0 -10" '), ("<actuator>.*</actuator>", ""),
            *((f'"{one}"', f'"{other}"') for one, other in OF_LEGS.items()),
        ],
    ),
    "newton/tests/assets/humanoid_mjc.usda": (  # of the normalized quaternion 0.002 is there as 0.0020132342
        "newton/examples/assets/nv_humanoid.xml",
        [(r'quat="1.000 0 -.002 0"', 'quat="0.999998 0 -0.0020132342 0"')],
    ),
}  # fmt: skip


def file_of(name: str) -> Path:
    """A file of a package, which is not imported; skips the test if it is not installed."""
    package, _, path = name.partition("/")
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        pytest.skip(f"{package} is not installed, whose models are read")
    return Path(found.submodule_search_locations[0]) / path


def changed(text: str, changes: list[tuple[str, Any]]) -> str:
    for pattern, replacement in changes:
        text, count = re.subn(pattern, replacement, text, flags=re.DOTALL)
        assert count, f"there is no {pattern!r} in this version of the twin"
    root = ElementTree.fromstring(text)
    for tag in NO_LABELS:
        for element in root.findall(tag):
            root.remove(element)
    for element in root.iter():
        if root.tag == "mujoco":
            element.attrib.pop("material", None)
    return ElementTree.tostring(root, encoding="unicode")


def plant_of(text: str | Path) -> Any:
    plant, _ = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.0)
    if isinstance(text, Path):
        Parser(plant).AddModels(text)
    else:
        Parser(plant).AddModelsFromString(text, "xml" if "<mujoco" in text else "urdf")
    plant.Finalize()
    return plant


def assert_close(found: Any, wanted: Any, what: str) -> None:
    found, wanted = np.asarray(found), np.asarray(wanted)
    is_finite = np.isfinite(wanted)
    assert (np.isfinite(found) == is_finite).all(), what
    scale = max(1.0, np.abs(wanted[is_finite]).max(initial=0.0))
    np.testing.assert_allclose(found[is_finite], wanted[is_finite], rtol=0.0, atol=TOLERANCE * scale, err_msg=what)


@pytest.mark.parametrize("name", CHANGES, ids=lambda name: Path(name).stem)
def test_a_robot_of_newton_is_its_twin(name: str) -> None:
    from pxr import Usd

    twin, changes = CHANGES[name]
    stage = Usd.Stage.Open(str(file_of(name)))
    labels = {prim.GetName(): prim.GetDisplayName() or prim.GetName() for prim in stage.Traverse()}
    plants = plant_of(file_of(name)), plant_of(changed(file_of(twin).read_text(), changes))
    usd = plants[0]
    mine = [joint for joint in map(usd.get_joint, usd.GetJointIndices()) if joint.num_velocities()]
    joints = mine, [plants[1].GetJointByName(labels.get(joint.name(), joint.name())) for joint in mine]
    assert [plant.num_velocities() for plant in plants] == [sum(j.num_velocities() for j in mine)] * 2
    q_of = [[j.position_start() + k for j in each for k in range(j.num_positions())] for each in joints]
    v_of = [[j.velocity_start() + k for j in each for k in range(j.num_velocities())] for each in joints]
    bodies = [usd.get_body(BodyIndex(n)) for n in range(1, usd.num_bodies())]
    bodies = [body for body in bodies if plants[1].HasBodyNamed(body.name())]

    def compare(what: str, of: Any) -> None:
        found, wanted = (of(plant, context, n) for n, (plant, context) in enumerate(zip(plants, contexts)))
        assert_close(found, wanted, what)

    contexts = [plant.CreateDefaultContext() for plant in plants]
    compare("limits", lambda p, c, n: [p.GetPositionLowerLimits()[q_of[n]], p.GetPositionUpperLimits()[q_of[n]]])
    compare("damping", lambda p, c, n: np.concatenate([j.default_damping_vector() for j in joints[n]]))
    compare("gravity", lambda p, c, n: p.gravity_field().gravity_vector())
    compare("masses", lambda p, c, n: [p.GetBodyByName(body.name()).default_mass() for body in bodies])
    if name.endswith("_mjc.usda"):
        actuators = [[p.get_joint_actuator(a) for a in p.GetJointActuatorIndices()] for p in plants]
        compare("efforts", lambda p, c, n: sorted(actuator.effort_limit() for actuator in actuators[n]))

    def inertias(plant: Any, context: Any, n: int) -> list[Any]:
        of_body = (plant.GetBodyByName(body.name()).default_spatial_inertia() for body in bodies)
        return [M.Shift(M.get_com()).CopyToFullMatrix6() for M in of_body]

    def mass_centers(plant: Any, context: Any, n: int) -> list[Any]:
        found = []
        for body in (plant.GetBodyByName(each.name()) for each in bodies):
            X_WB = plant.EvalBodyPoseInWorld(context, body)
            p_WBcm = X_WB.multiply(body.default_spatial_inertia().get_com())
            found.append(np.column_stack([X_WB.rotation().matrix(), p_WBcm]))
        return found

    compare("inertias", inertias)
    random = np.random.default_rng(53)
    for _ in range(3):
        q, v = random.uniform(-1.0, 1.0, usd.num_positions()), random.normal(size=usd.num_velocities())
        if (n := len(q) - len(v)) == 1:  # it floats
            base = next(j for j in mine if j.num_positions() == 7)
            at = q_of[0].index(base.position_start())
            q[at : at + 4] /= np.linalg.norm(q[at : at + 4])
        for n, (plant, context) in enumerate(zip(plants, contexts)):
            at = np.argsort(q_of[n]), np.argsort(v_of[n])
            plant.SetPositions(context, q[at[0]])
            plant.SetVelocities(context, v[at[1]])
        compare("mass matrix", lambda p, c, n: p.CalcMassMatrix(c)[np.ix_(v_of[n], v_of[n])])
        compare("torques of gravity", lambda p, c, n: p.CalcGravityGeneralizedForces(c)[v_of[n]])
        compare("velocity products", lambda p, c, n: p.CalcBiasTerm(c)[v_of[n]])
        compare("poses", mass_centers)
