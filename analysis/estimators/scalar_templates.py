"""The templates `Foo_` of this package: `LuenbergerObserver_[AutoDiffXd]` observes systems of AutoDiffXd."""

from __future__ import annotations

from merganser.analysis.estimators.luenberger_observer import LuenbergerObserver
from merganser.framework.core.scalars.templates import SystemTemplate

LuenbergerObserver_ = SystemTemplate(LuenbergerObserver)
