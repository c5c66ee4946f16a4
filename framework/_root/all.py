"""Every public name of the package, for interactive work: `from merganser.all import *`.

After `import merganser.all` a package is loaded when one of its names is asked for.
Functions that several packages have (sin, sqrt, max, ...) are those of merganser.framework.math, which take floats,
AutoDiffXd and Expression; `Polynomial` is the symbolic one.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from merganser.framework.common.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from merganser.analysis import *  # noqa: F403
    from merganser.analysis.controllers import *  # noqa: F403
    from merganser.analysis.estimators import *  # noqa: F403
    from merganser.analysis.frequency import *  # noqa: F403
    from merganser.analysis.trajectory_optimization import *  # noqa: F403
    from merganser.examples import *  # noqa: F403
    from merganser.framework import *  # noqa: F403
    from merganser.framework.autodiff import *  # noqa: F403
    from merganser.framework.lcm import *  # noqa: F403
    from merganser.framework.optimization import *  # noqa: F403
    from merganser.framework.primitives import *  # noqa: F403
    from merganser.framework.schema import *  # noqa: F403
    from merganser.framework.trajectories import *  # noqa: F403
    from merganser.framework.symbolic import *  # type: ignore[assignment]  # noqa: F403  # isort: skip
    from merganser.framework.math import *  # type: ignore[assignment]  # noqa: F403  # isort: skip
    from merganser.framework.yaml import *  # noqa: F403
    from merganser.geometry import *  # noqa: F403
    from merganser.geometry.optimization import *  # noqa: F403
    from merganser.geometry.perception import *  # noqa: F403
    from merganser.geometry.sensors import *  # noqa: F403
    from merganser.multibody.cenic import *  # noqa: F403
    from merganser.multibody.controllers import *  # noqa: F403
    from merganser.multibody.fem import *  # noqa: F403
    from merganser.multibody.inverse_kinematics import *  # noqa: F403
    from merganser.multibody.manipulation import *  # noqa: F403
    from merganser.multibody.math import *  # noqa: F403
    from merganser.multibody.optimization import *  # noqa: F403
    from merganser.multibody.parsing import *  # noqa: F403
    from merganser.multibody.planning import *  # noqa: F403
    from merganser.multibody.plant import *  # noqa: F403
    from merganser.multibody.rational import *  # noqa: F403
    from merganser.multibody.sensors import *  # noqa: F403
    from merganser.multibody.tree import *  # noqa: F403
    from merganser.multibody.visualization import *  # noqa: F403
else:
    __getattr__, __dir__ = _lazy_names(__name__)
    __all__ = [name for name in __dir__() if not name.startswith("_")]
