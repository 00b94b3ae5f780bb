"""The studio: a local web page in which templates are outlined and tried on scenes.

`server` binds the address and serves the page, `security` decides which requests are accepted, and `api`
answers them. `drafts` converts outlines to templates, and `session` keeps the scenes and searches them. The
page consists of plain JavaScript modules, without a build step, in `page`.
"""
