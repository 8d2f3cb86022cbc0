"""The configuration as it is, what works, and what to do next."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import anyio
from cyclopts import Parameter

from minions_evals_mcp.cli.session import DEFAULTS, Common, db_path, engine_config, say
from minions_evals_mcp.cli.start.machine import MachineFinding, machine
from minions_evals_mcp.cli.telling import tell
from minions_evals_mcp.default_store import user_store
from minions_evals_mcp.domain.providers import NO_ACCESS, PROVIDERS, ModelProvider, ProviderAccess
from minions_evals_mcp.engine.default_judge import default_judge, how_to_have_a_judge
from minions_evals_mcp.errors import EvalsError
from minions_evals_mcp.models.prices import price_known
from minions_evals_mcp.models.registry import Models, is_installed, parse_model
from minions_evals_mcp.models.replies import FailedReply
from minions_evals_mcp.models.request import ModelRequest
from minions_evals_mcp.project import NAME
from minions_evals_mcp.report.plain import printable
from minions_evals_mcp.settings import Settings, is_set, settings_here
from minions_evals_mcp.skills import load_skills
from minions_evals_mcp.store.check import check_store, is_deep_by_default
from minions_evals_mcp.store.connection import library_version, wal_is_safe

BROKEN = 3
PING_S = 30.0


async def doctor(*, ping: Annotated[bool, Parameter(negative="")] = False, common: Common = DEFAULTS) -> int:
    """Show what is configured, what works and what to do next. Exit 3 if something is broken.

    Example: minions-evals doctor --ping

    Parameters
    ----------
    ping
        Also start the server and the agent, try the embedder, and send the judge model one short question (costs a
        fraction of a cent).
    """
    settings = settings_here()
    findings = [
        *set_up(common, settings),
        _sqlite(),
        _skills(common, settings),
        *await _store(db_path(common, settings)),
        *await machine(engine_config(common, settings), ping=ping),
        *(_provider(row, settings.providers.get(row.name, NO_ACCESS)) for row in PROVIDERS.values()),
    ]
    findings.extend(await _judge(common, settings, ping))
    broken = any(finding.ok is False for finding in findings)
    if common.json:
        say(
            {
                "ok": not broken,
                "findings": [
                    {"name": finding.name, "ok": finding.ok, "said": finding.said, "remedy": finding.remedy}
                    for finding in findings
                ],
            }
        )
    else:
        for finding in findings:
            mark = {True: "✓", False: "✗", None: "–"}[finding.ok]
            tell(f"{mark} {finding.name}: {printable(finding.said, 500)}\n")
            if finding.remedy:
                tell(f"    {finding.remedy}\n")
    return BROKEN if broken else 0


def set_up(common: Common, settings: Settings) -> list[MachineFinding]:
    """The set-up of commands, and who says so: the command line before the environment, the project file, the default."""
    project = settings.project
    file = None if project is None else project.fields
    values = {
        "store": (common.db, "DB", file and file.store, db_path(common, settings)),
        "judge model": (None, "JUDGE_MODEL", file and file.judge, settings.judge_model or "none named"),
        "embedder": (None, "EMBEDDER", file and file.embedder, settings.embedder or "wordllama"),
        "concurrency": (None, "CONCURRENCY", file and file.concurrency, settings.concurrency),
        "target": (None, None, file and (file.target or file.target_config), (file and file.target) or "none"),
    }
    settings_line = "; ".join(
        f"{name} {printable(str(shown), 120)} ({_said_by(option, variable, in_file)})"
        for name, (option, variable, in_file, shown) in values.items()
    )
    if project is None:
        finding = MachineFinding("project", ok=None, said=f"no {NAME} in this folder or above; {settings_line}")
    else:
        keys = f"; .env gives {', '.join(sorted(project.keys))}" if project.keys else ""
        left = f"; not read from .env: {', '.join(project.ignored)}" if project.ignored else ""
        finding = MachineFinding("project", ok=True, said=f"{project.file}; {settings_line}{keys}{left}")
    return [finding]


def _said_by(option: object, variable: str | None, in_file: object) -> str:
    if option is not None:
        return "command line"
    if variable is not None and is_set(variable):
        return f"MINIONS_EVALS_{variable}"
    return "project file" if in_file is not None else "default"


def _sqlite() -> MachineFinding:
    journal = (
        "write-ahead log"
        if wal_is_safe()
        else "rollback journal, because this version's write-ahead log can lose pages"
    )
    return MachineFinding("SQLite", ok=True, said=f"{library_version()}, {journal}")


def _skills(common: Common, settings: Settings) -> MachineFinding:
    folder = engine_config(common, settings).skills
    try:
        skills = load_skills(folder)
    except EvalsError as error:
        return MachineFinding("skills", ok=False, said=error.message_text, remedy=error.remedy_text)
    rule = skills.run_benchmark.parameters
    return MachineFinding(
        "skills", ok=True, said=f"{folder}; a regression is a drop of more than {rule.drop_points:g} points"
    )


async def _store(path: Path) -> list[MachineFinding]:
    if not await anyio.Path(path).exists():
        return [
            MachineFinding(
                "store",
                ok=None,
                said=f"{path} does not exist yet",
                remedy="The first command that saves something creates it: import, eval, run, add or lift.",
            )
        ]
    try:
        report = await check_store(path, deep=is_deep_by_default(path))
    except EvalsError as error:
        return [MachineFinding("store", ok=False, said=error.message_text, remedy=error.remedy_text)]
    if report.problems:
        return [
            MachineFinding(
                "store",
                ok=False,
                said=f"{path}: {len(report.problems)} problems",
                remedy="minions-evals db check lists them",
            )
        ]
    shared = ", shared by everything outside a project" if path == user_store() else ""
    left = f"; not checked: {', '.join(report.not_checked)}" if report.not_checked else ""
    remedy = "minions-evals db check --deep checks all of it" if left else ""
    said = f"{path}: {sum(report.checked.values())} records{shared}{left}"
    return [MachineFinding("store", ok=True, said=said, remedy=remedy)]


def _provider(row: ModelProvider, access: ProviderAccess) -> MachineFinding:
    """Returns whether its key is set; the key itself is never shown."""
    at = f" at {access.base_url}" if access.base_url else ""
    if row.credentials and access.api_key is None:
        return _cloud(row, at)
    if access.api_key is None and not (row.keyless_elsewhere and at):
        return MachineFinding(row.name, ok=None, said="no key", remedy=f"Set {row.key_variable} to use it.")
    if not is_installed(row.package):
        remedy = f"pip install {row.package}"
        return MachineFinding(row.name, ok=False, said="the SDK is missing", remedy=remedy)
    return MachineFinding(row.name, ok=True, said=f"{'key is set' if access.api_key else 'no key, local server'}{at}")


def _cloud(row: ModelProvider, at: str) -> MachineFinding:
    """Whether a cloud's own credentials can be looked for; whether there are any shows at the first call."""
    extra, where = row.client.partition("_")[0], ", ".join(row.place.values())
    if not is_installed(row.credentials):
        remedy = f"pip install 'minions-evals-mcp[{extra}]', or set {row.key_variable}"
        return MachineFinding(row.name, ok=False, said=f"{row.credentials} is missing", remedy=remedy)
    return MachineFinding(row.name, ok=True, said=f"no key, the credentials of {extra} in {where}{at}")


