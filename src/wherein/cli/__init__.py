"""The command line: arguments in, one JSON object a line out; the work is done elsewhere."""
