"""One module per command, with its arguments and help. Slow modules are imported when the command runs."""
