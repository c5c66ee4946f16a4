"""Convex sets, and what programs can say about them: names of pydrake.geometry.optimization."""

from merganser.geometry.optimization.affine_ball import AffineBall
from merganser.geometry.optimization.affine_subspace import AffineSubspace
from merganser.geometry.optimization.cartesian_product import CartesianProduct
from merganser.geometry.optimization.convex_hull import ConvexHull
from merganser.geometry.optimization.convex_set import ConvexSet
from merganser.geometry.optimization.convexity_radius import (
    CheckIfSatisfiesConvexityRadius,
    ComputePairwiseIntersections,
    PartitionConvexSet,
)
from merganser.geometry.optimization.graph_of_convex_sets import GraphOfConvexSets
from merganser.geometry.optimization.graph_options import GcsGraphvizOptions, GraphOfConvexSetsOptions
from merganser.geometry.optimization.hpolyhedron import HPolyhedron
from merganser.geometry.optimization.hyperellipsoid import Hyperellipsoid
from merganser.geometry.optimization.hyperrectangle import Hyperrectangle
from merganser.geometry.optimization.implicit_graph import (
    ImplicitGraphOfConvexSets,
    ImplicitGraphOfConvexSetsFromExplicit,
)
from merganser.geometry.optimization.intersection import Intersection
from merganser.geometry.optimization.iris import Iris
from merganser.geometry.optimization.iris_obstacles import MakeIrisObstacles
from merganser.geometry.optimization.iris_options import IrisOptions
from merganser.geometry.optimization.iris_regions import LoadIrisRegionsYamlFile, SaveIrisRegionsYamlFile
from merganser.geometry.optimization.minkowski_sum import MinkowskiSum
from merganser.geometry.optimization.point import Point
from merganser.geometry.optimization.sampled_volume import SampledVolume
from merganser.geometry.optimization.spectrahedron import Spectrahedron
from merganser.geometry.optimization.vpolytope import VPolytope

__all__ = [
    "AffineBall",
    "AffineSubspace",
    "CartesianProduct",
    "CheckIfSatisfiesConvexityRadius",
    "ComputePairwiseIntersections",
    "ConvexHull",
    "ConvexSet",
    "GcsGraphvizOptions",
    "GraphOfConvexSets",
    "GraphOfConvexSetsOptions",
    "HPolyhedron",
    "Hyperellipsoid",
    "Hyperrectangle",
    "ImplicitGraphOfConvexSets",
    "ImplicitGraphOfConvexSetsFromExplicit",
    "Intersection",
    "Iris",
    "IrisOptions",
    "LoadIrisRegionsYamlFile",
    "MakeIrisObstacles",
    "MinkowskiSum",
    "PartitionConvexSet",
    "Point",
    "SampledVolume",
    "SaveIrisRegionsYamlFile",
    "Spectrahedron",
    "VPolytope",
]
