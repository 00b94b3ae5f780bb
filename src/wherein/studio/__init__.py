"""The studio: a page on this machine in which templates are made and tried.

`serving` binds and opens it, `guard` says who may speak to it, `app` is what it answers; what it holds and
works out is `workshop`. The page itself, plain JavaScript modules, lies in `page`.
"""
