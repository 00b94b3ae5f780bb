"""Refinement of hypotheses: each piece is fitted to convergence at its finest resolution.

`polish` refines likely hypotheses before they are scored for the last time. `last_fits` fits the pieces of
detections once more, without the pixels that are covered, and then by the colours of the pixels themselves.
Both use channels (`converged`), and keep a new pose only if it keeps the joint of its piece
(`refined_piece`).
"""
