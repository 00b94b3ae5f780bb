"""Objects by their limbs, where they have no body or it is hidden."""
