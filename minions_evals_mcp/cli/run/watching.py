"""Running again whenever a suite file changes."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path

from watchfiles import Change, awatch  # pyright: ignore[reportUnknownVariableType]  it names trio, which is not here

from minions_evals_mcp.cli.app import tell_error
from minions_evals_mcp.cli.keep.suites import import_file
from minions_evals_mcp.cli.run.choosing import WHOLE, Choice, chosen
from minions_evals_mcp.cli.run.run_options import RUN_DEFAULTS, RunOptions
from minions_evals_mcp.cli.run.showing import progress_line, show_summary
from minions_evals_mcp.cli.session import DEFAULTS, Common, run
from minions_evals_mcp.cli.telling import tell
from minions_evals_mcp.errors import BadInputError, EvalsError
from minions_evals_mcp.operations import get_run, run_benchmark
from minions_evals_mcp.operations.engine import Engine
from minions_evals_mcp.operations.ids import with_whole_ids

SETTLE_MS = 200
"""An editor writes a file in several steps: so long nothing must happen any more."""
WAKE_MS = 200


def watch(
    id: str,  # noqa: A002  the argument's name
    files: tuple[Path, ...],
    /,
    *,
    choice: Choice = WHOLE,
    options: RunOptions = RUN_DEFAULTS,
    common: Common = DEFAULTS,
) -> int:
    """Run a benchmark, and run it again whenever one of its suite files changes, until Ctrl-C.

    The files are imported first. An invalid file is reported, and `watch` waits for its next change.
    Example: minions-evals watch starter/quality evals.yaml --prompt-version starter/prompt@2

    Parameters
    ----------
    id
        The benchmark.
    files
        The suite files.
    """
    if options.settings.key is not None:
        raise BadInputError("every change starts a new run.", remedy="Leave --key out.")
    for file in files:
        if not file.is_file():
            raise BadInputError(f"{file} cannot be read: no such file.", remedy="Check the path.")
    try:
        return run(partial(_watch, id, [file.absolute() for file in files], choice, options, common))
    except KeyboardInterrupt:
        return 0  # the way in which watching ends


async def _watch(ident: str, files: Sequence[Path], choice: Choice, options: RunOptions, common: Common) -> int:
    ran = False
    async with options.session(common, makes=True) as engine:
        async for changed in _changes(files):
            try:
                if await _news(engine, changed) or not ran:
                    await _run_again(engine, ident, choice, options, common)
                    ran = True
            except EvalsError as error:
                tell_error(error, as_json=common.json)
            if not common.json:
                tell(f"watching {', '.join(file.name for file in files)}. Press Ctrl-C to stop\n")
            sys.stdout.flush()
    return 0


async def _changes(files: Sequence[Path]) -> AsyncIterator[Sequence[Path]]:
    """The files once they are watched, then again those that changed, also while the caller was busy.

    Their folders are watched: editors put a new file in the old one's place.
    """
    names = frozenset(map(str, files))

    def ours(change: Change, path: str) -> bool:
        return change is not Change.deleted and path in names

    announced = False
    async for seen in awatch(
        *{file.parent for file in files}, watch_filter=ours, debounce=SETTLE_MS, recursive=False,
        rust_timeout=WAKE_MS, yield_on_timeout=True,
    ):  # fmt: skip
        changed = sorted({Path(path) for _, path in seen}) if announced else files
        if changed:
            announced = True
            yield changed


async def _news(engine: Engine, files: Sequence[Path]) -> bool:
    """Imports the files; whether they said anything new."""
    saved = [(await import_file(engine, file))[0] for file in files]
    return any(saved.new or saved.changed for saved in saved)


async def _run_again(engine: Engine, ident: str, choice: Choice, options: RunOptions, common: Common) -> None:
    request = options.request("run_benchmark", run_benchmark.Request, benchmark_id=ident, **chosen(choice))
    with progress_line(common, engine) as progress:
        job = await run_benchmark.run(engine, await with_whole_ids(engine, request), progress=progress)
    show_summary(await get_run.summary(engine, job.id), common)
