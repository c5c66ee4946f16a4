"""Packages are found by name, and never silently moved."""

from __future__ import annotations

import logging

import pytest

from merganser.framework import DiagramBuilder
from merganser.multibody.parsing import PackageMap, Parser
from merganser.multibody.plant import AddMultibodyPlantSceneGraph


@pytest.fixture
def packages(tmp_path):
    """A tree of packages: one, two (inside one), and a second package that calls itself one."""
    for folder, name in (("a", "one"), ("a/inside", "two"), ("b", "one"), ("c", "three")):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / "package.xml").write_text(f"<package><name>{name}</name></package>")
    (tmp_path / "a" / "mesh.obj").write_text("")
    (tmp_path / "c" / "CATKIN_IGNORE").write_text("")
    return tmp_path


def test_address_is_resolved_to_an_existing_path(packages):
    package_map = PackageMap.MakeEmpty()
    package_map.AddPackageXml(packages / "a" / "package.xml")
    expected = str(packages / "a" / "mesh.obj")
    for address in ("package://one/mesh.obj", "model://one/mesh.obj", f"file://{expected}"):
        assert package_map.ResolveUrl(address) == expected
    assert package_map.ResolveUrl("package://one") == str(packages / "a")


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("package://one/mash.obj", "does not exist.*'mesh.obj'"),
        ("package://won/mesh.obj", "Unknown package 'won'.*'one'.*Add"),
        ("http://one/mesh.obj", "expected package://"),
        ("mesh.obj", "expected package://"),
        ("package:///mesh.obj", "names no package"),
    ],
)
def test_address_that_leads_nowhere_is_refused(packages, address, words):
    package_map = PackageMap.MakeEmpty()
    package_map.Add("one", packages / "a")
    with pytest.raises(RuntimeError, match=words):
        package_map.ResolveUrl(address)


def test_package_cannot_move_unless_removed(packages):
    package_map = PackageMap.MakeEmpty()
    package_map.Add("one", packages / "a")
    package_map.Add("one", packages / "a")
    with pytest.raises(RuntimeError, match="already at"):
        package_map.Add("one", packages / "b")
    package_map.Remove("one")
    package_map.Add("one", packages / "b")
    assert package_map.GetPath("one") == str(packages / "b")
    with pytest.raises(RuntimeError, match="has no folder"):
        package_map.Add("four", packages / "nowhere")


def test_conflicting_map_is_not_added_in_part(packages):
    package_map, other = PackageMap.MakeEmpty(), PackageMap.MakeEmpty()
    package_map.Add("zzz", packages / "a")
    other.Add("aaa", packages / "c")
    other.Add("zzz", packages / "b")
    with pytest.raises(RuntimeError, match="already at"):
        package_map.AddMap(other)
    assert package_map.GetPackageNames() == ["zzz"]
    other.Remove("zzz")
    package_map.AddMap(other)
    assert package_map.GetPackageNames() == ["aaa", "zzz"]


def test_copy_is_independent(packages):
    package_map = PackageMap.MakeEmpty()
    package_map.Add("one", packages / "a")
    copied = PackageMap(package_map)
    copied.Remove("one")
    assert package_map.Contains("one") and not copied.Contains("one")
    assert (package_map.size(), copied.size()) == (1, 0)


def test_folder_is_searched_for_packages_and_the_first_of_a_name_stays(packages, caplog):
    package_map = PackageMap.MakeEmpty()
    with caplog.at_level(logging.WARNING):
        package_map.PopulateFromFolder(packages)
    assert package_map.GetPackageNames() == ["one", "three", "two"]
    assert package_map.GetPath("one") == str(packages / "a")
    assert "is ignored" in caplog.text


def test_ros_path_does_not_look_inside_packages_nor_past_markers(packages, monkeypatch):
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(packages))
    package_map = PackageMap.MakeEmpty()
    package_map.PopulateFromRosPackagePath()
    assert package_map.GetPackageNames() == ["one"]
    with pytest.raises(RuntimeError, match="PopulateFromRosPackagePath"):
        package_map.PopulateFromEnvironment("ROS_PACKAGE_PATH")


