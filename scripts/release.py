"""Parts of scripts/release-check that read files and history: `release.py names`, `upgrades`, `figures`. What does not hold is an
error, and exit status 1; what only may not hold is a warning."""

import json
import re
import subprocess
import sys
from collections import namedtuple
from datetime import date, datetime, timezone
from pathlib import Path

errors = []


def read(path):
    return Path(path).read_text()


def found(path, pattern):
    """What a pattern has found in a file, first; None, and an error, where it finds nothing."""
    match = re.search(pattern, read(path), flags=re.MULTILINE)
    if not match:
        errors.append(f"{path}: nothing like {pattern}")
        return None
    return match[1]


def same(what, places):
    """That all places say the same."""
    said = set(places.values())
    if len(said) > 1:
        errors.append(f"{what} differs:" + "".join(f"\n    {place}: {value}" for place, value in places.items()))
    return said.pop()


def names():
    """One version, one date, one line that describes it."""
    meta = json.loads(read("META.json"))
    version = same("the version", {
        "dp_mean.control": found("dp_mean.control", r"^default_version = '(.*)'$"),
        "Cargo.toml": found("Cargo.toml", r'^version = "(.*)"$'),
        "META.json": meta["version"],
        "META.json, provides": meta["provides"]["dp_mean"]["version"],
        "CHANGELOG.md": found("CHANGELOG.md", r"^## (\S+)"),
        "SECURITY.md": found("SECURITY.md", r"^\| (\d\S+)"),
        "docs/installing.md": found("docs/installing.md", r"^version (\S+) \("),
        "docs/installing.md, the package": found("docs/installing.md", r"postgresql-\d+-dp-mean_(\S+)-1_"),
        "docs/installing.md, dp_version()": found("docs/installing.md", r"^ dp_version\n-+\n (\S+)$"),
        "packaging/rpm/dp_mean.spec": found("packaging/rpm/dp_mean.spec", r"^Version: +(\S+)$"),
        "packaging/rpm/dp_mean.spec, %changelog": found("packaging/rpm/dp_mean.spec", r"^\* .* - (\S+)-1$"),
    })  # fmt: skip
    of_rpm = found("packaging/rpm/dp_mean.spec", r"^\* (\w+ \w+ \d+ \d+) ")
    day = same("the date", {
        "CHANGELOG.md": found("CHANGELOG.md", r"^## \S+ \((.*)\)$"),
        "SECURITY.md": found("SECURITY.md", r"^\| \d\S+ \((.*?)\) \|"),
        "docs/installing.md": found("docs/installing.md", r"^version \S+ \((.*?)\)"),
        "packaging/rpm/dp_mean.spec, %changelog": datetime.strptime(of_rpm, "%a %b %d %Y").date().isoformat(),
    })  # fmt: skip
    try:
        if date.fromisoformat(day) > datetime.now(timezone.utc).date():
            errors.append(f"CHANGELOG.md: {day} is yet to come")
    except (TypeError, ValueError):
        errors.append(f"CHANGELOG.md: {day} is no date")
    if meta["release_status"] != ("testing" if "-" in version else "stable"):
        errors.append(f"META.json: the release_status of {version} is not {meta['release_status']}")
    line = same("the description", {
        "dp_mean.control": found("dp_mean.control", r"^comment = '(.*)'$"),
        "META.json": meta["abstract"],
        "META.json, provides": meta["provides"]["dp_mean"]["abstract"],
        "Cargo.toml": found("Cargo.toml", r'^description = "(.*)"$'),
        "packaging/rpm/dp_mean.spec": found("packaging/rpm/dp_mean.spec", r"^Summary: +(.*)$"),
    })  # fmt: skip
    print(f"{version} of {day}: {line}")


def upgrades():
    """A way by upgrade scripts from each version of the changelog to this one."""
    versions = re.findall(r"^## (\d\S+)", read("CHANGELOG.md"), flags=re.MULTILINE)
    steps = [path.stem.split("--")[1:] for path in Path("sql/upgrade").glob("dp_mean--*--*.sql")]
    reached = {versions[0]}
    while more := {before for before, after in steps if after in reached} - reached:
        reached |= more
    for version in versions[1:]:
        if version not in reached:
            errors.append(f"no upgrade from {version} to {versions[0]} in sql/upgrade")
        if not Path(f"sql/upgrade/dp_mean--{version}.sql").exists():
            errors.append(f"sql/upgrade has no dp_mean--{version}.sql, what it installed")
    print(f"to {versions[0]}, from: {' '.join(versions[1:])}")


Measured = namedtuple("Measured", "page heading commands sources")


def git(*arguments):
    return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True).stdout


