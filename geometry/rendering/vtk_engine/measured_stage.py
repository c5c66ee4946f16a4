"""Depth and label images.

Every pixel holds the depth of what it shows, as the bits of a float, or its label, in two bytes: colors that are never
mixed with those behind them. What is nearer is told by

    z / (z + sqrt(near far))

in place of the usual function of the depth z, which leaves next to nothing of the precision of the depth buffer for
distances of some meters if the near plane is close.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from vtkmodules.vtkRenderingCore import vtkActor
from vtkmodules.vtkRenderingOpenGL2 import vtkOpenGLPolyDataMapper, vtkOpenGLShaderProperty

from merganser.framework.math import RigidTransform
from merganser.geometry.render_label import RenderLabel
from merganser.geometry.rendering.cameras import DepthRange, RenderCameraCore
from merganser.geometry.rendering.vtk_engine import ray_casting
from merganser.geometry.rendering.vtk_engine.camera import aim
from merganser.geometry.rendering.vtk_engine.canvas import Canvas
from merganser.geometry.rendering.vtk_engine.primitives import primitive
from merganser.geometry.rendering.vtk_engine.stage import Stage
from merganser.geometry.rendering.vtk_engine.triangles import surface_data
from merganser.geometry.rendering.vtk_engine.visuals import Visual

__all__ = ["MeasuredStage"]

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
        if isinstance(visual.shape, ray_casting.ROUND_SHAPES):
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
