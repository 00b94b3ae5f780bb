"""The parts of other modules that take most of the time, in C: `*_calls` call it, `kernel` has it.

The C is optional. Each function has a reference in torch, in the module that it belongs to. The reference
runs where the library is not available or does not accept the tensors, and the tests compare the two.
"""
