"""The parser: from the name of a model file to model instances of a plant.

Descriptions of documents are kept, for programs that make many plants of one file. A document is kept if its
description follows from its text and from where the files are that it names. These are looked for each time. Documents
that include others are read each time. Warnings about a document are kept with it, since parsing may be strict the
next time.
"""

from __future__ import annotations

import copy
import importlib
import os
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from merganser.framework.common.errors import nearest_names
from merganser.framework.core.values.arguments import require_types
from merganser.framework.math import RigidTransform
from merganser.geometry import Mesh
from merganser.multibody.parsing.build import add_document
from merganser.multibody.parsing.collision_filter_groups import CollisionFilterGroups, GroupResolver, apply_filters
from merganser.multibody.parsing.description import (
    DocumentDescription,
    GeometryDescription,
    LinkDescription,
    ModelDescription,
    ShapeDescription,
)
from merganser.multibody.parsing.errors import Diagnostics, ParsingError, SourceLocation, located
from merganser.multibody.parsing.package_map import (
    PackageMap,
    Resolved,
    file_of_robot,
    is_name_of_robot,
    near_files,
    resolve_uri,
)
from merganser.multibody.parsing.urdf_and_sdf.joints import open_loops
from merganser.multibody.parsing.validate import check_document, group_members
from merganser.multibody.parsing.xml_reader import XmlNode, read_xml
from merganser.multibody.plant.geometry_registration import all_or_nothing
from merganser.multibody.tree import CalcSpatialInertia, ModelInstanceIndex, ScopedName

if TYPE_CHECKING:
    from merganser.framework import DiagramBuilder
    from merganser.geometry import SceneGraph
    from merganser.multibody.parsing.model_directives import ModelDirectives
    from merganser.multibody.plant import MultibodyPlant


_NUM_KEPT = 8


class Reading(NamedTuple):
    """A document to read.

    Attributes:
        data: the document.
        file: the name that errors show.
        file_type: its format.
        with_geometry: whether visuals and collisions are read.
    """

    data: bytes | str
    file: str
    file_type: str
    with_geometry: bool


Warnings = list[tuple[SourceLocation, str]]


class _Kept(NamedTuple):
    description: bytes  # a pickle, as plants may keep what they are given
    warnings: Warnings
    files: list[tuple[Resolved, str]]  # that it names, with the places where they are


_KEPT: dict[Reading, _Kept] = {}


def kept(reading: Reading, package_map: PackageMap) -> tuple[DocumentDescription, Warnings] | None:
    """The description of a document, and warnings; None if it is not kept, or if files that it names are elsewhere."""
    found = _KEPT.get(reading)
    if found is None:
        return None
    try:
        if any(_place(resolve_uri(r.uri, package_map, r.location)) != place for r, place in found.files):
            return None
    except ParsingError:
        return None
    description: DocumentDescription = pickle.loads(found.description)
    return description, found.warnings


def keep(
    reading: Reading, root: XmlNode, resolved: list[Resolved], description: DocumentDescription, warnings: Warnings
) -> None:
    """Keeps a description, unless the document includes others; of those that are kept the oldest goes.

    Args:
        reading: what was read.
        root: the document's root element.
        resolved: the addresses in it, and what they mean.
        description: its description.
        warnings: what there is to be said about it.
    """
    if not _includes_others(root):
        files = [(each, _place(each.path)) for each in resolved]
        _KEPT[reading] = _Kept(pickle.dumps(description, pickle.HIGHEST_PROTOCOL), warnings, files)
        for oldest in list(_KEPT)[:-_NUM_KEPT]:
            _KEPT.pop(oldest, None)  # another thread may have been faster


def _place(path: Path) -> str:
    """The path of a file; empty if it does not exist."""
    return os.path.realpath(path) if path.is_file() else ""


def _includes_others(node: XmlNode) -> bool:
    return node.tag == "include" or any(map(_includes_others, node.children))


