"""Commands, as in the tests of the command line."""

from tests.cli.conftest import antecede

__all__ = ["antecede"]
