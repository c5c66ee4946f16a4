"""Cameras and render engines: images of geometries."""

from merganser.geometry.registration.colors import RenderLabel
from merganser.geometry.rendering.cameras import (
    CameraInfo,
    ClippingRange,
    ColorRenderCamera,
    DepthRange,
    DepthRenderCamera,
    RenderCameraCore,
)
from merganser.geometry.rendering.parameters import (
    EnvironmentMap,
    EquirectangularMap,
    GltfExtension,
    LightParameter,
    NullTexture,
    RenderEngineGlParams,
    RenderEngineGltfClientParams,
    RenderEngineVtkParams,
    SsaoParameter,
)
from merganser.geometry.rendering.render_engine import (
    MakeRenderEngineGl,
    MakeRenderEngineGltfClient,
    MakeRenderEngineVtk,
    RenderEngine,
    kHasRenderEngineGl,
    kHasRenderEngineGltfClient,
    kHasRenderEngineVtk,
)

__all__ = [
    "CameraInfo",
    "ClippingRange",
    "ColorRenderCamera",
    "DepthRange",
    "DepthRenderCamera",
    "EnvironmentMap",
    "EquirectangularMap",
    "GltfExtension",
    "LightParameter",
    "MakeRenderEngineGl",
    "MakeRenderEngineGltfClient",
    "MakeRenderEngineVtk",
    "NullTexture",
    "RenderCameraCore",
    "RenderEngine",
    "RenderEngineGlParams",
    "RenderEngineGltfClientParams",
    "RenderEngineVtkParams",
    "RenderLabel",
    "SsaoParameter",
    "kHasRenderEngineGl",
    "kHasRenderEngineGltfClient",
    "kHasRenderEngineVtk",
]
