"""The most expensive parts of other modules, in C. `kernel` loads the library, `*_calls` call its functions.

The C library is optional. Each function has a reference in torch, in the module that it belongs to. The
reference runs if the library is not available or does not accept the tensors, and tests compare the two.
"""
