"""Parameters of render engines: records that YAML files can hold."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from merganser.framework.common.records import set_known, settings
from merganser.geometry.registration.colors import Rgba

Vector = NDArray[np.float64]
Vector3 = Annotated[Vector, 3]
Vector4 = Annotated[Vector, 4]
_SKY = (204 / 255, 229 / 255, 1.0)


class _Record:
    """Equal to another one of the same type and values, arrays among them; these may be given as any sequence."""

    _vectors: ClassVar[frozenset[str]] = frozenset()

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self._vectors and value is not None:
            value = np.array(value, dtype=np.float64)
        set_known(self, name, value)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        pairs = ((getattr(self, f.name), getattr(other, f.name)) for f in fields(self))  # type: ignore[arg-type]
        return all(np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b for a, b in pairs)


@settings
@dataclass(kw_only=True, eq=False)
class LightParameter(_Record):
    """A light.

    Attributes:
        type: "point", "spot" or "directional".
        color: of the light.
        attenuation_values: k0, k1 and k2; lights that are not directional have 1 / (k0 + k1 d + k2 d^2) of their
            strength at distance d [m].
        position: in the light's frame [m]; not of directional lights.
        frame: "world", or "camera": the camera frame C, as of CameraInfo.
        intensity: factor of the color.
        direction: in which it shines, in the light's frame; not of point lights.
        cone_angle: of a spot light, from its axis to the edge of the cone [degrees].
    """

    _vectors = frozenset({"attenuation_values", "direction", "position"})

    type: str = "directional"
    color: Rgba = field(default_factory=Rgba)
    attenuation_values: Vector3 = field(default_factory=lambda: np.array([1.0, 0.0, 0.0]))
    position: Vector3 = field(default_factory=lambda: np.zeros(3))
    frame: str = "camera"
    intensity: float = 1.0
    direction: Vector3 = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    cone_angle: float = 0.0


@settings
@dataclass(kw_only=True, eq=False)
class NullTexture(_Record):
    """No texture."""


@settings
@dataclass(kw_only=True, eq=False)
class EquirectangularMap(_Record):
    """A picture of all directions: longitude along its width, latitude along its height.

    Attributes:
        path: of a file, .hdr, .png or .jpg.
    """

    path: str = ""


@settings
@dataclass(kw_only=True, eq=False)
class EnvironmentMap(_Record):
    """Surroundings that light the scene and are seen in reflections.

    Attributes:
        skybox: whether it is also seen where no geometry is.
        texture: the picture.
    """

    skybox: bool = True
    texture: NullTexture | EquirectangularMap = field(default_factory=NullTexture)


@settings
@dataclass(kw_only=True, eq=False)
class SsaoParameter(_Record):
    """Screen-space ambient occlusion: corners and creases, which less light reaches, are drawn darker.

    Attributes:
        radius: around a point, of the half ball in which what hides the surroundings from it is looked for [m].
        bias: least distance in front of the point to count [m].
        sample_count: number of places at which it is looked for.
        intensity_scale: factor of the effect.
        intensity_shift: added to the effect.
        blur: whether to smooth it.
    """

    radius: float = 0.25
    bias: float = 0.01
    sample_count: int = 128
    intensity_scale: float = 1.0
    intensity_shift: float = 0.0
    blur: bool = True


@settings
@dataclass(kw_only=True, eq=False)
class GltfExtension(_Record):
    """How to treat an extension of glTF.

    Attributes:
        warn_unimplemented: whether to warn of files that use it, if it has no effect.
    """

    warn_unimplemented: bool = True


@settings
@dataclass(kw_only=True, eq=False)
class RenderEngineVtkParams(_Record):
    """Parameters of `MakeRenderEngineVtk`.

    Attributes:
        default_diffuse: red, green, blue and opacity of geometries without a color; orange by default.
        default_clear_color: red, green and blue where there is no geometry.
        lights: if empty, one shines from the camera in its viewing direction.
        environment_map: surroundings that light the scene, in place of the light at the camera.
        exposure: factor of brightness before very bright colors are compressed into what an image can hold; None
            for neither.
        ssao: darkens corners.
        cast_shadows: whether directional lights and spot lights, if narrower than 90 degrees, cast shadows.
        shadow_map_size: width and height of the pictures from which shadows are made [pixels].
        force_to_pbr: whether all materials are physically based; they are anyway if there is an environment map or
            a glTF mesh.
        gltf_extensions: what to do about extensions of glTF, by name.
        backend: "EGL" (no window, the default on Linux), "GLX", "Cocoa", or "" for the default; a backend of another
            operating system is replaced by the default, with a warning.
    """

    _vectors = frozenset({"default_clear_color", "default_diffuse"})

    default_diffuse: Vector4 | None = None
    default_clear_color: Vector3 = field(default_factory=lambda: np.array(_SKY))
    lights: list[LightParameter] = field(default_factory=list)
    environment_map: EnvironmentMap | None = None
    exposure: float | None = None
    ssao: SsaoParameter | None = None
    cast_shadows: bool = False
    shadow_map_size: int = 256
    force_to_pbr: bool = False
    gltf_extensions: dict[str, GltfExtension] = field(
        default_factory=lambda: {"KHR_texture_basisu": GltfExtension(warn_unimplemented=False)}
    )
    backend: str = ""


@settings
@dataclass(kw_only=True, eq=False)
class RenderEngineGlParams(_Record):
    """Parameters of `MakeRenderEngineGl`.

    Attributes:
        default_diffuse: of geometries without a color.
        default_clear_color: where there is no geometry.
        lights: five at most; if empty, one shines from the camera in its viewing direction.
        cast_shadows, shadow_map_size: as in `RenderEngineVtkParams`.
    """

    default_diffuse: Rgba = field(default_factory=lambda: Rgba(0.9, 0.7, 0.2, 1.0))
    default_clear_color: Rgba = field(default_factory=lambda: Rgba(*_SKY))
    lights: list[LightParameter] = field(default_factory=list)
    cast_shadows: bool = False
    shadow_map_size: int = 256


@settings
@dataclass(kw_only=True, eq=False)
class RenderEngineGltfClientParams(_Record):
    """Parameters of `MakeRenderEngineGltfClient`.

    Attributes:
        base_url: of the server that makes the images.
        render_endpoint: what is added to the address.
        verbose: whether to log what is sent.
        cleanup: whether to remove files afterwards.
    """

    base_url: str = "http://127.0.0.1:8000"
    render_endpoint: str = "render"
    verbose: bool = False
    cleanup: bool = True
