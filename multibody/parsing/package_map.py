"""Where the packages named in `package://` and `model://` addresses live on this machine, and robots by name."""

from __future__ import annotations

import copy
import functools
import importlib
import importlib.machinery
import logging
import os
import re
from collections import ChainMap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

import merganser.models
from merganser.framework.common.errors import nearest_names
from merganser.framework.common.source_location import warn_of_file
from merganser.multibody.parsing import remote_packages
from merganser.multibody.parsing.errors import ParsingError, SourceLocation, located
from merganser.multibody.parsing.xml_reader import read_xml

_logger = logging.getLogger("merganser.multibody.parsing")
_PACKAGE_XML, _MODEL_CONFIG = "package.xml", "model.config"
_ROS_STOP_MARKERS = ("AMENT_IGNORE", "CATKIN_IGNORE", "COLCON_IGNORE")


class Resolved(NamedTuple):
    """An address, and what it means.

    Attributes:
        uri: the address, or a path.
        location: the referring element.
        path: the file or folder.
    """

    uri: str
    location: SourceLocation
    path: Path


class PackageMap:
    """Maps package names to folders.

    A package is any folder; folders with a `package.xml` know their own name. Remote packages are fetched from
    elsewhere, when their path is first asked for. A new map knows `merganser_models`, the models of our examples,
    `drake_models`, which is remote, and `drake`: the files in the folder `drake` of the environment variable
    DRAKE_RESOURCE_ROOT, or those of an installed drake wheel, which is not imported, or else it is remote, too.
    Packages of these names that are added take their place.
    """

    RemoteParams = remote_packages.RemoteParams

    def __init__(self, other: PackageMap | None = None):
        if other is not None and not isinstance(other, PackageMap):
            raise TypeError(f"PackageMap(other) expects a PackageMap, got {type(other).__name__}.")
        self._paths: dict[str, str] = dict(other._paths) if other is not None else {}
        self._remotes: dict[str, remote_packages.RemoteParams] = dict(other._remotes) if other is not None else {}
        defaults = _default_packages() if other is None else other._defaults
        self._defaults: dict[str, str | remote_packages.RemoteParams] = dict(defaults)
        self._resolved: list[Resolved] = []  # since reading of a document began

    @staticmethod
    def MakeEmpty() -> PackageMap:
        """A map without any package."""
        empty = PackageMap()
        empty._defaults.clear()
        return empty

    def __copy__(self) -> PackageMap:
        return PackageMap(self)

    def __deepcopy__(self, memo: dict) -> PackageMap:
        return PackageMap(self)

    def Add(self, package_name: str, package_path: str | os.PathLike) -> None:
        """Adds a package.

        Raises:
            RuntimeError: the folder does not exist, or the name is taken by another folder.
        """
        path = Path(package_path)
        if not package_name:
            raise RuntimeError(f"PackageMap.Add: the package at '{path}' needs a non-empty name.")
        with _paths_of(f"PackageMap.Add: package '{package_name}'"):
            is_folder = path.is_dir()
        if not is_folder:
            raise RuntimeError(f"PackageMap.Add: package '{package_name}' has no folder '{path}'.{near_files(path)}")
        if package_name in self._remotes:
            raise RuntimeError(
                f"PackageMap.Add: package '{package_name}' is remote ('{self._remotes[package_name].urls[0]}'), not at "
                f"'{path}'. Call Remove('{package_name}') first to replace it."
            )
        known = self._paths.get(package_name)
        if known is not None and not os.path.samefile(known, path):
            raise RuntimeError(
                f"PackageMap.Add: package '{package_name}' is already at '{known}', not at '{path}'. "
                f"Call Remove('{package_name}') first to move it."
            )
        self._paths.setdefault(package_name, str(path.resolve()))

    def AddRemote(self, package_name: str, params: remote_packages.RemoteParams) -> None:
        """Adds a package that is an archive elsewhere; it is fetched when its path is first asked for, and cached.

        Raises:
            RuntimeError: parameters are missing or wrong, or the name is taken by another package.
        """
        if not package_name:
            raise RuntimeError("PackageMap.AddRemote: the package needs a non-empty name.")
        params._check(package_name)
        known = self._remotes.get(package_name)
        if package_name in self._paths or (known is not None and known != params):
            where = self._paths.get(package_name) or (known and known.ToJson())
            raise RuntimeError(
                f"PackageMap.AddRemote: package '{package_name}' is already {where}, not {params.ToJson()}. Call "
                f"Remove('{package_name}') first to replace it."
            )
        self._remotes[package_name] = copy.deepcopy(params)

    def AddMap(self, other_map: PackageMap) -> None:
        """Adds all packages of another map; none if any of them conflicts.

        Raises:
            RuntimeError: a name is taken by another folder.
        """
        merged = PackageMap(self)
        for name, path in other_map._paths.items():
            merged.Add(name, path)
        for name, params in other_map._remotes.items():
            merged.AddRemote(name, params)
        merged._defaults.update(other_map._defaults)
        self._paths, self._remotes, self._defaults = merged._paths, merged._remotes, merged._defaults

    def AddPackageXml(self, filename: str | os.PathLike) -> None:
        """Adds the folder of a `package.xml`, under the name written in it.

        Raises:
            RuntimeError: no such file, no <name> in it, or the name is taken by another folder.
        """
        path = Path(filename)
        with _paths_of("PackageMap.AddPackageXml"):
            if not path.is_file():
                raise RuntimeError(f"PackageMap.AddPackageXml: there is no file '{path}'.{near_files(path)}")
        self.Add(name_in_package_xml(path), path.resolve().parent)

    def Remove(self, package_name: str) -> None:
        """Forgets a package.

        Raises:
            RuntimeError: there is no such package.
        """
        self._check_known(package_name)
        for packages in (self._paths, self._remotes, self._defaults):
            packages.pop(package_name, None)

    def Contains(self, package_name: str) -> bool:
        """Whether the package is known."""
        return self._was_added(package_name) or package_name in self._defaults

    def _was_added(self, package_name: str) -> bool:
        return package_name in self._paths or package_name in self._remotes

    def size(self) -> int:
        """The number of packages."""
        return len(self.GetPackageNames())

    def GetPackageNames(self) -> list[str]:
        """All package names, sorted."""
        return sorted({*self._paths, *self._remotes, *self._defaults})

    def GetPath(self, package_name: str) -> str:
        """The package's folder; a remote package is fetched if it is not in the cache.

        Raises:
            RuntimeError: there is no such package, or it cannot be fetched.
        """
        self._check_known(package_name)
        packages: ChainMap[str, Any] = ChainMap(self._paths, self._remotes, self._defaults)
        found = packages[package_name]
        return found if isinstance(found, str) else str(remote_packages.fetch(package_name, found))

    def _check_known(self, package_name: str) -> None:
        if not self.Contains(package_name):
            raise RuntimeError(
                f"Unknown package '{package_name}'. {nearest_names(package_name, self.GetPackageNames())} "
                f"Add it with parser.package_map().Add('{package_name}', folder)."
            )

    def PopulateFromFolder(self, path: str | os.PathLike) -> None:
        """Adds every package below a folder; conflicts keep the known path and log a warning."""
        self._crawl(Path(path), stop_at_packages=False)

    def PopulateFromEnvironment(self, environment_variable: str) -> None:
        """Adds every package below the folders listed (separated by `:`) in an environment variable.

        Raises:
            RuntimeError: the variable is ROS_PACKAGE_PATH, which follows other rules.
        """
        if environment_variable == "ROS_PACKAGE_PATH":
            raise RuntimeError("ROS_PACKAGE_PATH follows its own rules: call PopulateFromRosPackagePath().")
        for folder in filter(None, os.environ.get(environment_variable, "").split(os.pathsep)):
            self._crawl(Path(folder), stop_at_packages=False)

    def PopulateFromRosPackagePath(self) -> None:
        """Adds the packages on ROS_PACKAGE_PATH, without looking for packages inside packages."""
        for folder in filter(None, os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep)):
            self._crawl(Path(folder), stop_at_packages=True)

    def ResolveUrl(self, url: str) -> str:
        """The existing local path behind a `package://`, `model://` or `file://` address.

        Raises:
            RuntimeError: another scheme, an unknown package, or nothing at the resolved path.
        """
        parts = _split(url)
        if parts.scheme in ("package", "model"):
            if not parts.netloc:
                raise RuntimeError(f"Address '{url}' names no package, expected {parts.scheme}://package/path.")
            path = Path(self.GetPath(unquote(parts.netloc)), unquote(parts.path).lstrip("/"))
        elif parts.scheme == "file":
            path = Path(unquote(parts.netloc + parts.path))
        else:
            raise RuntimeError(f"Address '{url}' cannot be resolved, expected package://, model:// or file://.")
        with _paths_of(f"Address '{url}'"):
            is_there = path.exists()
        if not is_there:
            raise RuntimeError(f"Address '{url}' means '{path}', which does not exist.{near_files(path)}")
        return str(path)

    def _add_near(self, url: str, folder: Path | None) -> None:
        """Adds the package that an address names, if it is unknown but near the file that refers to it.

        A model inside a package can so refer to its own files before anybody has added the package; so can one below a
        folder that is only called so, without a `package.xml`, if the file is there. A `model://`
        address may name a folder beside the file; or, from inside the folder of an SDF model (which has a
        `model.config`), that folder or one beside it.
        """
        parts = _split(url)
        name = unquote(parts.netloc)
        if folder is None or parts.scheme not in ("package", "model") or not name or self._was_added(name):
            return
        around = (folder.resolve(), *folder.resolve().parents)
        packages = (parent for parent in around if (parent / _PACKAGE_XML).is_file())
        found = next((parent for parent in packages if name_in_package_xml(parent / _PACKAGE_XML) == name), None)
        if found is None and parts.scheme == "model":
            shelves = (folder.resolve(), *(p.parent for p in around if (p / _MODEL_CONFIG).is_file()))
            found = next((shelf / name for shelf in shelves if (shelf / name).is_dir()), None)
        if found is None and parts.path.strip("/"):
            called_so = (parent for parent in around if parent.name == name)
            found = next((p for p in called_so if (p / unquote(parts.path).lstrip("/")).exists()), None)
        if found is not None:
            self.Add(name, found)

    def _crawl(self, folder: Path, stop_at_packages: bool) -> None:
        if not os.path.isdir(folder):
            warn_of_file(_logger, f"There is no folder '{folder}' to look for packages in.")
            return
        for root, subfolders, files in os.walk(folder):
            if stop_at_packages and any(marker in files for marker in _ROS_STOP_MARKERS):
                subfolders.clear()
                continue
            subfolders.sort()
            if _PACKAGE_XML in files:
                self._add_found(Path(root))
                if stop_at_packages:
                    subfolders.clear()

    def _add_found(self, folder: Path) -> None:
        name = name_in_package_xml(folder / _PACKAGE_XML)
        known = self._remotes[name].urls[0] if name in self._remotes else self._paths.get(name)
        if known is not None and not (name in self._paths and os.path.samefile(known, folder)):
            warn_of_file(_logger, f"Package '{name}' is at '{known}'; the one at '{folder}' is ignored.")
            return
        self.Add(name, folder)


