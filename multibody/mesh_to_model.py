"""Makes an SDFormat file of one body from a mesh file.

    python -m merganser mesh_to_model MESH [--scale FACTOR] [--mass KG | --density KG/M3] [-o FILE] ...

The mesh is the visual and the collision geometry of the body; the mass properties are those of the volume that it
encloses. The options are those of pydrake.multibody.mesh_to_model, and so is the result.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

from merganser.framework.common.saving import save_text

if TYPE_CHECKING:
    from merganser.multibody.tree import SpatialInertia

_WATER = 1000.0  # [kg/m^3]
_LARGE, _SMALL = 1e6, 6e-11  # a volume like this was not meant in metres: a skyscraper, and a grain of sand [m^3]

_MESH = """          <mesh>
            <uri>{uri}</uri>
            <scale>{scale}</scale>
          </mesh>"""
_MODEL = """<?xml version='1.0'?>
<sdf xmlns:drake="http://drake.mit.edu" version="1.8">
  <model name='{name}'>
    <link name='{name}'>
      <inertial>
        <pose>{center} 0 0 0</pose>
        <mass>{mass}</mass>
        <inertia>
{moments}
        </inertia>
      </inertial>
      <visual name='visual'>
        <pose>{position} 0 0 0</pose>
        <geometry>
{mesh}
        </geometry>
      </visual>
      <collision name='collision'>
        <pose>{position} 0 0 0</pose>
        <geometry>
{mesh}
        </geometry>
        <!-- Without <drake:rigid_hydroelastic>, the body touches others in points only. -->
        <drake:proximity_properties>
          <drake:mu_dynamic>0.5</drake:mu_dynamic>
          <drake:mu_static>0.5</drake:mu_static>
          <drake:rigid_hydroelastic/>
        </drake:proximity_properties>
      </collision>
    </link>
  </model>
</sdf>
"""
_PACKAGE = """<?xml version="1.0"?>
<package format="2">
  <name>{name}</name>
  <version>0.0.0</version>
  <description>Made by mesh_to_model for {mesh}.</description>
  <maintainer email="unknown@example.com">unknown</maintainer>
  <license>unknown</license>
