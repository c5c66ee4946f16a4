"""One MJCF file: its includes in place, with its settings, classes and assets.

The <default> classes of an MJCF file: attributes of elements that do not say otherwise.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath

from merganser.framework.common.errors import nearest_names
from merganser.multibody.parsing.errors import ParsingError, SourceLocation, located
from merganser.multibody.parsing.mjcf.settings import MjcfOptions, MjcfSettings, read_options, read_settings
from merganser.multibody.parsing.package_map import PackageMap, near_files, resolve_uri
from merganser.multibody.parsing.xml_reader import XmlNode, read_xml

ACTUATOR_TAGS = (
    "general", "motor", "position", "velocity", "intvelocity", "orientation", "pid", "damper", "cylinder", "muscle",
    "adhesion", "dcmotor", "plugin",
)  # fmt: skip
TERRAIN = "merganser:terrain"  # the name of the text that says which geoms are
_MAIN = "main"
# Elements whose defaults have another name.
_DEFAULT_TAGS = {
    **dict.fromkeys(("connect", "weld", "flex", "flexstrain"), "equality"),
    **dict.fromkeys(("spatial", "fixed"), "tendon"),
}

# An actuator element of a class, as written: each changes the one actuator that the class describes.
ActuatorDefault = XmlNode


@dataclass(frozen=True)
class _Class:
    """The content of a class: attributes by tag, and the actuator elements in order."""

    attributes: dict[str, dict[str, str]] = field(default_factory=dict)
    actuators: tuple[ActuatorDefault, ...] = ()


@dataclass
class MjcfDefaults:
    """The classes of one file by name; `main` is that of elements without a class."""

    classes: dict[str, _Class] = field(default_factory=lambda: {_MAIN: _Class()})
    main: str = _MAIN

    def filled(self, node: XmlNode, inherited: str = "", tag: str = "") -> XmlNode:
        """An element with the attributes of its class where it has none of its own.

        Args:
            node: the element, which may name its class.
            inherited: class of the elements around it, empty for none.
            tag: of the defaults, if it is not that of the element.

        Raises:
            ParsingError: there is no such class.
        """
        found = self._find(node, inherited)
        attributes = found.attributes.get(tag or _DEFAULT_TAGS.get(node.tag, node.tag), {})
        return replace(node, attributes={**attributes, **node.attributes}) if attributes else node

    def filled_actuator(self, node: XmlNode) -> XmlNode:
        """An actuator with what all kinds of actuators share, from its class: ranges, gear and the like."""
        attributes: dict[str, str] = {}
        for default in self.actuators(node):
            attributes.update(default.attributes)
        return replace(node, attributes={**attributes, **node.attributes})

    def actuators(self, node: XmlNode) -> tuple[ActuatorDefault, ...]:
        """The elements that describe the actuator of an actuator's class, in their order."""
        return self._find(node, "").actuators

    def _find(self, node: XmlNode, inherited: str) -> _Class:
        name = node.attributes.get("class") or inherited or self.main
        if name not in self.classes:
            hint = nearest_names(name, self.classes)
            raise node.error(f"{node.describe()} has the unknown class '{name}'. {hint}")
        return self.classes[name]

    def check(self, node: XmlNode, name: str) -> str:
        """Returns the name of a class that an element names for those in it."""
        if name and name not in self.classes:
            hint = nearest_names(name, self.classes)
            raise node.error(f"{node.describe()} has the unknown childclass '{name}'. {hint}")
        return name


def read_defaults(root: XmlNode) -> MjcfDefaults:
    """All classes of a <mujoco>, each with what it inherits from those around it.

    Raises:
        ParsingError: a nested class has no name, or a name is used twice.
    """
    defaults = MjcfDefaults()
    for node in root.find_all("default"):
        name = node.attributes.get("class") or defaults.main
        if name != defaults.main and len(defaults.classes) == 1:  # the outermost class may have another name
            defaults.main = name
            defaults.classes[name] = defaults.classes.pop(_MAIN)
        for class_name, description in _classes(node, name, defaults.classes.get(name, _Class()), defaults):
            defaults.classes[class_name] = description
    return defaults


