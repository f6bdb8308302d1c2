"""AWX, as far as it can be had here: an API that answers as AWX does, for the modules of awx.awx; `tests/unit/awx/` has the tests."""
