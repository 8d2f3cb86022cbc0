"""The string formats of JSON Schema that ajv-formats knows, the validator's companion in promptfoo.

`uri`, `url` and `uri-reference` are checked for their characters and shape, not by the whole grammar of RFC 3986.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from ipaddress import AddressValueError, IPv6Address

from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.patterns import compiled, linear

Fits = Callable[[object], bool]

_LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_ATOM = "[a-z0-9!#$%&'*+/=?^_`{|}~-]+"
_URI_CHARS = r"(?:[a-z0-9._~:/?\[\]@!$&'()*+,;=-]|%[0-9a-f]{2})"
_CLOCK = r"(?:(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d|23:59:60)(?:\.\d+)?"
_ZONE = r"(?:z|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)"
_POINTER = "(?:/(?:[^~/]|~0|~1)*)*"
_BYTE = "(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?"

_PATTERNS = {
    "byte": f"^{_BYTE}$",
    "duration": r"(?i)^P(?:\d+W|(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?:\d+H)?(?:\d+M)?(?:\d+S)?)?)$",
    "email": rf"(?i)^{_ATOM}(?:\.{_ATOM})*@(?:{_LABEL}\.)+{_LABEL}$",
    "hostname": rf"(?i)^{_LABEL}(?:\.{_LABEL})*\.?$",
    "ipv4": r"^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.|$)){4}$",
    "iso-time": f"(?i)^{_CLOCK}{_ZONE}?$",
    "json-pointer": f"^{_POINTER}$",
    "relative-json-pointer": f"^(?:0|[1-9][0-9]*)(?:#|{_POINTER})$",
    "time": f"(?i)^{_CLOCK}{_ZONE}$",
    "uri": f"(?i)^[a-z][a-z0-9+.-]*:{_URI_CHARS}+(?:#{_URI_CHARS}*)?$",
    "uri-reference": f"(?i)^{_URI_CHARS}*(?:#{_URI_CHARS}*)?$",
    "url": r"(?i)^(?:https?|ftp)://[^\s/?#]+(?:[/?#]\S*)?$",
    "uuid": "(?i)^(?:urn:uuid:)?[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$",
}


def _by_pattern(pattern: str) -> Fits:
    def fits(value: object) -> bool:
        return not isinstance(value, str) or linear(pattern)(value)

    return fits


def _is_date(value: object) -> bool:
    if not isinstance(value, str):
        return True
    try:
        return len(value) == 10 and date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False


def _is_moment(time: str) -> Fits:
    def fits(value: object) -> bool:
        return not isinstance(value, str) or (
            value[10:11] in {"T", "t", " ", "\n", "\t"} and _is_date(value[:10]) and FORMATS[time](value[11:])
        )

    return fits


def _is_ipv6(value: object) -> bool:
    if not isinstance(value, str):
        return True
    try:
        return "%" not in value and bool(IPv6Address(value).packed)
    except AddressValueError:
        return False


def _is_regex(value: object) -> bool:
    if not isinstance(value, str):
        return True
    try:
        return bool(compiled(value))
    except InvalidRecordError:
        return False


def _is_integer(bits: int) -> Fits:
    def fits(value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return True
        return value == value // 1 and -(2 ** (bits - 1)) <= value < 2 ** (bits - 1)

    return fits


def _anything(_value: object) -> bool:
    return True


FORMATS: dict[str, Fits] = {
    **{name: _by_pattern(pattern) for name, pattern in _PATTERNS.items()},
    "binary": _anything,
    "date": _is_date,
    "date-time": _is_moment("time"),
    "double": _anything,
    "float": _anything,
    "int32": _is_integer(32),
    "int64": _is_integer(64),
    "ipv6": _is_ipv6,
    "iso-date-time": _is_moment("iso-time"),
    "password": _anything,
    "regex": _is_regex,
}
"""Whether a value fits, by the format's name; a value that the format does not speak of fits."""
