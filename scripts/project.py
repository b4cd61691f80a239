"""Writes what packaging/project says into the files that say it too; with --check, says which of them differ. Run by scripts/project."""

import json
import os
import re
import sys
from pathlib import Path

REPOSITORY, REPORTS, MAINTAINER = (os.environ[name] for name in ("REPOSITORY", "REPORTS", "MAINTAINER"))


def meta(text):
    found = json.loads(text)
    found["maintainer"] = MAINTAINER
    found["resources"] = {
        "homepage": REPOSITORY,
        "bugtracker": {"web": f"{REPOSITORY}/issues"},
        "repository": {"url": f"{REPOSITORY}.git", "web": REPOSITORY, "type": "git"},
    }
    text = json.dumps(found, indent=3, ensure_ascii=False)
    # A list of words stands on one line.
    return re.sub(r"\[\s+([^][{}]*?)\s+\]", lambda words: "[" + re.sub(r"\n\s*", " ", words[1]) + "]", text) + "\n"


def line(pattern, new):
    """Of the one line that matches, what is behind its first group."""

    def change(text):
        text, count = re.subn(pattern, lambda found: found[1] + new, text, flags=re.MULTILINE)
        if count != 1:
            sys.exit(f"error: {count} lines like {pattern}")
        return text

    return change


FILES = {
    "META.json": [meta],
    "Cargo.toml": [line(r"^(repository = ).*$", f'"{REPOSITORY}"')],
    "SECURITY.md": [line(r"^(    )(?:https|mailto):\S+$", REPORTS)],
    "packaging/rpm/dp_mean.spec": [
        line(r"^(URL: +).*$", REPOSITORY),
        line(r"^(\* \w{3} \w{3} \d\d \d{4} ).*(?= - )", MAINTAINER),
    ],
}


def main():
    differ = []
    for name, changes in FILES.items():
        path = Path(name)
        old = new = path.read_text()
        for change in changes:
            new = change(new)
        if new != old:
            differ.append(name)
            if "--check" not in sys.argv:
                path.write_text(new)
    if "--check" in sys.argv and differ:
        sys.exit(f"error: not as packaging/project says: {' '.join(differ)}; run: make project")


main()