def test_environment_variable_lists_folders(packages, monkeypatch):
    monkeypatch.setenv("MY_PACKAGES", f"{packages / 'b'}:{packages / 'c'}")
    package_map = PackageMap.MakeEmpty()
    package_map.PopulateFromEnvironment("MY_PACKAGES")
    assert package_map.GetPackageNames() == ["one", "three"]


def test_package_without_name_is_refused(tmp_path):
    (tmp_path / "package.xml").write_text("<package>\n<name/></package>")
    with pytest.raises(RuntimeError, match=r"package\.xml:1: .*empty <name>"):
        PackageMap.MakeEmpty().AddPackageXml(tmp_path / "package.xml")


def test_model_inside_a_package_finds_its_own_files_before_anybody_adds_the_package(packages):
    model = packages / "a" / "inside" / "box.urdf"
    model.write_text(
        '<robot name="box"><link name="b"><visual><geometry><mesh filename="package://one/mesh.obj"/></geometry>'
        "</visual></link></robot>"
    )
    parser = Parser(AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.0)[0])
    parser.AddModels(str(model))
    assert parser.package_map().GetPath("one") == str(packages / "a")


def test_folder_that_is_called_like_a_package_is_one_if_the_file_is_there(tmp_path):
    (tmp_path / "bot" / "bot" / "urdf").mkdir(parents=True)
    (tmp_path / "bot" / "mesh.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    shape = '<geometry><mesh filename="package://bot/{}"/></geometry>'
    model = tmp_path / "bot" / "bot" / "urdf" / "bot.urdf"
    for file, is_there in (("mesh.obj", True), ("other.obj", False)):
        model.write_text(f'<robot name="r"><link name="b"><visual>{shape.format(file)}</visual></link></robot>')
        parser = Parser(AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.0)[0])
        if is_there:
            parser.AddModels(model)
            assert parser.package_map().GetPath("bot") == str(tmp_path / "bot")
        else:
            with pytest.raises(RuntimeError, match="Unknown package 'bot'"):
                parser.AddModels(model)


def test_package_that_is_not_around_the_model_stays_unknown(packages):
    model = packages / "c" / "box.urdf"
    model.write_text(
        '<robot name="box"><link name="b"><visual><geometry><mesh filename="package://one/mesh.obj"/></geometry>'
        "</visual></link></robot>"
    )
    with pytest.raises(RuntimeError, match=r"box\.urdf:1.*Unknown package 'one'"):
        Parser(AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.0)[0]).AddModels(str(model))


# ---------------------------------------------------------------------- packages that every map knows


def test_new_map_knows_the_models_of_drake_and_an_empty_one_nothing():
    names = PackageMap().GetPackageNames()
    assert "drake_models" in names
    assert "drake" in names
    assert PackageMap().size() == len(names)
    assert PackageMap.MakeEmpty().GetPackageNames() == []
    removed = PackageMap()
    removed.Remove("drake_models")
    assert not PackageMap(removed).Contains("drake_models")


def test_added_package_takes_the_place_of_one_that_every_map_knows(packages):
    package_map = PackageMap()
    package_map.Add("drake_models", packages / "a")
    assert package_map.GetPath("drake_models") == str((packages / "a").resolve())
    assert package_map.size() == PackageMap().size()


def test_model_inside_a_copy_of_drakes_models_finds_its_files_there(tmp_path):
    (tmp_path / "package.xml").write_text("<package><name>drake_models</name></package>")
    (tmp_path / "box.obj").write_text("v 0 0 0")
    (tmp_path / "box.urdf").write_text(
        '<robot name="box"><link name="b"><visual><geometry><mesh filename="package://drake_models/box.obj"/></geometry>'
        "</visual></link></robot>"
    )
    Parser(AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.0)[0]).AddModels(tmp_path / "box.urdf")