def _default_packages() -> dict[str, str | remote_packages.RemoteParams]:
    """The packages that a new map knows: models of our examples, Drake's models, and Drake's own files."""
    given = Path(os.environ.get("DRAKE_RESOURCE_ROOT") or "", "drake")
    is_given = "DRAKE_RESOURCE_ROOT" in os.environ and given.is_dir()
    drake = str(given.resolve()) if is_given else _files_of_drake_wheel() or remote_packages.DRAKE
    ours = merganser.models.__path__[0]
    return {"merganser_models": ours, "drake_models": remote_packages.DRAKE_MODELS, "drake": drake}


@functools.cache
def _files_of_drake_wheel() -> str:
    """The folder of the files that come with an installed drake wheel; empty if not installed."""
    wheel = importlib.machinery.PathFinder.find_spec("pydrake")  # itself, even if merganser is installed as pydrake
    shares = (Path(folder, "share", "drake") for folder in (wheel and wheel.submodule_search_locations) or ())
    return next((str(share.resolve()) for share in shares if share.is_dir()), "")


@contextmanager
def _paths_of(what: str) -> Iterator[None]:
    """Turns errors of the file system about impossible paths into a RuntimeError."""
    try:
        yield
    except (OSError, ValueError) as cause:
        raise RuntimeError(f"{what}: {cause}") from cause


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError as cause:
        raise RuntimeError(f"Address '{url}' cannot be resolved: {cause}.") from None


