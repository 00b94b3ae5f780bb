"""Programs for those who work on wherein: nothing here is in the wheel."""
