"""File formats of other programs, one module per format; `registry.py` lists them."""
