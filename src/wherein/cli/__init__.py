"""The command line: `main` is the program, `commands` has the arguments, the `*_run` modules do the work."""
