"""A template of parts in a scene."""
