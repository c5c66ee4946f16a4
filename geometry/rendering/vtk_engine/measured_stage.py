"""Depth and label images.

Every pixel holds the depth of what it shows, as the bits of a float, or its label, in two bytes: colors that are never
mixed with those behind them. The nearer one is found by

    z / (z + sqrt(near far))

in place of the usual function of the depth z, which leaves next to nothing of the precision of the depth buffer for
distances of some meters if the near plane is close.

Round shapes in depth and label images: exact, by casting rays at them in the fragment shader.

Triangles would be off by the sagitta of their edges, and many. Instead a box around the shape is drawn, and each pixel
that it covers computes where the ray through its center meets the shape. With the ray o + t d in the shape's frame G,
where d has a component of 1 along the viewing direction, so that t is the depth:

    p = o - (o.d / d.d) d                 the point of the ray nearest to Go         (1)
    |p + (t - t0) d|^2 = 1                                                           (2)

(2) is solved with coordinates scaled to a unit sphere, circle or cone. Through (1), numbers do not cancel where the
shape is far away from the camera. Of the places where the ray enters and leaves the shape, the nearer one that is not
in front of the near plane is seen, as it would be with triangles.

The half measures of the shape are the coordinates of the box's corners, which vertices hand on to fragments.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from vtkmodules.vtkRenderingCore import vtkActor
from vtkmodules.vtkRenderingOpenGL2 import vtkOpenGLPolyDataMapper, vtkOpenGLShaderProperty

from merganser.framework.math import RigidTransform
from merganser.geometry.registration.colors import RenderLabel
from merganser.geometry.rendering.cameras import DepthRange, RenderCameraCore
from merganser.geometry.rendering.mesh_parts import Surface
from merganser.geometry.rendering.vtk_engine import measured_stage as ray_casting
from merganser.geometry.rendering.vtk_engine.stage import Stage, Visual, aim, primitive, surface_data
from merganser.geometry.rendering.vtk_engine.window import Canvas
from merganser.geometry.shapes import Shape

_GL_BLEND = 0x0BE2
_NO_SHIFT = 0  # of vertex coordinates, which shaders need as they are

_VERTEX_SHADER = """#version 330 core
in vec4 vertexMC;
uniform mat4 MCDCMatrix;
uniform mat4 MCVCMatrix;
out float depth;
void main()
{
  depth = -(MCVCMatrix * vertexMC).z;
  gl_Position = MCDCMatrix * vertexMC;
}
"""
_FRAGMENT_SHADER = """#version 330 core
layout(location = 0) out vec4 fragOutput0;
in float depth;
uniform vec3 ambientColorUniform;
uniform vec3 clipping;
uniform int shows_labels;
void main()
{
  if (shows_labels == 1 && ambientColorUniform.b > 0.5) discard;
  gl_FragDepth = depth / (depth + clipping.z);
  uint bits = floatBitsToUint(depth);
  uvec4 bytes = uvec4(bits, bits >> 8, bits >> 16, bits >> 24) & 255u;
  fragOutput0 = shows_labels == 1 ? vec4(ambientColorUniform, 1.0) : vec4(bytes) / 255.0;
}
"""


class MeasuredStage:
    """Shows visuals to depth and label cameras."""

    def __init__(self) -> None:
        self._shaders: dict[str, Any] = {}  # by fragment shader, shared by actors
        self.stage = Stage(self._make_actors)
        self.stage.renderer.AutomaticLightCreationOff()
        self._state: Any = None
        self.stage.renderer.AddObserver("StartEvent", self._stop_blending)

    def depth_image(
        self,
        canvas: Canvas,
        core: RenderCameraCore,
        depth_range: DepthRange,
        X_WR: RigidTransform,
        out: NDArray[np.float32],
    ) -> None:
        """Fills in depths [m], shape [height, width]; 0 where something is too close, infinity where it is too far."""
        out[...] = self._draw(canvas, core, X_WR, 0).view(np.float32)[:, :, 0]
        out[(out == 0.0) | (out > np.float32(depth_range.max_depth()))] = np.inf
        out[out < np.float32(depth_range.min_depth())] = 0.0

    def label_image(self, canvas: Canvas, core: RenderCameraCore, X_WR: RigidTransform, out: NDArray[np.int16]) -> None:
        """Fills in labels, shape [height, width]."""
        out[...] = self._draw(canvas, core, X_WR, 1).view(np.int16)[:, :, 0]

    def _draw(self, canvas: Canvas, core: RenderCameraCore, X_WR: RigidTransform, shows_labels: int) -> Any:
        info, clipping = core.intrinsics(), core.clipping()
        pinhole = (
            info.center_x() + 0.5, info.height() - info.center_y() - 0.5, 1.0 / info.focal_x(), 1.0 / info.focal_y()
        )  # fmt: skip
        range = (clipping.near(), clipping.far(), math.sqrt(clipping.near() * clipping.far()))
        for shader in self._shaders.values():
            uniforms = shader.GetFragmentCustomUniforms()
            uniforms.SetUniform4f("pinhole", pinhole)
            uniforms.SetUniform3f("clipping", range)
            uniforms.SetUniformi("shows_labels", shows_labels)
        nothing = _label_color(RenderLabel.kEmpty) if shows_labels else (0.0, 0.0, 0.0)
        self.stage.renderer.SetBackground(nothing)
        self.stage.renderer.SetBackgroundAlpha(1.0 if shows_labels else 0.0)
        aim(self.stage.renderer.GetActiveCamera(), core, X_WR, (info.width(), info.height()))
        self._state = canvas.state()
        return canvas.draw(self.stage.renderer, info.width(), info.height())

    def _stop_blending(self, renderer: Any, event: str) -> None:
        self._state.vtkglDisable(_GL_BLEND)

    def _make_actors(self, visual: Visual) -> list[Any]:
        if visual.shape.kind.ray_code:
            box, center_z = ray_casting.box_around(visual.shape)
            shader = self._shader(ray_casting.VERTEX_SHADER, ray_casting.ray_code(visual.shape))
            actor = self._actor(surface_data(box), shader, visual.label)
            actor.GetProperty().FrontfaceCullingOn()  # the camera may be inside of the box
            actor.SetPosition(0.0, 0.0, center_z)
            return [actor]
        shader = self._shader(_VERTEX_SHADER, _FRAGMENT_SHADER)
        surfaces = [primitive(visual.shape) if part.surface is None else part.surface for part in visual.parts]
        return [self._actor(surface_data(surface), shader, visual.label) for surface in surfaces]

    def _shader(self, vertex: str, fragment: str) -> Any:
        if fragment not in self._shaders:
            shader = vtkOpenGLShaderProperty()
            shader.SetVertexShaderCode(vertex)
            shader.SetFragmentShaderCode(fragment)
            self._shaders[fragment] = shader
        return self._shaders[fragment]

    def _actor(self, triangles: Any, shader: Any, label: RenderLabel) -> Any:
        mapper = vtkOpenGLPolyDataMapper()
        mapper.SetInputData(triangles)
        mapper.ScalarVisibilityOff()
        mapper.SetVBOShiftScaleMethod(_NO_SHIFT)
        actor = vtkActor()
        actor.SetMapper(mapper)
        actor.SetShaderProperty(shader)
        actor.ForceOpaqueOn()
        actor.GetProperty().SetAmbientColor(_label_color(label))
        return actor


def _label_color(label: RenderLabel) -> tuple[float, float, float]:
    """Low byte, high byte, and whether it is left out of label images."""
    value = int(label)
    return (value & 255) / 255.0, (value >> 8) / 255.0, float(label == RenderLabel.kDoNotRender)


# The box is drawn in the middle of the depth range, as neither plane may cut it off.
VERTEX_SHADER = """#version 330 core
in vec4 vertexMC;
uniform mat4 MCDCMatrix;
flat out vec3 half_size;
void main()
{
  half_size = abs(vertexMC.xyz);
  gl_Position = MCDCMatrix * vertexMC;
  gl_Position.z = 0.0;
}
"""

# The functions that `ray_code` returns narrow the interval [t_in, t_out] of the ray that is inside of the shape.
_RAY_FRAGMENT_SHADER = """#version 330 core
layout(location = 0) out vec4 fragOutput0;
flat in vec3 half_size;
uniform mat4 MCVCMatrix;
uniform vec3 ambientColorUniform;
uniform vec4 pinhole;
uniform vec3 clipping;
uniform int shows_labels;

