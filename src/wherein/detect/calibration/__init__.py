"""What scores mean for a template: measured once on backgrounds without the template, and stored."""
