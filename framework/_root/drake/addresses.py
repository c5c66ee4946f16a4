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
    "examples.pendulum": ("examples",),
    "examples.quadrotor": ("examples",),
    "examples.van_der_pol": ("examples",),
    "forwarddiff": ("framework.autodiff",),
    "geometry": ("geometry",),
    "math": ("framework.math", "framework.autodiff"),
    "multibody": (),
    "multibody.math": ("multibody.math",),
    "multibody.meshcat": ("multibody.visualization",),
    "multibody.parsing": ("multibody.parsing",),
    "multibody.plant": ("multibody.plant",),
    "multibody.tree": ("multibody.tree",),
    "perception": ("geometry.perception",),
    "planning": ("multibody.planning",),
    "polynomial": ("framework.trajectories",),
    "symbolic": ("framework.symbolic",),
    "systems": (),
    "systems.analysis": ("analysis",),
    "systems.controllers": _CONTROLLERS,
    "systems.drawing": ("framework",),
    "systems.estimators": ("analysis.estimators",),
    "systems.framework": ("framework",),
    "systems.planar_scenegraph_visualizer": ("geometry.visualizers",),
    "systems.primitives": ("framework.primitives", "analysis"),
    "systems.pyplot_visualizer": ("geometry.visualizers",),
    "systems.scalar_conversion": ("framework",),
    "trajectories": ("framework.trajectories",),
    "visualization": ("multibody.visualization",),
}

# Modules of pydrake of which merganser has nothing.
WITHOUT_COUNTERPART = frozenset(
    {
        "common.cpp_param", "common.cpp_template", "common.deprecation",
        "examples.compass_gait", "examples.rimless_wheel",
        "geometry.optimization", "gym", "lcm", "manipulation", "multibody.benchmarks",
        "multibody.fix_inertia", "multibody.inverse_kinematics", "multibody.mesh_to_model",
        "multibody.optimization", "multibody.rational", "solvers",
        "systems.jupyter_widgets", "systems.lcm", "systems.rendering", "systems.sensors",
    }
)  # fmt: skip