_DENSITY = 1000.0  # of water [kg/m^3]


def read_mesh_model(path: Path, name: str = "") -> DocumentDescription:
    """Describes a body of water with the shape of a mesh, which is its visual and its collision geometry.

    Args:
        path: a file of a closed surface or a volume, with lengths in metres.
        name: of the body and its model; by default that of the last named object (`o name`) in an .obj file, or else
            the name of the file without its ending.

    Raises:
        ParsingError: the file is no such mesh, or its triangles enclose no positive volume.
    """
    location = SourceLocation(str(path))
    with located(location), np.errstate(over="ignore", invalid="ignore"):
        M_BBo_B = CalcSpatialInertia(Mesh(str(path)), _DENSITY)
        name = name or _object_name(path) or path.stem
    shape = ShapeDescription("Mesh", (1.0, 1.0, 1.0), str(path.resolve()))
    visual, collision = (
        GeometryDescription(role, RigidTransform(), shape, location) for role in ("visual", "collision")
    )
    link = LinkDescription(name, M_BBo_B, location, [visual], [collision])
    return DocumentDescription(location, [ModelDescription(name, location, [link])])


def _object_name(path: Path) -> str:
    """The name of the last object in a Wavefront file, empty without one."""
    if path.suffix.lower() != ".obj":
        return ""
    named = [line.split(maxsplit=1) for line in path.read_text(errors="replace").splitlines() if line.startswith("o ")]
    names = [words[1].strip() for words in named if len(words) == 2]
    return names[-1] if names else ""


_MJCF = "xml"
# The reader of a format, by module and function, imported only when needed.
_READERS = {
    "urdf": ("urdf_and_sdf.urdf", "read_urdf"), "sdf": ("urdf_and_sdf.sdf", "read_sdf"),
    _MJCF: ("mjcf.reader", "read_mjcf"),
}  # fmt: skip
_USD = ("usd", "usda", "usdc", "usdz")
_MESHES = ("obj", "stl", "dae", "gltf", "glb", "vtk")
_DIRECTIVES = "dmd.yaml"


