"""One file a command: its arguments and its help. Nothing heavy is imported until it runs."""
