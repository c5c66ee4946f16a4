"""Materials and textures of VTK."""

from __future__ import annotations

from typing import Any

import numpy as np
from vtkmodules.util.numpy_support import numpy_to_vtk
from vtkmodules.vtkCommonDataModel import vtkImageData
from vtkmodules.vtkRenderingCore import vtkTexture

from merganser.geometry.rendering.mesh_parts import Material, Surface

__all__ = ["image_texture", "paint"]

_ROUNDING = 1e-5  # of texture coordinates
_PHONG_ROUGHNESS = 0.5  # of a material that is not physical among such that are


def paint(actor: Any, surface: Surface, material: Material, is_physical: bool) -> None:
    """Gives an actor its look.

    Args:
        actor: of VTK.
        surface: what it shows.
        material: of the surface.
        is_physical: whether all materials of the scene reflect as physics has it.
    """

    def texture(name: str, is_srgb: bool) -> Any:
        return _texture(material, name, is_srgb, _leaves_the_picture(surface))

    properties = actor.GetProperty()
    red, green, blue, opacity = material.color
    properties.SetColor(red, green, blue)
    is_clear = (opacity < 1.0 or _has_opacity(material)) and material.is_blended
    if is_clear:
        properties.SetOpacity(opacity)
        actor.ForceTranslucentOn()
    else:
        actor.ForceOpaqueOn()
    properties.SetBackfaceCulling(not material.is_two_sided)
    if not is_physical:
        if material.texture is not None:
            actor.SetTexture(texture("texture", is_srgb=False))
        return
    properties.SetInterpolationToPBR()
    properties.SetMetallic(material.metallic)
    properties.SetRoughness(material.roughness if material.is_physical else _PHONG_ROUGHNESS)
    properties.SetEmissiveFactor(material.emissive)
    properties.SetOcclusionStrength(float(material.occlusion))
    if material.texture is not None:
        properties.SetBaseColorTexture(texture("texture", is_srgb=True))
    if material.emissive_texture is not None:
        properties.SetEmissiveTexture(texture("emissive_texture", is_srgb=True))
    if material.surface_texture is not None:
        properties.SetORMTexture(texture("surface_texture", is_srgb=False))
    if material.normal_texture is not None:
        properties.SetNormalTexture(texture("normal_texture", is_srgb=False))


def _has_opacity(material: Material) -> bool:
    texture = material.texture
    return texture is not None and texture.shape[2] == 4 and bool((texture[:, :, 3] < 255).any())


def _leaves_the_picture(surface: Surface) -> bool:
    """Whether some texture coordinates are not from 0 to 1."""
    uvs = surface.uvs
    return uvs is not None and bool((uvs < -_ROUNDING).any() or (uvs > 1.0 + _ROUNDING).any())


def _texture(material: Material, name: str, is_srgb: bool, repeats: bool) -> Any:
    """A picture of a material as a texture; made once for each."""
    key = f"vtk {name} {is_srgb} {repeats}"
    if key not in material.made:
        material.made[key] = image_texture(getattr(material, name), is_srgb, repeats)
    return material.made[key]


def image_texture(pixels: np.ndarray, is_srgb: bool, repeats: bool) -> Any:
    """A picture as a texture.

    Args:
        pixels: shape [height, width, channels], rows from top to bottom.
        is_srgb: whether its numbers are to be made linear.
        repeats: whether it goes on beyond its edges.
    """
    height, width, channels = pixels.shape
    image = vtkImageData()
    image.SetDimensions(width, height, 1)
    scalars = numpy_to_vtk(np.ascontiguousarray(pixels[::-1]).reshape(-1, channels), deep=1)
    image.GetPointData().SetScalars(scalars)
    texture = vtkTexture()
    texture.SetInputData(image)
    texture.SetColorModeToDirectScalars()
    texture.SetUseSRGBColorSpace(is_srgb)
    texture.SetRepeat(repeats)
    texture.SetEdgeClamp(not repeats)
    texture.InterpolateOn()
    return texture
