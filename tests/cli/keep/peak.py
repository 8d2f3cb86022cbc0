"""Runs `minions-evals import` with the arguments given, then says the most memory that it took."""

from __future__ import annotations

import json
import resource
import sys

from minions_evals_mcp.cli.app import main

if __name__ == "__main__":
    sys.argv.insert(1, "import")
    try:
        main()
    finally:
        sys.stdout.write(json.dumps({"peakKb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}) + "\n")
