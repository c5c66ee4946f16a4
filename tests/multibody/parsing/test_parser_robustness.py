"""Whatever is in a file, it is read or refused: with a ParsingError of file and line, soon, and without traces."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from merganser.framework import DiagramBuilder
from merganser.geometry import MeshSource
from merganser.geometry.meshes.files import read_volume_mesh
from merganser.multibody.parsing import (
    LoadModelDirectives,
    LoadModelDirectivesFromString,
    PackageMap,
    Parser,
    ParsingError,
)
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, MultibodyPlant
from tests.support.fuzz_models import Fuzzer
from tests.support.mjcf_documents import DOCUMENTS
from tests.support.mutations import mutated
from tests.support.odd_models import CUBE_OBJ, INCLUDES, ODD_DOCUMENTS

MODELS = Path(__file__).parents[3] / "examples" / "models"
LONG = "a" * 5000
PATIENCE = 5.0  # of processor time [s]; what is quadratic here took from twenty seconds to minutes


def urdf(body: str) -> str:
    return f'<robot name="r">\n<link name="a"/><link name="b"/>\n{body}</robot>'


def sdf(body: str) -> str:
    return f'<sdf version="1.9"><model name="m">\n<link name="a"/>\n{body}</model></sdf>'


def state_of(plant: MultibodyPlant) -> list[int]:
    kinds = ("model_instances", "bodies", "joints", "frames", "actuators", "force_elements", "constraints")
    counts = [getattr(plant, f"num_{kind}")() for kind in kinds]
    return [*counts, plant._geometry.scene_graph.model_inspector().num_geometries()]


def read(text: str, file_type: str) -> tuple[MultibodyPlant, ParsingError | None]:
    """The plant, and the error with which it has refused a document and stayed as it was."""
    plant, _ = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.01)
    before = state_of(plant)
    try:
        Parser(plant).AddModelsFromString(text, file_type)
    except ParsingError as error:
        assert state_of(plant) == before, f"{error} has changed the plant, from\n{text}"
        return plant, error
    return plant, None


# ---------------------------------------------------------------------- mutations

@pytest.mark.parametrize("seed", range(4))
def test_mutated_documents_are_read_or_refused_without_traces(seed):
    rng = random.Random(seed)
    own = [(path.read_text(), path.suffix[1:]) for path in sorted(MODELS.glob("*.*")) if path.suffix != ".py"]
    documents = own + list(ODD_DOCUMENTS.values()) + [(text, "sdf") for text in INCLUDES.values()]
    documents += [(text, "xml") for text in DOCUMENTS.values()]
    num_refused = 0
    for _ in range(200):
        text, file_type = rng.choice(documents)
        _, error = read(mutated(text, rng), file_type)
        if error is not None:
            assert re.match(r"<literal-string>\.\w+(:\d+)?: ", str(error))
            num_refused += 1
    assert 0 < num_refused < 200


def test_mutated_files_of_all_formats_open_nothing_else_and_take_no_time(tmp_path):
    fuzzer = Fuzzer(tmp_path, seed=5)
    findings = fuzzer.run(400)
    assert not findings, f"{findings[0].what}, from\n{findings[0].data!r}"
    assert fuzzer.num_models > 40


def _open_a_secret(parser: Parser, path: Path) -> None:
    Path("/etc/hostname").open().close()


def _fail(parser: Parser, path: Path) -> None:
    raise KeyError("inside")


def _loiter(parser: Parser, path: Path) -> None:
    end = time.process_time() + 1.1
    while time.process_time() < end:
        pass


@pytest.mark.parametrize(
    ("fault", "what"), [(_open_a_secret, "opened "), (_fail, "KeyError: 'inside'"), (_loiter, "took 1.")]
)
def test_faults_of_a_reader_would_be_found(tmp_path, monkeypatch, fault, what):
    monkeypatch.setattr(Parser, "AddModels", fault)
    (finding,) = Fuzzer(tmp_path).run(1)
    assert finding.what.startswith(what)


# ---------------------------------------------------------------------- size and depth


def frames(attribute: str) -> str:
    """Frames of which each needs the next one, and the last one the model."""
    kinds = {
        "attached_to": '<frame name="f{0}" attached_to="f{1}"/>',
        "relative_to": '<frame name="f{0}"><pose relative_to="f{1}"/></frame>',
    }
    return sdf("".join(kinds[attribute].format(i, i + 1) for i in range(1200)) + '<frame name="f1200"/>')


@pytest.mark.parametrize(
    ("text", "file_type"),
    [
        ("<!--" * 60000, "urdf"),
        ("<![CDATA[" * 60000, "urdf"),
        ("<?xml " * 60000, "urdf"),
        (" " * 200000, "urdf"),
        ("<a>" * 300, "urdf"),
        (sdf('<frame name="f0" attached_to="f1"/><frame name="f1" attached_to="f0"/>'), "sdf"),
        ("directives:" + "[" * 2000, "dmd.yaml"),
        ("{a: " * 2000, "dmd.yaml"),
        ("directives: &a\n  <<: *a", "dmd.yaml"),
        ("directives:\n- add_model: &a {<<: *a}", "dmd.yaml"),
    ],
    ids=["comments", "cdata", "declarations", "space", "depth", "circle", "lists", "maps", "merged", "itself"],
)
def test_monstrous_document_is_refused_soon(text, file_type):
    start = time.process_time()
    with pytest.raises(ParsingError):
        Parser(MultibodyPlant(0.0)).AddModelsFromString(text, file_type)
    assert time.process_time() - start < PATIENCE


@pytest.mark.parametrize("attribute", ["attached_to", "relative_to"])
def test_long_chain_of_frames_is_followed(attribute):
    start = time.process_time()
    plant, error = read(frames(attribute), "sdf")
    assert error is None and plant.num_frames() == 1201 + 3
    assert time.process_time() - start < PATIENCE


def test_merges_of_merges_are_done_once():
    merges = "\n".join(f"    m{i}: &m{i}\n      <<: [{', '.join([f'*m{i - 1}'] * 9)}]" for i in range(1, 12))
    text = f"directives:\n- add_model:\n    m0: &m0 {{ name: n, file: f }}\n{merges}\n    <<: *m11"
    start = time.process_time()
    with pytest.raises(ParsingError, match="unknown entry"):
        LoadModelDirectivesFromString(text)
    assert time.process_time() - start < PATIENCE


def test_nearer_entries_win_against_merged_ones():
    text = """directives:
