"""Quantities that an agent may convert before it hands them on: 100 km are 62.1 miles, 12.50 € are 1250 cents."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from minions_evals_mcp.late_patterns import late

CLOSE = 0.01
"""So far apart two numbers may be, of the larger, and mean the same after rounding."""
_MOST = 50
_SIZES: dict[str, dict[str, float]] = {
    "length": {"mm": 0.001, "cm": 0.01, "m": 1, "km": 1000, "mi": 1609.344, "ft": 0.3048, "in": 0.0254, "yd": 0.9144, "nmi": 1852},
    "mass": {"mg": 1e-6, "g": 0.001, "kg": 1, "t": 1000, "lb": 0.45359237, "oz": 0.028349523, "st": 6.35029},
    "volume": {"ml": 0.001, "cl": 0.01, "dl": 0.1, "l": 1, "m3": 1000, "gal": 3.785412, "pt": 0.473176, "cup": 0.236588},
    "area": {"m2": 1, "km2": 1e6, "ha": 1e4, "acre": 4046.856, "ft2": 0.092903},
    "time": {"ms": 0.001, "s": 1, "min": 60, "h": 3600, "d": 86400, "week": 604800},
    "speed": {"kmh": 1 / 3.6, "mph": 0.44704, "ms": 1, "kn": 0.514444},
    "size": {"b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "kib": 1024, "mib": 1024**2, "gib": 1024**3},
    "money": {"unit": 1, "cent": 0.01, "thousand": 1000, "million": 1e6},
    "share": {"percent": 1, "one": 100, "permille": 0.1, "basis": 0.01},
    "power": {"w": 1, "kw": 1000, "mw": 1e6, "hp": 745.7},
    "energy": {"j": 1, "kj": 1000, "cal": 4.184, "kcal": 4184, "wh": 3600, "kwh": 3.6e6},
    "pressure": {"pa": 1, "hpa": 100, "kpa": 1000, "bar": 1e5, "psi": 6894.757},
}  # fmt: skip
"""Of each dimension its units with their size in one of them."""
_WORDS: dict[tuple[str, str], str] = {
    ("length", "mm"): "mm|millimet\\w+",
    ("length", "cm"): "cm|centimet\\w+|zentimeter",
    ("length", "m"): "m|met(?:er|re)s?|mètres?|metros?|metri",
    ("length", "km"): "km|kilomet\\w+|kilómetros?|chilometri",
    ("length", "mi"): "mi|miles?|meilen?|millas?|miglia",
    ("length", "ft"): "ft|feet|foot|fuß",
    ("length", "in"): "inch(?:es)?|zoll|pouces?|pulgadas?|pollici",
    ("mass", "mg"): "mg",
    ("mass", "g"): "g|grams?|gramm\\w*|grammes?|gramos?",
    ("mass", "kg"): "kg|kilos?|kilogram\\w*|chili",
    ("mass", "t"): "t|tons?|tonnes?|tonnen|toneladas?",
    ("mass", "lb"): "lbs?|pounds?|libras?|livres?|libbre",
    ("mass", "oz"): "oz|ounces?",
    ("volume", "ml"): "ml|millilit\\w+",
    ("volume", "l"): "l|lit(?:er|re)s?|litros?|litri",
    ("volume", "gal"): "gal|gallons?|gallonen",
    ("volume", "cup"): "cups?|tassen?",
    ("area", "m2"): "m²|m2|sqm|qm|square met\\w+|quadratmeter",
    ("area", "ft2"): "ft²|sq ?ft|square feet",
    ("area", "ha"): "ha|hectares?|hektar",
    ("area", "acre"): "acres?",
    ("time", "ms"): "ms|milliseconds?",
    ("time", "s"): "s|secs?|seconds?|sekunden?|secondes?|segundos?|secondi",
    ("time", "min"): "min|mins|minutes?|minuten?|minutos?|minuti",
    ("time", "h"): "h|hrs?|hours?|stunden?|heures?|horas?|ore",
    ("time", "d"): "days?|tagen?|tage|jours?|días?|giorni|dias?",
    ("time", "week"): "weeks?|wochen?|semaines?|semanas?|settimane",
    ("speed", "kmh"): "km/h|kmh|kph",
    ("speed", "mph"): "mph",
    ("size", "kb"): "kb",
    ("size", "mb"): "mb",
    ("size", "gb"): "gb|go",
    ("size", "tb"): "tb|to",
    ("money", "unit"): "€|eur|euros?|\\$|usd|dollars?|£|gbp|pounds?|chf|francs?|franken",
    ("money", "cent"): "cents?|ct|pence|centimes?|rappen|céntimos?",
    ("share", "percent"): "%|per ?cent|prozent|pour ?cent|por ciento|per cento",
    ("power", "kw"): "kw",
    ("power", "hp"): "hp|ps|ch|cv",
    ("power", "w"): "w|watts?",
    ("energy", "kwh"): "kwh",
    ("energy", "kcal"): "kcal",
    ("energy", "kj"): "kj",
    ("pressure", "bar"): "bar",
    ("pressure", "psi"): "psi",
}
_NUMBER = r"(?P<number>\d+(?:[.,']\d{3})*(?:[.,]\d+)?)"
_UNIT = "|".join(f"(?P<u{at}>{words})" for at, words in enumerate(_WORDS.values()))
_MEASURED = late(rf"(?<![\w.,]){_NUMBER}[ \u00a0\u202f-]?(?:{_UNIT})(?!\w)", re.IGNORECASE)
_BEFORE = late(rf"(?P<sign>[€$£])\s?{_NUMBER}(?![\w])")
_DEGREES = late(
    r"(?<![\w.,])(-?\d+(?:[.,]\d+)?) ?(?:°|degrees? |grad |degrés )?(c|f|celsius|fahrenheit)(?!\w)", re.IGNORECASE
)
_UNITS = tuple(_WORDS)


def converted(text: str) -> frozenset[float]:
    """Every number that the quantities of the text become in another unit of the same dimension."""
    return frozenset((*_other_units(text), *_other_degrees(text)))


def is_converted(number: float, known: frozenset[float]) -> bool:
    """Returns whether the number is one of those, after rounding."""
    return any(abs(number - other) <= CLOSE * max(abs(number), abs(other)) or number == round(other) for other in known)


def _other_units(text: str) -> Iterator[float]:
    for match in islice(_MEASURED.finditer(text), _MOST):
        at = next(at for at in range(len(_UNITS)) if match[f"u{at}"])
        yield from _in_other_units(match["number"], *_UNITS[at])
    for match in islice(_BEFORE.finditer(text), _MOST):
        yield from _in_other_units(match["number"], "money", "unit")


def _in_other_units(number: str, dimension: str, unit: str) -> Iterator[float]:
    sizes = _SIZES[dimension]
    for value in _readings(number):
        yield from (value * sizes[unit] / size for other, size in sizes.items() if other != unit)


def _readings(number: str) -> Iterator[float]:
    """Yields what the digits can mean: a comma marks decimals in one country, and groups thousands in another."""
    bare = number.replace("'", "")
    yield float(bare.replace(",", "")) if bare.replace(",", "").count(".") < 2 else float(re.sub(r"\D", "", bare))
    if "," in bare:
        whole, _, part = bare.rpartition(",")
        yield float(re.sub(r"\D", "", whole) + "." + re.sub(r"\D", "", part))


def _other_degrees(text: str) -> Iterator[float]:
    for match in islice(_DEGREES.finditer(text), _MOST):
        value = float(match[1].replace(",", "."))
        celsius = value if match[2].casefold().startswith("c") else (value - 32) / 1.8
        yield from (celsius * 1.8 + 32, celsius, celsius + 273.15)
