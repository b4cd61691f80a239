"""What the ledger says was spent, against an accountant of others: Google's dp-accounting, by privacy loss distributions.

Random releases are charged to budgets of a server, with Gaussian noise and pure. The ledger's total may not be below the
epsilon that the other accountant has for the same releases at the same delta. scripts/accountant runs it, and prints
Markdown.
"""

import argparse
import math
import random
import subprocess
import sys

from dp_accounting.pld import privacy_loss_distribution as pld

# How fine losses are cut, upwards: the other epsilon is above the exact one by up to as much for each pure release.
STEP = 1e-4
BUDGETS = [(1.0, 1e-6), (3.0, 1e-6), (10.0, 1e-6), (3.0, 1e-9)]


def run(psql, statements):
    """The rows of the last statement."""
    done = subprocess.run([*psql, "-c", statements], check=True, capture_output=True, text=True)
    return [line.split("|") for line in done.stdout.splitlines() if line]


def releases(draw, eps, kind):
    """Prices as shares of epsilon, as `mu` of Gaussian noise, or as the epsilon of a pure release."""
    count = draw.choice([3, 10, 40])
    if kind == "pure":
        return [("pure", eps / count * draw.uniform(0.2, 0.9)) for _ in range(count)]
    most = eps * draw.uniform(0.02, 0.1)
    noise = [("mu", most / 2 / count**0.5 * draw.uniform(0.5, 1.5)) for _ in range(count)]
    pure = [("pure", most / 10) for _ in range(count // 3)] if kind == "both" else []
    mixed = noise + pure
    draw.shuffle(mixed)
    return mixed


def epsilon_of_others(asked, delta):
    square = sum(value**2 for kind, value in asked if kind == "mu")
    pure = [value for kind, value in asked if kind == "pure"]
    parts = []
    if square:
        parts.append(pld.from_gaussian_mechanism(square**-0.5, value_discretization_interval=STEP))
    for value in pure:
        # The answer is noise with this probability, and then one of two with the same: right with e^value times the odds.
        noise = 2 / (1 + math.exp(value))
        parts.append(pld.from_randomized_response(noise, 2, value_discretization_interval=STEP))
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.compose(part)
    return whole.get_epsilon_for_delta(delta)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("psql", nargs="+", help="the command, and what it is given")
    psql = arguments.parse_args().psql
    run(psql, """CREATE EXTENSION dp_mean; CREATE ROLE asker; CREATE TABLE people (id int PRIMARY KEY);
        INSERT INTO people SELECT generate_series(1, 1000)""")
    draw = random.Random(1)
    number, wrong = 0, 0
    print("| budget | releases | charged | the ledger's total | the other accountant |")
    print("| --- | --- | --- | --- | --- |")
    for eps, delta in BUDGETS:
        for accounting in ["gaussian", "zcdp"]:
            for kind in ["noise", "both", "pure"]:
                number += 1
                asked = releases(draw, eps, kind)
                calls = [f"SELECT dp_count(1, NULL, 'gaussian(mu={value!r})') FROM people" if what == "mu"
                         else f"SELECT dp_count(1, {value!r}, 'geometric') FROM people" for what, value in asked]
                run(psql, f"""SELECT dp_set_budget('b{number}', {eps}, {delta}, accounting => '{accounting}'),
                    dp_protect('people', 'id', 'b{number}', reuse => '0'); SELECT dp_allow('people', 'asker')""")
                for call in calls:
                    run(psql, f"SET ROLE asker; SET dp_mean.reuse = off; {call}")
                row = run(psql, f"""SELECT total_epsilon, total_delta, charges FROM dp_budgets
                    WHERE budget = 'b{number}' AND role IS NULL""")[0]
                total, at, charges = float(row[0]), float(row[1]), int(row[2])
                other = epsilon_of_others(asked, at)
                slack = STEP * max(1, sum(what == "pure" for what, _ in asked))
                is_below = charges != len(asked) or total < other - slack
                wrong += is_below
                print(f"| ({eps}, {delta}), {accounting} | {len(asked)}, {kind} | {charges} | {total:.4f} | {other:.4f} |"
                      f"{' **below**' if is_below else ''}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
