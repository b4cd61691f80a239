"""Writes or checks packaging/third-party-licenses.txt: the licences of what is linked into the library. Run by scripts/licenses."""

import html
import json
import re
import subprocess
import sys
from pathlib import Path

FILE = Path("packaging/third-party-licenses.txt")
OF_RUST = "\n\n# Rust's standard library\n"
RULE = "\n\n" + "-" * 100 + "\n"
NAMES = re.compile(r"(licen[sc]e|copying|copyright|notice|unlicense|authors)([-._].*)?", re.IGNORECASE)
TARGETS = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"]
MAJORS = [15, 16, 17, 18]

# Of crates that declare MIT and have no file with its text in their package.
MIT = """Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE."""


def cargo(*arguments):
    return subprocess.run(["cargo", *arguments, "--locked"], check=True, capture_output=True, text=True).stdout


def linked():
    """The crates that are linked in, by name and version: of every major and processor, without those that only build it."""
    crates = set()
    for target in TARGETS:
        for major in MAJORS:
            tree = cargo(
                "tree", "--package", "dp_mean", "--edges", "normal,no-proc-macro", "--no-default-features",
                "--features", f"pg{major}", "--target", target, "--prefix", "none", "--format", "{p}",
            )  # fmt: skip
            for line in tree.splitlines():
                name, version = line.split()[:2]
                if "(/" not in line:
                    crates.add((name, version.removeprefix("v")))
    return sorted(crates)


def options(expression):
    """The licences that a crate may be used under: a list of choices for each part that must be kept."""
    parts = [part.strip(" ()") for part in expression.replace("/", " OR ").split(" AND ")]
    return [[choice.strip(" ()") for choice in part.split(" OR ")] for part in parts]


def chosen(expression):
    """MIT where it is offered, otherwise the first licence of each part."""
    return ["MIT" if "MIT" in part else part[0] for part in options(expression)]


def texts(package):
    """The files about a crate's licence, without those of the licences that are not the chosen ones."""
    folder = Path(package["manifest_path"]).parent
    files = [path for path in sorted(folder.iterdir()) if path.is_file() and NAMES.fullmatch(path.name)]
    files += sorted(path for path in folder.glob("LICENSES/*") if path.is_file())
    mit = "MIT" in chosen(package["license"]) and any("MIT" in path.name for path in files)
    others = ("APACHE", "UNLICENSE", "BSD", "CC0")
    files = [path for path in files if not (mit and path.name.upper().startswith(tuple(f"LICENSE-{o}" for o in others) + others))]
    if files:
        return [(path.name, tidy(path.read_text(errors="replace"))) for path in files]
    assert chosen(package["license"]) == ["MIT"], f"{package['name']} has no file of its licence"
    holders = set()
    for path in sorted(folder.rglob("*.rs")):
        for line in path.read_text(errors="replace").splitlines()[:20]:
            if match := re.match(r"//\S*\s+((?:Portions )?Copyright .*)", line):
                holders.add(match[1].strip())
    holders = sorted(holders) or ["Copyright (c) " + ", ".join(package["authors"])]
    return [("no file of its own; the licence that it declares", "\n".join(holders) + "\n\n" + MIT)]


def tidy(text):
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").expandtabs(4).splitlines()]
    return "\n".join(lines).strip("\n")


def grouped(entries):
    """Each text once, behind the names of all that have it."""
    holders = {}
    for of, text in entries:
        holders.setdefault(text, []).append(of)
    return "".join(f"{RULE}{chr(10).join(of)}\n\n{text}" for text, of in holders.items())


def crates_part():
    metadata = json.loads(cargo("metadata", "--format-version", "1"))
    packages = {(package["name"], package["version"]): package for package in metadata["packages"]}
    crates = linked()
    lines, entries, licences = [], [], set()
    for crate in crates:
        package = packages[crate]
        licences.update(chosen(package["license"]))
        where = package.get("repository") or f"https://crates.io/crates/{crate[0]}"
        lines.append(f"{crate[0]} {crate[1]}: {package['license']}, {where}")
        entries += [(f"{crate[0]} {crate[1]}, {name}", text) for name, text in texts(package)]
    head = f"""# Third-party licences

dp_mean itself is under the PostgreSQL License. Its library, dp_mean.so, holds code of the {len(crates)} crates below and of Rust's
standard library; where one has several licences to choose from, MIT is chosen. This file goes with each copy of the library. It
is made by scripts/licenses from the files that the crates have with them, and checked by scripts/release-check.

License: {" AND ".join(["PostgreSQL", "MIT", *sorted(licences - {"MIT"})])}

serde_cbor is no longer maintained (RUSTSEC-2021-0127), and uses an old version of half. Both come with pgrx, which reads and
writes types by them; dp_mean has no type of that kind, and calls neither.

"""
    return head + "\n".join(lines) + grouped(entries)


def rust_part():
    """What Rust's own copyright page says of the standard library, without its Apache texts."""
    root = subprocess.run(["rustc", "--print", "sysroot"], check=True, capture_output=True, text=True).stdout.strip()
    page = Path(root) / "share/doc/rust/COPYRIGHT-library.html"
    if not page.exists():
        sys.exit(f"error: there is no {page}: rustup component add rust-docs")
    version = subprocess.run(["rustc", "--version"], check=True, capture_output=True, text=True).stdout.split()[1]
    page = page.read_text()
    plain = lambda part: html.unescape(re.sub(r"<[^>]+>", "", part))  # noqa: E731
    tree, crates = page.split("Out-of-tree dependencies</h2>")
    tree = tree.split("In-tree files</h2>")[1]
    lines = [line.strip() for line in plain(tree).splitlines() if line.strip()]
    lines = ["\n" + line if line.startswith("File/Directory:") else line for line in lines]
    entries, named = [], []
    for part in crates.split("<h3>")[1:]:
        name = plain(part.split("</h3>")[0]).strip(" \U0001f4e6")
        licence = plain(re.search(r"License:</b>(.*?)</p>", part)[1]).strip()
        named.append(f"{name}: {licence}")
        notices = re.findall(r"<code>(.*?)</code></summary>\s*<pre>(.*?)</pre>", part, re.DOTALL)
        mit = any("MIT" in notice for notice, _ in notices)
        for notice, text in notices:
            if not (mit and re.search("APACHE|Apache", notice)):
                entries.append((f"{name}, {notice}", tidy(html.unescape(text))))
    standard = (Path(root) / "share/doc/rust/licenses" / f"{name}.txt" for name in ["MIT", "Unicode-3.0", "BSD-2-Clause"])
    entries = [(f"the standard library, {path.name}", tidy(path.read_text())) for path in standard] + entries
    return f"{OF_RUST}\nOf Rust {version}, by its own page of copyrights.\n" + "\n".join(lines) + "\n\n" + "\n".join(named) + grouped(entries)


def main():
    crates = crates_part()
    if sys.argv[1:] == ["--check"]:
        there = FILE.read_text().split(OF_RUST)
        if len(there) != 2:
            sys.exit(f"error: {FILE} is not as scripts/licenses writes it: run it")
        if there[0] != crates:
            old, new = set(there[0].splitlines()), set(crates.splitlines())
            for line in sorted(old - new):
                print(f"- {line}", file=sys.stderr)
            for line in sorted(new - old):
                print(f"+ {line}", file=sys.stderr)
            sys.exit(f"error: {FILE} is not of the crates that Cargo.lock links in: run scripts/licenses")
        return
    FILE.write_text(crates + rust_part() + "\n")


main()
