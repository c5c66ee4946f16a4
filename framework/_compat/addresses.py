"""The module of merganser that replaces each module of pydrake."""

from __future__ import annotations

from merganser.drake.pydrake_names import MODULES_OF, NAMES

ROOT = "pydrake"

# What `from pydrake.all import *` brings along beside pydrake's own names: modules of Python, by name.
ALONG_WITH_ALL = {"np": "numpy", "functools": "functools", "operator": "operator", "typing": "typing"}

_CONTROLLERS = ("analysis.controllers", "multibody.controllers")

# Modules of pydrake, without "pydrake.", and those of merganser, without "merganser.", that have their names. Of other
# modules of pydrake merganser has nothing.
ADDRESSES: dict[str, tuple[str, ...]] = {
    "": ("drake.common",),
    "autodiffutils": ("framework.autodiff", "framework.math"),
    "common": ("drake.common", "framework", "framework.trajectories", "geometry"),
    "common.compatibility": ("drake.common",),
    "common.containers": ("drake.containers",),
    "common.cpp_param": ("drake.cpp_param",),
    "common.cpp_template": ("drake.cpp_template",),
    "common.deprecation": ("drake.deprecation",),
    "common.eigen_geometry": ("framework.math",),
    "common.schema": ("framework.schema",),
    "common.value": ("framework", "drake.cpp_param"),
    "common.yaml": ("framework.yaml", "drake.cpp_param"),
    "examples": ("examples",),
    "examples.acrobot": ("examples",),
    "examples.compass_gait": ("examples",),
    "examples.pendulum": ("examples",),
    "examples.quadrotor": ("examples",),
    "examples.rimless_wheel": ("examples",),
    "examples.van_der_pol": ("examples",),
    "forwarddiff": ("framework.autodiff", "framework.math"),
    "geometry": ("geometry",),
    "gym": ("analysis.gym",),
    "geometry.optimization": ("geometry.optimization", "multibody.planning"),
    "lcm": ("framework.lcm",),
    "manipulation": ("multibody.manipulation",),
    "math": ("framework.math", "framework.autodiff"),
    "multibody.benchmarks": ("multibody.benchmarks",),
    "multibody.benchmarks.acrobot": ("multibody.benchmarks",),
    "multibody.cenic": ("multibody.cenic",),
    "multibody.contact_solvers": ("multibody.cenic",),
    "multibody.fem": ("multibody.fem",),
    "multibody.fix_inertia": ("multibody.fix_inertia",),
    "multibody.inverse_kinematics": ("multibody.inverse_kinematics",),
    "multibody.math": ("multibody.math",),
    "multibody.mesh_to_model": ("multibody.mesh_to_model",),
    "multibody.meshcat": ("multibody.visualization",),
    "multibody.optimization": ("multibody.optimization", "multibody.planning"),
    "multibody.parsing": ("multibody.parsing",),
    "multibody.plant": ("multibody.plant",),
    "multibody.rational": ("multibody.rational",),
    "multibody.tree": ("multibody.tree",),
    "perception": ("geometry.perception",),
    "planning": ("multibody.planning", "analysis.trajectory_optimization"),
    "polynomial": ("framework.trajectories",),
    "solvers": ("framework.optimization",),
    "symbolic": ("framework.symbolic",),
    "systems.analysis": ("analysis",),
    "systems.controllers": _CONTROLLERS,
    "systems.drawing": ("framework",),
    "systems.estimators": ("analysis.estimators",),
    "systems.framework": ("framework",),
    "systems.lcm": ("framework.lcm",),
    "systems.perception": ("geometry.perception", "framework", "framework.math"),
    "systems.planar_scenegraph_visualizer": ("geometry.visualizers",),
    "systems.primitives": ("framework.primitives", "analysis"),
    "systems.pyplot_visualizer": ("geometry.visualizers",),
    "systems.rendering": ("multibody.plant",),
    "systems.scalar_conversion": (
        "framework",
        "framework.autodiff",
        "framework.symbolic",
        "drake.cpp_template",
        "drake.common",
    ),
    "systems.sensors": ("geometry.sensors", "multibody.sensors"),
    "trajectories": ("framework.trajectories",),
    "visualization": ("multibody.visualization", "geometry.sensors"),
}

_PACKAGES = {module.rpartition(".")[0] for module in (*ADDRESSES, *NAMES, *MODULES_OF)}


def inner(module: str) -> str:
    """The name of a module of pydrake without "pydrake."."""
    return module.removeprefix(ROOT).removeprefix(".")


def is_module(name: str) -> bool:
    """Whether pydrake has, or had, a module of this name (without "pydrake.")."""
    return name in ADDRESSES or name in NAMES or name in MODULES_OF or name in _PACKAGES


def modules_with(module: str, name: str) -> tuple[str, ...]:
    """Modules that may define a name of a pydrake module: itself, or those it imports from."""
    if module not in MODULES_OF:
        return (module,)
    return tuple(dict.fromkeys(each for each in reversed(MODULES_OF[module]) if name in NAMES[each]))


def names_of(module: str) -> frozenset[str]:
    """All public names of a module of pydrake, whether or not merganser has them."""
    return frozenset().union(*(NAMES.get(each, frozenset()) for each in MODULES_OF.get(module, (module,))))