def _classes(node: XmlNode, name: str, base: _Class, defaults: MjcfDefaults) -> Iterator[tuple[str, _Class]]:
    """A class and those nested in it."""
    attributes = {tag: dict(values) for tag, values in base.attributes.items()}
    actuators = list(base.actuators)
    for child in node.children:
        if child.tag in ACTUATOR_TAGS:
            actuators.append(child)
        elif child.tag != "default":
            attributes.setdefault(child.tag, {}).update(child.attributes)
    own = _Class(attributes, tuple(actuators))
    yield name, own
    for child in node.find_all("default"):
        child_name = child.attributes.get("class", "")
        if not child_name:
            raise child.error("a <default> inside another one needs an attribute 'class'.")
        if child_name in defaults.classes:
            raise child.error(f"a second class is named '{child_name}'. Rename one of them.")
        yield from _classes(child, child_name, own, defaults)


_ASSETS = ("mesh", "hfield", "texture", "material", "model")
_DEFAULT_NAME = "MuJoCo Model"


@dataclass(eq=False)
class MjcfSource:
    """One MJCF file.

    Attributes:
        name: of the model.
        root: the <mujoco>, with its includes in place.
        settings: of its <compiler>.
        options: of its <option>.
        defaults: its classes.
        package_map: resolves package:// addresses in it.
        assets: by kind and name, each with the attributes of its class.
        files: this file, after those that attach it.
    """

    name: str
    root: XmlNode
    settings: MjcfSettings
    options: MjcfOptions
    defaults: MjcfDefaults
    package_map: PackageMap
    assets: dict[str, dict[str, XmlNode]]
    files: tuple[Path, ...]
    _models: dict[Path, MjcfSource] = field(default_factory=dict)

    def section(self, tag: str) -> Iterator[XmlNode]:
        """The elements in all sections of a kind."""
        return (child for section in self.root.find_all(tag) for child in section.children)

    def terrain(self) -> set[str]:
        """Names of the geoms with a mesh that are terrain: data of `<text name="merganser:terrain"/>` in <custom>."""
        texts = (node for node in self.section("custom") if node.attributes.get("name") == TERRAIN)
        return {name for node in texts for name in node.attributes.get("data", "").split()}

    def asset(self, node: XmlNode, kind: str, attribute: str = "") -> XmlNode:
        """The asset that an element names in an attribute, by default that called like its kind.

        Raises:
            ParsingError: it is missing.
        """
        name = node.require_attribute(attribute or kind)
        if name not in self.assets[kind]:
            raise node.error(
                f"{node.describe()} names the {kind} '{name}', which is not an asset. "
                f"{nearest_names(name, self.assets[kind])}"
            )
        return self.assets[kind][name]

    def file(self, node: XmlNode, name: str, folder: str, endings: tuple[str, ...]) -> Path:
        """The file that an element names.

        Args:
            node: the element.
            name: as written.
            folder: the setting for files of this kind.
            endings: those that such a file may have; others are not opened.

        Raises:
            ParsingError: there is no such file, or it has another ending.
        """
        if self.settings.strip_path:
            name = PurePath(name.replace("\\", "/")).name
        if PurePath(name).suffix.lower() not in endings:
            known = ", ".join(endings)
            raise node.error(f"{node.describe()} names the file '{name}', expected one that ends in {known}.")
        uri = name if "://" in name else str(Path(folder, name))
        path = resolve_uri(_from_main_file(uri, self.settings.folder), self.package_map, node.location)
        if not path.is_file():
            raise node.error(f"{node.describe()} names '{name}', which means '{path}' and is not a file.")
        return path

    def model(self, node: XmlNode) -> MjcfSource:
        """The model that an <attach> names, read when it is first asked for.

        An asset without a name is called like the model in its file.
        """
        name = node.attributes["model"]
        nameless = [asset for asset in self.assets["model"].values() if not asset.attributes.get("name")]
        for asset in nameless if name not in self.assets["model"] else ():
            source = self._read_model(asset)
            self.assets["model"].setdefault(source.name, asset)
        return self._read_model(self.asset(node, "model"))

    def _read_model(self, asset: XmlNode) -> MjcfSource:
        path = self.file(asset, asset.require_attribute("file"), "", (".xml", ".mjcf")).resolve()
        if path not in self._models:
            if path in self.files:
                raise asset.error("models attach each other: " + " -> ".join(str(f) for f in (*self.files, path)))
            with located(asset.location):
                root = read_xml(path.read_bytes(), str(path))
            self._models[path] = read_source(root, self.package_map, self.files)
        return self._models[path]


