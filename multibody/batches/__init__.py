"""Dynamics of one plant at many states, several of them side by side in the registers of the processor."""

from merganser.multibody.batches.many_states import BatchCalcInverseDynamics, BatchCalcMassMatrix, BatchCalcPoses

__all__ = ["BatchCalcInverseDynamics", "BatchCalcMassMatrix", "BatchCalcPoses"]
