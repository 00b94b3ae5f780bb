"""The refinement of hypotheses: each piece to convergence, and the last fits of what is reported."""
