"""Error-controlled contact: choose an accuracy, not a time step. Names of pydrake.multibody.cenic."""

from merganser.multibody.cenic.cenic_integrator import CenicIntegrator, CenicIntegrator_, IcfSolverParameters

__all__ = ["CenicIntegrator", "CenicIntegrator_", "IcfSolverParameters"]
