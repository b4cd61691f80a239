"""Writes the tables of docs/against-others.md and the numbers of its figure from the results of run.py."""

import argparse
import json
import re
from pathlib import Path

from peer import QUESTIONS

EPSILONS = [0.1, 1.0, 4.0, 8.0]
PURE, REPLACED, APPROXIMATE = "eps", "eps, n is public", "eps and delta = 1e-6"


def digits(value):
    """Three of them."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def percent(share):
    return f"±{100 * share:.0f}%" if share >= 0.01 else f"±{100 * share:.1f}%"


def table(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


class Results:
    def __init__(self, found):
        self.found = found
        self.contenders = found["contenders"]
        self.errors = {(each["contender"], each["table"], each["epsilon"]): each for each in found["errors"]}
        self.quantile_errors = {(each["contender"], each["table"], each["q"], each["epsilon"]): each
                                for each in found["errors"] if "q" in each}
        self.times = {(each["contender"], each["mode"]): each for each in found["times"]}

    def of(self, task, *privacies):
        return [each for each in self.contenders if each["task"] == task and each["privacy"] in privacies]

    def privacy(self, each):
        if each["privacy"] == "approximate":
            return APPROXIMATE
        return REPLACED if each["neighbours"].startswith("replace") else PURE

    def machine(self):
        found = self.found
        versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
        return (f"PostgreSQL {found['postgresql']}, Python {found['python']}, {found['cores']} cores, load "
                f"{found['load']:.1f} when it began, {found['minutes']:.0f} minutes in all; {versions}.")

    def means(self):
        rows = []
        for privacy in [PURE, REPLACED, APPROXIMATE]:
            for each in self.of("mean", "pure", "approximate"):
                if self.privacy(each) == privacy:
                    cells = []
                    for name in ["mean_01", "mean_05"]:
                        cells += [""] if name == "mean_05" else []
                        for epsilon in EPSILONS:
                            error = self.errors[each["name"], name, epsilon]
                            cells.append(f"{digits(error['ratio'])} {percent(error['se'])}")
                    rows.append([each["name"], each["neighbours"], privacy, *cells])
        columns = [f"eps {epsilon:g}" for epsilon in EPSILONS]
        return table(["mean", "neighbours", "privacy", *columns, "", *columns], rows)

    def over_ours(self):
        rows = []
        for each in self.of("mean", "pure", "approximate"):
            privacy = self.privacy(each)
            ours = {PURE: "`dp_mean`", REPLACED: "`dp_mean`, `clipped(n=)`", APPROXIMATE: "`dp_mean`, `gaussian`"}[privacy]
            if each["name"] == ours:
                continue
            cells = []
            for name in ["mean_01", "mean_05"]:
                cells += [""] if name == "mean_05" else []
                for epsilon in EPSILONS:
                    theirs, mine = self.errors[each["name"], name, epsilon], self.errors[ours, name, epsilon]
                    error = (theirs["se"] ** 2 + mine["se"] ** 2) ** 0.5
                    cells.append(f"{digits(theirs['mse'] / mine['mse'])} {percent(error)}")
            if not each["name"].startswith("`"):
                rows.append([each["name"], ours, *cells])
        columns = [f"eps {epsilon:g}" for epsilon in EPSILONS]
        return table(["mean", "over", *columns, "", *columns], rows)

    def counts(self):
        rows = []
        for privacy in ["approximate", "pure"]:
            ours = "`dp_counts`" if privacy == "approximate" else "`dp_counts`, `knorm`"
            least = self.errors[ours, "counts", 1.0]["mse"]
            for each in self.of("counts", privacy):
                error = self.errors[each["name"], "counts", 1.0]
                rows.append([each["name"], each["neighbours"], "1, 1e-6" if privacy == "approximate" else "1, 0",
                             f"{error['mse']:,.0f} {percent(error['se'])}", digits(error["mse"] / least)])
        return table([f"{QUESTIONS} counts", "neighbours", "eps, delta", "variance of a count", "over ours"], rows)

    def quantiles(self):
        cases = [(table, q, epsilon) for table in ["mean_01", "mean_05"] for q in [0.6, 0.99] for epsilon in [0.1, 1.0]]
        rows = []
        for each in self.of("quantile", "pure"):
            found = [self.quantile_errors[(each["name"], *case)] for case in cases]
            cells = [f"{digits(error['off'])} {percent(error['se'])}" for error in found]
            rows.append([each["name"], each["neighbours"], *cells])
        names = {"mean_01": "skewed", "mean_05": "flat"}
        columns = [f"{names[table]}, {q:g}, eps {epsilon:g}" for table, q, epsilon in cases]
        return table(["rows off", "neighbours", *columns], rows)

    def slopes(self):
        return table(["slope", "neighbours", *[f"eps {epsilon:g}" for epsilon in EPSILONS]],
                     [[each["name"], each["neighbours"], *[self.root(each, "line", epsilon) for epsilon in EPSILONS]]
                      for each in self.of("slope", "pure")])

    def root(self, each, name, epsilon):
        error = self.errors[each["name"], name, epsilon]
        return f"{error['rmse']:.2g} {percent(error['se'])}"

    def unbounded(self):
        cases = [(name, epsilon) for name in ["incomes", "waits", "scores", "flat"] for epsilon in [0.1, 1.0]]
        rows = []
        for each in self.of("unbounded", "pure"):
            cells = []
            for case in cases:
                error = self.errors[(each["name"], *case)]
                cells.append(f"{100 * error['rmse'] / error['truth']:.2g}% ({100 * error['of_all'] / error['truth']:.2g}%)")
            rows.append([each["name"], *cells])
        return table(["a mean without bounds", *[f"{name}, eps {epsilon:g}" for name, epsilon in cases]], rows)

    def timing(self, task):
        rows = []
        for each in self.contenders:
            if each["task"] != task or (each["name"], "table") not in self.times:
                continue
            from_table = self.times[each["name"], "table"]
            from_frame = self.times.get((each["name"], "frame"))
            memory = from_frame or from_table

            def milliseconds(run):
                if not run:
                    return ""
                low, high = (f"{1000 * bound:,.0f}" for bound in run["spread"])
                return f"{1000 * run['total']:,.0f}" + (f" ({low} to {high})" if run["runs"] > 1 else " (one run)")

            rows.append([
                each["name"], milliseconds(from_frame), milliseconds(from_table),
                f"**{digits(from_table['over_ours'])}**", f"{1000 * from_table['set_up']:,.0f}",
                f"{memory['peak']:,.0f}", f"{from_table['peak']:,.0f}" if from_frame else "",
                f"{from_table['backend']:,.0f}"])
        name = "mean" if task == "mean" else f"{QUESTIONS} counts"
        return table([name, "ms, from a DataFrame", "ms, from PostgreSQL", "over ours", "set-up in that, ms",
                      "MB, Python", "MB, Python, reading too", "MB, PostgreSQL"], rows)

    def draws(self):
        ours, theirs = self.found["draws"]["ours"], self.found["draws"]["opendp"]
        names = {"two-sided geometric": "two-sided geometric, eps 1", "discrete Laplace": "discrete Laplace, scale 2^32",
                 "rounded normal, sigma 1e3": "Gaussian on integers, sigma 1e3",
                 "rounded normal, sigma 2^32": "Gaussian on integers, sigma 2^32"}
        rows = []
        for name, label in names.items():
            net = theirs[name] - theirs["no noise"]
            rows.append([label, f"{ours[name]:.0f}", f"{theirs[name]:,.0f}", f"{1e9 / ours[name] / 1e6:.1f}",
                         f"{1e9 / theirs[name] / 1e6:.2f}", f"**{digits(theirs[name] / ours[name])}**",
                         digits(net / ours[name])])
        return table(["noise", "ours, ns", "OpenDP, ns", "ours, million a second", "OpenDP, million a second",
                      "times as many", "without what handing over numbers takes"], rows)

    def sections(self):
        """Those of the tasks that were run."""
        tasks = self.found["tasks"]
        found = {}
        if "mean" in tasks and "counts" in tasks:
            found |= {"machine": self.machine(), "means": self.means(), "over-ours": self.over_ours(),
                      "counts": self.counts(), "time-mean": self.timing("mean"), "time-counts": self.timing("counts"),
                      "draws": self.draws()}
        if "quantile" in tasks:
            found |= {"machine-without-bounds": self.machine(), "quantiles": self.quantiles(), "slopes": self.slopes(),
                      "unbounded": self.unbounded()}
        return found


def write_page(page, sections):
    text = Path(page).read_text()
    for name, body in sections.items():
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)", re.DOTALL)
        text, count = pattern.subn(lambda found: f"{found[1]}\n{body}\n\n{found[2]}", text)
        if count != 1:
            raise SystemExit(f"{page} has {count} places for {name}")
    Path(page).write_text(text)


NUMBERS = """\
# What `make bench-peers` measured: panel, contender, eps, value, its standard error as a part of the value.
# mean: mean squared error of a mean of 10,000 rows (mean 0.1) over the lower bound. counts: variance of each of 64
# counts at (1, 1e-6). time: milliseconds to a mean of a million rows in PostgreSQL.
"""


def numbers(results):
    lines = [["panel", "name", "eps", "value", "se"]]
    for each in results.of("mean", "pure", "approximate"):
        for epsilon in EPSILONS:
            error = results.errors[each["name"], "mean_01", epsilon]
            lines.append(["mean", each["name"], f"{epsilon:g}", f"{error['ratio']:.3g}", f"{error['se']:.2g}"])
    for each in results.of("counts", "approximate"):
        error = results.errors[each["name"], "counts", 1.0]
        lines.append(["counts", each["name"], "1", f"{error['mse']:.0f}", f"{error['se']:.2g}"])
    for each in results.of("mean", "pure", "approximate"):
        if (each["name"], "table") in results.times:
            total = results.times[each["name"], "table"]["total"]
            lines.append(["time", each["name"], "", f"{1000 * total:.0f}", ""])
    return NUMBERS + "".join("\t".join(line).replace("`", "") + "\n" for line in lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("results")
    parser.add_argument("--page", help="writes the tables here, instead of printing them")
    parser.add_argument("--numbers", help="writes those of the figure here")
    options = parser.parse_args()
    results = Results(json.loads(Path(options.results).read_text()))
    sections = results.sections()
    if options.page:
        write_page(options.page, sections)
    else:
        print("\n\n".join(sections.values()))
    if options.numbers and "means" in sections:
        Path(options.numbers).write_text(numbers(results))


main()
