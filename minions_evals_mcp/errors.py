"""Everything that can stop a caller: one tree, each leaf with a code for programs and a remedy for people."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from minions_evals_mcp.known_secrets import masked
from minions_evals_mcp.next_steps import Next, next_in, plain

if TYPE_CHECKING:
    from pathlib import Path


class EvalsError(Exception):
    """Base of all errors: `code` for programs, `message` for people, `remedy` for the next step.

    `message_text` and `remedy_text` can contain operations and arguments, which each interface renders in its own terms. `message` and
    `remedy` are the plain texts.
    """

    code = "error"
    exit_code = 3

    def __init__(self, message: str, *, remedy: str = "") -> None:
        self.message_text = masked(message)
        self.remedy_text = masked(remedy)
        super().__init__(self.message)

    def __str__(self) -> str:
        return plain(self.text)

    @property
    def message(self) -> str:
        """What stopped the caller."""
        return plain(self.message_text)

    @property
    def remedy(self) -> str:
        """What to do next; empty where nothing is known to help."""
        return plain(self.remedy_text)

    @property
    def text(self) -> str:
        """Message and remedy, with their references."""
        said = self.message_text
        ended = not self.remedy_text or not said[-1:].isalnum() or not self.remedy_text[:1].isupper()
        return f"{said}{'' if ended else '.'} {self.remedy_text}".strip()

    @property
    def next(self) -> tuple[Next, ...]:
        """The next steps that the error names."""
        return next_in(self.text)


class BadInputError(EvalsError):
    """The request itself is wrong; nothing has run."""

    code = "bad-input"
    exit_code = 2


class InvalidRecordError(BadInputError):
    """A record is invalid. The error names the field, and the file and line if it came from a file."""

    code = "invalid-record"

    def __init__(self, reason: str, *, field: str = "", record: str = "", where: str = "", remedy: str = "") -> None:
        place = ": ".join(part for part in (where, record, field) if part)
        super().__init__(f"{place}: {reason}" if place else reason, remedy=remedy)
        self.reason = reason
        self.field = field
        self.record = record
        self.where = where

    def at(self, where: str) -> InvalidRecordError:
        """The same refusal, naming the file and line that it came from."""
        return InvalidRecordError(
            self.reason, field=self.field, record=self.record, where=where, remedy=self.remedy_text
        )


class NotFoundError(BadInputError):
    """No record has that id."""

    code = "not-found"

    def __init__(
        self, kind: str, ident: str, *, remedy: str = "", near: Sequence[str] = (), other_kind: str = ""
    ) -> None:
        hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else "."
        if other_kind:
            hint = f": that is {'an' if other_kind[0] in 'aeiou' else 'a'} {other_kind}."
        super().__init__(f"no {kind} with the id {ident!r}{hint}", remedy=remedy)
        self.kind = kind
        self.ident = ident
        self.near = tuple(near)

    def meaning(self, near: Sequence[str]) -> NotFoundError:
        """The same refusal, naming what may have been meant."""
        return NotFoundError(self.kind, self.ident, remedy=self.remedy_text, near=near)


class UnsupportedError(BadInputError):
    """This version does not support a name in the request: an assertion type, a provider or an option."""

    code = "unsupported"


class ConflictError(BadInputError):
    """The request contradicts the store: the key belongs to another run, or a record or judgment request has changed."""

    code = "conflict"


class NotAllowedError(BadInputError):
    """A person's role in this store does not allow it."""

    code = "not-allowed"

    def __init__(self, name: str, role: str, needed: str) -> None:
        change = Next(
            "people-role", {"name": name, "role": needed}, "changes the role, which only the store's operator can do"
        )
        super().__init__(f"{name} is a {role} in this store, and this needs the role {needed}.", remedy=f"{change}.")


class RuleError(BadInputError):
    """A hard rule (HR1 to HR5) forbids the request. `rule` is its code."""

    code = "hard-rule"

    def __init__(self, rule: str, message: str, *, remedy: str = "") -> None:
        super().__init__(f"{rule}: {message}", remedy=remedy)
        self.rule = rule
        self.said = message

    def at(self, where: str) -> RuleError:
        """The same refusal, naming the file and line that it came from."""
        return RuleError(self.rule, f"{where}: {self.said}" if where else self.said, remedy=self.remedy_text)


def unseal(benchmark_id: str = "BENCHMARK") -> Next:
    """The step that ends a seal, which is its operator's."""
    return Next(
        "seal", {"benchmark_id": benchmark_id, "unseal": "REASON"}, "ends the seal for good, as its operator alone may"
    )


class SealedError(BadInputError):
    """A seal forbids it: sealed cases are neither shown nor edited, and run only as a whole benchmark."""

    code = "sealed"

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(
            message,
            remedy=remedy or f"{unseal()}.",
        )


class BusyError(EvalsError):
    """Another process is using the run or the store. Try again later."""

    code = "busy"


class InstrumentError(EvalsError):
    """A judge, a target or a connected service failed after all retries. The output has no verdict."""

    code = "instrument-failed"


class StoppedError(EvalsError):
    """A run stopped early (cost cap, time limit, interrupt). You can resume it with its key."""

    code = "stopped"


class StoreError(EvalsError):
    """The store cannot be read or written. Saved results are intact."""

    code = "store"


class StoreVersionError(StoreError):
    """The file was written by a newer version, or is not a store."""

    code = "store-version"


@contextmanager
def legible(path: Path) -> Generator[None]:
    """Turns what goes wrong while the file is read into a refusal that names it."""
    try:
        yield
    except OSError as error:
        raise BadInputError(f"{path} cannot be read: {error.strerror or error}.", remedy="Check the path.") from None
    except UnicodeDecodeError as error:
        remedy = "Save it as UTF-8 (in Excel: CSV UTF-8)."
        raise InvalidRecordError(f"not UTF-8: {error.reason}", where=str(path), remedy=remedy) from None


@contextmanager
def ungrouped() -> Generator[None]:
    """Raises what a task group was ended by as itself: its first error, not a group of one."""
    try:
        yield
    except BaseExceptionGroup as group:
        raise first_of(group) from None


def first_of(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first real error in a group."""
    first = group.exceptions[0]
    return first_of(first) if isinstance(first, BaseExceptionGroup) else first  # pyright: ignore[reportUnknownArgumentType]  narrowed to a bare group
