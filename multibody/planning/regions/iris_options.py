"""Options of IrisZo and IrisNp2.

Coordinates other than positions in which regions grow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework import Parallelism
from merganser.framework.autodiff import AutoDiffXd
from merganser.framework.common.records import settings
from merganser.framework.core.values.arguments import checked_size
from merganser.framework.optimization import MathematicalProgram, SolverInterface, SolverOptions
from merganser.geometry.optimization.sets.arguments import Form, choose

Array = NDArray[np.float64]
_Function = Callable[[Any], Any]
_WHERE = "IrisParameterizationFunction"
_FORMS = {
    "identity": Form(),
    "kinematics": Form(("kin", "q_star_val"), lambda first: hasattr(first, "ComputeQValue")),
    "function": Form(("parameterization", "dimension"), callable),
    "expressions": Form(("expression_parameterization", "variables")),
}


class IrisParameterizationFunction:
    """A function q = f(s) that gives positions q for the coordinates s of a region.

    Four forms:

        IrisParameterizationFunction()                                       q = s
        IrisParameterizationFunction(parameterization, dimension)            a function, and the size of s
        IrisParameterizationFunction(expression_parameterization, variables) expressions of variables s
        IrisParameterizationFunction(kin, q_star_val)                        a RationalForwardKinematics

    A function is called with s as floats by IrisZo, and also with AutoDiffXd by IrisNp2. Of a RationalForwardKinematics
    (anything with its methods `ComputeQValue(s, q_star)` and `plant()`), s are the tangents of half the angles from the
    positions q_star_val.

    Raises:
        ValueError: the dimension is less than 1; or the variables are not just those that the expressions have.
        TypeError: the arguments have none of the forms.
    """

    @overload
    def __init__(self) -> None: ...
    @overload
    def __init__(self, parameterization: _Function, dimension: int) -> None: ...
    @overload
    def __init__(self, expression_parameterization: ArrayLike, variables: ArrayLike) -> None: ...
    @overload
    def __init__(self, kin: Any, q_star_val: ArrayLike) -> None: ...
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        form, given = choose(_WHERE, args, kwargs, _FORMS)
        self._function: _Function = _identity
        self._dimension: int | None = None
        self._threadsafe = form != "function"
        if form == "function":
            self._function = given["parameterization"]
            self._dimension = checked_size(given["dimension"], f"{_WHERE}: dimension")
            if self._dimension < 1:
                raise ValueError(f"{_WHERE}: expected a dimension of at least 1, got {self._dimension}.")
        elif form == "kinematics":
            self._take_kinematics(given["kin"], np.array(given["q_star_val"], dtype=np.float64).ravel())
        elif form == "expressions":
            values, variables = given["expression_parameterization"], given["variables"]
            self._take_expressions(np.ravel(np.asarray(values, object)), np.ravel(np.asarray(variables, object)))

    def _take_expressions(self, expressions: Any, variables: Any) -> None:
        from merganser.framework.symbolic import Evaluate, Expression, Jacobian

        expressions = np.array([Expression(each) for each in expressions], dtype=object)
        used = {each.get_id() for expression in expressions for each in expression.GetVariables()}
        given = [each.get_id() for each in variables]
        if len(set(given)) < len(given) or used != set(given):
            raise ValueError(
                f"{_WHERE}: expected as variables, once each, those of the expressions; got "
                f"{[str(each) for each in variables]}."
            )
        slopes = Jacobian(expressions, variables)

        def function(s: Any) -> Any:
            values = np.ravel(np.asarray(s))
            if values.dtype != object:
                return Evaluate(expressions, dict(zip(variables, values.tolist()))).ravel()
            env = dict(zip(variables, (each.value() for each in values)))
            y, J = Evaluate(expressions, env).ravel(), Evaluate(slopes, env)
            inner = np.array([each.derivatives() for each in values])
            return np.array([AutoDiffXd(value, row @ inner) for value, row in zip(y, J)], dtype=object)

        self._function, self._dimension = function, len(given)

    def _take_kinematics(self, kin: Any, q_star: Array) -> None:
        size = kin.plant().num_positions()
        if q_star.size != size or not np.isfinite(q_star).all():
            raise ValueError(f"{_WHERE}: expected {size} finite numbers as q_star_val, got {q_star}.")
        self._function = lambda s: np.ravel(kin.ComputeQValue(s, q_star))
        self._dimension = size

    def get_parameterization_is_threadsafe(self) -> bool:
        """Whether several threads may call it at once: not if it is a function of a user's."""
        return self._threadsafe

    def get_parameterization_dimension(self) -> int | None:
        """The size of s; None if it is that of the positions."""
        return self._dimension

    def get_parameterization_double(self) -> Callable[[ArrayLike], Array]:
        """The function of floats: s of shape [m] to q of shape [n]."""
        function = self._function
        return lambda s: np.array(function(np.array(s, dtype=np.float64).ravel()), dtype=np.float64).ravel()

    def get_parameterization_autodiff(self) -> Callable[[Any], Any]:
        """The function of AutoDiffXd: s of shape [m] to q of shape [n]."""
        function = self._function
        return lambda s: np.ravel(np.asarray(function(np.ravel(np.asarray(s, dtype=object))), dtype=object))