</package>
"""


def make_model(
    mesh_path: Path,
    *,
    model_name: str | None = None,
    scale: float = 1.0,
    density: float = _WATER,
    mass: float | None = None,
    at_com: bool = False,
    p_GoBo: Sequence[float] | None = None,
    package: str = "none",
    output: Path | None = None,
) -> Path:
    """Writes an SDFormat file of one body from a mesh in frame G.

    Args:
        mesh_path: a file of a closed surface or a volume.
        model_name: of model and body, by default the name of the file without its ending.
        scale: factor of all lengths, to metres.
        density: mass per volume [kg/m^3], unless a mass is given.
        mass: of the body [kg].
        at_com: whether the origin of the body is its centre of mass.
        p_GoBo: origin of the body in G [m], shape [3]; by default that of G.
        package: how the model names the mesh: "none" by its path from the folder of the model; "auto" by the package
            in the folder of the mesh, which is made if missing; or the path of a package.xml above the mesh.
        output: the file to write; by default beside the mesh, with its name.

    Returns:
        The path of the file.

    Raises:
        ValueError: the scale is not positive, both origins are given, or the package is not right.
        RuntimeError: the mesh cannot be read, or has no volume; the package has no name.
        ImportError: its format needs a package that is missing.
    """
    import numpy as np

    from merganser.multibody.parsing.inertia import central_moments

    if not scale > 0.0:
        raise ValueError(f"The scale must be positive; given {scale}.")
    if at_com and p_GoBo is not None:
        raise ValueError("The origin of the body is either at_com or p_GoBo, not both.")
    M_GGo_G = _inertia(mesh_path, scale, density, mass)
    p_GoGcm = M_GGo_G.get_com()
    path = mesh_path.with_suffix(".sdf") if output is None else output
    origin = p_GoGcm if at_com else np.zeros(3) if p_GoBo is None else np.asarray(p_GoBo, np.float64).reshape(3)
    text = _MODEL.format(
        name=escape(model_name or mesh_path.stem, {"'": "&apos;"}),
        center=_numbers(p_GoGcm - origin),
        mass=float(M_GGo_G.get_mass()),
        moments="\n".join(f"          <{name}>{value!r}</{name}>" for name, value in central_moments(M_GGo_G).items()),
        position=_numbers(0.0 - origin),
        mesh=_MESH.format(uri=escape(_uri(mesh_path, package, path.parent)), scale=_numbers([scale] * 3)),
    )
    save_text(path, text)
    return path


def _inertia(path: Path, scale: float, density: float, mass: float | None) -> SpatialInertia:
    """M_GGo_G of what a mesh encloses, of a density or of a mass."""
    from merganser.geometry import Mesh
    from merganser.multibody.tree import CalcSpatialInertia, SpatialInertia

    filling = density if mass is None else 1.0
    M_GGo_G = CalcSpatialInertia(Mesh(path, scale), filling)
    volume = M_GGo_G.get_mass() / filling
    if not _SMALL <= volume <= _LARGE:
        print(f"warning: the mesh encloses {volume:.3g} m^3. Is it in metres? See --scale.", file=sys.stderr)
    if mass is None:
        return M_GGo_G
    return SpatialInertia(mass, M_GGo_G.get_com(), M_GGo_G.get_unit_inertia())


def _numbers(values: Any) -> str:
    return " ".join(repr(float(value)) for value in values)


def _uri(mesh: Path, package: str, folder: Path) -> str:
    """The address of a mesh in a model that is in a folder."""
    from merganser.multibody.parsing.package_map import name_in_package_xml

    if package == "none":
        return Path(os.path.relpath(mesh.resolve(), folder.resolve())).as_posix()
    manifest = mesh.resolve().parent / "package.xml"
    if package != "auto":
        manifest = Path(package).resolve()
        if manifest.name != "package.xml" or not manifest.is_file():
            raise ValueError(f"The package must be 'none', 'auto' or an existing package.xml; given '{package}'.")
        if not mesh.resolve().is_relative_to(manifest.parent):
            raise ValueError(f"The mesh '{mesh}' must be in the package of '{package}', or below.")
    elif not manifest.exists():
        name = escape(manifest.parent.name)
        manifest.write_text(_PACKAGE.format(name=name, mesh=escape(mesh.name)), encoding="utf-8")
    if not folder.resolve().is_relative_to(manifest.parent):
        print(
            f"note: the model is outside of its package; parser.package_map().AddPackageXml('{manifest}') says where "
            "that is.", file=sys.stderr,
        )  # fmt: skip
    return f"package://{name_in_package_xml(manifest)}/{mesh.resolve().relative_to(manifest.parent).as_posix()}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of the command."""
    parser.add_argument("mesh_path", metavar="MESH", type=Path, help="mesh file: .obj, .stl, .dae, .gltf, .glb, .vtk")
    parser.add_argument("--model-name", metavar="NAME", help="of model and body; by default that of the file")
    parser.add_argument("--scale", type=float, default=1.0, metavar="FACTOR", help="of all lengths, to metres")
    masses = parser.add_mutually_exclusive_group()
    masses.add_argument(
        "--density", type=float, default=_WATER, metavar="KG/M3", help="mass per volume, default that of water"
    )
    masses.add_argument("--mass", type=float, metavar="KG", help="of the body")
    origins = parser.add_mutually_exclusive_group()
    origins.add_argument(
        "--origin-at-com", action="store_true", dest="at_com", help="put the origin of the body at its centre of mass"
    )
    origins.add_argument(
        "--body-origin", type=_triple, dest="p_GoBo", metavar="X,Y,Z", help="origin of the body in the mesh's frame"
    )
    parser.add_argument(
        "--package", default="none", metavar="ENCODING",
        help="how the model names the mesh: 'none' (default) as a file beside it; 'auto' by the package in its folder, "
        "which is made if missing; or a package.xml above it",
    )  # fmt: skip
    outputs = parser.add_mutually_exclusive_group()
    outputs.add_argument("--output-dir", type=Path, help="existing folder to write to, by default that of the mesh")
    outputs.add_argument("-o", "--output", type=Path, metavar="FILE", help="the file to write")


def _triple(text: str) -> list[float]:
    x, y, z = map(float, text.split(","))
    return [x, y, z]


_triple.__name__ = "three numbers with commas between them"  # named by argparse in its error


def run(options: argparse.Namespace) -> int:
    """Does what the arguments say; returns the exit status."""
    output = options.output
    if options.output_dir is not None:
        if not options.output_dir.is_dir():
            raise ValueError(f"--output-dir must be an existing folder; given '{options.output_dir}'.")
        output = options.output_dir / options.mesh_path.with_suffix(".sdf").name
    path = make_model(
        options.mesh_path, model_name=options.model_name, scale=options.scale, density=options.density,
        mass=options.mass, at_com=options.at_com, p_GoBo=options.p_GoBo, package=options.package, output=output,
    )  # fmt: skip
    print(f"model: {path}")
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns the exit status."""
    parser = argparse.ArgumentParser(prog="mesh_to_model", description="Make an SDFormat file of one body from a mesh.")
    add_arguments(parser)
    try:
        return run(parser.parse_args(arguments))
    except (RuntimeError, ValueError, ImportError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
