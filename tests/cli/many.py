"""Runs many command lines in one process, as the console script would: reads a JSON list of them, writes how each ended."""

from __future__ import annotations

import io
import json
import sys
import traceback

from minions_evals_mcp.cli.app import main


def ended(arguments: list[str]) -> dict[str, object]:
    """The exit code and what was said; an error that escapes is what a person would see as a traceback."""
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    sys.argv, sys.stdout, sys.stderr = ["minions-evals", *arguments], out, err
    code: object = "no exit"
    try:
        main()
    except SystemExit as left:
        code = left.code
    except BaseException:  # noqa: BLE001  every escape is what the test looks for
        err.write(traceback.format_exc())
        code = 1
    finally:
        sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
    said: list[str] = []
    for stream in (out, err):
        stream.flush()
        said.append(stream.buffer.getvalue().decode("utf-8"))  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]  a BytesIO
    return {"code": code, "out": said[0], "err": said[1]}


if __name__ == "__main__":
    sys.stdout.write(json.dumps([ended(one) for one in json.load(sys.stdin)]))