def _identity(s: Any) -> Any:
    return s


@settings
@dataclass(eq=False, kw_only=True)
class CommonSampledIrisOptions:
    """Options of regions that are tested by samples.

    A region is accepted if few enough of its random points are in collision. With probability 1 - delta the part of its
    volume that is in collision is then at most epsilon.

    Attributes:
        num_particles: how many points are drawn at least, each time that faces are looked for.
        tau: 0 to 1; the part of epsilon that may be in collision in a test is 1 - tau. A small tau takes more points,
            and accepts more.
        delta: how probable it may be that a region is accepted wrongly; 0 to 1.
        epsilon: part of the volume that may be in collision; 0 to 1.
        containment_points: points in columns, shape [n, m], that stay in the region if their hull is free; they come
            before the margin.
        max_iterations: how many regions are made, each from the ellipsoid in the last.
        max_iterations_separating_planes: how often faces are looked for in each.
        max_separating_planes_per_iteration: how many faces are added each time at most; -1 for no limit.
        parallelism: how many threads check for collisions.
        verbose: whether to log how it goes, at level INFO.
        require_sample_point_is_contained: whether to stop with the last region that has the center of the first
            ellipsoid.
        configuration_space_margin: how far faces stay away from collisions, in units of positions.
        relax_margin: whether a margin that would cut off the center is halved until it does not; otherwise that is an
            error.
        termination_threshold: growth ends if the volume of the ellipsoid grows by this at most; negative: never.
        relative_termination_threshold: the same in parts of the volume; negative: never.
        remove_all_collisions_possible: whether collisions among the points of the test that accepts get faces, too.
        random_seed: of the random points.
        mixing_steps: steps of hit and run between draws.
        prog_with_additional_constraints: a program of the positions (or of what they are parameterized by) whose
            constraints hold in the region, as far as collisions do not occur.
        sample_particles_in_parallel: of no effect: points are drawn together in any case, each by a walk of its own.
    """

    num_particles: int = 1000
    tau: float = 0.5
    delta: float = 5e-2
    epsilon: float = 1e-2
    containment_points: NDArray[np.float64] | None = None
    max_iterations: int = 3
    max_iterations_separating_planes: int = 20
    max_separating_planes_per_iteration: int = 10
    parallelism: Parallelism = field(default_factory=Parallelism.Max)
    verbose: bool = False
    require_sample_point_is_contained: bool = True
    configuration_space_margin: float = 1e-2
    relax_margin: bool = False
    termination_threshold: float = 2e-2
    relative_termination_threshold: float = 1e-3
    remove_all_collisions_possible: bool = True
    random_seed: int = 1234
    mixing_steps: int = 50
    prog_with_additional_constraints: MathematicalProgram | None = None
    sample_particles_in_parallel: bool = False


@settings
@dataclass(eq=False, kw_only=True)
class RaySamplerOptions:
    """Options of the search for near collisions by rays from the center of the ellipsoid.

    Attributes:
        only_walk_toward_collisions: whether only the rays towards points in collision are searched.
        ray_search_num_steps: in how many steps from the center to a point; at least 1.
        num_particles_to_walk_towards: how many rays, if they go to any points; at least 1.
    """

    only_walk_toward_collisions: bool = False
    ray_search_num_steps: int = 10
    num_particles_to_walk_towards: int = 200


@settings
@dataclass(eq=False, kw_only=True)
class IrisZoOptions:
    """Options of IrisZo.

    Attributes:
        sampled_iris_options: how regions grow, and are tested.
        bisection_steps: how often the way from the center to a collision is halved.
        parameterization: of the positions; by default they are the coordinates of the region themselves.
    """

    sampled_iris_options: CommonSampledIrisOptions = field(default_factory=CommonSampledIrisOptions)
    bisection_steps: int = 10
    parameterization: IrisParameterizationFunction = field(default_factory=IrisParameterizationFunction)


@settings
@dataclass(eq=False, kw_only=True)
class IrisNp2Options:
    """Options of IrisNp2.

    Attributes:
        sampled_iris_options: how regions grow, and are tested.
        parameterization: of the positions; by default they are the coordinates of the region themselves.
        sampling_strategy: "greedy" for random points of the region, "ray" for the first collisions on ways to such.
        ray_sampler_options: of the latter.
        add_hyperplane_if_solve_fails: whether a point in collision gets a face itself where the search from it fails.
        solver: for these searches; by default SLSQP.
        solver_options: for it.
    """

    sampled_iris_options: CommonSampledIrisOptions = field(default_factory=CommonSampledIrisOptions)
    parameterization: IrisParameterizationFunction = field(default_factory=IrisParameterizationFunction)
    sampling_strategy: str = "greedy"
    ray_sampler_options: RaySamplerOptions = field(default_factory=RaySamplerOptions)
    add_hyperplane_if_solve_fails: bool = False
    solver: SolverInterface | None = None
    solver_options: SolverOptions = field(default_factory=SolverOptions)
