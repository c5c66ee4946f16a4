"""Contact surfaces as files that other programs open."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.common.saving import save_text

if TYPE_CHECKING:
    from merganser.geometry.hydroelastic.contact_surface import ContactSurface


def save_surface(surface: ContactSurface, path: Any) -> None:
    """Writes vertices, faces and pressures of a contact surface.

    Args:
        surface: of floats.
        path: ends in .vtk for the legacy format of VTK (ParaView: point data `pressure`, cell data `normal`), or in
            .ply for the Stanford format (MeshLab: the vertex property `quality` is the pressure).

    Raises:
        ValueError: the path ends in something else.
        RuntimeError: the surface has derivatives.
        OSError: the file cannot be written.
    """
    file = Path(path)
    writers = {".vtk": _vtk, ".ply": _ply}
    if file.suffix.lower() not in writers:
        raise ValueError(f"ContactSurface.Save(): '{file}' must end in {' or '.join(writers)}.")
    mesh: Any = surface.tri_mesh_W() if surface.is_triangle() else surface.poly_mesh_W()
    field: Any = surface.tri_e_MN() if surface.is_triangle() else surface.poly_e_MN()
    vertices = mesh.vertex_array()
    if vertices.dtype == object:
        raise RuntimeError("ContactSurface.Save(): the surface has derivatives; save that of a plant of floats.")
    faces = [mesh.element(f) for f in range(surface.num_faces())]
    corners = [[face.vertex(i) for i in range(face.num_vertices())] for face in faces]
    pressures = np.array([field.EvaluateAtVertex(v) for v in range(len(vertices))])
    normals = np.array([surface.face_normal(f) for f in range(len(faces))]).reshape(-1, 3)
    save_text(file, writers[file.suffix.lower()](vertices, corners, pressures, normals))


def _rows(array: NDArray[Any]) -> list[str]:
    return [" ".join(f"{number:.17g}" for number in row) for row in np.atleast_2d(array.T).T.tolist()]


def _faces(corners: list[list[int]]) -> list[str]:
    return [" ".join(map(str, (len(face), *face))) for face in corners]


def _vtk(vertices: NDArray[Any], corners: list[list[int]], pressures: NDArray[Any], normals: NDArray[Any]) -> str:
    return "\n".join([
        "# vtk DataFile Version 3.0", "contact surface [m], pressure [Pa]", "ASCII", "DATASET POLYDATA",
        f"POINTS {len(vertices)} double", *_rows(vertices),
        f"POLYGONS {len(corners)} {sum(map(len, corners)) + len(corners)}", *_faces(corners),
        f"POINT_DATA {len(vertices)}", "SCALARS pressure double 1", "LOOKUP_TABLE default",
        *_rows(pressures[:, np.newaxis]),
        f"CELL_DATA {len(corners)}", "NORMALS normal double", *_rows(normals), "",
    ])  # fmt: skip


def _ply(vertices: NDArray[Any], corners: list[list[int]], pressures: NDArray[Any], normals: NDArray[Any]) -> str:
    names = ("x", "y", "z", "quality")
    return "\n".join([
        "ply", "format ascii 1.0", "comment contact surface [m], quality is the pressure [Pa]",
        f"element vertex {len(vertices)}", *(f"property double {name}" for name in names),
        f"element face {len(corners)}", "property list uchar int vertex_indices", "end_header",
        *_rows(np.column_stack([vertices, pressures])), *_faces(corners), "",
    ])  # fmt: skip
