"""The HTML report: `page` collects scenes, other modules prepare the data, `templates/` has the HTML."""
