"""Geometries of MJCF files: shapes, height fields, looks and friction, and the mass that they give their bodies."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from merganser.framework.math import RigidTransform
from merganser.geometry import HeightField, InMemoryMesh
from merganser.multibody.parsing.build_geometry import read_brightness
from merganser.multibody.parsing.description import (
    FrictionDescription,
    GeometryDescription,
    ShapeDescription,
    terrain_of,
)
from merganser.multibody.parsing.errors import ParsingError, located
from merganser.multibody.parsing.mjcf.mass import MassProperties, shell_mass, solid_mass
from merganser.multibody.parsing.mjcf.mesh import MjcfMesh, fitted_primitive, read_mesh
from merganser.multibody.parsing.mjcf.pose import segment_pose
from merganser.multibody.parsing.mjcf.settings import read_flag
from merganser.multibody.parsing.mjcf.source import MjcfSource
from merganser.multibody.parsing.mjcf.texture import (
    MjcfTexture,
    finite_plane,
    read_texture,
    textured_box,
    textured_plane,
)
from merganser.multibody.parsing.mjcf.tree import MjcfPart
from merganser.multibody.parsing.mjcf.vocabulary import MjcfReport
from merganser.multibody.parsing.xml_reader import XmlNode

_TYPES = ("plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "sdf")
_NUM_SIZES = {"sphere": 1, "capsule": 2, "ellipsoid": 3, "cylinder": 2, "box": 3}
_ALONG_A_SEGMENT = ("capsule", "ellipsoid", "cylinder", "box")
_NOTHING = ShapeDescription("Mesh")  # of which the file is not opened
_GRAY = (0.5, 0.5, 0.5, 1.0)
_WATER = 1000.0  # [kg/m^3]
_NUM_VISIBLE_GROUPS = 3
_SHOWN = (".png", ".jpg", ".jpeg")  # of pictures on planes
_PICTURES = (".png", ".jpg", ".jpeg", ".bmp", ".ktx")


@dataclass(eq=False)
class MjcfGeometry:
    """A geometry G of a body B.

    Attributes:
        part: the element.
        description: under its final name.
        mass: in B, if it counts for the inertia of the body.
        contype, conaffinity: bits; two geometries touch if the one's type meets the other's affinity.
        is_visible: whether it is drawn.
        drawn: the shape that is drawn in place of its own, with materials of its own.
    """

    part: MjcfPart
    description: GeometryDescription
    mass: MassProperties
    contype: int
    conaffinity: int
    is_visible: bool
    drawn: ShapeDescription | None = None

    @property
    def visual(self) -> GeometryDescription:
        """As it is drawn."""
        if self.drawn is None:
            return self.description
        return replace(self.description, shape=self.drawn, rgba=None, diffuse_map="")

    @property
    def may_touch(self) -> bool:
        """Whether there are geometries that it could touch."""
        return self.contype != 0 or self.conaffinity != 0


@dataclass
class MjcfGeometryReader:
    """Reads geometries; meshes are read once.

    Attributes:
        report: receives what has no counterpart.
        with_files: whether files are opened that only can be seen or touched; of other meshes, whose mass or size
            counts, they always are.
    """

    report: MjcfReport
    with_files: bool = True
    _meshes: dict[int, MjcfMesh] = field(default_factory=dict)  # by the id of their nodes, which live as long
    _fields: dict[int, ShapeDescription] = field(default_factory=dict)
    _textures: dict[int, MjcfTexture] = field(default_factory=dict)

    def read(self, part: MjcfPart, name: str, needs_mass: bool) -> MjcfGeometry | None:
        """Reads a <geom>; None for one that is not supported.

        Args:
            part: the element.
            name: unique on its body.
            needs_mass: whether the inertia of its body follows from its geometries.

        Raises:
            ParsingError: a number or name is wrong.
        """
        node = part.node
        kind = node.expect_one_of(node.attributes.get("type", "sphere"), _TYPES, f"type of {node.describe()}")
        if kind == "sdf":
            self.report.add(node.location, '<geom type="sdf"> is left out: signed distance fields need plugins')
            return None
        try:
            shape, X_BG, mass_G = self._shape(part, kind, needs_mass and self._has_mass(part))
        except ParsingError:
            if kind != "mesh" or not _is_made_by_mujoco(part):
                raise
            self.report.add(node.location, "<geom> with a mesh that MuJoCo makes (builtin or plugin) is left out")
            return None
        friction = float(node.vector_attribute("friction", (1, 2, 3), [1.0])[0])
        if friction < 0.0:
            raise node.error(f"{node.describe()} has the friction {friction:g}; it cannot be negative.")
        rgba, picture, drawn = self._looks(part, kind, shape)
        if kind == "plane" and drawn is None:
            drawn = finite_plane(node, rgba)
        description = GeometryDescription(
            name, X_BG, shape, node.location, rgba=rgba, friction=FrictionDescription(friction, friction),
            diffuse_map=picture, contact=self._belt(part, kind) | self._adhesion(node),
        )  # fmt: skip
        contype, conaffinity = (_bits(node, what) for what in ("contype", "conaffinity"))
        group = node.float_attribute("group", 0.0)
        is_drawn = group < _NUM_VISIBLE_GROUPS and not (part.settings.discards_visuals and not contype | conaffinity)
        return MjcfGeometry(part, description, mass_G.at(X_BG), contype, conaffinity, is_drawn, drawn)

    def _belt(self, part: MjcfPart, kind: str) -> dict[tuple[str, str], float | np.ndarray]:
        """The velocity of the surface, in the frame of the geometry, as of a belt."""
        velocity = part.node.vector_attribute("surfacevel", (3, 6), [0.0] * 3)
        if velocity[3:].any() or (velocity.any() and kind == "mesh"):
            what = "<geom> surfacevel of a mesh" if kind == "mesh" else "<geom> surfacevel that turns"
            self.report.add(part.node.location, f"{what} has no effect")
            return {}
        return {("material", "surface_velocity"): velocity[:3]} if velocity.any() else {}

    def _adhesion(self, node: XmlNode) -> dict[tuple[str, str], float | np.ndarray]:
        """By what its contact points are pulled together."""
        force = node.float_attribute("adhesion", 0.0)
        if force < 0.0:
            self.report.add(node.location, "<geom> adhesion below 0 has no effect")
        return {("material", "adhesion"): force} if force > 0.0 else {}

    # -- shape and mass --------------------------------------------------------------------------------------

    def _shape(
        self, part: MjcfPart, kind: str, has_mass: bool
    ) -> tuple[ShapeDescription, RigidTransform, MassProperties]:
        """The shape, its pose in the body, and its mass properties in its own frame."""
        node = part.node
        if kind == "plane":
            return ShapeDescription("HalfSpace"), part.pose(), MassProperties()
        only_for_looks = kind == "hfield" or (kind == "mesh" and not has_mass)
        if only_for_looks and not self.with_files and "file" in part.source.asset(node, kind).attributes:
            return _NOTHING, part.pose(), MassProperties()
        if kind == "hfield":
            return self._height_field(part), part.pose(), MassProperties()
        if kind == "mesh":
            mesh = self._mesh(part.source, part.source.asset(node, "mesh"))
            mass = self._weighed(node, mesh.mass()) if has_mass else MassProperties()
            shape = _mesh_shape(mesh)
            if node.attributes.get("name") in part.source.terrain():
                shape = terrain_of(shape, node.location)
            return shape, part.pose() @ mesh.X_GM, mass.at(mesh.X_GM.inverse())
        if "mesh" in node.attributes:
            mesh = self._mesh(part.source, part.source.asset(node, "mesh"))
            X_MG, size = fitted_primitive(kind, mesh, part.settings.fits_boxes)
            X_BG = part.pose() @ X_MG
            size = [node.float_attribute("fitscale", 1.0) * length for length in size]
        elif "fromto" in node.attributes and kind in _ALONG_A_SEGMENT:
            X_FG, half_length = segment_pose(node)
            X_BG = part.X_BF @ X_FG
            radius = _sizes(node, kind, 1)[0]
            size = [radius] * (_NUM_SIZES[kind] - 1) + [half_length]
        else:
            X_BG, size = part.pose(), _sizes(node, kind, _NUM_SIZES[kind])
        is_shell = read_flag(node, "shellinertia", False)
        unit = (shell_mass if is_shell else solid_mass)(kind, size)
        mass = self._weighed(node, unit) if has_mass else MassProperties()
        return _primitive(node, kind, size), X_BG, mass

    def _mesh(self, source: MjcfSource, asset: XmlNode) -> MjcfMesh:
        if id(asset) not in self._meshes:
            self._meshes[id(asset)] = read_mesh(asset, source)
        return self._meshes[id(asset)]

    def _height_field(self, part: MjcfPart) -> ShapeDescription:
        asset = part.source.asset(part.node, "hfield")
        if id(asset) not in self._fields:
            field = read_height_field(asset, part.source)
            self._fields[id(asset)] = ShapeDescription("HeightField", terrain=field)
        return self._fields[id(asset)]

    @staticmethod
    def _has_mass(part: MjcfPart) -> bool:
        """Whether the group of the geometry is one of those that have mass, and the geometry has some."""
        first, last = part.settings.inertia_groups
        node = part.node
        return first <= node.float_attribute("group", 0.0) <= last and (
            node.float_attribute("mass", node.float_attribute("density", _WATER)) != 0.0
        )

    @staticmethod
    def _weighed(node: XmlNode, unit: MassProperties) -> MassProperties:
        """Mass properties by `mass` or `density`, from those for density 1."""
        name = "mass" if "mass" in node.attributes else "density"
        value = node.float_attribute(name, _WATER)
        if value < 0.0:
            raise node.error(f"{node.describe()} has the {name} {value:g}; it cannot be negative.")
        return unit.scaled(value / unit.mass if name == "mass" else value)

    # -- looks -----------------------------------------------------------------------------------------------

    def _looks(
        self, part: MjcfPart, kind: str, shape: ShapeDescription
    ) -> tuple[np.ndarray, str, ShapeDescription | None]:
        """The colour [r, g, b, a], the path of a picture, and what is drawn in place of the shape; if there are any."""
        node, source = part.node, part.source
        rgba = node.vector_attribute("rgba", 4, list(_GRAY))
        material = None
        if node.attributes.get("material"):
            material = source.asset(node, "material")
        elif node.attributes.get("mesh") in source.assets["mesh"]:
            asset = source.asset(node, "mesh")
            material = source.asset(asset, "material") if asset.attributes.get("material") else None
        if material is None:
            return np.clip(rgba, 0.0, 1.0), "", None
        if tuple(rgba) == _GRAY:
            rgba = material.vector_attribute("rgba", 4, [1.0, 1.0, 1.0, 1.0])
        rgba = np.clip(rgba, 0.0, 1.0)
        if not (self.with_files and material.attributes.get("texture")):
            return rgba, "", None
        return self._textured(part, kind, shape, material, rgba)

    def _textured(
        self, part: MjcfPart, kind: str, shape: ShapeDescription, material: XmlNode, rgba: np.ndarray
    ) -> tuple[np.ndarray, str, ShapeDescription | None]:
        """The same of what has a texture: planes and boxes are covered with it, others have its mean colour."""
        node = part.source.asset(material, "texture")
        path = self._picture(node, part.source)
        if path and kind != "plane":
            return rgba, path, None
        if "file" in node.attributes and Path(path).suffix.lower() not in _SHOWN:
            return rgba, "", None
        if id(node) not in self._textures:
            self._textures[id(node)] = read_texture(node, Path(path) if path else None)
        texture = self._textures[id(node)]
        if texture.file is not None and kind in ("plane", "box") and "mesh" not in part.node.attributes:
            if kind == "plane":
                return rgba, "", textured_plane(part.node, material, texture.file, rgba)
            return rgba, "", textured_box(shape.dimensions, texture.file, rgba)
        return np.array([*(rgba[:3] * texture.color), rgba[3]]), "", None

    def _picture(self, texture: XmlNode, source: MjcfSource) -> str:
        """The file of a texture; empty for none, or one that cannot be shown."""
        if "file" not in texture.attributes:
            if "builtin" not in texture.attributes:
                self.report.add(texture.location, "<texture> of several files is not drawn")
            return ""
        try:
            return str(source.file(texture, texture.attributes["file"], source.settings.texture_folder, _PICTURES))
        except ParsingError as error:
            self.report.add(texture.location, f"<texture> is not drawn: {str(error).partition(': ')[2]}")
            return ""


def _is_made_by_mujoco(part: MjcfPart) -> bool:
    asset = part.source.assets["mesh"].get(part.node.attributes.get("mesh", ""))
    return asset is not None and ("builtin" in asset.attributes or asset.find("plugin") is not None)


def _mesh_shape(mesh: MjcfMesh) -> ShapeDescription:
    if isinstance(mesh.source, InMemoryMesh):
        return ShapeDescription("Mesh", mesh.scale, mesh=mesh.source)
    return ShapeDescription("Mesh", mesh.scale, str(mesh.source))


def _sizes(node: XmlNode, kind: str, count: int) -> list[float]:
    """The first numbers of `size`, all of them positive."""
    given = node.vector_attribute("size", (1, 2, 3), [0.0, 0.0, 0.0])
    size = given[:count].tolist()
    if len(size) < count or not min(size) > 0.0:
        what = "positive number" if count == 1 else f"{count} positive numbers"
        raise node.error(f"the {kind} {node.describe()} has the size {given.tolist()}, expected {what}.")
    return size


def _primitive(node: XmlNode, kind: str, size: list[float]) -> ShapeDescription:
    match kind:
        case "sphere" | "ellipsoid":
            dimensions = tuple(size)
        case "box":
            dimensions = tuple(2.0 * length for length in size)
        case _:
            dimensions = (size[0], 2.0 * size[1])
    if dimensions[-1] == 0.0:  # of a capsule that is fitted to something short
        kind, dimensions = "sphere", dimensions[:1]
    if not np.isfinite(dimensions).all() or min(dimensions) <= 0.0:
        raise node.error(f"the {kind} {node.describe()} has the size {size}, too large or small to compute with.")
    return ShapeDescription(kind.capitalize(), dimensions)


def _bits(node: XmlNode, name: str) -> int:
    value = node.float_attribute(name, 1.0)
    if value != int(value) or abs(value) >= 2.0**32:
        raise node.error(f"attribute '{name}' of {node.describe()} is {value:g}, expected an integer of 32 bits.")
    return int(value) & 0xFFFFFFFF


_ENDINGS = (".png", ".bin", ".hf", ".hfield")
_MAX_POINTS = 16_000_000


def read_height_field(node: XmlNode, source: MjcfSource) -> HeightField:
    """A height field, whose lowest point is at z = 0 and whose highest one at the elevation of its `size`.

    Args:
        node: the <hfield>.
        source: the document.

    Raises:
        ParsingError: the file is missing or no height field, or sizes are wrong.
    """
    x, y, top, base = node.vector_attribute("size", 4).tolist()
    if not min(x, y, top, base) > 0.0:
        raise node.error(f"{node.describe()} has the size {[x, y, top, base]}; all four numbers have to be positive.")
    heights = _read_heights(node, source)
    spread = np.ptp(heights)
    heights = top * ((heights - heights.min()) / spread if spread > 0.0 else np.zeros_like(heights))
    return HeightField(heights, 2.0 * x, 2.0 * y, base)


def _read_heights(node: XmlNode, source: MjcfSource) -> np.ndarray:
    """Heights in any unit, shape [rows along y, columns along x], each of two or more."""
    if "file" in node.attributes:
        path = source.file(node, node.attributes["file"], source.settings.mesh_folder, _ENDINGS)
        with located(node.location):
            heights = read_brightness(path, _MAX_POINTS) if path.suffix.lower() == ".png" else _read_binary(path)
    else:
        rows, columns = (_count(node, name) for name in ("nrow", "ncol"))
        if rows * columns > _MAX_POINTS:
            raise node.error(f"{node.describe()} has {rows} x {columns} points, expected at most {_MAX_POINTS}.")
        if "elevation" not in node.attributes:
            return np.zeros((rows, columns))
        # In a document the first row is that at the top of a map.
        heights = node.vector_attribute("elevation", rows * columns).reshape(rows, columns)[::-1]
    if min(heights.shape) < 2 or heights.size > _MAX_POINTS or not np.isfinite(heights).all():
        raise node.error(
            f"{node.describe()} has {heights.shape[0]} x {heights.shape[1]} points, expected 2 x 2 or more, at most "
            f"{_MAX_POINTS}, all of them finite."
        )
    return heights


def _count(node: XmlNode, name: str) -> int:
    value = node.float_attribute(name)
    if value != int(value) or value < 2:
        raise node.error(f"attribute '{name}' of {node.describe()} is {value:g}, expected 2 or more.")
    return int(value)


def _read_binary(path: Path) -> np.ndarray:
    """A file of MuJoCo's own format: numbers of rows and columns, then heights in single precision."""
    data = path.read_bytes()
    rows, columns = np.frombuffer(data[:8], "<i4").tolist() if len(data) >= 8 else (0, 0)
    if min(rows, columns) < 2 or len(data) != 8 + 4 * rows * columns:
        raise RuntimeError(f"'{path}' is not a height field: {len(data)} bytes, but {rows} rows and {columns} columns.")
    return np.frombuffer(data, "<f4", offset=8).reshape(rows, columns).astype(np.float64)