class Parser:
    """Reads URDF, SDF and MJCF models, meshes, and model directives, into a plant.

    If an `AddModels` call raises an error, whatever the file, the plant, its SceneGraph and the packages are as they
    were.
    A mesh file (`.obj`, `.stl`, `.dae`, `.gltf`, `.glb`, `.vtk`) is a model with one body, of water, in its shape.
    What a file says but the plant does not honour is logged as a warning to the logger
    `merganser.multibody.parsing`, or raised if parsing is strict.

    Args:
        plant: takes the models; not finalized.
        scene_graph: takes the geometries. It is needed only if the plant is not registered with it yet.
        model_name_prefix: put before the name of every model, as in `prefix::model`.
        builder: in place of the plant: a DiagramBuilder that contains a plant named `plant` (and perhaps a
            scene graph named `scene_graph`).

    Raises:
        RuntimeError: neither a plant nor a builder with a plant is given.
        TypeError: arguments that fit none of the forms below.
    """

    @overload
    def __init__(self, plant: Any, scene_graph: Any = None, model_name_prefix: str = "") -> None: ...
    @overload
    def __init__(self, plant: Any, model_name_prefix: str) -> None: ...
    @overload
    def __init__(
        self, builder: Any, plant: Any = None, scene_graph: Any = None, model_name_prefix: str = ""
    ) -> None: ...
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "builder" in kwargs or (args and not hasattr(args[0], "AddModelInstance")):
            self._init_from_builder(*args, **kwargs)
        elif len(args) > 1 and isinstance(args[1], str):
            self._init(None, args[0], None, *args[1:], **kwargs)
        else:
            self._init(None, *args, **kwargs)

    def _init(self, builder: Any, plant: Any, scene_graph: Any = None, model_name_prefix: str = "") -> None:
        if not isinstance(model_name_prefix, str):
            raise TypeError(f"Parser: model_name_prefix is {model_name_prefix!r}, expected a string.")
        self._builder, self._plant, self._scene_graph = builder, plant, scene_graph
        self._prefix = model_name_prefix
        self._package_map = PackageMap()
        self._diagnostics = Diagnostics()
        self._auto_renaming = False
        self._filter_groups = CollisionFilterGroups()
        self._instruments: dict[Any, ModelDescription] = {}  # cameras, sensors, keyframes
        self._sky: Any = None  # of the last model that has one, see ModelDescription and show_sky()
        if scene_graph is not None and not plant.geometry_source_is_registered():
            plant.RegisterAsSourceForSceneGraph(scene_graph)

    def _init_from_builder(
        self, builder: Any, plant: Any = None, scene_graph: Any = None, model_name_prefix: str = ""
    ) -> None:
        if builder is not None and not hasattr(builder, "GetSystems"):
            raise TypeError(f"Parser: {builder!r} is neither a MultibodyPlant nor a DiagramBuilder.")
        systems = {} if builder is None else {system.get_name(): system for system in builder.GetSystems()}
        plant = systems.get("plant") if plant is None else plant
        scene_graph = systems.get("scene_graph") if scene_graph is None else scene_graph
        if plant is None:
            raise RuntimeError(
                "Parser: the builder has no system named 'plant'. Add one with "
                "AddMultibodyPlantSceneGraph(builder, ...), or pass the plant. Systems: "
                f"{nearest_names('plant', systems)}"
            )
        self._init(builder, plant, scene_graph, model_name_prefix)

    def plant(self) -> MultibodyPlant:
        """The plant that takes the models."""
        return self._plant

    def scene_graph(self) -> SceneGraph | None:
        """The scene graph given to the parser or found in its builder, or None."""
        return self._scene_graph

    def builder(self) -> DiagramBuilder | None:
        """The builder given to the parser, or None."""
        return self._builder

    def package_map(self) -> PackageMap:
        """The packages that `package://` and `model://` addresses refer to; add yours to it."""
        return self._package_map

    def SetStrictParsing(self) -> None:
        """Turns later warnings into errors."""
        self._diagnostics.strict = True

    def SetAutoRenaming(self, value: bool) -> None:
        """Whether a model whose name is taken gets a number appended; if not, it is refused."""
        self._auto_renaming = bool(value)

    def GetAutoRenaming(self) -> bool:
        """Whether a model whose name is taken gets a number appended."""
        return self._auto_renaming

    def GetCollisionFilterGroups(self) -> CollisionFilterGroups:
        """All collision filter groups read so far; they have been declared in the SceneGraph, if there is one."""
        return self._filter_groups

    @overload
    def AddModels(self, file_name: str | os.PathLike[str]) -> list[ModelInstanceIndex]: ...
    @overload
    def AddModels(self, *, url: str) -> list[ModelInstanceIndex]: ...
    @overload
    def AddModels(self, *, file_contents: str, file_type: str) -> list[ModelInstanceIndex]: ...
    def AddModels(
        self,
        file_name: str | os.PathLike[str] | None = None,
        *,
        url: str | None = None,
        file_contents: str | None = None,
        file_type: str | None = None,
    ) -> list[ModelInstanceIndex]:
        """Adds all models of a file, of an address, or of a string.

        Args:
            file_name: path of a `.urdf`, `.sdf`, `.xml`, `.dmd.yaml` or USD file, or of a mesh file; or the name of a
                robot in the package robot_descriptions (extra `robots`), such as "panda_description".
            url: `package://`, `model://` or `file://` address of such a file.
            file_contents: the document itself.
            file_type: its format, `urdf`, `sdf`, `xml` (MJCF) or `dmd.yaml`.

        Returns:
            The indices of the new model instances, outer models before the models nested in them; of directives those
            of their `add_model`.

        Raises:
            ParsingError: the file is missing, malformed, or not a valid model (a RuntimeError).
            RuntimeError: the plant is finalized, a model name is taken, or an address has an unknown package.
            TypeError: not exactly one of the three forms is used.
        """
        given = (file_name is not None, url is not None, file_contents is not None)
        if sum(given) != 1 or (file_contents is None) != (file_type is None):
            raise TypeError("AddModels takes a file_name, or url=, or file_contents= with file_type=.")
        if file_contents is not None and file_type is not None:
            return self.AddModelsFromString(file_contents, file_type)
        if url is not None:
            return self.AddModelsFromUrl(url)
        assert file_name is not None
        with self._all_or_nothing():
            path = Path(file_name)
            return self._add_file(file_of_robot(path.name, self._package_map) if is_name_of_robot(path) else path)

    def AddModelsFromUrl(self, url: str) -> list[ModelInstanceIndex]:
        """Adds all models of the file behind an address; see AddModels()."""
        with self._all_or_nothing():
            return self._add_file(Path(self._package_map.ResolveUrl(url)))

    def AddModelsFromString(self, file_contents: str, file_type: str) -> list[ModelInstanceIndex]:
        """Adds all models of a document given as a string; see AddModels()."""
        with self._all_or_nothing():
            return self._add(file_contents, f"<literal-string>.{file_type}", file_type)

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Leaves plant, packages and collision filter groups as they were if what is inside ends in an exception."""
        packages, groups = self._package_map, self._filter_groups
        changing: tuple[Any, ...] = packages._paths, packages._remotes, groups._groups, groups._exclusion_pairs
        as_they_were = [copy.copy(each) for each in changing]
        try:
            with all_or_nothing(self._plant):
                yield
        except BaseException:
            for each, before in zip(changing, as_they_were):
                each.clear()
                each.update(before)
            raise

    def _add_file(self, path: Path) -> list[ModelInstanceIndex]:
        self._check_file(path)
        if _file_type(path) == _DIRECTIVES:
            from merganser.multibody.parsing.model_directives import LoadModelDirectives

            return self._process(LoadModelDirectives(path), str(path))
        document = self._read_file(path)
        return self._add_document(document, self._choose_instance_names(document))

    def _check_file(self, path: Path) -> None:
        location = SourceLocation(str(path))
        with located(location):
            if not path.is_file():
                kind = "is a folder, not a file" if path.is_dir() else "does not exist"
                raise ParsingError(location, f"the model file {kind}.{'' if path.is_dir() else near_files(path)}")

    def _add(self, data: str, file: str, file_type: str) -> list[ModelInstanceIndex]:
        file_type = file_type.lower().removeprefix(".")
        if file_type == _DIRECTIVES:
            from merganser.multibody.parsing.model_directives import LoadModelDirectivesFromString

            return self._process(LoadModelDirectivesFromString(data), file)
        if file_type in (*_MESHES, *_USD):
            what = "a mesh" if file_type in _MESHES else "a stage of USD"
            raise ParsingError(SourceLocation(file), f"{what} cannot be given as a string; write it to a file.")
        document = self._read(data, file, file_type)
        return self._add_document(document, self._choose_instance_names(document))

    def _process(self, directives: ModelDirectives, file: str) -> list[ModelInstanceIndex]:
        from merganser.multibody.parsing.process_directives import process

        self._check_not_finalized(file)
        return [info.model_instance for info in process(directives, self, self._prefix)]

    def _add_one_model(self, path: Path, name: str, location: SourceLocation) -> Any:
        """Adds the one model of a file under a name, to which no prefix is added; returns its model instance."""
        self._check_file(path)
        if _file_type(path) == _DIRECTIVES:
            raise ParsingError(
                location,
                f"'{path}' holds model directives, but add_model needs a file with one model. Use add_directives.",
            )
        document = self._read_file(path, ScopedName.Parse(name).get_element())
        if len(document.models) != 1 or document.joints or document.frames:
            raise ParsingError(
                location,
                f"'{path}' holds {len(document.models)} models, but add_model needs a file with exactly one <model> or "
                "<robot>, and nothing outside it.",
            )
        return self._add_document(document, self._choose_instance_names(document, name, location))[0]

    def _check_not_finalized(self, file: str) -> None:
        if self._plant.is_finalized():
            raise RuntimeError(f"Cannot add '{file}': the plant is finalized. Add models before Finalize().")

    def _read_file(self, path: Path, name_of_mesh: str = "") -> DocumentDescription:
        file_type, location = _file_type(path), SourceLocation(str(path))
        self._check_not_finalized(str(path))
        if file_type in _MESHES:
            return read_mesh_model(path, name_of_mesh)
        if file_type in _USD:
            from merganser.multibody.parsing.usd import read_usd

            document = read_usd(path, self._diagnostics)
            open_loops(document, self._diagnostics)
            check_document(document)
            return document
        if file_type not in _READERS:
            raise ParsingError(location, _unsupported(path.suffix))
        with located(location):
            data = path.read_bytes()
        return self._read(data, str(path), file_type)

    def _read(self, data: bytes | str, file: str, file_type: str) -> DocumentDescription:
        if file_type not in _READERS:
            raise ParsingError(SourceLocation(file), _unsupported(file_type))
        self._check_not_finalized(file)
        reading = Reading(data, file, file_type, self._plant.geometry_source_is_registered())
        with located(SourceLocation(file)):
            self._diagnostics.contents = hash(data)
            found = kept(reading, self._package_map)
            if found is None:
                return self._read_now(reading)
            document, warnings = found
            for warning in warnings:
                self._diagnostics.warn(*warning)
            return document

    def _read_now(self, reading: Reading) -> DocumentDescription:
        warnings, resolved = self._diagnostics.warnings, self._package_map._resolved
        num_warnings = len(warnings)
        resolved.clear()
        root = read_xml(reading.data, reading.file)
        if root.outside is not None:
            self._diagnostics.warn(root.outside, f"what is here, outside of <{root.tag}>, has no effect.")
        module, function = _READERS[reading.file_type]
        read = getattr(importlib.import_module(f"merganser.multibody.parsing.{module}"), function)
        document: DocumentDescription = read(root, self._package_map, self._diagnostics, reading.with_geometry)
        if reading.file_type != _MJCF:  # where bodies are in trees
            open_loops(document, self._diagnostics)
        check_document(document)
        depends_on_files = document.depends_on_files or (reading.file_type == _MJCF and resolved)
        if not depends_on_files:
            keep(reading, root, resolved, document, warnings[num_warnings:])
        return document

    def _add_document(self, document: DocumentDescription, instance_names: dict[str, str]) -> list[ModelInstanceIndex]:
        instances = add_document(self._plant, document, instance_names, self._diagnostics)
        for model in document.models:
            self._sky = self._sky if model.sky is None else model.sky
            if model.cameras or model.sensors or model.keyframes:
                self._instruments[self._plant.GetModelInstanceByName(instance_names[model.name])] = model
        resolver = GroupResolver(self._plant)
        for model in document.all_models():
            self._collect_filter_groups(model, instance_names, resolver)
        self._apply_filter_groups(resolver.resolve())
        return instances

    def _add_model_instance(self, name: str) -> None:
        """Adds an empty model instance; its name gets a number if it is taken and that is allowed."""
        wanted, count = name, 0
        while self._auto_renaming and self._plant.HasModelInstanceNamed(name):
            count += 1
            name = f"{wanted}_{count}"
        self._plant.AddModelInstance(name)

    def _choose_instance_names(
        self, document: DocumentDescription, name_of_one: str = "", location: SourceLocation | None = None
    ) -> dict[str, str]:
        """The name of every model in the plant: with the prefix, or as given, and a number if need be."""
        names: dict[str, str] = {}
        for root in document.models:
            wanted = name_of_one or (f"{self._prefix}::{root.name}" if self._prefix else root.name)
            name, count = wanted, 0
            while self._is_taken(root, name, names):
                count += 1
                if not self._auto_renaming:
                    raise ParsingError(
                        location or root.location,
                        f"the plant already has a model instance named '{name}'. Call "
                        "SetAutoRenaming(True), or use a parser with another model_name_prefix.",
                    )
                name = f"{wanted}_{count}"
            names.update((model.name, name + model.name.removeprefix(root.name)) for model in root.with_nested())
        return names

    def _is_taken(self, root: ModelDescription, name: str, chosen: dict[str, str]) -> bool:
        candidates = [name + model.name.removeprefix(root.name) for model in root.with_nested()]
        return any(c in chosen.values() or self._plant.HasModelInstanceNamed(c) for c in candidates)

    def _collect_filter_groups(
        self, model: ModelDescription, instance_names: dict[str, str], resolver: GroupResolver
    ) -> None:
        """Hands over the groups of a model under scoped names."""
        scope = instance_names[model.name]

        def in_plant(name: str) -> str:
            nested, _, own = f"{model.name}::{name}".rpartition("::")
            return f"{instance_names.get(nested, nested)}::{own}"

        for group in model.filter_groups:
            members = (f"{instance_names.get(b.model, b.model)}::{b.body}" for b in group_members(model, group))
            resolver.add(
                f"{scope}::{group.name}",
                members,
                map(in_plant, group.member_groups),
                map(in_plant, group.ignored_groups),
                group.location,
            )

    def _apply_filter_groups(self, groups: CollisionFilterGroups) -> None:
        """Records groups, and declares them in the SceneGraph."""
        for name, members in groups.groups().items():
            self._filter_groups.AddGroup(name, members)
        for pair in groups.exclusion_pairs():
            self._filter_groups.AddExclusionPair(pair)
        if self._plant.geometry_source_is_registered():
            apply_filters(groups, self._plant, self._plant._geometry.scene_graph)


def _file_type(path: Path) -> str:
    """The format of a file, by its ending."""
    return _DIRECTIVES if path.name.lower().endswith(f".{_DIRECTIVES}") else path.suffix.lower().lstrip(".")


def _unsupported(file_type: str) -> str:
    known = ", ".join(f".{name}" for name in (*_READERS, *_USD, *_MESHES, _DIRECTIVES))
    return f"file type '{file_type or '(none)'}' is not supported; the parser reads {known}."


def described_model(
    caller: str, parser: Parser, model_instance: ModelInstanceIndex | None, what: tuple[str, ...]
) -> tuple[MultibodyPlant, ModelInstanceIndex, ModelDescription]:
    """The plant of a parser, and the one MJCF model that has any of what it has read, or that of an instance.

    Raises:
        RuntimeError: the plant is not finalized, or there is no such model.
        TypeError: the parser is something else.
    """
    require_types(caller, parser=(parser, Parser))
    plant = parser.plant()
    known = {i: model for i, model in parser._instruments.items() if any(getattr(model, name) for name in what)}
    if not plant.is_finalized():
        raise RuntimeError(f"{caller}(): the plant is not finalized; call Finalize() first.")
    if model_instance is None and len(known) == 1:
        model_instance = next(iter(known))
    if model_instance is None or model_instance not in known:
        names = ", ".join(f"'{plant.GetModelInstanceName(instance)}'" for instance in known) or "none"
        raise RuntimeError(
            f"{caller}(): model instance {model_instance} is none that this parser has read from an MJCF file with "
            f"{' or '.join(what)}. There are: {names}. Pass the index that AddModels() has returned."
        )
    return plant, model_instance, known[model_instance]
