"""Every public name of the package, for interactive work: `from merganser.all import *`.

The names of merganser.framework.symbolic are among them where sympy is installed (extra `symbolic`).
"""

import contextlib

from merganser.analysis import *  # noqa: F403
from merganser.analysis.controllers import *  # noqa: F403
from merganser.analysis.estimators import *  # noqa: F403
from merganser.framework import *  # noqa: F403
from merganser.framework.autodiff import *  # noqa: F403
from merganser.framework.math import *  # noqa: F403
from merganser.framework.primitives import *  # noqa: F403
from merganser.framework.trajectories import *  # noqa: F403
from merganser.geometry import *  # noqa: F403
from merganser.multibody.controllers import *  # noqa: F403
from merganser.multibody.math import *  # noqa: F403
from merganser.multibody.parsing import *  # noqa: F403
from merganser.multibody.plant import *  # noqa: F403
from merganser.multibody.tree import *  # noqa: F403

with contextlib.suppress(ImportError):
    from merganser.framework.symbolic import *  # noqa: F403