- add_model: &first { name: a, file: f.sdf }
- add_model: &second { <<: *first, name: b }
- add_model: { <<: [*second, *first] }
- add_model: { <<: [*first, *second], file: g.sdf }
"""
    models = [directive.add_model for directive in LoadModelDirectivesFromString(text).directives]
    assert [(model.name, model.file) for model in models] == [
        ("a", "f.sdf"), ("b", "f.sdf"), ("b", "f.sdf"), ("a", "g.sdf")
    ]  # fmt: skip


# ---------------------------------------------------------------------- numbers


def joint(name: str, inside: str = "") -> str:
    return f'<joint name="{name}" type="revolute"><parent link="a"/><child link="b"/>{inside}</joint>'


def mesh(file: object, scale: str = "1") -> str:
    geometry = f'<geometry><mesh filename="{file}" scale="{scale}"/></geometry>'
    return urdf(f'<link name="c"><collision>{geometry}</collision></link>')


MOTOR = (
    '<transmission><type>SimpleTransmission</type><joint name="j"/><actuator name="m">'
    '<drake:gear_ratio value="{}"/><drake:rotor_inertia value="{}"/></actuator></transmission>'
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (urdf(joint("j", '<axis xyz="1e-320 0 0"/>')), "needs a direction"),
        (urdf(joint("j") + MOTOR.format("1e308", "0")), "too large"),
        (urdf(joint("j") + MOTOR.format("1e100", "1e200")), "too large"),
        (urdf(joint("j") + joint("k")), "joint 'k' connects .* as joint 'j'"),
        (mesh("{obj}", "1e308"), "too large"),
        (mesh("{obj}", "1 1 1e-320"), "at least"),
        (urdf('<link name="\ud800"/>'), "not text"),
    ],
    ids=["axis", "gear", "rotor", "second joint", "large mesh", "small mesh", "surrogate"],
)
def test_impossible_numbers_are_refused_before_the_plant_is_touched(tmp_path, text, words):
    (tmp_path / "cube.obj").write_text(CUBE_OBJ)
    _, error = read(text.replace("{obj}", str(tmp_path / "cube.obj")), "urdf")
    assert error is not None and error.location.line == 3
    assert re.search(words, str(error))


def test_world_geometries_of_several_files_get_names_of_their_own(caplog):
    plant, scene_graph = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.0)
    ground = '<link name="world"><collision><geometry><box size="1 1 1"/></geometry></collision></link>'
    for name in ("one", "two"):
        Parser(plant).AddModelsFromString(f'<robot name="{name}">\n{ground}{ground}</robot>', "urdf")
    inspector = scene_graph.model_inspector()
    assert sorted(inspector.GetName(g) for g in inspector.GetAllGeometryIds()) == ["Box", "Box_1", "Box_2", "Box_3"]
    assert "urdf:2: the world already has a geometry named 'Box'; using 'Box_3'" in caplog.text


VTK = """# vtk DataFile Version 3.0
tetrahedron
ASCII
DATASET UNSTRUCTURED_GRID
POINTS 4 double
0 0 0 1 0 0 0 1 0 0 0 1
CELLS 1 5
4 0 1 2 3
CELL_TYPES 1
10
"""


DIGITS = "9" * 5000


@pytest.mark.parametrize(
    "change", [("2 3\n", f"2 {DIGITS[:30]}\n"), ("POINTS 4", f"POINTS {DIGITS}"), ("0 0 1\n", "0 0 nan\n")]
)
def test_impossible_numbers_in_a_vtk_file_are_refused(tmp_path, change):
    path = tmp_path / "t.vtk"
    path.write_text(VTK.replace(*change))
    with pytest.raises(RuntimeError, match=r"t\.vtk"):
        read_volume_mesh(MeshSource(path))


@pytest.mark.parametrize(
    "change",
    [("v 1 2 3", "v 1 2 nan"), ("v 1 2 3", "v 1e308 1e308 1e308"), ("f 4 3 2 1", f"f 4 3 {DIGITS}")],
)
def test_impossible_numbers_in_an_obj_file_are_refused(tmp_path, change):
    path = tmp_path / "t.obj"
    path.write_text(CUBE_OBJ.replace(*change))
    with pytest.raises(ParsingError, match=r"t\.obj"):
        Parser(MultibodyPlant(0.0)).AddModels(path)


# ---------------------------------------------------------------------- names, paths and encodings


@pytest.mark.parametrize(
    "address",
    ["package://[x", "file://[", f"file:///{LONG}", f"package://{LONG}", "http://[::1", "package://%00/x", LONG],
)
def test_impossible_address_is_refused_with_the_line_of_its_element(address):
    _, error = read(mesh(address), "urdf")
    assert error is not None and error.location.line == 3


@pytest.mark.parametrize(
    "call",
    [
        lambda: PackageMap().ResolveUrl("package://[x"),
        lambda: PackageMap().ResolveUrl(f"file:///{LONG}"),
        lambda: PackageMap().ResolveUrl("file:///\0"),
        lambda: PackageMap().Add("p", f"/{LONG}"),
        lambda: PackageMap().Add("p", "/\0"),
        lambda: PackageMap().AddPackageXml(f"/{LONG}"),
        lambda: PackageMap().AddRemote("p", PackageMap.RemoteParams(urls=["http://[x"], sha256="0")),
        lambda: Parser(MultibodyPlant(0.0)).AddModels(f"{LONG}.urdf"),
        lambda: Parser(MultibodyPlant(0.0)).AddModels("\0.urdf"),
        lambda: LoadModelDirectives(f"{LONG}.dmd.yaml"),
    ],
)
def test_impossible_path_is_a_runtime_error(call: Callable[[], object]):
    with pytest.raises(RuntimeError):
        call()


@pytest.mark.parametrize("declared", ["undefined", "unicode_escape", "utf-7", "rot13", "punycode", "latin-99"])
def test_strange_encoding_is_not_followed(tmp_path, declared):
    path = tmp_path / "r.urdf"
    link = '<link name="+2AA-é"/>'
    path.write_bytes(f'<?xml version="1.0" encoding="{declared}"?>{urdf(link)}'.encode())
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModels(path)
    assert plant.HasBodyNamed("+2AA-é")


def test_directives_may_be_in_latin_1(tmp_path):
    path = tmp_path / "d.dmd.yaml"
    path.write_bytes("directives: [] # é".encode("latin-1"))
    assert LoadModelDirectives(path).directives == []
