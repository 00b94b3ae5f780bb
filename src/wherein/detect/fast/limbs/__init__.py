"""Limbs: the search for an object by its limbs, and whether the turns of limbs are unambiguous."""
