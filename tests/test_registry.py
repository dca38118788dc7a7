"""The registry finds a protocol by its file, and fails loudly."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from antecede import orders, protocols
from antecede.errors import BrokenInvariant, Misuse
from antecede.message import Membership

ORDER = """
class {name}(Unordered):
    traits = Unordered.traits
"""
HEADER = "from antecede.orders.none import Unordered\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder in which the registry looks for protocols, too."""
    monkeypatch.setattr(orders, "__path__", [*orders.__path__, str(tmp_path)])
    orders.names.cache_clear()
    yield tmp_path
    orders.names.cache_clear()
    orders.find.cache_clear()


def test_every_file_without_underscore_is_a_protocol() -> None:
    files = {path.stem for path in Path(str(orders.__file__)).parent.glob("[!_]*.py")}
    assert set(orders.names()) == {stem.replace("_", "-") for stem in files}
    assert list(orders.names()) == sorted(orders.names())


def test_a_new_file_is_found_by_itself(folder: Path) -> None:
    (folder / "brand_new.py").write_text(HEADER + ORDER.format(name="BrandNew"))
    assert "brand-new" in orders.names()
    order = orders.create("brand-new", 0, Membership(2))
    assert order.name == "brand-new"
    assert type(order).__name__ == "BrandNew"


def test_an_unknown_protocol_is_refused_with_the_known_ones() -> None:
    with pytest.raises(Misuse, match=r"there is no protocol 'vectro'.*fifo.*vector"):
        orders.find("vectro")


def test_a_hidden_module_is_no_protocol() -> None:
    with pytest.raises(Misuse):
        orders.find("_counting")


def test_a_file_without_order_fails(folder: Path) -> None:
    (folder / "no_order.py").write_text(HEADER)
    with pytest.raises(BrokenInvariant, match=r"no_order\.py must define exactly one.*found none"):
        orders.find("no-order")


def test_a_file_with_two_orders_fails(folder: Path) -> None:
    text = HEADER + ORDER.format(name="One") + ORDER.format(name="Two")
    (folder / "two_orders.py").write_text(text)
    with pytest.raises(BrokenInvariant, match="exactly one order; found One, Two"):
        orders.find("two-orders")


def test_an_order_that_misses_methods_is_named_with_them(folder: Path) -> None:
    lines = [
        "from antecede.order import Order",
        "class Unfinished(Order):",
        "    initial_state = send = receive = None",
    ]
    (folder / "unfinished.py").write_text("\n".join(lines))
    with pytest.raises(BrokenInvariant, match="Unfinished is none, it misses entries, held"):
        orders.find("unfinished")


@pytest.mark.parametrize("attribute", ["traits", "stamp_type", "state_type"])
def test_an_order_that_does_not_say_what_it_is_fails(folder: Path, attribute: str) -> None:
    attributes = {"traits": "Unordered.traits", "stamp_type": "Stamp", "state_type": "Stamp"}
    del attributes[attribute]
    lines = [
        "from antecede.order import Order, Stamp",
        "from antecede.orders.none import Unordered",
        "class Silent(Order):",
        *(f"    {name} = {value}" for name, value in attributes.items()),
        "    initial_state = send = receive = held = entries = None",
    ]
    (folder / f"silent_{attribute}.py").write_text("\n".join(lines))
    with pytest.raises(BrokenInvariant, match=f"Silent does not set '{attribute}'"):
        orders.find(f"silent-{attribute}".replace("_", "-"))


def test_an_option_is_given_to_the_order() -> None:
    assert orders.create("vector", 0, Membership(2), carry="own").options.carry == "own"


def test_an_unknown_option_is_refused_by_name() -> None:
    with pytest.raises(Misuse, match=r"options of vector: .*`carries`.*it knows: carry"):
        orders.parse_options("vector", {"carries": "own"})


def test_a_bad_value_of_an_option_is_refused_by_name() -> None:
    with pytest.raises(Misuse, match=r"options of vector: carry: 'some' is none of '.*'own'"):
        orders.parse_options("vector", {"carry": "some"})


def test_a_value_of_another_type_is_refused_in_words() -> None:
    with pytest.raises(Misuse, match=r"bounded: k: expected int, array or nothing, got str$"):
        orders.parse_options("bounded", {"k": "2m"})
    with pytest.raises(Misuse, match=r"bounded: k\[1\]: expected int, got array$"):
        orders.parse_options("bounded", {"k": [1, [2]]})


def test_a_protocol_without_options_says_so() -> None:
    with pytest.raises(Misuse, match=r"options of fifo: .*it knows: none"):
        orders.parse_options("fifo", {"k": 3})


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nowhere_at_all:Order", "there is no module 'nowhere_at_all' on Python's path"),
        ("antecede.orders.vector:Vectro", "has no attribute 'Vectro'"),
        ("antecede.message:Message", "is no subclass of antecede.Order"),
        ("antecede.order:Order", "misses .*held"),
        (":Vector", "is written module:Class"),
    ],
)
def test_a_class_that_is_no_protocol_is_refused(name: str, words: str) -> None:
    with pytest.raises(Misuse, match=words):
        protocols.find(name)


def test_a_class_of_ours_keeps_its_name() -> None:
    """By whatever way it is found."""
    order = protocols.find("antecede.orders.vector:Vector")
    assert order is protocols.find("vector")
    assert order.name == protocols.reference(order) == "vector"
