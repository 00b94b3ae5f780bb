"""The default search: rigid pieces, coarse to fine, from the body down the tree of joints."""
