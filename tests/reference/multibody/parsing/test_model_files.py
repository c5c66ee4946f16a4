"""Plants from model files move as pydrake's do, and the tools make the files that pydrake's make."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

drake = pytest.importorskip("pydrake.all", reason="pydrake is not installed (extra `reference`)")

from plants import MODELS  # noqa: E402
from pydrake.multibody._inertia_fixer import InertiaFixer  # noqa: E402
from pydrake.multibody._mesh_model_maker import MeshModelMaker  # noqa: E402

from merganser.analysis import Simulator  # noqa: E402
from merganser.framework import DiagramBuilder  # noqa: E402
from merganser.multibody import fix_inertia, mesh_to_model  # noqa: E402
from merganser.multibody.parsing import Parser  # noqa: E402
from merganser.multibody.plant import AddMultibodyPlantSceneGraph  # noqa: E402
from tests.support.model_corners import CORNERS, chain  # noqa: E402
from tests.support.odd_models import CUBE_OBJ, URDF_WITHOUT_INERTIA  # noqa: E402

pytestmark = pytest.mark.reference

NUM_STATES = 20
FILES = sorted(str(p.relative_to(MODELS)) for kind in ("urdf", "sdf") for p in MODELS.rglob(f"*.{kind}"))


def both(time_step: float, **document: Any) -> list[tuple[Any, Any]]:
    """Plants, finalized, and simulators of their diagrams."""
    logging.getLogger("drake").setLevel(logging.ERROR)
    made = []
    for builder, add, parser_class, simulator in (
        (DiagramBuilder(), AddMultibodyPlantSceneGraph, Parser, Simulator),
        (drake.DiagramBuilder(), drake.AddMultibodyPlantSceneGraph, drake.Parser, drake.Simulator),
    ):
        plant, _ = add(builder, time_step)
        parser = parser_class(plant)
        if parser.package_map().Contains("drake_models"):
            parser.package_map().Remove("drake_models")
        if MODELS.is_dir():
            parser.package_map().Add("drake_models", str(MODELS))
        parser.AddModels(**document)
        plant.Finalize()
        made.append((plant, simulator(builder.Build())))
    return made


def assert_same_dynamics(**document: Any) -> None:
    """Mass matrix, bias and poses at random states."""
    (ours, our_simulator), (theirs, their_simulator) = both(0.0, **document)
    contexts = [
        plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
        for plant, simulator in ((ours, our_simulator), (theirs, their_simulator))
    ]
    assert (ours.num_positions(), ours.num_velocities()) == (theirs.num_positions(), theirs.num_velocities())
    rng = np.random.default_rng(0)
    for _ in range(NUM_STATES):
        q, v = rng.normal(size=ours.num_positions()), rng.normal(size=ours.num_velocities())
        found = []
        for plant, context in zip((ours, theirs), contexts):
            plant.SetPositions(context, q)
            plant.SetVelocities(context, v)
            poses = [
                plant.EvalBodyPoseInWorld(context, plant.get_body(i)).GetAsMatrix4()
                for i in plant.GetBodyIndices(plant.world_body().model_instance())
                + [j for k in range(2, ours.num_model_instances()) for j in _bodies(plant, k)]
            ]
            found.append((plant.CalcMassMatrix(context), plant.CalcBiasTerm(context), np.array(poses)))
        for value, expected in zip(*found):
            scale = 1.0 + np.abs(expected).max(initial=0.0)
            np.testing.assert_allclose(value / scale, expected / scale, atol=1e-9)


def _bodies(plant: Any, instance: int) -> list:
    index = drake.ModelInstanceIndex(instance) if isinstance(plant, drake.MultibodyPlant) else instance
    return list(plant.GetBodyIndices(index))


@pytest.mark.skipif(not MODELS.is_dir(), reason=f"no models at {MODELS}; set MERGANSER_MODELS")
@pytest.mark.parametrize("name", FILES)
def test_model_moves_as_in_pydrake(name):
    assert_same_dynamics(file_name=str(MODELS / name))


@pytest.mark.parametrize("case", [name for name, (_, kind) in CORNERS.items() if "world" not in name])
def test_corner_of_the_formats_moves_as_in_pydrake(case):
    text, file_type = CORNERS[case]
    assert_same_dynamics(file_contents=text, file_type=file_type)


# ---------------------------------------------------------------------- tendons


def tendon(lower: float, upper: float, stiffness: float, damping: float, second: bool) -> str:
    joints = '<drake:tendon_constraint_joint name="j" a="1.5"/>'
    joints += '<drake:tendon_constraint_joint name="k" a="-0.7"/>' if second else ""
    values = {
        "offset": 0.2, "lower_limit": lower, "upper_limit": upper, "stiffness": stiffness, "damping": damping
    }  # fmt: skip
    numbers = "".join(f"<drake:tendon_constraint_{k}>{v}</drake:tendon_constraint_{k}>" for k, v in values.items())
    text = chain(after=f"<drake:tendon_constraint>{joints}{numbers}</drake:tendon_constraint>")
    base = '<joint name="w" type="fixed"><parent>world</parent><child>a</child></joint>'
    return text.replace("</model>", f"{base}</model>")


@pytest.mark.parametrize(
    "values",
    [
        (-0.1, 0.1, 1e3, 1.0, True),
        (-0.1, 0.1, 1e5, 0.5, True),
        (-0.3, 0.05, 200.0, 2.0, False),
        (-0.1, 0.1, 1e12, 0.0, True),
    ],
)
def test_tendons_hold_as_in_pydrake(values):
    found = []
    for plant, simulator in both(1e-3, file_contents=tendon(*values), file_type="sdf"):
        context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
        plant.get_actuation_input_port().FixValue(context, np.zeros(2))
        plant.SetPositionsAndVelocities(context, np.array([0.1, -0.2, 1.5, 0.4]))
        states = []
        for step in range(1, 11):
            simulator.AdvanceTo(0.03 * step)
            states.append(plant.GetPositionsAndVelocities(context))
        found.append(np.array(states))
    np.testing.assert_allclose(found[0], found[1], atol=1e-8)


# ---------------------------------------------------------------------- tools


def same_elements(first: ElementTree.Element, second: ElementTree.Element) -> None:
    """Numbers are compared as such: pydrake sums in another order."""
    assert (first.tag, first.attrib, len(first)) == (second.tag, second.attrib, len(second))
    words, expected = (first.text or "").split(), (second.text or "").split()
    try:
        np.testing.assert_allclose([float(w) for w in words], [float(w) for w in expected], rtol=1e-9, atol=1e-9)
    except ValueError:
        assert words == expected
    for child, other in zip(first, second):
        same_elements(child, other)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"scale": 0.1, "mass": 2.0, "at_com": True},
        {"density": 300.0, "p_GoBo": np.array([1.0, 2.0, 3.0]), "model_name": "it"},
        {"scale": 2.0, "encoded_package": "auto"},
    ],
    ids=["plain", "mass", "origin", "package"],
)
def test_mesh_to_model_makes_the_model_that_pydrake_makes(tmp_path, options):
    made = []
    for side in ("ours", "theirs"):
        folder = tmp_path / side / "bricks"
        folder.mkdir(parents=True)
        (folder / "cube.obj").write_text(CUBE_OBJ)
        if side == "ours":
            given = {{"encoded_package": "package"}.get(k, k): v for k, v in options.items()}
            mesh_to_model.make_model(folder / "cube.obj", **given)
        else:
            MeshModelMaker(mesh_path=folder / "cube.obj", **options).make_model()
        made.append(ElementTree.parse(folder / "cube.sdf").getroot())
    same_elements(*made)


BOX = "<geometry><box><size>1 2 3</size></box></geometry>"
FLAT_SDF = f"""<?xml version="1.0"?>
<sdf version="1.7">
  <model name="m">
    <link name="a">
      <inertial>
        <mass>2</mass>
      </inertial>
      <collision name="c"><pose>1 2 3 0 0 0</pose><geometry><sphere><radius>0.5</radius></sphere></geometry></collision>
    </link>
    <link name="b">
      <visual name="c">{BOX}</visual>
    </link>
    <link name="c">
      <inertial>
        <inertia>
          <ixx>-1</ixx>
        </inertia>
        <pose>1 2 3 0 0 0</pose>
        <mass>3</mass>
      </inertial>
      <collision name="c">{BOX}</collision>
      <collision name="d"><pose>1 0 0 0 0 0</pose>{BOX}</collision>
    </link>
  </model>
