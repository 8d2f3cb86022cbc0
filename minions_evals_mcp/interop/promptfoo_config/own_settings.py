"""promptfoo's own settings in the environment (`PROMPTFOO_…`): what bears on an output or a verdict is carried out, or named."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.interop.promptfoo_config.source.refusal import Refusals

PREFIX = "PROMPTFOO_"
YES = frozenset({"1", "true", "yes", "yup", "yeppers"})
CARRIED_OUT = (
    "PASS_RATE_THRESHOLD",
    "FAILED_TEST_EXIT_CODE",
    "DELAY_MS",
    "MAX_EVAL_TIME_MS",
    "EVAL_TIMEOUT_MS",
    "CACHE_ENABLED",
    "DISABLE_VAR_EXPANSION",
)
NOT_CARRIED_OUT: Mapping[str, str] = {
    "PROMPT_SEPARATOR": "prompts of a text file stand between lines of ---",
    "CSV_DELIMITER": "the separator of a table is found in its first line",
    "CSV_STRICT": "a table has one reading",
    "DISABLE_TEMPLATING": "templates are filled in",
    "DISABLE_TEMPLATE_ENV_VARS": "{{env.NAME}} is filled in",
    "SELF_HOSTED": "{{env.NAME}} is filled in",
    "DISABLE_CONVERSATION_VAR": "_conversation is filled in",
    "DISABLE_JSON_AUTOESCAPE": "values in a JSON prompt are escaped",
    "DISABLE_OBJECT_STRINGIFY": "an object in a template is written as JSON",
    "REQUIRE_JSON_PROMPTS": "a prompt that is no list of messages is what the user says",
    "DISABLE_REF_PARSER": "$ref is followed",
    "SHORT_CIRCUIT_TEST_FAILURES": "every check is made",
    "STRICT_FILES": "a file that is not there is refused either way",
    "PYTHON": "Python runs in this program's interpreter; name another with exec:",
    "RUBY": "Ruby runs only as a program",
    "FACTUALITY_PROMPT": "the words of the grader are the config's (rubricPrompt) or ours",
    "RETRY_5XX": "a server's error is tried again either way",
    "DISABLE_AJV_STRICT_MODE": "a keyword that no schema knows is refused",
    "DISABLE_MULTIMEDIA_AS_BASE64": "pictures and sound are read in base64",
    "DISABLE_PDF_AS_TEXT": "a PDF is not read",
    "INSECURE_SSL": "certificates are checked",
    "CA_CERT_PATH": "certificates are those of SSL_CERT_FILE",
    "STRIP_PROMPT_TEXT": "prompts are kept and written",
    "STRIP_RESPONSE_OUTPUT": "outputs are kept and written",
    "STRIP_TEST_VARS": "variables are kept and written",
    "STRIP_GRADING_RESULT": "reasons are kept and written",
    "STRIP_METADATA": "metadata are kept and written",
}
"""Settings that bear on an output, a verdict or a file of results, and what holds here whatever they say."""
HARMLESS = (
    "API_KEY", "ASSERTIONS_", "AUTHOR", "CACHE_PATH", "CACHE_T", "CLOUD_", "CONFIG_DIR", "CSRF_", "DELEGATED", "DISABLE_ADAPTIVE_SCHEDULER",
    "DISABLE_CSV_FORMULA_ESCAPING", "DISABLE_DEBUG_LOG", "DISABLE_ERROR_LOG", "DISABLE_REDTEAM_", "DISABLE_REMOTE_GENERATION",
    "DISABLE_RUNTIME_WARNINGS", "DISABLE_SHAR", "DISABLE_TELEMETRY", "DISABLE_UPDATE", "DISABLE_WAL_MODE", "ENABLE_", "FETCH_",
    "GRADING_", "INLINE_MEDIA", "JAILBREAK_", "JKS_", "LOG_", "MAX_CONCURRENCY", "MAX_HARMFUL_", "MEDIA_PATH", "METADATA_KEY",
    "MIN_CONCURRENCY", "NO_TESTCASE_ASSERT_WARNING", "NUM_JAILBREAK_", "OFFICIAL_DOCKER_IMAGE", "OTEL_", "PFX_", "POSTHOG_",
    "PYTHON_", "REMOTE_", "REQUEST_BACKOFF_MS", "RESOURCE_ATTR_", "RUNNING_IN_DOCKER", "SCHEDULER_", "SHAR", "TEAM_ID",
    "TELEMETRY_", "TRAC", "UNALIGNED_",
)  # fmt: skip
"""What the names of settings begin with that change no output and no verdict here."""


@dataclass(frozen=True, slots=True)
class OwnSettings:
    """The settings that are carried out. `pass_rate` is a share, and a point estimate: chance is not weighed, as there."""

    pass_rate: float | None = None
    failed_exit: int | None = None
    delay_ms: int = 0
    timeout_ms: int | None = None
    max_eval_ms: int | None = None
    caches: bool = True
    spreads: bool = True


def read_own_settings(variables: Mapping[str, str], refusals: Refusals) -> OwnSettings:
    """The settings in those variables; what is not supported is remarked by name.

    Raises `BadInputError` for a number that is none: promptfoo reads what it begins with, or its default.
    """
    named = {
        name.removeprefix(PREFIX): value
        for name, value in sorted(variables.items())
        if name.startswith(PREFIX) and value.strip()
    }
    for name, value in named.items():
        _remark(name, value, refusals)
    percent = _number(named, "PASS_RATE_THRESHOLD")
    if percent is None and "FAILED_TEST_EXIT_CODE" in named:
        refusals.remark(
            "environment: PROMPTFOO_FAILED_TEST_EXIT_CODE counts where PROMPTFOO_PASS_RATE_THRESHOLD is set, too"
        )
    return OwnSettings(
        pass_rate=None if percent is None else percent / 100,
        failed_exit=_whole(named, "FAILED_TEST_EXIT_CODE"),
        delay_ms=_whole(named, "DELAY_MS") or 0,
        timeout_ms=_whole(named, "EVAL_TIMEOUT_MS") or None,
        max_eval_ms=_whole(named, "MAX_EVAL_TIME_MS") or None,
        caches=_yes(named.get("CACHE_ENABLED", "true")),
        spreads=not _yes(named.get("DISABLE_VAR_EXPANSION", "false")),
    )


def _remark(name: str, value: str, refusals: Refusals) -> None:
    if name in CARRIED_OUT or (name not in NOT_CARRIED_OUT and name.startswith(HARMLESS)):
        return
    if (here := NOT_CARRIED_OUT.get(name)) is None:
        refusals.remark(f"environment: {PREFIX}{name} is no setting that is known here")
    elif value.strip().lower() not in {"0", "false", "no"}:
        refusals.remark(f"environment: {PREFIX}{name} is not supported: {here}")


def _yes(value: str) -> bool:
    return value.strip().lower() in YES


def _number(named: Mapping[str, str], name: str) -> float | None:
    if name not in named:
        return None
    try:
        number = float(named[name])
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise BadInputError(
            f"the environment variable {PREFIX}{name} is {named[name]!r}, which is no number.",
            remedy="Set it to a number, or unset it.",
        )
    return number


def _whole(named: Mapping[str, str], name: str) -> int | None:
    number = _number(named, name)
    if number is not None and (number < 0 or number != int(number)):
        raise BadInputError(
            f"the environment variable {PREFIX}{name} is {named[name]!r}.", remedy="Set it to a whole number from 0."
        )
    return None if number is None else int(number)
