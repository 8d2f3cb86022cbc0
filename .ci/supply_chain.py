"""What the package stands on: writes an SBOM (CycloneDX) and a licence list, and asks for known vulnerabilities.

`supply_chain.py TOOLS PYTHON FOLDER`: the folder with the tools' programs, the Python of the environment that is looked at (the installed
wheel's), and where `sbom.json` and `licences.json` go. Fails on a licence that would bind a user's own code, on one that is not known, and
on a known vulnerability. Where no advisory database can be reached it says so, and that nothing was audited.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

BINDING = re.compile(
    r"(?<!L)(?<!Lesser )(?<!Library )\b(A?GPL|GNU (Affero )?General Public|SSPL|Commons Clause|Proprietary)",
    re.IGNORECASE,
)
LOOKED_UP = {"pysqlite3": "Zlib", "quickjs-ng": "MIT"}
"""Packages whose metadata names no licence, with that of the LICENSE file which they ship."""
SHIPPED: list[dict[str, str]] = json.loads(
    (Path(__file__).parent.parent / "minions_evals_mcp/view/assets/origins.json").read_text("utf-8")
)
"""Other people's files inside our wheel: their package, version and licence (its text stands beside them), and where they come from."""


def ran(*command: str, seconds: float = 120) -> tuple[int, str, str]:
    """How a tool ended and what it said; 124 where it took too long."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)  # noqa: S603  tools of our own
    except subprocess.TimeoutExpired:
        return 124, "", "no answer"
    return done.returncode, done.stdout, done.stderr


def write_sbom(tools: Path, python: Path, folder: Path) -> str:
    """How many components the SBOM names."""
    file = folder / "sbom.json"
    code, _, err = ran(str(tools / "cyclonedx-py"), "environment", str(python), "--of", "JSON", "-o", str(file))
    if code:
        sys.exit(f"no SBOM: {err}")
    told = json.loads(file.read_text("utf-8"))
    told["components"] += [
        {
            "type": "library", "name": one["name"], "version": one["version"],
            "purl": f"pkg:npm/{one['name'].replace('@', '%40')}@{one['version']}",
            "bom-ref": one["name"], "licenses": [{"license": {"id": one["licence"]}}],
        }
        for one in SHIPPED
    ]  # fmt: skip
    file.write_text(json.dumps(told, indent=2) + "\n", "utf-8")
    return f"{file}: {len(told['components'])} components"


def write_licences(tools: Path, python: Path, folder: Path) -> str:
    """How many packages there are; ends where one has a licence that binds, or none."""
    code, out, err = ran(
        str(tools / "pip-licenses"), "--python", str(python), "--format=json", "--from=mixed", "--with-urls"
    )
    if code:
        sys.exit(f"no licence list: {err}")
    rows: list[dict[str, str]] = json.loads(out)
    for row in rows:
        if row["License"] == "UNKNOWN":
            row["License"] = LOOKED_UP.get(row["Name"].lower(), "UNKNOWN")
        row["License"] = row["License"].strip().split("\n")[0]
    rows += [
        {"License": one["licence"], "Name": one["name"], "URL": one["url"], "Version": one["version"]}
        for one in SHIPPED
    ]
    file = folder / "licences.json"
    file.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
    wrong = [
        f"{row['Name']}: {row['License']}"
        for row in rows
        if row["License"] == "UNKNOWN" or BINDING.search(row["License"])
    ]
    if wrong:
        sys.exit(f"licences to look at: {'; '.join(wrong)}")
    return f"{file}: {len(rows)} packages, no licence that binds a user's own code"


def audit(tools: Path, python: Path) -> str:
    """What an advisory database says, or that none could be reached."""
    site = ran(str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))")[1].strip()
    _, out, err = ran(str(tools / "pip-audit"), "--path", site, "-f", "json", "--progress-spinner", "off", seconds=90)
    try:
        found: list[dict[str, object]] = json.loads(out)["dependencies"]
    except ValueError:
        said = err.strip().splitlines()
        return f"NOT AUDITED: no advisory database could be reached ({said[-1][:200] if said else 'no answer'})"
    asked = [one for one in found if "skip_reason" not in one]
    if len(asked) * 2 < len(found):
        return f"NOT AUDITED: the advisory database knew only {len(asked)} of {len(found)} packages"
    vulnerable = [f"{one['name']} {one['version']}: {one['vulns']}" for one in asked if one.get("vulns")]
    if vulnerable:
        sys.exit("known vulnerabilities: " + "; ".join(vulnerable))
    return f"{len(asked)} of {len(found)} packages audited: no known vulnerability"


def main() -> None:
    """Writes, checks and says."""
    tools, python, folder = (Path(argument) for argument in sys.argv[1:4])
    folder.mkdir(parents=True, exist_ok=True)
    for line in (write_sbom(tools, python, folder), write_licences(tools, python, folder), audit(tools, python)):
        sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main()
