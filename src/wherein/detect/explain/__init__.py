"""Explanations of a result for users: maps of the first look, and the convergence of fits."""
