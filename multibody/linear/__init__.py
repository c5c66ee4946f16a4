"""Sparse Cholesky factorization by blocks of trees, and what it takes: see README.md."""
