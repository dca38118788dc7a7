"""The package's own tests: all that Antecede asks of a protocol, and bugs that it has to find."""

from antecede_direct import Direct

from antecede.testing import Mutant, check_mutants, check_protocol


def test_it_keeps_the_contract() -> None:
    check_protocol(Direct)


def test_its_tests_can_fail() -> None:
    check_mutants(
        Direct,
        [
            Mutant(
                name="only its own order",
                old="        yield from packet.stamp.named\n",
                new="",
            ),
            Mutant(
                name="nothing is news", old="sorted({*self.state.news, packet.source})", new="[]"
            ),
        ],
    )
