"""Pictures of results: the only place that draws."""
