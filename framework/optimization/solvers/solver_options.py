"""Options of solvers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from merganser.framework.optimization.kinds import CommonSolverOption, SolverId, SolverType

Value = float | int | str
_COMMON = "Drake"  # under this name pydrake keeps what every solver understands
_BY_TYPE = {
    SolverType.kClp: "Clp",
    SolverType.kCsdp: "CSDP",
    SolverType.kEqualityConstrainedQP: "EqConstrainedQP",
    SolverType.kGurobi: "Gurobi",
    SolverType.kIpopt: "Ipopt",
    SolverType.kLinearSystem: "Linear system",
    SolverType.kMobyLCP: "Moby LCP",
    SolverType.kMosek: "MOSEK",
    SolverType.kNlopt: "NLopt",
    SolverType.kOsqp: "OSQP",
    SolverType.kScs: "SCS",
    SolverType.kSnopt: "SNOPT",
    SolverType.kUnrevisedLemke: "Unrevised Lemke",
}


@dataclass(kw_only=True)
class SolverOptions:
    """Options by solver and name: `options` is {solver: {name: value}}."""

    options: dict[str, dict[str, Value]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        given, self.options = self.options, {}
        for solver, values in (given or {}).items():
            for name, value in values.items():
                self._set(solver, name, value)

    def _set(self, solver: str, name: str, value: Any) -> None:
        if isinstance(value, Enum):
            value = value.value
        if not isinstance(value, (int, float, str)):
            raise TypeError(f"SolverOptions: {solver} {name}: expected int, float or str, got {type(value).__name__}.")
        self.options.setdefault(solver, {})[name] = value

    def SetOption(self, *args: Any, **kwargs: Any) -> None:
        """SetOption(solver_id, key, value), or SetOption(common_option, value).

        Raises:
            TypeError: other arguments.
        """
        given = [*args, *(kwargs[name] for name in ("solver_id", "solver_type", "key", "value") if name in kwargs)]
        match given:
            case [SolverId() as solver, str() as key, value]:
                self._set(solver.name(), key, value)
            case [SolverType() as kind, str() as key, value]:
                self._set(_BY_TYPE[kind], key, value)
            case [CommonSolverOption() as option, value]:
                self._set(_COMMON, option.name, value)
            case _:
                raise TypeError(
                    "SolverOptions.SetOption: expected (SolverId, str, value) or (CommonSolverOption, value), got "
                    f"({', '.join(type(each).__name__ for each in given)})."
                )

    def of(self, solver: str) -> dict[str, Value]:
        """The options of one solver, by their names."""
        return dict(self.options.get(solver, {}))

    def common(self, option: CommonSolverOption, default: Any = None) -> Any:
        """The value of an option that every solver understands."""
        return self.options.get(_COMMON, {}).get(option.name, default)

    def merged(self, others: SolverOptions | None) -> SolverOptions:
        """These options; where `others` has the same ones, its."""
        if others is None or not others.options:
            return self
        result = SolverOptions(options=self.options)
        for solver, values in others.options.items():
            result.options.setdefault(solver, {}).update(values)
        return result

    def __copy__(self) -> SolverOptions:
        return SolverOptions(options=self.options)


def check_names(solver: type, given: Iterable[str], known: Iterable[str]) -> None:
    """Raises ValueError where a solver has no option of a name that is given."""
    unknown = sorted(set(given).difference(known))
    if unknown:
        there = ", ".join(sorted(known))
        raise ValueError(f"{solver.__name__}: there is no option {unknown[0]!r}; there are {there}.")


def type_of(solver: str) -> SolverType | None:
    """The number of a solver in old programs, or None."""
    return next((kind for kind, name in _BY_TYPE.items() if name == solver), None)


def option_name(name: str, what: str) -> Any:
    """A static method that returns the name of an option."""

    def get() -> str:
        return name

    get.__doc__ = f"Name of the option for {what}."
    return staticmethod(get)
