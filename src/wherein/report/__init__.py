"""The HTML report: `page` collects scenes, other modules prepare data, `templates/` makes it HTML."""
