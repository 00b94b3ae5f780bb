"""The command line: `main` has the program, `commands` the arguments, the `*_run` modules the work."""