void cut(inout vec2 inside, float t_in, float t_out)
{
  inside = vec2(max(inside.x, t_in), min(inside.y, t_out));
}

// Between two parallel planes at +-size along one axis.
void cut_slab(inout vec2 inside, float o, float d, float size)
{
  if (d == 0.0) {
    if (abs(o) > size) inside = vec2(1.0, -1.0);
    return;
  }
  float t_a = (-size - o) / d, t_b = (size - o) / d;
  cut(inside, min(t_a, t_b), max(t_a, t_b));
}

// Inside of the unit sphere around the origin.
vec2 unit_sphere(vec3 o, vec3 d)
{
  float dd = dot(d, d);
  float t0 = -dot(o, d) / dd;
  vec3 p = o + t0 * d;
  float room = 1.0 - dot(p, p);
  if (room < 0.0) return vec2(1.0, -1.0);
  float half_chord = sqrt(room / dd);
  return vec2(t0 - half_chord, t0 + half_chord);
}

// Inside of the unit circle around the origin; everywhere or nowhere if the ray has no direction in its plane.
vec2 unit_circle(vec2 o, vec2 d)
{
  float dd = dot(d, d);
  if (dd == 0.0) return dot(o, o) > 1.0 ? vec2(1.0, -1.0) : vec2(-1e30, 1e30);
  float t0 = -dot(o, d) / dd;
  vec2 p = o + t0 * d;
  float room = 1.0 - dot(p, p);
  if (room < 0.0) return vec2(1.0, -1.0);
  float half_chord = sqrt(room / dd);
  return vec2(t0 - half_chord, t0 + half_chord);
}

