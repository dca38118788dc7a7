"""Colours that the colour-blind can tell apart.

Colour blindness is simulated by the matrices of Machado, Oliveira and Fernandes (2009) for complete
dichromacy, on linear RGB; colours are compared in CIE Lab.
"""

import re
from itertools import combinations

import pytest

from antecede.report.charts.looks import COLOURS
from antecede.report.page import read_resource

Colour = tuple[float, float, float]
SIGHTS = {
    "full": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
JUST_NOTICEABLE = 2.3


def colours(name: str, *, dark: bool) -> list[Colour]:
    """The colours called `name-0`, `name-1` ... in the style sheet, as linear RGB."""
    light_part, dark_part = read_resource("charts.css").split("prefers-color-scheme: dark", 1)
    found = re.findall(rf"--{name}-\d: (#[0-9a-f]{{6}})", dark_part if dark else light_part)
    return [linear(colour) for colour in found]


def linear(colour: str) -> Colour:
    shares = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in shares)
    return r, g, b


def seen(colour: Colour, sight: str) -> Colour:
    r, g, b = (
        min(max(sum(m * c for m, c in zip(row, colour, strict=True)), 0.0), 1.0)
        for row in SIGHTS[sight]
    )
    return r, g, b


def lab(colour: Colour) -> Colour:
    r, g, b = colour
    x = (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505
    y = 0.2126 * r + 0.7152 * g + 0.0722 * b
    z = (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089
    fx, fy, fz = (v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def distance(one: Colour, other: Colour, sight: str) -> float:
    pairs = zip(lab(seen(one, sight)), lab(seen(other, sight)), strict=True)
    return float(sum((a - b) ** 2 for a, b in pairs) ** 0.5)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("sight", SIGHTS)
def test_any_two_series_differ(sight: str, dark: bool) -> None:
    looks = colours("look", dark=dark)
    assert len(looks) == COLOURS
    closest = min(distance(one, other, sight) for one, other in combinations(looks, 2))
    assert closest > 8 * JUST_NOTICEABLE


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("sight", SIGHTS)
def test_parts_of_a_delay_differ_from_their_neighbours(sight: str, dark: bool) -> None:
    parts = colours("part", dark=dark)
    assert len(parts) == 4
    assert min(distance(a, b, sight) for a, b in combinations(parts, 2)) > 8 * JUST_NOTICEABLE


def test_the_check_finds_red_and_green_alike() -> None:
    red, green = linear("#b8604a"), linear("#8a7a3c")
    assert distance(red, green, "full") > 15
    assert distance(red, green, "deuteranopia") < distance(red, green, "full") / 2
