"""Color images.

The lights of a scene.

VTK places a light that belongs to the camera in a frame D with the camera at [0, 0, 1], looking at the origin with y
upwards. A point at [x, y, z] in the camera frame C, whose y axis points down, is at [x, -y, 1 - z] there.

Materials and textures of VTK.

Render passes of color images: surroundings, shadows, darkened corners, compressed brightness.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from vtkmodules.util.numpy_support import numpy_to_vtk
from vtkmodules.vtkCommonDataModel import vtkImageData
from vtkmodules.vtkIOImage import vtkHDRReader
from vtkmodules.vtkRenderingCore import vtkActor, vtkLight, vtkTexture
from vtkmodules.vtkRenderingOpenGL2 import (
    vtkCameraPass,
    vtkLightsPass,
    vtkOpenGLFXAAPass,
    vtkOpenGLPolyDataMapper,
    vtkOpenGLSkybox,
    vtkRenderPassCollection,
    vtkRenderStepsPass,
    vtkSequencePass,
    vtkShadowMapPass,
    vtkSSAOPass,
    vtkToneMappingPass,
    vtkTranslucentPass,
)

from merganser.framework.math import RigidTransform
from merganser.geometry.rendering.cameras import RenderCameraCore
from merganser.geometry.rendering.mesh_parts import Material, Surface, picture_pixels
from merganser.geometry.rendering.parameters import (
    EnvironmentMap,
    EquirectangularMap,
    LightParameter,
    RenderEngineVtkParams,
    SsaoParameter,
)
from merganser.geometry.rendering.vtk_engine.stage import (
    Stage,
    Visual,
    aim,
    primitive,
    surface_data,
    surface_data_with_tangents,
)
from merganser.geometry.rendering.vtk_engine.window import Canvas

_TYPES = ("point", "spot", "directional")
_FRAMES = ("camera", "world")


def require_lights(lights: Sequence[LightParameter]) -> None:
    """Raises an error for lights that are not valid.

    Raises:
        TypeError, ValueError: a light is none, or has vectors of the wrong size.
        RuntimeError: a value is out of its range.
    """
    for i, light in enumerate(lights):
        if not isinstance(light, LightParameter):
            raise TypeError(f"lights[{i}] must be a LightParameter; given {light!r}.")
        vectors = {
            name: np.asarray(getattr(light, name), dtype=np.float64)
            for name in ("attenuation_values", "position", "direction")
        }
        for name, vector in vectors.items():
            if vector.shape != (3,) or not np.isfinite(vector).all():
                raise ValueError(f"lights[{i}].{name} must be three finite numbers; given {getattr(light, name)!r}.")
        if light.type not in _TYPES:
            raise RuntimeError(f"lights[{i}].type must be one of {', '.join(_TYPES)}; given '{light.type}'.")
        if light.frame not in _FRAMES:
            raise RuntimeError(f"lights[{i}].frame must be one of {', '.join(_FRAMES)}; given '{light.frame}'.")
        if light.type != "point" and not vectors["direction"].any():
            raise RuntimeError(f"lights[{i}].direction is zero, and must point where the light shines.")
        if not 0.0 <= light.intensity < math.inf:
            raise RuntimeError(f"lights[{i}].intensity must be finite and not negative; given {light.intensity}.")
        if not (math.isfinite(light.cone_angle) and 0.0 <= light.cone_angle <= 90.0):
            raise RuntimeError(f"lights[{i}].cone_angle must be from 0 to 90 degrees; given {light.cone_angle}.")


def add_lights(renderer: Any, lights: Sequence[LightParameter]) -> list[Any]:
    """Adds lights to a renderer and returns them."""
    renderer.AutomaticLightCreationOff()
    made = []
    for parameter in lights:
        light = vtkLight()
        color = parameter.color
        light.SetColor(color.r(), color.g(), color.b())
        light.SetIntensity(parameter.intensity)
        position = np.asarray(parameter.position, np.float64)
        direction = np.asarray(parameter.direction, np.float64)
        length = float(np.linalg.norm(direction))
        direction = direction / length if length else np.array([0.0, 0.0, 1.0])
        focus = position + direction
        if parameter.frame == "camera":
            light.SetLightTypeToCameraLight()
            position, focus = _in_camera_light_frame(position), _in_camera_light_frame(focus)
        else:
            light.SetLightTypeToSceneLight()
        light.SetPosition(position)
        light.SetFocalPoint(focus)
        if parameter.type == "directional":
            light.PositionalOff()
        else:
            light.PositionalOn()
            light.SetAttenuationValues(np.asarray(parameter.attenuation_values, np.float64))
            light.SetConeAngle(parameter.cone_angle if parameter.type == "spot" else 90.0)
        renderer.AddLight(light)
        made.append(light)
    return made


def _in_camera_light_frame(p_C: np.ndarray) -> np.ndarray:
    return np.array([p_C[0], -p_C[1], 1.0 - p_C[2]])


_TEXTURE_MARGIN = 1e-5  # of texture coordinates
_PHONG_ROUGHNESS = 0.5  # of a material that is not physical among such that are


def paint(actor: Any, surface: Surface, material: Material, is_physical: bool) -> None:
    """Sets the material of an actor.

    Args:
        actor: of VTK.
        surface: what it shows.
        material: of the surface.
        is_physical: whether all materials of the scene are physically based.
    """

    def texture(name: str, is_srgb: bool) -> Any:
        """A picture of the material as a texture; made once for each."""
        uvs = surface.uvs
        repeats = uvs is not None and bool((uvs < -_TEXTURE_MARGIN).any() or (uvs > 1.0 + _TEXTURE_MARGIN).any())
        key = f"vtk {name} {is_srgb} {repeats}"
        if key not in material.made:
            material.made[key] = image_texture(getattr(material, name), is_srgb, repeats)
        return material.made[key]

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


def set_passes(renderer: Any, params: RenderEngineVtkParams) -> None:
    """Sets the render passes by the parameters."""
    ssao = params.ssao
    # VTK's renderers know the simple kind of occlusion themselves; they spare transparent objects.
    is_simple = ssao is None or (ssao.intensity_scale == 1.0 and ssao.intensity_shift == 0.0)
    if not (params.cast_shadows or params.exposure) and is_simple:
        renderer.UseFXAAOn()
        if ssao is not None:
            renderer.UseSSAOOn()
            renderer.SetSSAORadius(ssao.radius)
            renderer.SetSSAOBias(ssao.bias)
            renderer.SetSSAOKernelSize(ssao.sample_count)
            renderer.SetSSAOBlur(ssao.blur)
        return
    main: Any = _shadows(params.shadow_map_size) if params.cast_shadows else vtkRenderStepsPass()
    if ssao is not None:
        main = _ssao(main, ssao)
    if params.exposure is not None:
        tone = vtkToneMappingPass()
        tone.SetToneMappingType(vtkToneMappingPass.GenericFilmic)
        tone.SetGenericFilmicUncharted2Presets()
        tone.SetExposure(params.exposure)
        tone.SetDelegatePass(main)
        main = tone
    smooth = vtkOpenGLFXAAPass()
    smooth.SetDelegatePass(main)
    renderer.SetPass(smooth)


def set_environment(renderer: Any, environment: EnvironmentMap) -> None:
    """Surrounds a scene with a picture, which lights it."""
    assert isinstance(environment.texture, EquirectangularMap)
    texture = _surroundings(Path(environment.texture.path))
    renderer.UseImageBasedLightingOn()
    renderer.SetEnvironmentTexture(texture, False)
    renderer.SetEnvironmentUp(0.0, 0.0, 1.0)
    renderer.SetEnvironmentRight(1.0, 0.0, 0.0)
    if environment.skybox:
        sky = vtkOpenGLSkybox()
        sky.SetFloorRight(1.0, 0.0, 0.0)
        sky.SetFloorPlane(0.0, 0.0, 1.0, 0.0)
        sky.SetProjectionToSphere()
        sky.SetTexture(texture)
        sky.GammaCorrectOn()
        renderer.AddActor(sky)


def _surroundings(path: Path) -> Any:
    """The picture in a file, as a texture; its numbers are taken as linear ones, as pydrake does."""
    if path.suffix.lower() == ".hdr":
        reader = vtkHDRReader()
        reader.SetFileName(str(path))
        reader.Update()
        texture = vtkTexture()
        texture.SetInputData(reader.GetOutput())
        texture.SetColorModeToDirectScalars()
    else:
        from PIL import Image as pillow

        with pillow.open(path) as picture:
            pixels: np.ndarray = picture_pixels(picture)[:, :, :3]
        texture = image_texture(pixels, is_srgb=False, repeats=True)
    texture.MipmapOn()
    texture.InterpolateOn()
    return texture


def _shadows(size: int) -> Any:
    shadows = vtkShadowMapPass()
    baker = shadows.GetShadowMapBakerPass()
    baker.SetResolution(size)
    passes = vtkRenderPassCollection()
    for item in (baker, shadows, vtkLightsPass(), vtkTranslucentPass()):
        passes.AddItem(item)
    sequence = vtkSequencePass()
    sequence.SetPasses(passes)
    camera = vtkCameraPass()
    camera.SetDelegatePass(sequence)
    return camera


def _ssao(main: Any, parameter: SsaoParameter) -> Any:
    ssao = vtkSSAOPass()
    ssao.SetRadius(parameter.radius)
    ssao.SetBias(parameter.bias)
    ssao.SetKernelSize(parameter.sample_count)
    ssao.SetIntensityScale(parameter.intensity_scale)
    ssao.SetIntensityShift(parameter.intensity_shift)
    ssao.SetBlur(parameter.blur)
    ssao.SetDelegatePass(main)
    return ssao


_AT_CAMERA = np.array([0.0, 0.0, 1.0])


class ColorStage:
    """Shows visuals to color cameras.

    Args:
        params: of the engine.
        is_physical: whether all materials are physically based.

    Attributes:
        is_physical: the same.
    """

    def __init__(self, params: RenderEngineVtkParams, is_physical: bool) -> None:
        self.is_physical = is_physical
        self._casts_shadows = params.cast_shadows
        self.stage = Stage(self._make_actors)
        renderer = self.stage.renderer
        renderer.SetBackground(np.asarray(params.default_clear_color, np.float64))
        renderer.SetBackgroundAlpha(1.0)
        lights = params.lights
        if not lights and params.environment_map is None:
            lights = [LightParameter()]
        added = add_lights(renderer, lights)
        self._default_light = None if lights is params.lights else added[0]
        if params.environment_map is not None:
            set_environment(renderer, params.environment_map)
        set_passes(renderer, params)

    def move_default_light(self, position: NDArray[np.float64] | None) -> None:
        """Moves the default light, see `RenderEngine.SetDefaultLightPosition`."""
        if self._default_light is not None:
            self._default_light.SetPosition(_AT_CAMERA if position is None else position)

    def color_image(self, canvas: Canvas, core: RenderCameraCore, X_WR: RigidTransform) -> NDArray[np.uint8]:
        """Red, green, blue and opacity, shape [height, width, 4]; to be copied, as the next image overwrites it."""
        width, height = core.intrinsics().width(), core.intrinsics().height()
        # VTK's shadows are where they belong in square images only.
        size = (max(width, height),) * 2 if self._casts_shadows else (width, height)
        aim(self.stage.renderer.GetActiveCamera(), core, X_WR, size)
        return canvas.draw(self.stage.renderer, *size)[size[1] - height :, :width]

    def _make_actors(self, visual: Visual) -> list[Any]:
        actors = []
        for part in visual.parts:
            surface = primitive(visual.shape) if part.surface is None else part.surface
            needs_tangents = self.is_physical and part.material.normal_texture is not None
            mapper = vtkOpenGLPolyDataMapper()
            mapper.SetInputData(surface_data_with_tangents(surface) if needs_tangents else surface_data(surface))
            mapper.ScalarVisibilityOff()
            actor = vtkActor()
            actor.SetMapper(mapper)
            paint(actor, surface, part.material, self.is_physical)
            actors.append(actor)
        return actors
