"""What scripts/mutants leaves to Python: which mutants are tried, and which of them may survive.

A mutant is known by its file, its change in cargo-mutants' words and the text of its line, not by the number of the
line, so that changes elsewhere in a file do not matter.
"""

import fnmatch
import hashlib
import json
import pathlib
import re
import sys
from collections import Counter

# What decides how much may be spent, what a row counts, and which mechanisms there are.
CORE = [
    f"crates/dp_core/src/{name}.rs"
    for name in ("request/unit", "request/budget", "registry", "privacy/epsilon", "privacy/delta", "encoding/grid", "encoding/sums")
]
ACCEPTED = pathlib.Path("tests/mutants/accepted.txt")


def named(mutants, copy):
    """Mutants by their lasting names: (file, change, line, which of several alike)."""
    found, seen, lines = {}, Counter(), {}
    for mutant in mutants:
        file, start = mutant["file"], mutant["span"]["start"]
        if file not in lines:
            lines[file] = (pathlib.Path(copy) / file).read_text().splitlines()
        change = mutant["name"].split(": ", 1)[1]
        alike = (file, change, lines[file][start["line"] - 1].strip())
        seen[alike] += 1
        found[(*alike, seen[alike])] = mutant
    return found


def accepted():
    """The mutants that may survive, each with its reason. Paragraphs of `Key: value`; one may have several changes."""
    found = {}
    for paragraph in re.split(r"\n\s*\n", ACCEPTED.read_text()):
        fields = [line.split(": ", 1) for line in paragraph.splitlines() if line and not line.startswith("#")]
        if not fields:
            continue
        head = {key: value for key, value in fields if key != "Change"}
        changes = [value for key, value in fields if key == "Change"]
        if set(head) != {"File", "Line", "Why"} or not changes:
            sys.exit(f"error: {ACCEPTED}: a paragraph needs File, Line, Change and Why:\n{paragraph}")
        for change in changes:
            change, _, which = change.partition(" #")
            name = (head["File"], change, head["Line"], int(which or 1))
            if name in found:
                sys.exit(f"error: {ACCEPTED}: twice: {name}")
            found[name] = head["Why"]
    return found


def text(name):
    """A mutant's lasting name as it stands in the list of those that may survive."""
    file, change, line, which = name
    return f"File: {file}\nLine: {line}\nChange: {change}" + (f" #{which}" if which > 1 else "")


def in_shard(name, shard, seed):
    part, parts = shard
    return int(hashlib.sha256(f"{seed}:{name}".encode()).hexdigest(), 16) % parts == part


def part_of(shard):
    """The part and the number of parts of `k/n`."""
    match = re.fullmatch(r"(\d+)/([1-9]\d*)", shard)
    if not match or int(match[1]) >= int(match[2]):
        sys.exit("error: SHARD is k/n with 0 <= k < n")
    return int(match[1]), int(match[2])


def choose(all_json, copy, work, files, shard, seed):
    """Writes `fast`, the mutants to try."""
    mutants = named(json.loads(pathlib.Path(all_json).read_text()), copy)
    gone = [name for name in accepted() if name[0].startswith("crates/dp_core/") and name not in mutants]
    if gone:
        sys.exit(f"error: {ACCEPTED} names what is no mutant any more:\n" + "\n\n".join(map(text, gone)))
    part, seed = part_of(shard or ("0/1" if files else "0/10")), seed or "1"
    if files:
        patterns = files.split()
        for pattern in patterns:
            if not any(fnmatch.fnmatch(name[0], pattern) for name in mutants):
                sys.exit(f"error: there are no mutants in {pattern}")
        tried = [n for n in mutants if any(fnmatch.fnmatch(n[0], p) for p in patterns) and in_shard(n, part, seed)]
    else:
        tried = [n for n in mutants if n[0] in CORE and not shard or n[0] not in CORE and in_shard(n, part, seed)]
    arguments(work, "fast", [mutants[name] for name in tried])
    print(f"==> {len(tried)} of {len(mutants)} mutants (part {part[0]} of {part[1]}, seed {seed})")


def arguments(work, step, mutants):
    """Writes which mutants a pass tries, as arguments of cargo-mutants. It chooses those that delete a field by their
    file alone, whatever the names are, so that a few others are tried too: `outcomes` leaves them out.
    """
    files = sorted({f"--file={mutant['file']}\n" for mutant in mutants})
    names = [f"--re=^{re.escape(mutant['name'])}$\n" for mutant in mutants]
    pathlib.Path(work, step).write_text("".join(files + names))
    pathlib.Path(work, f"{step}.json").write_text(json.dumps([mutant["name"] for mutant in mutants]))


def outcomes(out, step, work):
    """What became of the mutants of a pass, by their names in that run."""
    tried = set(json.loads(pathlib.Path(work, f"{step}.json").read_text()))
    if not tried:
        return {}
    found = json.loads(pathlib.Path(out, step, "mutants.out", "outcomes.json").read_text())["outcomes"]
    found = [(o["scenario"]["Mutant"]["name"], o["summary"]) for o in found if isinstance(o["scenario"], dict)]
    return {name: summary for name, summary in found if name in tried}


def names_of_run(copy, work):
    """From the names of a run to the mutants, and to their lasting names."""
    mutants = named(json.loads(pathlib.Path(work, "all.json").read_text()), copy)
    return {mutant["name"]: (mutant, name) for name, mutant in mutants.items()}


def survivors(copy, out, work):
    """Writes `whole`: what survived the fast choice and may not."""
    names, may = names_of_run(copy, work), accepted()
    missed = [names[run] for run, summary in outcomes(out, "fast", work).items() if summary == "MissedMutant"]
    missed = [mutant for mutant, name in missed if name not in may]
    arguments(work, "whole", missed)
    print(f"==> the fast choice of tests leaves {len(missed)} to all tests")


def report(copy, out, work):
    """Prints the table, file by file, and fails where a mutant survived that may not, or may and did not."""
    names, may = names_of_run(copy, work), accepted()
    fast, whole = outcomes(out, "fast", work), outcomes(out, "whole", work)
    rows, new, caught = {}, [], []
    for run, summary in fast.items():
        name = names[run][1]
        row = rows.setdefault(name[0], Counter())
        row["mutants"] += 1
        if summary == "Unviable":
            row["do not build"] += 1
        elif summary in ("CaughtMutant", "Timeout"):
            row["caught at once"] += 1
            if name in may:
                caught.append(name)
        elif name in may:
            row["accepted"] += 1
        elif whole.get(run) in ("CaughtMutant", "Timeout"):
            row["caught by all tests"] += 1
        else:
            row["survive"] += 1
            new.append(name)
    columns = ["mutants", "do not build", "caught at once", "caught by all tests", "accepted", "survive"]
    print("| file | " + " | ".join(columns) + " |\n| --- |" + " --- |" * len(columns))
    rows = dict(sorted(rows.items()))
    rows["all"] = sum(rows.values(), Counter())
    for file, row in rows.items():
        print(f"| {file.removeprefix('crates/dp_core/src/')} | " + " | ".join(str(row[c]) for c in columns) + " |")
    if caught:
        print(f"error: {ACCEPTED} has what tests catch now:\n\n" + "\n\n".join(map(text, caught)), file=sys.stderr)
    if new:
        print("error: no test notices, so give it one, or its reason a place in "
              f"{ACCEPTED}:\n\n" + "\n\n".join(map(text, new)), file=sys.stderr)
    sys.exit(bool(new or caught))


if __name__ == "__main__":
    {"choose": choose, "survivors": survivors, "report": report}[sys.argv[1]](*sys.argv[2:])
