"""Pictures in, tensors out."""