def section(page, heading):
    """The numbers of its lines, from 1, without those of sections below it that are another row's."""
    lines = read(page).splitlines()
    starts = [i for i, line in enumerate(lines) if re.fullmatch(rf"##+ {re.escape(heading)}", line)]
    if len(starts) != 1:
        errors.append(f"scripts/measured.txt: {page} has {len(starts)} headings {heading}")
        return lines, range(0)
    level = len(lines[starts[0]].split()[0])
    ends = [i for i in range(starts[0] + 1, len(lines)) if re.match(rf"#{{1,{level}}} ", lines[i])]
    return lines, range(starts[0], ends[0] if ends else len(lines))


def written(page, numbers):
    """The commit that wrote the newest of these lines; HEAD where they are not committed."""
    newest, commit, when, number = ("HEAD", 0), None, 0, 0
    for line in git("blame", "-w", "--line-porcelain", page).splitlines():
        if match := re.match(r"([0-9a-f]{40}) \d+ (\d+)", line):
            commit, number = match[1], int(match[2])
        elif match := re.match(r"author-time (\d+)", line):
            when = int(match[1])
        elif line.startswith("\t") and number in numbers and when > newest[1]:
            newest = ("HEAD" if set(commit) == {"0"} else commit, when)
    return newest[0]


def is_code(line):
    return bool(line.strip()) and not line.strip().startswith(("//", "#", "--"))


def code_since(commit, sources):
    """How many lines of code were added since, or changed, without comments and tests; and how many there are now."""
    files = [path for path in git("ls-files", "--", *sources).splitlines() if "tests" not in path]
    diff = git("diff", "-w", "-M", "--unified=0", commit, "HEAD", "--", *files) if files else ""
    changed = sum(line.startswith("+") and not line.startswith("+++") and is_code(line[1:]) for line in diff.splitlines())
    return changed, sum(is_code(line) for path in files for line in read(path).splitlines())


def has_figures(page, heading):
    """Whether a section has a table with numbers in it."""
    part = read(page).split(f"\n{heading}\n")[1:] if heading else []
    return bool(part) and bool(re.search(r"^\|.*\d", part[0].split("\n## ")[0], flags=re.MULTILINE))


def figures():
    """Whether the tables of measurements are older than the code that they are of."""
    rows = []
    for line in read("scripts/measured.txt").splitlines():
        if line and not line.startswith("#"):
            place, commands, sources = line.split(" | ")
            rows.append(Measured(*place.split(" # "), commands.split("; "), sources.split()))
    verbs = set(re.findall(r"^([a-z0-9 -]+):", read("Makefile"), flags=re.MULTILINE))
    verbs = {verb for line in verbs for verb in line.split()}
    covered = {}
    for row in rows:
        covered.setdefault(row.page, []).append(section(row.page, row.heading)[1])
        for source in row.sources:
            if not Path(source).exists():
                errors.append(f"scripts/measured.txt: there is no {source}")
        for command in row.commands:
            verb = re.search(r"make (\S+)", command)
            if verb and verb[1] not in verbs:
                errors.append(f"scripts/measured.txt: there is no make {verb[1]}")
    # A section with a table that names what measures it has a row.
    for page in sorted(Path("docs").rglob("*.md")):
        heading = ""
        for number, line in enumerate(read(page).splitlines()):
            if line.startswith("## "):
                heading = line
            measures = re.search(r"make bench|make estimates|cargo bench", line) and has_figures(page, heading)
            if measures and not any(number in lines for lines in covered.get(str(page), [])):
                errors.append(f"scripts/measured.txt: no line for {page}, {heading}, line {number + 1}")
    if errors:
        return
    try:
        shallow = git("rev-parse", "--is-shallow-repository").strip() == "true"
    except (OSError, subprocess.CalledProcessError):
        shallow = True
    if shallow:
        print("passed by: the history is not here")
        sys.exit(77)
    old = 0
    for row in rows:
        lines, numbers = section(row.page, row.heading)
        tables = {i + 1 for i in numbers if re.match(r"\|.*\d", lines[i])} or {i + 1 for i in numbers if re.search(r"\d", lines[i])}
        newest = written(row.page, tables)
        changed, size = code_since(newest, row.sources)
        if changed:
            old += 1
            day = git("log", "-1", "--format=%as", newest).strip()
            print(f"warning: {row.page}, {row.heading}: of {day}; {changed} lines of code changed since, of {size}: {'; '.join(row.commands)}")
    print(f"{len(rows) - old} of {len(rows)} tables of figures are younger than the code that they are of")


STEPS = {"names": names, "upgrades": upgrades, "figures": figures}
STEPS[sys.argv[1]]()
for error in errors:
    print(f"error: {error}", file=sys.stderr)
sys.exit(1 if errors else 0)
