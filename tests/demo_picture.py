"""The picture in the README: what `minions-evals demo` really prints, as an SVG.

python -m tests.demo_picture
"""

from __future__ import annotations

import sys
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from tests.shared.cli.terminal import Terminal

FILE = Path(__file__).resolve().parents[1] / "docs" / "demo.svg"
WIDTH = 100
LAST = "step 1 `get_order` gave the right result, but the answer differs"
"""The picture ends with this line: the first failure, whole."""
THEME = TerminalTheme(
    (22, 27, 34),
    (230, 237, 243),
    [(72, 79, 88), (255, 123, 114), (63, 185, 80), (210, 153, 34), (88, 166, 255), (188, 140, 255), (57, 197, 207), (177, 186, 196)],
    [(110, 118, 129), (255, 161, 152), (86, 211, 100), (227, 179, 65), (121, 192, 255), (210, 168, 255), (86, 212, 221), (240, 246, 252)],
)  # fmt: skip
FRAME = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img"
  aria-label="minions-evals demo: a careless edit of a prompt is caught as a regression, with its cases and causes">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
  font-size: {char_height}px; line-height: {line_height}px; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" /></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def shown() -> str:
    """What the demo prints up to its first failure, in colour."""
    with TemporaryDirectory() as folder:
        terminal = Terminal(Path(folder)).with_env(COLUMNS=str(WIDTH), TERM="xterm-256color", FORCE_COLOR="1")
        ended = terminal.run("demo", "--db", "demo.db")
    assert ended.code == 0, ended
    lines = ended.out.splitlines()
    last = next(place for place, line in enumerate(lines) if LAST in line)
    return "\n".join(["$ minions-evals demo", *lines[: last + 1]])


def picture(text: str) -> str:
    """That text as an SVG that needs no font and no other file."""
    console = Console(record=True, width=WIDTH, file=StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text.from_ansi(text), soft_wrap=True)
    return console.export_svg(title="minions-evals demo", theme=THEME, code_format=FRAME, unique_id="demo")


if __name__ == "__main__":
    FILE.write_text(picture(shown()), "utf-8")
    sys.stdout.write(f"{FILE.relative_to(Path.cwd())}\n")
