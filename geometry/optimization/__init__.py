"""Convex sets, and what programs can say about them: names of pydrake.geometry.optimization."""

from merganser.geometry.optimization.graph.graph_of_convex_sets import (
    GraphOfConvexSets,
    ImplicitGraphOfConvexSets,
    ImplicitGraphOfConvexSetsFromExplicit,
)
from merganser.geometry.optimization.graph.parts import GcsGraphvizOptions, GraphOfConvexSetsOptions
from merganser.geometry.optimization.iris import (
    Iris,
    IrisOptions,
    LoadIrisRegionsYamlFile,
    MakeIrisObstacles,
    SaveIrisRegionsYamlFile,
)
from merganser.geometry.optimization.sets.affine_subspace import AffineSubspace, Point
from merganser.geometry.optimization.sets.composed import CartesianProduct, ConvexHull, Intersection, MinkowskiSum
from merganser.geometry.optimization.sets.convex_set import ConvexSet
from merganser.geometry.optimization.sets.convexity_radius import (
    CheckIfSatisfiesConvexityRadius,
    ComputePairwiseIntersections,
    PartitionConvexSet,
)
from merganser.geometry.optimization.sets.ellipsoids import AffineBall, Hyperellipsoid
from merganser.geometry.optimization.sets.hpolyhedron import HPolyhedron
from merganser.geometry.optimization.sets.hyperrectangle import Hyperrectangle, Spectrahedron
from merganser.geometry.optimization.sets.inscribed import SampledVolume
from merganser.geometry.optimization.sets.vpolytope import VPolytope

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
