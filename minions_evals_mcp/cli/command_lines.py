"""The reading of a command line by cyclopts: one table of commands, each imported when it is called."""

from __future__ import annotations

from difflib import get_close_matches

from cyclopts import App, CoercionError, CycloptsError, Group, MissingArgumentError, UnknownOptionError

from minions_evals_mcp.cli.commands import ABOUT, COMMAND, COMMANDS, GROUP_OF, NOUNS, ORDER, SHOWN, command_named
from minions_evals_mcp.cli.helping import Help
from minions_evals_mcp.cli.other_tools import command_of_another_tool, eval_option_of_promptfoo
from minions_evals_mcp.errors import BadInputError

GROUPS = {title: Group(title, sort_key=place) for place, title in enumerate(SHOWN)}


def carried_out(arguments: list[str]) -> object:
    """Returns what the command that is asked for returned; raises `BadInputError` where the line does not fit."""
    theirs = command_of_another_tool(arguments)
    if theirs is not None:
        raise theirs
    try:
        COMMAND.set(command_named(arguments))
        return build(arguments)(arguments, result_action="return_value", exit_on_error=False, print_error=False)
    except CycloptsError as error:
        raise _usage(error, arguments) from None


def _version() -> str:
    from importlib.metadata import version  # noqa: PLC0415  20 ms that only --version needs

    return version("minions-evals-mcp")


def build(arguments: list[str]) -> App:
    """The command line as cyclopts sees it. Only the command that is asked for is imported, and helps with its own words.

    Where the line begins with a command, no other is made known: cyclopts goes through all of them for each option.
    """
    app = App(
        name="minions-evals",
        help=ABOUT,
        help_format="plaintext",
        help_formatter=Help(),
        version=_version,
        suppress_keyboard_interrupt=False,  # `main` tells what is kept
    )
    first = arguments[0] if arguments else ""
    for name in (first,) if first in COMMANDS or first in NOUNS else (*COMMANDS, *NOUNS):
        group, place = GROUPS.get(GROUP_OF.get(name, "")), ORDER.get(name)
        if name in NOUNS:
            app.command(_noun(name, arguments, place))
            continue
        target, summary = COMMANDS[name]
        said_there = None if name in arguments else summary
        app.command(
            f"minions_evals_mcp.cli.{target}", name=name, help=said_there, sort_key=place, group=group, show=group is not None
        )  # fmt: skip
    for flag in ("--help", "--version"):
        app[flag].show = False  # every program has them
    return app


def _noun(name: str, arguments: list[str], place: int | None) -> App:
    """Returns what is rarer, under the noun that it is about."""
    summary, commands = NOUNS[name]
    noun = App(
        name=name, help=summary, help_format="plaintext", help_formatter=Help(), group=GROUPS[GROUP_OF[name]], sort_key=place
    )  # fmt: skip
    for order, (verb, (target, command)) in enumerate(commands.items()):
        told_there = None if verb in arguments else command
        noun.command(f"minions_evals_mcp.cli.{target}", name=verb, help=told_there, sort_key=order)
    for flag in ("--help", "--version"):
        if flag in noun:
            noun[flag].show = False
    return noun


MOMENTS = {
    "AwareDatetime": "a time with its zone, such as 2026-11-01T00:00:00Z",
    "datetime": "a time, such as 2026-11-01T00:00:00Z",
    "date": "a date, such as 2026-11-01",
}
"""What an option of such a type takes."""


def _usage(error: CycloptsError, arguments: list[str]) -> BadInputError:
    """A command line that does not fit, and where its form is shown."""
    known = {*COMMANDS, *NOUNS, *(verb for _, verbs in NOUNS.values() for verb in verbs)}
    words = [word for word in arguments[:2] if word in known]
    command = next((word for word in arguments if word in COMMANDS or word in NOUNS), None)
    if command is not None and arguments[0].startswith("-"):
        return BadInputError(
            "options come after the command.", remedy=f"For example: minions-evals {command} … {arguments[0]} …"
        )
    if not words and arguments and (near := get_close_matches(arguments[0], [*COMMANDS, *NOUNS], 1)):
        return BadInputError(
            f'there is no command {arguments[0]!r}. Did you mean "{near[0]}"?',
            remedy="minions-evals --help shows them.",
        )
    form = f"{' '.join(('minions-evals', *words))} --help shows the form."
    if isinstance(error, UnknownOptionError) and words == ["eval"]:
        theirs = eval_option_of_promptfoo(error.token.keyword or error.token.value)
        if theirs is not None:
            return theirs
    if isinstance(error, MissingArgumentError) and error.argument is not None and not error.argument.tokens:
        option = error.argument.name
        if option.startswith("--"):
            return BadInputError(f"{' '.join(words)}: {option} is missing.", remedy=form)
        return _without_id(words, arguments) or BadInputError(str(error), remedy=form)
    return BadInputError(_of_time(error) or str(error), remedy=form)


def _of_time(error: CycloptsError) -> str:
    """What is said of a moment or a day that cannot be read; empty for any other error."""
    kind = getattr(error.target_type, "__name__", str(error.target_type)) if isinstance(error, CoercionError) else ""
    if not isinstance(error, CoercionError) or error.token is None or kind not in MOMENTS:
        return ""
    return f"{error.token.keyword}: {error.token.value!r} is not {MOMENTS[kind]}."


def _without_id(words: list[str], arguments: list[str]) -> BadInputError | None:
    from minions_evals_mcp.cli.missing_ids import missing_id  # noqa: PLC0415  the engine, which only this refusal needs

    return missing_id(words, arguments)
