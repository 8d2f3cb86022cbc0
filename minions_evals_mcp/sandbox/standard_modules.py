"""The modules that Python code in the sandbox may import: modules that only compute."""

from __future__ import annotations

MODULES = (
    "__future__", "abc", "array", "ast", "base64", "binascii", "bisect", "calendar", "cmath", "collections",
    "collections.abc", "colorsys", "contextlib", "copy", "csv", "dataclasses", "datetime", "decimal", "difflib", "enum",
    "fnmatch", "fractions", "functools", "graphlib", "hashlib", "heapq", "hmac", "html", "html.entities", "html.parser",
    "io", "itertools", "json", "json.decoder", "json.encoder", "keyword", "logging", "math", "numbers", "operator",
    "pprint", "random", "re", "reprlib", "secrets", "shlex", "statistics", "string", "struct", "textwrap", "time",
    "token", "tokenize", "traceback", "types", "typing", "unicodedata", "urllib.parse", "uuid", "warnings",
    "xml.dom.minidom", "xml.etree.ElementTree", "zlib",
)  # fmt: skip
USED = (
    "_strptime",
    "inspect",
    "locale",
    "_pydatetime",
    "linecache",
    "tracemalloc",
    "xml.dom.expatbuilder",
    "xml.parsers.expat",
)
"""What those import only when they are used; some Pythons have not all of them."""
ENCODINGS = (
    "ascii", "cp437", "cp1252", "idna", "iso8859-15", "latin-1", "punycode", "raw_unicode_escape", "unicode_escape", "utf-7",
    "utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-16-le", "utf-32",
)  # fmt: skip
IMPORTED = frozenset(
    name.rpartition(".")[0] if part else name for name in MODULES for part in range(name.count(".") + 1)
) | frozenset(MODULES)
"""Their names, and those of the packages that they are in."""
LACKING = "the sandbox's Python has no "
"""How an answer begins about code that uses what only the real interpreter has."""
