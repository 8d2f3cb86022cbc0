"""An agent for the tests of `lift`: it looks into its workspace, takes a skill up where it finds one, and leaves a file.

    python lift_agent.py [FOLDER]

Each start is told of in FOLDER, by a file of its own, so that a test can count them. What the prompt says, it does.
"""

from __future__ import annotations

import json
import sys
import uuid
from pathlib import Path

SKILL = Path(".claude/skills/csv-totals/SKILL.md")


def main() -> None:
    """Answers one question."""
    asked = json.load(sys.stdin)
    prompt = asked["prompt"]
    if len(sys.argv) > 1:
        (Path(sys.argv[1]) / uuid.uuid4().hex).write_text(prompt, encoding="utf-8")
    if "crash" in prompt:
        sys.exit("the model cannot be reached")
    seen = sorted(path.as_posix() for path in Path().rglob("*") if path.is_file())
    said = SKILL.read_text(encoding="utf-8") if SKILL.exists() else ""
    uses = bool(said) and ("total" in prompt or "always" in said)
    answer = "TOTAL 4" if uses and "spoils" not in said else "4"
    if "spoils" in said:
        answer = "no idea"
    if "list" in prompt:
        answer = " ".join(seen)
    if "file" in prompt:
        Path("out.txt").write_text("made here", encoding="utf-8")
        Path("out.bin").write_bytes(b"\xff\x00")
    log = [{"tool": "Skill", "arguments": {"skill": "csv-totals"}}] if uses else []
    tokens = {"in": 100 + (50 if uses else 0), "out": 10}
    sys.stdout.write(json.dumps({"output": answer, "log": log, "tokens": tokens}))


main()
