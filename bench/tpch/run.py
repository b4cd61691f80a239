"""TPC-H through the gate: which of the 22 queries are answered, how far the answers are from the truth, and what they take.

Each run of a query spends a budget of its own of EPSILON, and no more; with a delta where the query needs one, or has less
noise with it. scripts/bench-tpch runs it on a throw-away
server; it prints Markdown.
"""

import argparse
import decimal
import glob
import os
import re
import statistics
import tempfile
import time

import duckdb
import duckdb_extension_tpch
import psycopg

EPSILON, DELTAS = 0.8, (0, 1e-6)
POLICY = ("SELECT dp_protect('customer', 'c_custkey', %(budget)s, groups => 14, rows => 240, query_eps => 0.8, reuse => '0'), "
          "dp_protect('orders', via => 'o_custkey', groups => 14, rows => 240, query_eps => 0.8, reuse => '0'), "
          "dp_protect('lineitem', via => 'l_orderkey', groups => 14, rows => 240, query_eps => 0.8, reuse => '0')")
PROTECTED, PUBLIC = {"customer", "orders", "lineitem"}, {"region", "nation", "supplier", "part", "partsupp"}
HERE = os.path.dirname(os.path.abspath(__file__))

# What R2T's authors publish for epsilon 0.8 at scale 1: the truth, and the error.
R2T = {3: (2888656, 7338.6), 10: (1500000, 2615.5), 12: (6001215, 1373.0), 18: (153078795, 201957.5)}


class Query:
    """A file NN.sql, and NN.asked.sql where the analyst asks another query. Lines before the SQL say what it is about, how
    many columns are keys of groups, and for how many rows and groups a person counts."""

    def __init__(self, path, scale):
        self.number = int(os.path.basename(path)[:2])
        self.written, said = self.read(path, scale)
        asked = path.replace(".sql", ".asked.sql")
        self.asked, self.changed = self.written, None
        if os.path.exists(asked):
            self.asked, more = self.read(asked, scale)
            self.changed = more["changed"]
        self.about = said.get("about", "")
        self.keys = int(said.get("keys", 0))
        self.rows, self.groups = said.get("rows"), said.get("groups")

    def limits(self):
        """Where a row is a person, there are none."""
        return f"{self.rows}, {self.groups}" if self.rows else ""

    @staticmethod
    def read(path, scale):
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
        said = dict(re.match(r"-- (\w+): (.*)", line).groups() for line in lines if line.startswith("-- "))
        sql = "\n".join(line for line in lines if not line.startswith("-- "))
        # A share of the whole that depends on the scale.
        return sql.replace("{fraction}", f"{decimal.Decimal('0.0001') / decimal.Decimal(scale):f}"), said

    def is_public(self):
        return not PROTECTED & set(re.findall(r"\w+", self.written))


