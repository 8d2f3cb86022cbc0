# ruff: noqa: INP001  a program of the action's, no module
"""Writes the results of an evaluation into the job's summary, and into one comment of the pull request that is kept up to date."""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

MOST = 65_000
"""Characters of a comment; GitHub takes 65,536."""
PAGE = 100
VERDICTS = {"0": "✅ passed", "1": "❌ failed", "2": "⚠️ the evaluation could not start", "3": "⚠️ no verdict"}
ENVIRONMENT = os.environ  # noqa: TID251  the action's inputs come by it


def body(folder: Path, name: str, code: str) -> str:
    """The verdict, what the gates said, and the results as far as they fit."""
    report, messages = folder / "report.md", folder / "messages.txt"
    said = messages.read_text("utf-8").strip() if messages.exists() else ""
    text = report.read_text("utf-8") if report.exists() else ""
    head = f"{marker(name)}\n### Minions Evals, {name}: {VERDICTS.get(code, f'exit code {code}')}\n\n"
    quoted = "".join(f"> {line}\n" for line in said.splitlines()[-8:])
    whole = f"{head}{quoted}\n{text}"
    return (
        whole
        if len(whole) <= MOST
        else whole[:MOST].rsplit("\n", 1)[0] + "\n\nShortened: the artifact of this run holds all.\n"
    )


def marker(name: str) -> str:
    """The mark by which the comment is found again; nobody sees it."""
    return f"<!-- minions-evals: {name} -->"


def pull_request(event: Path) -> int | None:
    """The number of the pull request that the job runs for."""
    if not event.is_file():
        return None
    told = json.loads(event.read_text("utf-8"))
    number = (told.get("pull_request") or {}).get("number") or told.get("number")
    return number if isinstance(number, int) else None


def asked(method: str, path: str, content: dict[str, str] | None = None) -> Any:
    """The answer of GitHub's API."""
    address = (
        f"{ENVIRONMENT.get('GITHUB_API_URL', 'https://api.github.com')}/repos/{ENVIRONMENT['GITHUB_REPOSITORY']}/{path}"
    )
    headers = {
        "Accept": "application/vnd.github+json", "Authorization": f"Bearer {ENVIRONMENT['GITHUB_TOKEN']}",
        "Content-Type": "application/json", "X-GitHub-Api-Version": "2022-11-28",
    }  # fmt: skip
    data = None if content is None else json.dumps(content).encode()
    request = urllib.request.Request(address, data, headers, method=method)  # noqa: S310  the runner names the address
    with urllib.request.urlopen(request, timeout=30) as response:  # noqa: S310  as above
        return json.loads(response.read() or b"null")


def known_comment(number: int, mark: str) -> int | None:
    """The comment that an earlier run wrote; those of people who quote it are none."""
    page = 1
    while True:
        comments = asked("GET", f"issues/{number}/comments?per_page={PAGE}&page={page}")
        for comment in comments:
            if comment["body"].startswith(mark):
                return comment["id"]
        if len(comments) < PAGE:
            return None
        page += 1


def put(number: int, name: str, text: str) -> None:
    """Updates the comment in place, or writes the first one."""
    ident = known_comment(number, marker(name))
    if ident is None:
        asked("POST", f"issues/{number}/comments", {"body": text})
    else:
        asked("PATCH", f"issues/comments/{ident}", {"body": text})


def main() -> None:
    """Writes summary and comment. A comment that GitHub refuses is a warning: the gate does not depend on it."""
    name = ENVIRONMENT.get("EVALS_NAME") or "evals"
    text = body(Path(ENVIRONMENT["EVALS_FOLDER"]), name, ENVIRONMENT.get("EVALS_EXIT_CODE", ""))
    if summary := ENVIRONMENT.get("GITHUB_STEP_SUMMARY"):
        with Path(summary).open("a", encoding="utf-8") as file:
            file.write(text + "\n")
    number = pull_request(Path(ENVIRONMENT.get("GITHUB_EVENT_PATH", "")))
    if ENVIRONMENT.get("EVALS_COMMENT", "true") != "true" or number is None:
        return
    try:
        put(number, name, text)
    except (urllib.error.URLError, OSError, KeyError, ValueError) as error:
        sys.stdout.write(
            f"::warning::The comment was not written: {error}. The token needs the permission pull-requests: write.\n"
        )


if __name__ == "__main__":
    main()
