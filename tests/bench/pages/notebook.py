"""A first evaluation in a notebook, run by nbclient, and its page as Chromium shows it, light and dark.

python -m tests.bench.pages.notebook FOLDER  (takes: pip install nbclient nbconvert ipykernel)
"""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.bench.pages.tour import THEMES, WIDER, WIDTHS
from tests.shared.browser.driver import CHROMIUM, started, tab

FIRST = """\
from minions_evals_mcp import Case, evaluate, evaluate_async

def answer(question: str) -> str:
    return "It is Paris." if "France" in question else "It is Rome."

cases = [
    Case({"question": "Capital of France?"}, expected="Paris"),
    Case({"question": "Capital of Italy?"}, expected="Rome"),
]
evaluate(answer, cases, checks=["icontains"], name="geography")"""
WORSE = """\
def answer(question: str) -> str:
    return "It is Paris." if "France" in question else "I do not know."

result = await evaluate_async(answer, cases, checks=["icontains"], name="geography")
result"""
SAID = """\
assert result.passed is False and len(result.failures) == 1
assert "1 of 2 passed" in str(result)
print(result)"""
CELLS = (FIRST, WORSE, SAID)
SHOWN = ("passed", "failed", "geography", "I do not know.")
"""What the page must show: two verdicts, the name, and the output that failed."""


def notebook_run(folder: Path) -> Any:
    """A notebook whose cells were run one after another; an error in a cell ends the program."""
    formats: Any = import_module("nbformat")
    client: Any = import_module("nbclient")
    made = formats.v4.new_notebook(cells=[formats.v4.new_code_cell(source) for source in CELLS])
    client.NotebookClient(made, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if CHROMIUM is None:
        sys.exit("There is no Chromium here.")
    os.environ["MINIONS_EVALS_DB"] = str(folder / "evals.db")  # noqa: TID251  the kernel's
    made = notebook_run(folder)
    exporter: Any = import_module("nbconvert.exporters").HTMLExporter
    page, wrong = folder / "notebook.html", 0
    with started(folder) as browser, tab(browser) as at:
        for theme in THEMES:
            page.write_text(exporter(theme=theme).from_notebook_node(made)[0], "utf-8")
            for width in WIDTHS:
                at.seen(width=width, height=1400, dark=theme == "dark")
                at.go(page.as_uri())
                at.picture(folder / f"notebook-{width}-{theme}.png")
                text, wider = str(at.ask_page("document.body.innerText")), at.ask_page(WIDER)
                missing = [word for word in SHOWN if word not in text]
                wrong += bool(missing or wider)
                sys.stdout.write(f"{width} {theme}: {wider} px too wide, missing {missing}\n")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
