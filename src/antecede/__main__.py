"""`python -m antecede` is the command `antecede`."""

from antecede.cli import main

main()
