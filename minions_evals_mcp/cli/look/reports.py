"""Reports into files, and what changed between two runs."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from minions_evals_mcp.cli.session import DEFAULTS, Common, Limit, say, session
from minions_evals_mcp.domain.values import Json
from minions_evals_mcp.engine.ab_test.titled import ab_test_under, titled_ab_test
from minions_evals_mcp.operations.engine import Engine
from minions_evals_mcp.operations.evaluations import Matrix, matrix_under
from minions_evals_mcp.report.writing import written

SHOWN = 20


async def report(
    id: str,  # noqa: A002  the argument's name
    /,
    *,
    out: Annotated[tuple[Path, ...], Parameter(name=["--out", "-o"], negative="")],
    compare: str | None = None,
    common: Common = DEFAULTS,
) -> int:
    """Write a report of a run, of a benchmark's newest run, of a config's evaluation, of a comparison or of an A/B test.

    For a config's evaluation (eval/…), the report has the whole matrix: every test under every column. The extension
    chooses the format: .html (one self-contained file), .md (fits a pull-request comment), .xml (JUnit: a failed case
    is a failure, an infrastructure error is an error), .json (everything), .csv.
    Example: minions-evals report support/quality -o report.html

    Parameters
    ----------
    id
        A run's id, its beginning, its key or latest. A benchmark's id (eval/… for a config's), or a comparison's.
    out
        The file. An existing one is replaced. Repeatable.
    compare
        An earlier run (or benchmark) to compare it with.
    """
    from minions_evals_mcp.engine.answers.columns_beside import columns_beside  # noqa: PLC0415  as below
    from minions_evals_mcp.engine.answers.report_data import find_subject, read_report  # noqa: PLC0415  as below
    from minions_evals_mcp.report.documents.forms import form_of  # noqa: PLC0415  charts and templates, which diff does without
    from minions_evals_mcp.report.sentences import answer  # noqa: PLC0415  as above

    forms = [form_of(file) for file in out]
    async with session(replace(common, read_only=True)) as engine:
        matrix = None if compare else await matrix_under(engine, id)
        if matrix is not None:
            return await _matrix_report(matrix, out, common)
        if (ab_test := await ab_test_under(engine, id)) is not None:
            return await _ab_report(engine, ab_test, out, common)
        subject = await find_subject(engine, id, compare=compare)
        read = await read_report(engine, subject)
        beside = [] if compare else await engine.store.read(partial(columns_beside, run_id=subject.run_id))
        files: list[tuple[Path, int]] = []
        for file, form in zip(out, forms, strict=True):
            async with aclosing(form(engine, read)) as pieces:
                files.append((file, await written(file, pieces)))
    if common.json:
        _say_files(files, runId=subject.run_id, answer=answer(read))
        return 0
    from minions_evals_mcp.report.diffs import show_written  # noqa: PLC0415  rich is imported where a person looks

    show_written(out, answer(read), columns=beside, benchmark=read.run.summary.subject_id, store=common.db)
    return 0


def _say_files(files: Sequence[tuple[Path, int]], **beside: str) -> None:
    """Names the files with their sizes; of the first under the names that one file has."""
    first, size = files[0]
    several: Json = {"files": [{"file": str(file), "bytes": count} for file, count in files]} if len(files) > 1 else {}
    say({"file": str(first), "bytes": size, **several, **beside})


async def _matrix_report(matrix: Matrix, out: Sequence[Path], common: Common) -> int:
    from minions_evals_mcp.report.matrix.forms import matrix_form_of  # noqa: PLC0415  as above
    from minions_evals_mcp.report.matrix.verdict import verdict  # noqa: PLC0415  as above

    files = [(file, await written(file, _whole(matrix_form_of(file)(matrix)))) for file in out]
    sentence = " ".join(verdict(matrix))
    if common.json:
        _say_files(files, benchmarkId=matrix.benchmark_id, answer=sentence)
        return 0
    from minions_evals_mcp.report.diffs import show_written  # noqa: PLC0415  as above

    show_written(out, sentence, store=common.db)
    return 0


async def _ab_report(engine: Engine, job_id: str, out: Sequence[Path], common: Common) -> int:
    from minions_evals_mcp.report.ab_words import headline  # noqa: PLC0415  as above
    from minions_evals_mcp.report.documents.ab_report import ab_form_of  # noqa: PLC0415  as above

    forms = [ab_form_of(file) for file in out]
    result, title = await titled_ab_test(engine, job_id)
    pairs = zip(out, forms, strict=True)
    files = [(file, await written(file, _whole(form(result, title)))) for file, form in pairs]
    if common.json:
        _say_files(files, runId=result.run_id, answer=headline(result))
        return 0
    from minions_evals_mcp.report.diffs import show_written  # noqa: PLC0415  as above

    show_written(out, headline(result))
    return 0


async def _whole(text: str) -> AsyncGenerator[str]:
    """A text in one piece."""
    yield text


async def diff(before: str, after: str, /, *, limit: Limit = SHOWN, common: Common = DEFAULTS) -> int:
    """Show case by case what changed between two benchmark-runs: what flipped, got worse or better, sorted by loss.

    Outputs are compared word by word. Cases that are not comparable (another rubric, judge or scorer, or an edited
    case) are listed separately.
    Example: minions-evals diff demo-before demo-after

    Parameters
    ----------
    before
        The earlier run's id or key.
    after
        The later run's id or key.
    limit
        Maximum number of cases shown.
    """
    from minions_evals_mcp.engine.answers.run_diff import diff_runs  # noqa: PLC0415  as below

    async with session(replace(common, read_only=True)) as engine:
        run_diff = await diff_runs(engine, before, after, limit=limit)
    if common.json:
        say(run_diff.model_dump(mode="json"))
        return 0
    from minions_evals_mcp.report.diffs import show_diff  # noqa: PLC0415  rich is imported where a person looks

    show_diff(run_diff, common.db)
    return 0