def near_files(path: Path) -> str:
    """A sentence that names files near a missing path; starts with a space, may be empty."""
    folder = path.parent
    while not os.path.isdir(folder) and folder != folder.parent:
        folder = folder.parent
    if folder != path.parent:
        return f" The folder '{path.parent}' does not exist either; '{folder}' does."
    names = [entry.name for entry in folder.iterdir()]
    return f" In '{folder}': {nearest_names(path.name, names)}" if names else f" '{folder}' is empty."


def resolve_uri(uri: str, package_map: PackageMap, location: SourceLocation) -> Path:
    """The existing file that a model file refers to.

    Args:
        uri: an address with scheme, or a path relative to the referring file.
        location: the referring element; a package is known if it is near its file.

    Raises:
        ParsingError: it cannot be resolved, or is not there.
    """
    with located(location):
        path = _path_of(uri, package_map, location)
    package_map._resolved.append(Resolved(uri, location, path))
    return path


def _path_of(uri: str, package_map: PackageMap, location: SourceLocation) -> Path:
    if "://" in uri:
        package_map._add_near(uri, location.folder)
        return Path(package_map.ResolveUrl(uri))
    path = Path(uri)
    if not path.is_absolute():
        if location.folder is None:
            raise ParsingError(
                location,
                f"path '{uri}' is relative, but a model given as a string has no folder. Use an absolute "
                "path or a package:// address.",
            )
        path = location.folder.absolute() / path  # whatever the working folder is when it is read
    if not path.exists():
        raise ParsingError(location, f"file '{path}' does not exist.{near_files(path)}")
    return path


