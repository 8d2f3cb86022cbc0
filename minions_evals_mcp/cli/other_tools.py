"""What is typed here instead of a command or an option of promptfoo or DeepEval."""

from __future__ import annotations

from minions_evals_mcp.errors import BadInputError

COMMANDS_OF_OTHERS = {
    "validate": "`eval` checks the whole config before it runs anything.",
    "cache": "`eval --no-cache` asks every provider again.",
    "share": "`eval -o report.html` writes a file that you can send. Results stay on this machine.",
    "redteam": "Red teaming is not part of this program. `eval --allow-unsupported` runs the rest of such a config.",
    "generate": "`suite from-prompt` makes a suite of test cases from a prompt, `suite from-traces` from traces.",
    "test": "Run `python -m pytest`: the plugin's fixture `evals` checks and saves outputs.",
    "list evals": "`runs` lists them.",
    "list prompts": "`versions PROMPT` lists the versions of a prompt.",
    "list datasets": "`list benchmark` lists the benchmarks, and `list test-case` their cases.",
    "export eval": "`report eval/ID -o results.json` writes an evaluation to a file, also as .html, .md, .csv, .xml.",
}
"""By the words that a line begins with. None of them is a command of ours, or one of our commands with a type of ours."""
EVAL_OPTIONS_OF_PROMPTFOO = {
    **dict.fromkeys(("-a", "--assertions", "--model-outputs"), "Write the checks and outputs into the config's tests."),
    **dict.fromkeys(("--filter-providers", "--filter-targets"), "Name the providers to ask: --provider, once for each."),
    **dict.fromkeys(("--filter-errors-only",), "Run the same command again: it retries the outputs that failed."),
    **dict.fromkeys(("--filter-metadata", "--filter-sample"), "Use --filter-pattern or --filter-first-n."),
    **dict.fromkeys(("-w", "--watch"), "Run the command again after an edit: unchanged parts come from the cache."),
    **dict.fromkeys(("--delay",), "Set it in the config: evaluateOptions: {delay: MILLISECONDS}."),
    **dict.fromkeys(("--prompt-prefix", "--prompt-suffix"), "Set it in the config: defaultTest: {options: {prefix: …, suffix: …}}."),
    **dict.fromkeys(("--suggest-prompts", "--vars", "-v"), "Write the prompts and the tests into the config."),
    **dict.fromkeys(("--description",), "Set it in the config: description."),
    **dict.fromkeys(("--resume", "--retry-errors"), "Run the same command again: it resumes where it stopped."),
    **dict.fromkeys(("--share", "--remote", "--no-share", "--no-write"), "Leave it out: results stay in the store on this machine."),
    **dict.fromkeys(("--table", "--no-table", "--table-cell-max-length", "--no-progress-bar"), "Leave it out: -q shows no progress."),
}  # fmt: skip
"""What is done here instead of an option of `promptfoo eval` that is not here."""


def command_of_another_tool(arguments: list[str]) -> BadInputError | None:
    """The answer to a line that begins as one of another tool does; None for any other."""
    for count in (2, 1):
        words = " ".join(arguments[:count])
        if words in COMMANDS_OF_OTHERS:
            return BadInputError(f"there is no command {words!r}.", remedy=COMMANDS_OF_OTHERS[words])
    return None


def eval_option_of_promptfoo(option: str) -> BadInputError | None:
    """The answer to an option of `promptfoo eval` that is not here; None for any other."""
    remedy = EVAL_OPTIONS_OF_PROMPTFOO.get(option)
    return None if remedy is None else BadInputError(f"eval has no option {option}.", remedy=remedy)
