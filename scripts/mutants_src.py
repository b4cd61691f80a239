"""What scripts/mutants-src leaves to Python: which changes of src/ are tried, which of them a build refuses, and the table."""

import json
import pathlib
import re
import sys
from collections import Counter

from mutants import accepted, in_shard, named, part_of, text

# What is in the testing build alone.
OURS = re.compile(r"^src/(testing.*|.*/tests|gate/defence|call/overspent|pg/test_helpers|ledger/lock_order)\.rs$")
NEAREST = pathlib.Path("tests/mutants/nearest.txt")
KINDS = ["FnValue", "BinaryOperator", "UnaryOperator", "MatchArm", "MatchArmGuard"]
SWITCH = """//! Which of the changes counts: the one whose number was in the environment where the server started.

use std::sync::LazyLock;

static CHOSEN: LazyLock<String> =
    LazyLock::new(|| format!("mutant {};", std::env::var("DP_MEAN_MUTANT").unwrap_or_default()));

/// Never inlined, so that the library has the texts of all changes that are in it.
#[inline(never)]
pub fn on(mutant: &str) -> bool {
    *CHOSEN == mutant
}
"""


def numbered(work):
    """The chosen mutants, by their numbers from 1: each with its lasting name."""
    chosen = json.loads(pathlib.Path(work, "chosen.json").read_text())
    return {number: (mutant, tuple(name)) for number, (mutant, name) in enumerate(chosen, 1)}


def numbers(work, file):
    return {int(line) for line in pathlib.Path(work, file).read_text().split()}


def choose(all_json, work, files, shard, seed):
    """Writes `chosen.json`, the mutants to try."""
    mutants = named(json.loads(pathlib.Path(all_json).read_text()), ".")
    mutants = {name: mutant for name, mutant in mutants.items() if name[0].startswith("src/") and not OURS.match(name[0])}
    gone = [name for name in accepted() if name[0].startswith("src/") and name not in mutants]
    if gone:
        sys.exit("error: tests/mutants/accepted.txt names what is no mutant any more:\n" + "\n\n".join(map(text, gone)))
    part, seed = part_of(shard or ("0/1" if files else "0/100")), seed or "1"
    wanted = files.split()
    tried = [n for n in mutants if (not wanted or n[0] in wanted) and in_shard(n, part, seed)]
    missing = set(wanted) - {name[0] for name in mutants}
    if missing:
        sys.exit(f"error: no mutants in {', '.join(sorted(missing))}")
    tried = [n for n in tried if mutants[n]["genre"] in KINDS]
    pathlib.Path(work, "chosen.json").write_text(json.dumps([(mutants[name], name) for name in tried]))
    print(f"==> {len(tried)} of {len(mutants)} mutants of src/ (part {part[0]} of {part[1]}, seed {seed})")


def list_(work):
    """Prints what dp_mutants reads: all that no build has refused."""
    refused = numbers(work, "refused")
    for number, (mutant, _) in numbered(work).items():
        if number not in refused:
            start = mutant["span"]["start"]
            fields = [number, mutant["file"], mutant["genre"], start["line"], start["column"], mutant["replacement"]]
            print("\t".join(re.sub(r"\s+", " ", str(field)) for field in fields))


def switch(copy):
    """Adds the module by which a change is chosen, and allows the lints that changes break."""
    pathlib.Path(copy, "src/mutant.rs").write_text(SWITCH)
    lib = pathlib.Path(copy, "src/lib.rs")
    lib.write_text(re.sub(r"^mod aggregates;$", "mod aggregates;\n#[allow(dead_code)]\nmod mutant;", lib.read_text(), flags=re.M))


def regions(source):
    """The changes of a file: (from, to, numbers), in bytes, by the comments around them."""
    found, open_ = [], []
    for match in re.finditer(rb"/\*<([\d,]+)\*/|/\*>\*/", source):
        if match[1]:
            open_.append((match.start(), match[1]))
        else:
            start, who = open_.pop()
            found.append((start, match.end(), [int(number) for number in who.split(b",")]))
    return found


