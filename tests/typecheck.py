"""The type checker of the tests: beartype, with an int wherever a float will do (PEP 484's tower)."""

from beartype import BeartypeConf, beartype

checked = beartype(conf=BeartypeConf(is_pep484_tower=True))
