"""The studio: a page on this machine in which templates are outlined and tried on scenes.

`server` binds the address and serves the page, `security` decides which requests are accepted, `api` answers
them. `drafts` turns outlines into templates, `session` holds the scenes and searches them. The page itself,
plain JavaScript modules without a build step, is in `page`.
"""
