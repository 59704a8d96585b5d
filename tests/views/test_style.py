"""The palette: text is readable, and borders stay apart for colour-blind readers and in grey."""

import itertools

import pytest

from gradtrace.views.style import THEMES

# Machado, Oliveira, Fernandes 2009, severity 1.0, on linear RGB
BLINDNESS = {
    "none": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protan": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deutan": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritan": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}


def linear(color):
    channels = (int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]


def luminance(color):
    return sum(
        weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear(color), strict=True)
    )


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def lab(color, matrix):
    r, g, b = (
        max(0.0, sum(m * c for m, c in zip(row, linear(color), strict=True))) for row in matrix
    )
    xyz = (
        (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505,
        0.2126 * r + 0.7152 * g + 0.0722 * b,
        (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089,
    )
    x, y, z = (c ** (1 / 3) if c > 0.008856 else 7.787 * c + 16 / 116 for c in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_text_is_readable_on_every_fill(theme):
    for look in theme.looks.values():
        assert contrast(theme.ink, look.fill) >= 7, look
        for color in (theme.faint, theme.gradient, theme.bad):
            assert contrast(color, look.fill) >= 4.5, (look, color)
        assert contrast(look.border, theme.background) >= 3, look


def fills(theme):
    looks = theme.looks.values()
    return {look.fill for look in looks}


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_every_pair_of_colours_has_the_contrast_of_wcag(theme):
    """4.5:1 for text on whatever it stands on, 3:1 for lines and strips (WCAG 2.2, 1.4.3 and 1.4.11)."""
    grounds = {*fills(theme), theme.background}
    for ground in grounds:
        for text in (theme.ink, theme.faint, theme.gradient, theme.bad):
            assert contrast(text, ground) >= 4.5, (text, ground)
        for strip in (theme.spark, theme.gradient_spark):
            assert contrast(strip, ground) >= 3, (strip, ground)
    for line in (theme.wire, theme.idle, theme.scope, theme.bad):
        assert contrast(line, theme.background) >= 3, line
    for look in theme.looks.values():
        assert contrast(look.border, theme.background) >= 3, look
    for ground in theme.scale:
        assert contrast(theme.ink, ground) >= 4.5, ground


@pytest.mark.parametrize("blindness", BLINDNESS)
@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_the_coloured_borders_differ_for_every_eye(theme, blindness):
    borders = [theme.looks[role].border for role in ("leaf", "retained", "output", "nonleaf")]
    for one, other in itertools.combinations(borders, 2):
        a, b = lab(one, BLINDNESS[blindness]), lab(other, BLINDNESS[blindness])
        assert sum((p - q) ** 2 for p, q in zip(a, b, strict=True)) ** 0.5 >= 10, (one, other)


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_no_two_looks_differ_by_colour_alone(theme):
    functions = ("accumulate", "function", "freed", "root")
    tensors = ("leaf", "data", "constant", "nonleaf", "result", "retained", "output", "failed")
    for roles in (tensors, functions):
        looks = {role: theme.looks[role] for role in roles}
        forms = [(look.shape, look.style, look.peripheries) for look in looks.values()]
        assert len(set(forms)) == len(forms)