async def _judge(common: Common, settings: Settings, ping: bool) -> list[MachineFinding]:
    providers = engine_config(common, settings).providers
    default = None if settings.judge_model else default_judge(providers)
    name = settings.judge_model or (default and str(default.model))
    if name is None:
        return [
            MachineFinding(
                "judge", ok=None, said="no judge model. Rules check what they can, and other checks wait for a person",
                remedy=f"{how_to_have_a_judge(providers)} (MINIONS_EVALS_JUDGE_MODEL).",
            )
        ]  # fmt: skip
    try:
        ref = parse_model(name)
        known = (
            "price known"
            if price_known(ref.provider, ref.model)
            else "price unknown, so --max-cost-usd cannot be enforced"
        )
        if not ping:
            why = f"the default, for {default.why}; " if default else ""
            return [
                MachineFinding("judge", ok=True, said=f"{ref} ({why}{known})", remedy="--ping sends it a question.")
            ]
        async with Models(providers) as models:
            request = ModelRequest(model=ref.model, user="Reply with the word ready.", max_tokens=16)
            reply = await models.client(ref).complete(request, deadline_s=min(PING_S, settings.call_timeout_s))
    except EvalsError as error:
        return [MachineFinding("judge", ok=False, said=error.message_text, remedy=error.remedy_text)]
    if isinstance(reply, FailedReply):
        return [
            MachineFinding(
                "judge",
                ok=False,
                said=f"{ref}: {reply.kind}: {reply.reason}",
                remedy="Check the key, the address and the model name.",
            )
        ]
    return [MachineFinding("judge", ok=True, said=f"{ref} answered in {reply.latency_ms:.0f} ms ({known})")]
