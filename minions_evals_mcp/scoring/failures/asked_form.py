"""The form that a task asks for in so many words (a table, bullet points, CSV with semicolons, one sentence), and whether it came."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache

from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.late_patterns import late
from minions_evals_mcp.scoring.failures.failed import FailedOutput, Signal
from minions_evals_mcp.scoring.failures.texts import instructions, unfenced
from minions_evals_mcp.scoring.first_look import first_look

ASKED_FOR = 0.7
_MOST_READ = 20_000
_SENTENCE_END = late(r"[.!?…](?=[\s\"'”»)]|$)")
_COUNTS = {
    **{str(number): number for number in range(1, 301)},
    **dict.fromkeys(("one", "a single", "einem", "ein", "einen", "une", "un", "una", "uno", "um", "uma"), 1),
    **dict.fromkeys(("two", "zwei", "deux", "dos", "due", "dois", "duas"), 2),
    **dict.fromkeys(("three", "drei", "trois", "tres", "tre", "três"), 3),
    **dict.fromkeys(("four", "vier", "quatre", "cuatro", "quattro", "quatro"), 4),
    **dict.fromkeys(("five", "fünf", "cinq", "cinco", "cinque"), 5),
}
_COUNT = "|".join(sorted(map(re.escape, _COUNTS), key=len, reverse=True))


@frozen_type
class Form:
    """A form by its words in a task, and what an answer in that form has."""

    name: str
    asked: re.Pattern[str]
    came: Callable[[str], bool]


def _form(name: str, task: str, came: str | Callable[[str], bool]) -> Form:
    if isinstance(came, str):
        has = late(came, re.MULTILINE | re.IGNORECASE)
        came = lambda text: has.search(text) is not None  # noqa: E731  compiled when it is looked for, not here
    return Form(name, late(rf"\b(?:{task})\b", re.IGNORECASE), came)


FORMS: tuple[Form, ...] = (
    _form(
        "a table",
        r"(?:markdown|md)[ -](?:table|tabelle|tableau)|(?:as|in|into) an? (?:\w+ )?table|table (?:in"
        r"|with) (?:\w+ )?(?:markdown|columns)|tableau markdown"
        r"|(?:als|in einer) (?:markdown-?)?tabelle|(?:dans|sous forme de|en) (?:un )?tableau|(?:en|como) (?:una )?tabla|(?:in"
        r"|come) (?:una )?tabella|(?:em|numa) tabela",
        r"^[^|\n]*\|[^|\n]*\||<table|\t",
    ),
    _form(
        "bullet points",
        r"bullet(?:ed)? (?:points?|list)|as bullets|stichpunkt\w*|aufzählungs?\w*|liste à puces|en puces|viñetas"
        r"|elenco puntato|lista com marcadores",
        r"^\s*[-*•–]\s",
    ),
    _form(
        "a numbered list",
        r"numbered (?:list|steps)|nummerierte (?:liste|schritte)|liste numérotée|lista numerada|elenco numerato",
        r"^\s*\(?\d+[.)]",
    ),
    _form(
        "semicolons between the fields",
        r"(?:separat\w+|delimit\w+|field\w*|columns?)[^.\n]{0,30}semi-?colons?|semi-?colons?[- ](?:separated|delimited"
        r"|as (?:the )?(?:separator|delimiter))"
        r"|(?:trennzeichen|getrennt)[^.\n]{0,20}semikolon\w*|semikolon-?getrennt|(?:séparateur"
        r"|séparés?)[^.\n]{0,20}point-virgule|separado[s]? por punto y coma",
        ";",
    ),
    _form("XML", r"(?:as|in|valid|return|output|gib|en|als) (?:\w+ )?xml", r"<\w[^>]*>.*</\w+>|<\w+[^>]*/>"),
    _form("YAML", r"(?:as|in|valid|return|output|en|als) (?:\w+ )?yaml", r"^\s*(?:- )?[\w\"'.-]+:(?:\s|$)"),
    _form("HTML", r"(?:as|in|valid|return|output|en|als) (?:\w+ )?html", r"<\w[^>]*>"),
    _form(
        "JSON",
        r"(?:as|in|valid|return|output|only|reply with|respond with|answer with|gib|en|als|un|ein) (?:\w+ ){0,2}json(?: \w+)?",
        r"[{\[].*[}\]]|[{\[]\s*$",
    ),
    _form("dates as YYYY-MM-DD", r"yyyy-mm-dd|iso[ -]?8601|iso-?(?:datum|date|format)", r"\d{4}-\d{2}-\d{2}|\d{8}T"),
    _form(
        "capitals only",
        r"(?:in|all) (?:upper ?case|capitals|caps)|in großbuchstaben|en majuscules|en mayúsculas",
        lambda text: text == text.upper(),
    ),
)  # fmt: skip
_MOST = (
    r"(?:at most|no more than|maximum(?: of)?|max\.?|up to|exactly|within|under|höchstens|maximal|in genau|genau"
    r"|au plus|au maximum|como máximo|máximo|al massimo|in massimo|no máximo)"
)
_UNIT = (
    r"(?P<unit>sentences?|words?|characters?|lines?|sätze?n?|satz|wörtern?|worten?|zeichen|zeilen?|phrases?|mots?|caractères|lignes?"
    r"|frases?|palabras|caracteres|líneas|frasi|parole|caratteri|righe|palavras|linhas)"
)
_LIMITED = (
    late(
        rf"\b(?:{_MOST}|in|en)\s+(?:of |de |von |d'|di |exactly |genau |exactement )?(?P<count>{_COUNT})\s+(?:\w+ )?{_UNIT}\b",
        re.IGNORECASE,
    ),
    late(
        rf"\b(?P<count>{_COUNT})\s+{_UNIT}\s+(?:{_MOST}|or (?:fewer|less)|oder weniger|ou moins)(?!\w)", re.IGNORECASE
    ),
)
_ITEMS = late(
    rf"\b(?:exactly|precisely|genau|exactement|exactamente|esattamente|exatamente)\s+(?P<count>{_COUNT})\b"
    rf"|\b(?P<points>{_COUNT})\s+(?:\w+ )?(?:bullets?|bullet points|stichpunkte|aufzählungspunkte|puces|viñetas|punti elenco"
    rf"|marcadores)\b",
    re.IGNORECASE,
)
_LISTED = late(r"^[^\S\n]*+(?:[-*•–]|\(?\d+[.)])\s++\S", re.MULTILINE)
_SCALE = late(
    r"\b(?:rat(?:e|ing)|scor\w+|grad(?:e|ing)|scale|bewert\w+|benot\w+|skala|not(?:e|er|ez)|évalu\w+|échelle|puntú\w+|puntuación"
    r"|califi\w+|escala"
    r"|valut\w+|voto|scala|avali\w+|nota)\b[^.\n]{0,80}?\b(?P<low>\d{1,2})\s?(?:to|bis|à|a|and|und|et|y|e|-|–)\s?(?P<high>\d{1,3})\b",
    re.IGNORECASE,
)
_NUMBERS = late(r"-?\d+(?:[.,]\d+)?")
_SLACK = 1.15
"""A limit counts as broken from so much over it."""


def form_asked_for(failed: FailedOutput) -> Iterator[Signal]:
    """Yields what the task asks for in so many words and the output is not."""
    task = "\n".join(instructions(failed.inputs))[:_MOST_READ]
    text = unfenced(failed.text)
    if failed.is_empty or not _may_ask()(task):
        return
    for form in FORMS:
        if (match := form.asked.search(task)) and not form.came(text):
            yield Signal("form", f"{match[0]}: the answer has not {form.name}", ASKED_FOR)
    for limit in filter(None, (pattern.search(task) for pattern in _LIMITED)):
        if _size(text, limit["unit"].casefold()) > _COUNTS[limit["count"].casefold()] * _SLACK:
            yield Signal("form", f"{limit[0]}: the answer is longer", ASKED_FOR)
            break
    yield from _miscounted(task, text)
    if (scale := _SCALE.search(task)) and _off_scale(text, float(scale["low"]), float(scale["high"])):
        yield Signal("form", f"{scale[0]}: the answer is not on the scale", ASKED_FOR)


def _miscounted(task: str, text: str) -> Iterator[Signal]:
    """A list of more or fewer points than the task asks for."""
    match, count = _ITEMS.search(task), len(_LISTED.findall(text))
    wanted = _COUNTS[(match["count"] or match["points"]).casefold()] if match else count
    if match and count > 1 and count != wanted:
        yield Signal("form", f"{match[0]}: the answer has {count} points", ASKED_FOR)


def _off_scale(text: str, low: float, high: float) -> bool:
    """Returns whether the only number of the answer lies outside."""
    numbers = [float(number.replace(",", ".")) for number in _NUMBERS.findall(text)]
    return len(numbers) == 1 and not low <= numbers[0] <= high


@cache
def _may_ask() -> Callable[[str], bool]:
    return first_look([*(form.asked for form in FORMS), *_LIMITED, _ITEMS, _SCALE], ignore_case=True)


def _size(text: str, unit: str) -> int:
    match unit[:3]:
        case "cha" | "zei" | "car" if not unit.startswith("zeil"):
            return len(text)
        case "lin" | "zei" | "lig" | "lín" | "rig":
            return sum(bool(line.strip()) for line in text.splitlines())
        case "wor" | "wör" | "mot" | "pal" | "par":
            return len(text.split())
        case _:
            return max(1, len(_SENTENCE_END.findall(text)))
