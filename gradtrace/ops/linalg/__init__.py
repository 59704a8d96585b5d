"""Products, norms, solvers and decompositions of matrices."""
