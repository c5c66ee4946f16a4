"""Mimic joints, ball constraints and remote packages of model files."""

import gzip
import hashlib
import random
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

from merganser.multibody.parsing import PackageMap, Parser, ParsingError
from merganser.multibody.plant import DiscreteContactApproximation, MultibodyPlant
from merganser.multibody.tree.constraints import BallConstraintSpec, CouplerConstraintSpec

LINKS = '<link name="a"/><link name="b"/><link name="c"/><link name="d"/>'
JOINTS = """<joint name="j" type="revolute"><parent link="a"/><child link="b"/>{}</joint>
<joint name="k" type="prismatic"><parent link="b"/><child link="c"/></joint>
<joint name="w" type="fixed"><parent link="c"/><child link="d"/></joint>"""
URDF = f'<robot name="r" xmlns:drake="d">{LINKS}{JOINTS}{{}}</robot>'
SDF = f"""<sdf version="1.9"><model name="m">{LINKS}
<joint name="j" type="revolute"><parent>a</parent><child>b</child><axis><xyz>0 0 1</xyz></axis>
<drake:mimic joint="k" multiplier="2" offset="1"/></joint>
<joint name="k" type="prismatic"><parent>b</parent><child>c</child><axis><xyz>0 0 1</xyz></axis></joint>
<drake:ball_constraint name="ball"><drake:ball_constraint_body_A>a</drake:ball_constraint_body_A>
<drake:ball_constraint_body_B>d</drake:ball_constraint_body_B><drake:ball_constraint_p_AP>1 2 3
</drake:ball_constraint_p_AP><drake:ball_constraint_p_BQ>4 5 6</drake:ball_constraint_p_BQ></drake:ball_constraint>
</model></sdf>"""
BALL = """<drake:ball_constraint><drake:ball_constraint_body_A name="a"/><drake:ball_constraint_body_B name="d"/>
<drake:ball_constraint_p_AP value="1 2 3"/><drake:ball_constraint_p_BQ value="4 5 6"/></drake:ball_constraint>"""


def read(text, file_type, plant=None):
    plant = MultibodyPlant(0.01) if plant is None else plant
    Parser(plant).AddModelsFromString(text, file_type)
    return plant


@pytest.mark.parametrize(
    ("text", "file_type"),
    [(URDF.format('<mimic joint="k" multiplier="2" offset="1"/>', BALL), "urdf"), (SDF, "sdf")],
    ids=["urdf", "sdf"],
)
def test_mimic_joints_and_ball_constraints_become_constraints(text, file_type):
    plant = read(text, file_type)
    coupler, ball = plant._tree.constraints
    assert isinstance(coupler, CouplerConstraintSpec)
    assert (coupler.gear_ratio, coupler.offset) == (2.0, 1.0)
    assert [plant.get_joint(i).name() for i in (coupler.joint0, coupler.joint1)] == ["j", "k"]
    assert isinstance(ball, BallConstraintSpec)
    assert [plant.get_body(i).name() for i in (ball.body_A, ball.body_B)] == ["a", "d"]
    np.testing.assert_array_equal([ball.p_AP, ball.p_BQ], [[1, 2, 3], [4, 5, 6]])


def test_urdf_mimic_is_one_to_one_by_default():
    (coupler,) = read(URDF.format('<mimic joint="k"/>', ""), "urdf")._tree.constraints
    assert (coupler.gear_ratio, coupler.offset) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("mimic", "extra", "message"),
    [
        ('<mimic joint="x"/>', "", "'j' mimics joint 'x', but 'x' is not a joint of model 'r'"),
        ('<mimic joint="j"/>', "", "'j' mimics itself"),
        ("<mimic/>", "", "attribute 'joint'"),
        ("", BALL.replace('"d"', '"nope"'), "link 'nope', which does not exist"),
        ("", BALL.replace('"d"', '"a"'), "it needs two bodies"),
    ],
)
def test_impossible_constraint_is_refused_before_the_plant_is_touched(mimic, extra, message):
    plant = MultibodyPlant(0.01)
    with pytest.raises(ParsingError, match=rf"<literal-string>.urdf:\d+: .*{message}"):
        read(URDF.format(mimic, extra), "urdf", plant)
    assert plant.num_bodies() == 1


