"""The default search: rigid pieces, coarse to fine down the tree of joints."""
