"""What happens to color images besides drawing: surroundings, shadows, darkened corners, compressed brightness."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from vtkmodules.vtkIOImage import vtkHDRReader
from vtkmodules.vtkRenderingCore import vtkTexture
from vtkmodules.vtkRenderingOpenGL2 import (
    vtkCameraPass,
    vtkLightsPass,
    vtkOpenGLFXAAPass,
    vtkOpenGLSkybox,
    vtkRenderPassCollection,
    vtkRenderStepsPass,
    vtkSequencePass,
    vtkShadowMapPass,
    vtkSSAOPass,
    vtkToneMappingPass,
    vtkTranslucentPass,
)

from merganser.geometry.rendering.mesh_parts import picture_pixels
from merganser.geometry.rendering.parameters import (
    EnvironmentMap,
    EquirectangularMap,
    RenderEngineVtkParams,
    SsaoParameter,
)
from merganser.geometry.rendering.vtk_engine.materials import image_texture

__all__ = ["set_environment", "set_passes"]


def set_passes(renderer: Any, params: RenderEngineVtkParams) -> None:
    """Gives a renderer the passes that parameters ask for."""
    ssao = params.ssao
    if not (params.cast_shadows or params.exposure) and (ssao is None or _is_simple(ssao)):
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


def _is_simple(parameter: SsaoParameter) -> bool:
    """Whether VTK's renderers know all of it themselves; they spare transparent objects."""
    return parameter.intensity_scale == 1.0 and parameter.intensity_shift == 0.0


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