def test_constraints_are_left_out_with_a_warning_where_the_solver_takes_none(caplog):
    plant = MultibodyPlant(0.01)
    plant.set_discrete_contact_approximation(DiscreteContactApproximation.kTamsi)
    read(SDF, "sdf", plant)
    assert plant.num_constraints() == 0
    assert "2 constraints of model 'm' have no effect" in caplog.text


# ---------------------------------------------------------------------- remote packages


def remote(path, sha256=None, **others):
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest() if sha256 is None else sha256
    return PackageMap.RemoteParams(urls=[path.as_uri()], sha256=sha256, **others)


@pytest.fixture
def archive(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "models.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("top/box.sdf", "<sdf/>")
    return path


def test_a_remote_package_is_fetched_once_and_kept_in_the_cache(archive):
    package_map = PackageMap.MakeEmpty()
    params = remote(archive, strip_prefix="top")
    package_map.AddRemote("models", params)
    assert (package_map.GetPackageNames(), package_map.size()) == (["models"], 1)
    assert not (archive.parent / "cache").exists()
    resolved = package_map.ResolveUrl("package://models/box.sdf")
    archive.unlink()
    again = PackageMap(package_map)
    assert again.ResolveUrl("package://models/box.sdf") == resolved
    assert resolved.startswith(str(archive.parent / "cache"))
    again.AddRemote("models", params)
    again.Remove("models")
    assert not again.Contains("models")


def test_a_remote_package_that_cannot_be_fetched_says_why_when_it_is_needed(archive):
    package_map = PackageMap.MakeEmpty()
    package_map.AddRemote("changed", remote(archive, "0" * 64))
    missing = remote(archive, strip_prefix="top")
    missing.urls = [(archive.parent / "gone.zip").as_uri()]
    package_map.AddRemote("missing", missing)
    package_map.AddRemote("other", remote(archive, strip_prefix="nope"))
    for name, message in (("changed", "checksum"), ("missing", "No such file"), ("other", "no folder 'nope'")):
        with pytest.raises(RuntimeError, match=f"'{name}'.*{message}"):
            package_map.GetPath(name)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"urls": []}, "at least one URL"),
        ({"urls": ["ssh://x/a.zip"]}, "unsupported URL 'ssh://x/a.zip'"),
        ({"sha256": "12"}, "invalid sha256 '12'"),
        ({"archive_type": "rar"}, "unsupported archive type 'rar'"),
    ],
)
def test_wrong_parameters_of_a_remote_package_are_refused_at_once(params, message):
    package_map = PackageMap.MakeEmpty()
    good = {"urls": ["https://example.invalid/a.zip"], "sha256": "0" * 64}
    with pytest.raises(RuntimeError, match=message):
        package_map.AddRemote("p", PackageMap.RemoteParams(**{**good, **params}))
    package_map.AddRemote("p", PackageMap.RemoteParams(**good))
    assert PackageMap.RemoteParams(**good).ToJson() == (
        '{"sha256":"' + "0" * 64 + '","urls":["https://example.invalid/a.zip"]}'
    )
    with pytest.raises(RuntimeError, match="is already"):
        package_map.AddRemote("p", PackageMap.RemoteParams(**{**good, "sha256": "1" * 64}))


def escaping_tar(path: Path) -> None:
    with tarfile.open(path, "w") as file:
        file.addfile(tarfile.TarInfo("../outside"))


@pytest.mark.parametrize(
    ("ending", "write"),
    [
        ("tar", escaping_tar),
        ("tar.gz", lambda path: path.write_bytes(gzip.compress(random.Random(0).randbytes(5000))[:2000])),
        ("tar.xz", lambda path: path.write_bytes(b"\xfd7zXZ\x00" + bytes(100))),
        ("tar.bz2", lambda path: path.write_bytes(b"BZh9" + bytes(100))),
        ("zip", lambda path: path.write_bytes(b"PK\x03\x04" + bytes(100))),
    ],
)
def test_a_remote_archive_that_cannot_be_unpacked_is_refused(archive, ending, write):
    path = archive.with_name(f"bad.{ending}")
    write(path)
    package_map = PackageMap.MakeEmpty()
    package_map.AddRemote("p", remote(path))
    with pytest.raises(RuntimeError, match=r"'p': its archive is (no valid|empty)"):
        package_map.GetPath("p")
    assert not list(path.parent.rglob("outside"))