def name_in_package_xml(package_xml: Path) -> str:
    """The name that a package.xml gives its package; a ParsingError says that it gives none."""
    root = read_xml(package_xml.read_bytes(), str(package_xml))
    name = root.require("name").text
    if not name:
        raise root.error("the package has an empty <name>.")
    return name


_NAME = re.compile(r"\w+_description")
_PACKAGE = re.compile(rb"(?:package|model)://([^/\"'<>]+)/")


def is_name_of_robot(path: Path) -> bool:
    """Whether this is a name such as "panda_description", not a path."""
    return _NAME.fullmatch(str(path)) is not None and not path.exists()


def file_of_robot(name: str, packages: PackageMap) -> Path:
    """The model file of a robot by its name in robot_descriptions; its packages are added where they are missing.

    Args:
        name: as in "panda_description" (URDF) or "panda_mj_description" (MJCF).
        packages: gets the packages that the file names.

    Raises:
        ImportError: robot_descriptions is not installed.
        ParsingError: it has no such robot, cannot fetch it, or has it in another format only.
    """
    where = SourceLocation(name)
    try:
        importlib.import_module("robot_descriptions")
    except ImportError as error:
        raise ImportError(
            f"There is no file '{name}'. For the robot of this name install the extra: pip install 'merganser[robots]'."
        ) from error
    try:
        module: Any = importlib.import_module(f"robot_descriptions.{name}")
    except ModuleNotFoundError as error:
        raise ParsingError(where, "robot_descriptions has no robot of this name, and there is no such file.") from error
    except Exception as error:  # of git, of the network
        raise ParsingError(where, f"robot_descriptions could not fetch the robot: {error}") from error
    found = getattr(module, "URDF_PATH", None) or getattr(module, "MJCF_PATH", None)
    if found is None:
        raise ParsingError(where, "robot_descriptions has it in neither URDF nor MJCF; convert it, and add the file.")
    path, root, package = (Path(p) for p in (found, module.REPOSITORY_PATH, module.PACKAGE_PATH))
    folders = [root, package, *path.parents]
    for wanted in {match.decode() for match in _PACKAGE.findall(path.read_bytes())}:
        candidates = [folder for folder in folders if folder.name == wanted]
        candidates += [folder / wanted for folder in folders if (folder / wanted).is_dir()]
        if candidates and not packages.Contains(wanted):
            packages.Add(wanted, candidates[0])
    return path
