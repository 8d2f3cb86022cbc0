"""A stand-in for `claude -p --output-format stream-json --plugin-dir PLUGIN`, for the tests of a plugin's lift.

It loads the plugin that it is pointed at and prints a session. Each skill of the plugin says in its text what it does to an
answer: `helps`, `spoils`, or anything else, which does nothing. Words of the prompt say what else is done.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path


def say(**line: object) -> None:
    """Prints one line of the session."""
    sys.stdout.write(json.dumps({"session_id": "s", **line}) + "\n")


def called(number: int, tool: str, **given: object) -> None:
    """One call of a tool, and its result."""
    use = {"type": "tool_use", "id": f"t{number}", "name": tool, "input": given}
    usage = {"input_tokens": 100, "output_tokens": 10}
    message = {"id": f"m{number}", "type": "message", "role": "assistant", "model": "claude-x"}
    say(type="assistant", message={**message, "content": [use], "usage": usage})
    result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": "ok"}
    say(type="user", message={"role": "user", "content": [result]})


def main() -> None:
    """Answers one prompt."""
    prompt = sys.stdin.read()
    plugin = Path(sys.argv[sys.argv.index("--plugin-dir") + 1])
    assert (plugin / ".claude-plugin" / "plugin.json").is_file(), "both arms find a plugin there"
    skills = {path.parent.name: path.read_text("utf-8") for path in sorted(plugin.glob("skills/*/SKILL.md"))}
    say(type="system", subtype="init", model="claude-x", tools=["Skill", "Write"])
    draw = random.Random(prompt)  # noqa: S311  the same prompt is answered alike
    right = draw.random() < 0.5  # what the model knows without any skill
    for number, (name, text) in enumerate(skills.items()):
        if "unasked" not in prompt:
            called(number, "Skill", skill=f"units:{name}")
        if "helps" in text:
            right = True
        if "spoils" in text:
            right = False
    if "file" in prompt:
        called(90, "Write", file_path="out/report.md", content="[km] Total")
        Path("out").mkdir()
        Path("out/report.md").write_text("[km] Total", encoding="utf-8")
    answer = "The sum is 7 [km]" if right else "The sum is 7"
    last = {"id": "m99", "type": "message", "role": "assistant", "model": "claude-x"}
    say(type="assistant", message={**last, "content": [{"type": "text", "text": answer}]})
    usage = {"input_tokens": 100, "output_tokens": 20}
    say(type="result", subtype="success", is_error=False, result=answer, num_turns=2, total_cost_usd=0.01, usage=usage)


main()
