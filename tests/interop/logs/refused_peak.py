"""Reads the files given, counts those that are refused, and says the most memory that it took."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.interop.log_formats.table import matching, opened, sniff

if __name__ == "__main__":
    refused = 0
    for name in sys.argv[1:]:
        form = matching(sniff(Path(name)))
        assert form is not None, name
        try:
            for _ in opened(form, Path(name))[1]:
                pass
        except BadInputError as error:
            sys.stderr.write(f"{error}\n")
            refused += 1
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text("ascii").splitlines())
    sys.stdout.write(json.dumps({"refused": refused, "peakKb": int(status["VmHWM"].split()[0])}) + "\n")