def read_source(root: XmlNode, package_map: PackageMap, files: tuple[Path, ...] = ()) -> MjcfSource:
    """Reads a file without its bodies and the elements that refer to them.

    Args:
        root: the <mujoco>.
        package_map: resolves package:// addresses.
        files: those that attach this one.

    Raises:
        ParsingError: it is no MJCF file, an included file is missing, or a setting, class or asset is wrong.
    """
    root = with_includes(root, package_map)
    location = root.location
    folder, main = _folder_of(root), Path(location.file).resolve()
    name = root.attributes.get("model", "").strip() or (main.stem if folder is not None else _DEFAULT_NAME)
    defaults = read_defaults(root)
    return MjcfSource(
        name, root, read_settings(root, folder), read_options(root), defaults, package_map,
        _read_assets(root, defaults), (*files, main),
    )  # fmt: skip


def with_includes(root: XmlNode, package_map: PackageMap) -> XmlNode:
    """A <mujoco> with the content of included files in place of <include>; other errors as read_source()."""
    if root.tag != "mujoco":
        raise root.error(f"an MJCF document starts with <mujoco>, not with <{root.tag}>.")
    included = {Path(root.location.file).resolve()}
    return replace(root, children=_with_includes(root, _folder_of(root), package_map, included))


def _folder_of(root: XmlNode) -> Path | None:
    """The folder of a file, whatever the working folder will be."""
    folder = root.location.folder
    return None if folder is None else folder.absolute()


def _from_main_file(uri: str, folder: Path | None) -> str:
    """A path relative to the main file, which may be another one than that of the element."""
    return uri if "://" in uri or folder is None else str(folder / uri)


def _with_includes(node: XmlNode, folder: Path | None, package_map: PackageMap, included: set[Path]) -> list[XmlNode]:
    """The children of an element, with those of included files in place of <include>."""
    children: list[XmlNode] = []
    for child in node.children:
        if child.tag == "include":
            children += _included(child, folder, package_map, included)
        elif child.children:
            children.append(replace(child, children=_with_includes(child, folder, package_map, included)))
        else:
            children.append(child)
    return children


def _included(node: XmlNode, folder: Path | None, package_map: PackageMap, included: set[Path]) -> list[XmlNode]:
    name = node.require_attribute("file")
    if PurePath(name).suffix.lower() not in (".xml", ".mjcf"):
        raise node.error(f"<include> names the file '{name}', expected one that ends in .xml or .mjcf.")
    uri = _from_main_file(name, folder)
    path = resolve_uri(uri, package_map, node.location).resolve()
    if not path.is_file():
        raise node.error(f"<include> names '{name}', which means '{path}' and is not a file.")
    if path in included:
        raise node.error(f"'{path}' is included already; a file can be included once.")
    included.add(path)
    with located(node.location):
        root = read_xml(path.read_bytes(), str(path))
    return _with_includes(root, folder, package_map, included)


def _read_assets(root: XmlNode, defaults: MjcfDefaults) -> dict[str, dict[str, XmlNode]]:
    assets: dict[str, dict[str, XmlNode]] = {kind: {} for kind in _ASSETS}
    for section in root.find_all("asset"):
        for child in section.find_all(*_ASSETS):
            node = defaults.filled(child)
            name = node.attributes.get("name") or _name_by_file(node)
            if not name:
                if child.tag == "texture":
                    continue  # of the sky, which nothing names
                raise node.error(f"<{node.tag}> needs an attribute 'name' or 'file'.")
            if name in assets[child.tag]:
                earlier = assets[child.tag][name].location
                raise node.error(f"a second {child.tag} is named '{name}'; the first is at {earlier}. Rename one.")
            assets[child.tag][name] = node
    return assets


def _name_by_file(node: XmlNode) -> str:
    return PurePath(node.attributes.get("file", "").replace("\\", "/")).stem


def LoadMjcfOptions(file_name: str | os.PathLike) -> MjcfOptions:
    """Reads how MuJoCo would simulate an MJCF file: its time step, integrator, gravity and fluid.

    Reads the <option> elements only, those of included files too, so it can be called before there is a
    plant: `AddMultibodyPlantSceneGraph(builder, LoadMjcfOptions("arm.xml").time_step)`.

    Args:
        file_name: of the main file.

    Raises:
        ParsingError: the file is missing, no MJCF, or a value is not admissible.
    """
    path, location = Path(file_name), SourceLocation(os.fspath(file_name))
    if not path.is_file():
        raise ParsingError(location, f"the model file does not exist.{near_files(path)}")
    with located(location):
        root = read_xml(path.read_bytes(), str(path))
    return read_options(with_includes(root, PackageMap()))