def blamed(copy, error):
    """The changes that an error is about: the smallest around it, else those in it."""
    all_spans = error["spans"] + [span for child in error["children"] for span in child["spans"]]
    for spans in ([s for s in all_spans if s["is_primary"]], all_spans):
        for span in spans:
            while span["expansion"] and not span["file_name"].startswith("src/"):
                span = span["expansion"]["span"]
            path = pathlib.Path(copy, span["file_name"])
            if not span["file_name"].startswith("src/") or not path.exists():
                continue
            known = regions(path.read_bytes())
            at, to = span["byte_start"], span["byte_end"]
            around = [region for region in known if region[0] <= at and to <= region[1]]
            if around:
                return min(around, key=lambda region: region[1] - region[0])[2]
            within = [number for region in known if at <= region[0] and region[1] <= to for number in region[2]]
            if within:
                return within
    return []


def refuse(copy, work):
    """Adds to `refused` what the errors of a build are about."""
    refused = set()
    for line in pathlib.Path(work, "build.json").read_text().splitlines():
        said = json.loads(line)
        if said.get("reason") == "compiler-message" and said["message"]["level"] == "error":
            refused.update(blamed(copy, said["message"]))
    if not refused:
        sys.exit("error: the build refuses what is no change")
    with open(pathlib.Path(work, "refused"), "a") as file:
        file.writelines(f"{number}\n" for number in sorted(refused))
    print(f"==> {len(refused)} changes do not build")


def plan(work, library):
    """Prints what is in the library, as what is for another PostgreSQL alone is not: in a first round of each change with the
    tests nearest to its file, then once more with the next ones. Lines of round, number, name and the tests' arguments.
    """
    there = {int(number) for number in re.findall(rb"mutant (\d+);", pathlib.Path(library).read_bytes())}
    lines = [line.split(":", 1) for line in NEAREST.read_text().splitlines() if line and not line.startswith("#")]
    lines.sort(key=lambda line: -len(line[0]))
    may, rounds = accepted(), ([], [])
    for number, (mutant, name) in numbered(work).items():
        filters = [filters.split() for path, filters in lines if name[0].startswith(path)][:2]
        tests = [filters[0]]
        # What may survive is not tried with all.
        if name not in may:
            tests += [those + [word for test in filters[0] for word in ("--skip", test)] for those in filters[1:]]
        if number in there:
            for i, those in enumerate(tests):
                rounds[i].append((i + 1, number, mutant["name"], " ".join(those)))
    for line in rounds[0] + rounds[1]:
        print("\t".join(map(str, line)))


def report(work, outcomes):
    """Prints the table, file by file, and fails where a mutant survived that may not. One that may is noticed with another
    PostgreSQL now and then.
    """
    found = dict(line.split("\t") for line in pathlib.Path(outcomes).read_text().splitlines())
    refused, may = numbers(work, "refused"), accepted()
    rows, new, caught = {}, [], []
    for number, (_, name) in numbered(work).items():
        row = rows.setdefault(name[0], Counter())
        row["mutants"] += 1
        outcome = found.get(str(number))
        if outcome is None:
            row["do not build" if number in refused else "left out"] += 1
        elif outcome != "0":
            row["nearest tests" if outcome == "1" else "other tests"] += 1
            if name in may:
                caught.append(name)
        else:
            row["accepted" if name in may else "survive"] += 1
            if name not in may:
                new.append(name)
    columns = ["mutants", "do not build", "left out", "nearest tests", "other tests", "accepted", "survive"]
    print("| file | " + " | ".join(columns) + " |\n| --- |" + " --- |" * len(columns))
    rows = dict(sorted(rows.items()))
    rows["all"] = sum(rows.values(), Counter())
    for file, row in rows.items():
        print(f"| {file} | " + " | ".join(str(row[column]) for column in columns) + " |")
    if caught:
        print("==> tests/mutants/accepted.txt has what tests noticed here:\n\n" + "\n\n".join(map(text, caught)), file=sys.stderr)
    if new:
        print("error: no test notices, so give it one, or its reason a place in tests/mutants/accepted.txt:\n\n"
              + "\n\n".join(map(text, new)), file=sys.stderr)
    sys.exit(bool(new))


if __name__ == "__main__":
    tasks = {"choose": choose, "list": list_, "switch": switch, "refuse": refuse, "plan": plan, "report": report}
    tasks[sys.argv[1]](*sys.argv[2:])
