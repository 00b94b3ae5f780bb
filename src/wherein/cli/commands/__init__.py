"""One module per command: its arguments and help. Slow imports wait until the command runs."""