class Bench:
    def __init__(self, url, scale, runs):
        self.scale, self.runs, self.budgets = scale, runs, 0
        self.server, self.analyst = (psycopg.connect(url, autocommit=True, prepare_threshold=None) for _ in range(2))
        for session in self.server, self.analyst:
            for setting in "work_mem = '256MB'", "jit = off", "client_min_messages = warning":
                session.execute("SET " + setting)

    def run_file(self, name):
        with open(os.path.join(HERE, name), encoding="utf-8") as file:
            text = re.sub(r"--.*", "", file.read())
        for statement in filter(None, map(str.strip, text.split(";"))):
            self.server.execute(statement)

    def load(self):
        """The rows, then the keys."""
        pattern = os.path.join(os.path.dirname(duckdb_extension_tpch.__file__), "extensions/*/tpch.duckdb_extension")
        [extension] = glob.glob(pattern)
        maker = duckdb.connect()
        maker.execute(f"LOAD '{extension}'")
        maker.execute(f"CALL dbgen(sf={self.scale})")
        self.server.execute("CREATE EXTENSION dp_mean")
        self.run_file("schema.sql")
        with tempfile.TemporaryDirectory() as folder:
            for table in sorted(PUBLIC | PROTECTED):
                path = os.path.join(folder, table + ".csv")
                maker.execute(f"COPY {table} TO '{path}' (FORMAT csv, HEADER false)")
                with open(path, "rb") as file, self.server.cursor().copy(f"COPY {table} FROM STDIN (FORMAT csv)") as rows:
                    while block := file.read(1 << 20):
                        rows.write(block)
                os.remove(path)
        self.run_file("keys.sql")

    def new_budget(self, delta):
        """From now on, questions are paid for by a budget that nothing was spent of."""
        self.budgets += 1
        budget = f"customers {self.budgets}"
        self.server.execute("SELECT dp_set_budget(%s, %s, %s)", (budget, EPSILON, delta))
        self.server.execute(POLICY, {"budget": budget})

    def set(self, query, epsilon):
        for name, value in ("rows", query.rows), ("groups", query.groups), ("epsilon", epsilon):
            self.analyst.execute(f"RESET dp_mean.{name}" if value is None else f"SET dp_mean.{name} = {value}")

    def refusal(self, sql):
        """Why a query has no answer. This spends nothing."""
        self.new_budget(max(DELTAS))
        for name in "rows", "groups", "epsilon":
            self.analyst.execute(f"RESET dp_mean.{name}")
        try:
            self.analyst.execute("EXPLAIN " + sql)
        except psycopg.Error as error:
            return error.diag.message_primary
        return None

    def cost(self, query, epsilon):
        """The price at that epsilon of an aggregate, and the noise; this reads no row."""
        self.set(query, epsilon)
        costs = self.analyst.execute("SELECT price, noise FROM dp_cost(%s)", (query.asked,)).fetchall()
        return sum(price for price, _ in costs), sum(width or 0 for _, noise in costs for width in noise)

    def afford(self, query):
        """Which delta makes the least noise, and the largest epsilon of an aggregate with which the query fits into a budget."""
        found = []
        for delta in DELTAS:
            self.new_budget(delta)
            try:
                self.cost(query, EPSILON)
            except psycopg.errors.InsufficientPrivilege:
                continue  # Groups that are not public need a delta.
            low, high = 2.0**-12, EPSILON
            for epsilon in [high] + [None] * 12:
                epsilon = epsilon or (low * high) ** 0.5
                if self.cost(query, epsilon)[0] <= EPSILON:
                    low = epsilon
                else:
                    high = epsilon
            found.append((self.cost(query, low)[1], delta, low))
        _, delta, epsilon = min(found)
        return delta, epsilon

    @staticmethod
    def timed(session, sql):
        began = time.perf_counter()
        rows = session.execute(sql).fetchall()
        return rows, 1000 * (time.perf_counter() - began)

    def measure(self, query):
        """Rows that are shown of those of the truth, errors, and times, of runs that take turns."""
        delta, epsilon = self.afford(query)
        self.set(query, epsilon)
        shown, errors, plain, asked = [], [], [], []
        for _ in range(self.runs):
            self.new_budget(delta)
            truth, ms = self.timed(self.server, query.asked)
            plain.append(ms)
            answer, ms = self.timed(self.analyst, query.asked)
            asked.append(ms)
            found, of_run = compare(truth, answer, query.keys)
            shown.append(found)
            errors += of_run
        return {
            "delta": f"{delta:g}",
            "shown": f"{statistics.median_low(shown)} of {len(truth)}",
            "error": percent(statistics.median(errors)) if errors else "",
            "plain": statistics.median(plain),
            "asked": statistics.median(asked),
        }


def compare(truth, answer, keys):
    """How many rows of the truth are in the answer, and the relative errors of all their numbers."""
    known = {row[:keys]: row[keys:] for row in truth}
    found, errors = 0, []
    for row in answer:
        true = known.get(row[:keys])
        if true is None:
            continue
        found += 1
        errors += [abs(float(a) / float(t) - 1) for a, t in zip(row[keys:], true) if a is not None and t]
    return found, errors


def percent(share):
    return f"{100 * share:.3g}%" if share < 1 else f"{share:.2g} times"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True)
    parser.add_argument("--scale", required=True)
    parser.add_argument("--runs", type=int, required=True)
    arguments = parser.parse_args()
    bench = Bench(arguments.url, arguments.scale, arguments.runs)
    bench.load()
    bench.run_file("policy.sql")
    bench.analyst.execute("SET ROLE analyst")
    queries = [Query(path, arguments.scale) for path in sorted(glob.glob(os.path.join(HERE, "[0-9][0-9].sql")))]
    undeclared = {query.number: bench.refusal(query.written) for query in queries}
    bench.run_file("bounds.sql")
    print(f"\nScale {arguments.scale}, medians of {arguments.runs} runs that take turns, each with a budget of its own of epsilon "
          f"{EPSILON}.\n")
    print("| query | about | answered | rows, groups | delta | rows shown | error | plain, ms | asked, ms | times |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for query in queries:
        head = f"| Q{query.number} | {query.about} |"
        if query.is_public():
            bench.analyst.execute(query.written)
            print(head, "of public tables alone | | | | | | | |", flush=True)
            continue
        refusal = bench.refusal(query.written)
        how = "as written" if undeclared[query.number] is None else "as written, with bounds"
        if refusal:
            if query.changed is None:
                print(head, f"no: {refusal} | | | | | | | |", flush=True)
                continue
            how = f"changed: {query.changed}"
        measured = bench.measure(query)
        print(head, f"{how} | {query.limits()} | {measured['delta']} | {measured['shown']} | {measured['error']} | "
              f"{measured['plain']:.0f} | {measured['asked']:.0f} | {measured['asked'] / measured['plain']:.2f} |", flush=True)
    print("\n| query of R2T | rows | delta | error | of R2T, at scale 1 | plain, ms | asked, ms | times |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for path in sorted(glob.glob(os.path.join(HERE, "r2t", "*.sql"))):
        query = Query(path, arguments.scale)
        measured = bench.measure(query)
        truth, error = R2T[query.number]
        print(f"| Q{query.number} | {query.rows} | {measured['delta']} | {measured['error']} | {percent(error / truth)} | {measured['plain']:.0f} | "
              f"{measured['asked']:.0f} | {measured['asked'] / measured['plain']:.2f} |", flush=True)


main()
