"""Which modules of merganser stand for which of pydrake."""

from __future__ import annotations

__all__ = ["ADDRESSES", "WITHOUT_COUNTERPART"]

_CONTROLLERS = ("analysis.controllers", "multibody.controllers")

# Modules of pydrake, without "pydrake.", and those of merganser, without "merganser.", that have their names.
ADDRESSES: dict[str, tuple[str, ...]] = {
    "": (),
    "all": ("all", "drake.common", "drake.containers", "drake.untyped_yaml"),
    "autodiffutils": ("framework.autodiff",),
    "common": ("drake.common", "framework", "geometry"),
    "common.containers": ("drake.containers",),
    "common.eigen_geometry": ("framework.math",),
    "common.schema": ("multibody.parsing",),
    "common.value": ("framework",),
    "common.yaml": ("multibody.parsing", "drake.untyped_yaml"),
    "examples": ("examples",),
    "examples.acrobot": ("examples",),
    "examples.compass_gait": ("examples",),
    "examples.pendulum": ("examples",),
    "examples.quadrotor": ("examples",),
    "examples.rimless_wheel": ("examples",),
    "examples.van_der_pol": ("examples",),
    "forwarddiff": ("framework.autodiff",),
    "geometry": ("geometry",),
    "manipulation": ("multibody.manipulation",),
    "math": ("framework.math", "framework.autodiff"),
    "multibody": (),
    "multibody.inverse_kinematics": ("multibody.inverse_kinematics",),
    "multibody.math": ("multibody.math",),
    "multibody.parsing": ("multibody.parsing",),
    "multibody.plant": ("multibody.plant",),
    "multibody.tree": ("multibody.tree",),
    "planning": ("multibody.planning",),
    "polynomial": ("framework.trajectories",),
    "symbolic": ("framework.symbolic",),
    "systems": (),
    "systems.analysis": ("analysis",),
    "systems.controllers": _CONTROLLERS,
    "systems.estimators": ("analysis.estimators",),
    "systems.framework": ("framework",),
    "systems.primitives": ("framework.primitives", "analysis"),
    "systems.rendering": ("multibody.plant",),
    "systems.scalar_conversion": ("framework",),
    "systems.sensors": ("multibody.sensors",),
    "trajectories": ("framework.trajectories",),
}

# Modules of pydrake of which merganser has nothing.
WITHOUT_COUNTERPART = frozenset(
    {
        "common.cpp_param", "common.cpp_template", "common.deprecation",
        "geometry.optimization", "gym", "lcm", "multibody.benchmarks",
        "multibody.fix_inertia", "multibody.mesh_to_model", "multibody.meshcat",
        "multibody.optimization", "multibody.rational", "perception", "solvers", "systems.drawing",
        "systems.jupyter_widgets", "systems.lcm", "systems.planar_scenegraph_visualizer", "systems.pyplot_visualizer",
        "visualization",
    }
)  # fmt: skip
