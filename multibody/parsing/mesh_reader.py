"""Meshes that URDF and SDF files name: files, parts of files, convex hulls and convex pieces."""

from __future__ import annotations

__all__ = ["MeshReader"]

import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from merganser.geometry import InMemoryMesh, MemoryFile, Mesh, MeshSource
from merganser.geometry.meshes import (
    TriangleSurfaceMesh,
    convex_pieces,
    read_named_surface_mesh,
    read_surface_mesh,
    wavefront_text,
)
from merganser.multibody.parsing.description import ShapeDescription
from merganser.multibody.parsing.errors import located
from merganser.multibody.parsing.package_map import PackageMap, resolve_uri
from merganser.multibody.parsing.xml_reader import XmlNode

_LARGEST_SCALE = 1e30
_NUM_PIECES = 16  # of a convex decomposition, by default of SDFormat


@dataclass
class MeshReader:
    """Reads the <mesh> elements of a document.

    Attributes:
        package_map: resolves addresses of files.
        has_viewers: whether anybody sees or touches geometry; otherwise visuals and collisions are passed over.
        has_read_files: whether what is in files has become part of the description.
    """

    package_map: PackageMap
    has_viewers: bool = True
    has_read_files: bool = False

    def read(self, node: XmlNode, uri: str, scale: np.ndarray) -> ShapeDescription:
        """A Mesh whose file exists, or a Convex if the file wants its hull.

        Args:
            node: <mesh>, perhaps with <submesh>, <drake:declare_convex>, or an `optimization` of SDFormat.
            uri: address of the file.
            scale: one or three factors.

        Raises:
            ParsingError: the file is not there or has no such part, or a scale factor is zero, too small or too large.
        """
        if not uri:
            raise node.error("the mesh names no file.")
        factors = tuple(scale.tolist() * (3 // len(scale)))
        if not all(factors):
            raise node.error(f"the mesh has scale {scale.tolist()}; factors cannot be zero.")
        path = resolve_uri(uri, self.package_map, node.location)
        if not path.is_file():
            raise node.error(f"the mesh '{uri}' means '{path}', which is not a file.")
        if max(map(abs, factors)) > _LARGEST_SCALE:
            raise node.error(f"the mesh has scale {scale.tolist()}, which is too large to compute with.")
        with located(node.location):
            Mesh(path, scale3=factors)  # refuses factors that are too small
        wants_hull = node.find("drake:declare_convex") is not None or _optimization(node) == "convex_hull"
        shape = ShapeDescription("Convex" if wants_hull else "Mesh", factors, os.path.realpath(path))
        submesh = node.find("submesh")
        return shape if submesh is None else self._part(submesh, shape, path)

    def pieces(self, node: XmlNode, shape: ShapeDescription) -> list[ShapeDescription]:
        """The shapes with which a mesh touches others: itself, or convex pieces if the file wants them.

        Args:
            node: <mesh>, perhaps with `decompose="convex"` or SDFormat's `optimization="convex_decomposition"`.
            shape: what read() made of it.

        Raises:
            ParsingError: the mesh cannot be read, or has no volume.
        """
        decompose = node.attributes.get("decompose", "")
        if decompose:
            node.expect_one_of(decompose, ("convex",), "value of attribute 'decompose'")
        if not decompose and _optimization(node) != "convex_decomposition":
            return [shape]
        settings = node.find_or_empty("convex_decomposition")
        num_pieces = settings.float_child("max_convex_hulls", 0 if decompose else _NUM_PIECES)
        if num_pieces != int(num_pieces) or num_pieces < 0:
            raise settings.error(f"<max_convex_hulls> is {num_pieces:g}; expected a whole number.")
        self.has_read_files = True
        with located(node.location):
            mesh = read_surface_mesh(MeshSource(shape.mesh or shape.file))
            pieces = convex_pieces(mesh, int(num_pieces))
        return [_in_memory(replace(shape, kind="Convex"), piece, Path(shape.file)) for piece in pieces]

    def _part(self, node: XmlNode, shape: ShapeDescription, path: Path) -> ShapeDescription:
        """One named part of a file; with <center>, the middle of its bounding box is at the origin."""
        name = node.require("name").text
        self.has_read_files = True
        with located(node.location):
            mesh = read_named_surface_mesh(MeshSource(path), name)
        if node.bool_child("center", False):
            vertices = mesh.vertex_array()
            middle = (vertices.min(axis=0) + vertices.max(axis=0)) / 2.0
            mesh = TriangleSurfaceMesh(mesh.triangle_array(), vertices - middle)
        return _in_memory(shape, mesh, path)


def _optimization(node: XmlNode) -> str:
    return node.attributes.get("optimization", "")


def _in_memory(shape: ShapeDescription, mesh: TriangleSurfaceMesh, path: Path) -> ShapeDescription:
    """A shape with another mesh in place of its file."""
    text = wavefront_text(mesh.vertex_array(), mesh.triangle_array())
    return replace(shape, file="", mesh=InMemoryMesh(mesh_file=MemoryFile(text, ".obj", str(path))))
