"""Surfaces as data of VTK."""

from __future__ import annotations

from typing import Any

import numpy as np
from vtkmodules.util.numpy_support import numpy_to_vtk, numpy_to_vtkIdTypeArray
from vtkmodules.vtkCommonCore import vtkPoints
from vtkmodules.vtkCommonDataModel import vtkCellArray, vtkPolyData
from vtkmodules.vtkFiltersCore import vtkPolyDataTangents

from merganser.geometry.rendering.mesh_parts import Surface

__all__ = ["surface_data", "surface_data_with_tangents"]


def surface_data(surface: Surface) -> Any:
    """The triangles of a surface; made once for each."""
    if "vtk" not in surface.made:
        surface.made["vtk"] = _data(surface)
    return surface.made["vtk"]


def surface_data_with_tangents(surface: Surface) -> Any:
    """The same with tangents, if there are normals and texture coordinates, as pictures of normals need them."""
    if surface.normals is None or surface.uvs is None:
        return surface_data(surface)
    if "vtk tangents" not in surface.made:
        tangents = vtkPolyDataTangents()
        tangents.SetInputData(surface_data(surface))
        tangents.Update()
        surface.made["vtk tangents"] = tangents.GetOutput()
    return surface.made["vtk tangents"]


def _data(surface: Surface) -> Any:
    data = vtkPolyData()
    points = vtkPoints()
    points.SetData(numpy_to_vtk(surface.vertices, deep=1))
    data.SetPoints(points)
    cells = vtkCellArray()
    offsets = np.arange(0, 3 * len(surface.triangles) + 1, 3, dtype=np.int64)
    corners = np.ascontiguousarray(surface.triangles).ravel()
    cells.SetData(numpy_to_vtkIdTypeArray(offsets, deep=1), numpy_to_vtkIdTypeArray(corners, deep=1))
    data.SetPolys(cells)
    if surface.normals is not None:
        data.GetPointData().SetNormals(_named("Normals", surface.normals))
    if surface.uvs is not None:
        data.GetPointData().SetTCoords(_named("TCoords", surface.uvs))
    return data


def _named(name: str, values: np.ndarray) -> Any:
    array = numpy_to_vtk(values, deep=1)
    array.SetName(name)
    return array