</sdf>
"""


@pytest.mark.parametrize(
    ("text", "file_type"),
    [(URDF_WITHOUT_INERTIA.replace("0.1 0.2 0.3", "0 0 0"), "urdf"), (FLAT_SDF, "sdf")],
    ids=["urdf", "sdf"],
)
@pytest.mark.parametrize("roles", [["proximity", "illustration", "perception"], ["illustration"]])
def test_fix_inertia_gives_the_text_that_pydrake_gives(tmp_path, text, file_type, roles):
    (tmp_path / "brick.obj").write_text(CUBE_OBJ)
    path = tmp_path / f"m.{file_type}"
    path.write_text(text)
    ours, theirs = (tmp_path / f"{side}.{file_type}" for side in ("ours", "theirs"))
    assert fix_inertia.main([str(path), str(ours), "--geom_inertia_role_order", *roles]) == 0
    order = [{"proximity": drake.Role.kProximity, "illustration": drake.Role.kIllustration}.get(
        role, drake.Role.kPerception
    ) for role in roles]  # fmt: skip
    InertiaFixer(input_file=path, output_file=theirs, geom_inertia_role_order=order).fix_inertia()
    assert _without_dust(ours) == _without_dust(theirs)


def _without_dust(path: Path) -> str:
    """The text of a file; pydrake leaves rounding errors where there is zero."""
    return re.sub(r"-?\d\.\d+e-1\d", "0", path.read_text())
