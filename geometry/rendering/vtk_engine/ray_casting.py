"""Round shapes in depth and label images: exact, by casting rays at them in the fragment shader.

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

import numpy as np

from merganser.geometry.rendering.mesh_parts import Surface
from merganser.geometry.shapes import Capsule, Cylinder, Ellipsoid, MeshcatCone, Shape, Sphere

__all__ = ["ROUND_SHAPES", "VERTEX_SHADER", "box_around", "ray_code"]

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
_FRAGMENT_SHADER = """#version 330 core
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

_ELLIPSOID = """
vec2 shape_interval(vec3 o, vec3 d)
{
  return unit_sphere(o / half_size, d / half_size);
}
"""
_CYLINDER = """
vec2 shape_interval(vec3 o, vec3 d)
{
  vec2 inside = unit_circle(o.xy / half_size.x, d.xy / half_size.x);
  cut_slab(inside, o.z, d.z, half_size.z);
  return inside;
}
"""
# Half of a capsule's length is that of the cylinder and the radius.
_CAPSULE = """
vec2 shape_interval(vec3 o, vec3 d)
{
  float r = half_size.x;
  vec3 half_axis = vec3(0.0, 0.0, half_size.z - r);
  vec2 inside = unit_circle(o.xy / r, d.xy / r);
  cut_slab(inside, o.z, d.z, half_axis.z);
  vec2 top = unit_sphere((o - half_axis) / r, d / r);
  vec2 bottom = unit_sphere((o + half_axis) / r, d / r);
  vec2 all_of_it = vec2(1e30, -1e30);
  if (inside.x <= inside.y) all_of_it = inside;
  if (top.x <= top.y) all_of_it = vec2(min(all_of_it.x, top.x), max(all_of_it.y, top.y));
  if (bottom.x <= bottom.y) all_of_it = vec2(min(all_of_it.x, bottom.x), max(all_of_it.y, bottom.y));
  return all_of_it;
}
"""
# In these coordinates the cone is x^2 + y^2 <= z^2, 0 <= z <= 1, with its tip at the origin. The box has its center
# half-way up.
_CONE = """
vec2 shape_interval(vec3 o, vec3 d)
{
  vec3 size = vec3(half_size.xy, 2.0 * half_size.z);
  vec3 u = vec3(o.xy, o.z + half_size.z) / size, v = d / size;
  vec2 inside = vec2(-1e30, 1e30);
  cut_slab(inside, u.z - 0.5, v.z, 0.5);
  if (inside.x > inside.y) return inside;
  // The ray is followed from where it is nearest to the tip.
  float t0 = -dot(u, v) / dot(v, v);
  vec3 p = u + t0 * v;
  float a = dot(v.xy, v.xy) - v.z * v.z;
  float b = dot(p.xy, v.xy) - p.z * v.z;
  float c = dot(p.xy, p.xy) - p.z * p.z;
  float room = b * b - a * c;
  if (room < 0.0) return a < 0.0 ? inside : vec2(1.0, -1.0);
  float q = -(b + (b < 0.0 ? -1.0 : 1.0) * sqrt(room));
  float t_a = a != 0.0 ? q / a : (b < 0.0 ? -1e30 : 1e30), t_b = q == 0.0 ? 0.0 : c / q;
  float t_1 = t0 + min(t_a, t_b), t_2 = t0 + max(t_a, t_b);
  if (a > 0.0) {
    cut(inside, t_1, t_2);
    return inside;
  }
  // Steeper than the side: inside of the double cone before t_1 and after t_2, of which one is in the slab.
  vec2 before = vec2(inside.x, min(inside.y, t_1));
  vec2 after = vec2(max(inside.x, t_2), inside.y);
  return before.x <= before.y ? before : after;
}
"""
_RAY_CODES: dict[type[Shape], str] = {
    Sphere: _ELLIPSOID,
    Ellipsoid: _ELLIPSOID,
    Cylinder: _CYLINDER,
    Capsule: _CAPSULE,
    MeshcatCone: _CONE,
}
ROUND_SHAPES = tuple(_RAY_CODES)


def ray_code(shape: Shape) -> str:
    """The fragment shader for a round shape."""
    return _FRAGMENT_SHADER.replace("//RAY_CODE", _RAY_CODES[type(shape)])


def box_around(shape: Shape) -> tuple[Surface, float]:
    """The box around a round shape, with its center at the origin, and the height of that center in G [m]."""
    center_z = 0.0
    match shape:
        case Sphere():
            half = [shape.radius()] * 3
        case Ellipsoid():
            half = [shape.a(), shape.b(), shape.c()]
        case Cylinder():
            half = [shape.radius(), shape.radius(), 0.5 * shape.length()]
        case Capsule():
            half = [shape.radius(), shape.radius(), 0.5 * shape.length() + shape.radius()]
        case MeshcatCone():
            half = [shape.a(), shape.b(), 0.5 * shape.height()]
            center_z = half[2]
        case _:
            raise TypeError(f"{shape!r} is not round.")
    corners = np.array(list(itertools.product((-1.0, 1.0), repeat=3))) * half
    # Corner i has the signs of the bits of i, x first; triangles are counter-clockwise from outside.
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    triangles = [triangle for a, b, c, d in quads for triangle in ((a, b, c), (a, c, d))]
    return Surface(corners.astype(np.float32), np.array(triangles, np.int64)), center_z