//RAY_CODE

vec4 packed_depth(float depth)
{
  uint bits = floatBitsToUint(depth);
  uvec4 bytes = uvec4(bits, bits >> 8, bits >> 16, bits >> 24) & 255u;
  return vec4(bytes) / 255.0;
}

void main()
{
  if (shows_labels == 1 && ambientColorUniform.b > 0.5) discard;
  vec3 d_V = vec3((gl_FragCoord.xy - pinhole.xy) * pinhole.zw, -1.0);
  mat3 R_VM = mat3(MCVCMatrix);
  vec3 o = -(MCVCMatrix[3].xyz * R_VM);
  vec3 d = d_V * R_VM;
  vec2 inside = shape_interval(o, d);
  if (inside.x > inside.y) discard;
  float depth = inside.x >= clipping.x ? inside.x : inside.y;
  if (depth < clipping.x || depth > clipping.y) discard;
  gl_FragDepth = depth / (depth + clipping.z);
  fragOutput0 = shows_labels == 1 ? vec4(ambientColorUniform, 1.0) : packed_depth(depth);
}
"""


def ray_code(shape: Shape) -> str:
    """The fragment shader for a shape whose kind has a `ray_code`."""
    return _RAY_FRAGMENT_SHADER.replace("//RAY_CODE", shape.kind.ray_code)


def box_around(shape: Shape) -> tuple[Surface, float]:
    """The box around a round shape, with its center at the origin, and the height of that center in G [m]."""
    if not shape.kind.ray_code or shape.kind.core is None:
        raise TypeError(f"{shape!r} is not round.")
    core = shape.kind.core(shape)
    half, center_z = np.array(core.half) + core.radius, float(np.asarray(core.center)[2])
    corners = np.array(list(itertools.product((-1.0, 1.0), repeat=3))) * half
    # Corner i has the signs of the bits of i, x first; triangles are counter-clockwise from outside.
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    triangles = [triangle for a, b, c, d in quads for triangle in ((a, b, c), (a, c, d))]
    return Surface(corners.astype(np.float32), np.array(triangles, np.int64)), center_z
