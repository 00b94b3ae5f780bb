"""What scores mean for a template: measured once on made and given backgrounds, and stored."""
