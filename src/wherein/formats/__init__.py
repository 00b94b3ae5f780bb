"""File formats of other programs, one module each; `table.py` lists them."""
