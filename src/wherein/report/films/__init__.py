"""Videos in the report."""
