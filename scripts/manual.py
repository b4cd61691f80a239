"""The manual as packages have it: `manual.py FOLDER [OLD=NEW...]` copies its pages there. A link to a file of the repository that
does not come along becomes its text; OLD=NEW says what has another name in the package. `manual.py --check FOLDER` says which links
of the pages in a folder lead nowhere."""

import os
import re
import shutil
import sys
from pathlib import Path

BESIDE = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"]
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+)\)")
HEADING = re.compile(r"#{1,6} +(.*)")


def pages():
    return [Path(page) for page in BESIDE] + sorted(Path("docs").rglob("*.md"))


def outside_code(text, change):
    """Changes what stands outside of fenced blocks; fences stand alone on their lines."""
    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if i % 2 else change(part) for i, part in enumerate(parts))


def is_local(target):
    return "://" not in target and not target.startswith(("#", "mailto:"))


def copy(folder, renamed):
    there = {str(page) for page in pages()} | {str(path) for path in Path("docs").rglob("*") if path.suffix in (".tsv", ".svg")}
    drawn = {f"docs/figures/{path.name}" for path in Path("docs/figures").glob("*.svg")}  # by make figures, and not kept
    there -= drawn
    for page in pages():

        def packaged(match):
            picture, label, target = match.groups()
            if not is_local(target):
                return match[0]
            path, mark, anchor = target.partition("#")
            path = os.path.normpath(page.parent / path)
            if path in there or any(name.startswith(path + "/") for name in there):
                return match[0]
            if path in renamed:
                return f"{picture}[{label}]({os.path.relpath(renamed[path], page.parent)})"
            return label if "/" in label or "." in label or path.endswith(".md") else f"{label} (`{path}`)"

        to = folder / page
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(outside_code(page.read_text(), lambda part: LINK.sub(packaged, part)))
    for path in sorted(there - {str(page) for page in pages()}):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, folder / path)


def anchors(page):
    """As forges make them of headings."""
    found = set()

    def look(part):
        for line in part.splitlines():
            if heading := HEADING.match(line):
                kept = "".join(c for c in heading[1].strip().lower() if c.isalnum() or c in " -_")
                anchor = base = kept.replace(" ", "-")
                count = 0
                while anchor in found:
                    count += 1
                    anchor = f"{base}-{count}"
                found.add(anchor)
        return part

    outside_code(page.read_text(), look)
    return found


def dead(folder):
    count, links = 0, []
    for page in sorted(folder.rglob("*.md")):

        def look(part):
            nonlocal count
            for match in LINK.finditer(re.sub(r"`[^`\n]*`", "", part)):
                target = match[3]
                if "://" in target or target.startswith("mailto:"):
                    continue
                count += 1
                path, _, anchor = target.partition("#")
                to = page.parent / path if path else page
                if not to.exists():
                    links.append(f"{page.relative_to(folder)}: no {target}")
                elif anchor and to.suffix == ".md" and anchor not in anchors(to):
                    links.append(f"{page.relative_to(folder)}: no heading {target}")
            return part

        outside_code(page.read_text(), look)
    return count, links


def main():
    if sys.argv[1] != "--check":
        copy(Path(sys.argv[1]), dict(name.split("=") for name in sys.argv[2:]))
        return
    count, links = dead(Path(sys.argv[2]))
    for link in links:
        print(link, file=sys.stderr)
    if links or count < 100:
        sys.exit(f"error: {len(links)} of {count} links lead nowhere")
    print(f"{count} links")


main()
