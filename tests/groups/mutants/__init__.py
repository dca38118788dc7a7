"""Bugs to plant in the group substrate: one for each of its rules."""

from tests.groups.mutants.changes import FLUSH_MUTANTS, KNOWN_TO_FEW_MUTANTS
from tests.groups.mutants.membership import (
    DETOUR_MUTANTS,
    MEMBERSHIP_MUTANTS,
    SILENCE_MUTANTS,
    TALK_MUTANTS,
)
from tests.groups.mutants.messages import ORDER_MUTANTS, STABILITY_MUTANTS

MUTANTS = (
    *ORDER_MUTANTS,
    *STABILITY_MUTANTS,
    *FLUSH_MUTANTS,
    *KNOWN_TO_FEW_MUTANTS,
    *SILENCE_MUTANTS,
    *MEMBERSHIP_MUTANTS,
    *TALK_MUTANTS,
    *DETOUR_MUTANTS,
)
