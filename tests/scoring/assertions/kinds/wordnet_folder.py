"""A WordNet of a few words, in the form of its own files."""

from __future__ import annotations

from pathlib import Path

SETS = {
    "adj": [["fast", "quick"]],
    "noun": [["doctor", "physician", "medical_man"], ["doctor", "repairer"]],
    "verb": [["aid", "help"]],
    "adv": [],
}  # fmt: skip
"""Words that mean the same, by their part of speech."""
HEAD = "  1 a notice stands at the head of each file, its lines begin with blanks\n"


def write_wordnet(folder: Path) -> None:
    """Writes the files into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for part, sets in SETS.items():
        lines, offsets, at = [HEAD], dict[str, list[int]](), len(HEAD)
        for words in sets:
            named = " ".join(f"{word} 0" for word in words)
            line = f"{at:08d} 00 {part[0]} {len(words):02x} {named} 000 | what they mean\n"
            for word in words:
                offsets.setdefault(word, []).append(at)
            lines.append(line)
            at += len(line)
        (folder / f"data.{part}").write_text("".join(lines))
        index = [
            f"{w} {part[0]} {len(o)} 0 {len(o)} 0 {' '.join(f'{one:08d}' for one in o)}  \n" for w, o in offsets.items()
        ]
        (folder / f"index.{part}").write_text(HEAD + "".join(sorted(index)))
