"""The benchmark against everyone else; scripts/bench-peers runs it. Prints what it does, writes results as JSON.

Errors are measured in this process; time and memory in one process for each contender, so that memory is its own.
"""

import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import time
import warnings
from importlib import metadata
from pathlib import Path

from peer import QUESTIONS, Source, contenders
from peer_ours import COPY_AGGREGATE

EPSILONS = [0.1, 1.0, 4.0, 8.0]
# Rows are quantiles of the law of u^(1 / mean - 1), u uniform: in [0, 1], skewed unless their mean is 0.5.
MEANS = {"mean_01": 0.1, "mean_05": 0.5}
ERROR_ROWS = 10_000
TASKS = ["mean", "counts", "quantile", "slope", "unbounded"]
# Neither is a place where the grids of all meet, as the median of these rows is.
QUANTILES = [0.6, 0.99]
QUANTILE_EPSILONS = [0.1, 1.0]
# Columns that nobody knows bounds of, by SQL of u, uniform by quantiles, and z, normal (Box, Muller 1958, of u and of a hash).
UNBOUNDED = {"incomes": "30000 * exp(z)", "waits": "-60 * ln(u)", "scores": "100 + 15 * z", "flat": "u"}
QUESTION_COLUMNS = [f"q{i}" for i in range(QUESTIONS)]
PACKAGES = ["python-dp", "opendp", "diffprivlib", "smartnoise-sql", "pipeline-dp", "pyqrlew"]


def tell(*words):
    print(*words, file=sys.stderr, flush=True)


def make_tables(url, rows):
    """Questions are answered by the bits of a hash."""
    bits = ", ".join(f"(h >> {i}) & 1 = 1 AS q{i}" for i in range(QUESTIONS))
    integers = ", ".join(f"q{i}::int AS q{i}" for i in range(QUESTIONS))
    statements = ["CREATE EXTENSION dp_mean"]

    def mean_table(name, count, mean):
        statements.append(f"CREATE TABLE {name} AS SELECT i AS id, (((i - 0.5) / {count})::float8) ^ {1 / mean - 1} AS x "
                          f"FROM generate_series(1, {count}) AS i")

    def counts_table(name, count):
        statements.append(f"CREATE TABLE {name} AS SELECT i AS id, {bits} "
                          f"FROM (SELECT i, hashint8extended(i, 0) AS h FROM generate_series(1, {count}) AS i OFFSET 0) AS q")
        statements.append(f"CREATE VIEW {name}_as_integers AS SELECT id, {integers} FROM {name}")

    for name, mean in MEANS.items():
        mean_table(name, ERROR_ROWS, mean)
    counts_table("counts", ERROR_ROWS)
    for name in ["mean_01", "mean_05", "counts_as_integers"]:
        statements.append(f"CREATE VIEW {name}_copies AS SELECT g, {name}.* FROM {name}, generate_series(1, 200) AS g")
    uniform = f"((i - 0.5) / {ERROR_ROWS})::float8"
    hashed = "((hashint8extended(i, 0) & 65535) + 0.5) / 65536.0::float8"
    for name, law in UNBOUNDED.items():
        statements.append(f"CREATE TABLE {name} AS SELECT i AS id, {law} AS x FROM (SELECT i, {uniform} AS u, "
                          f"sqrt(-2 * ln({uniform})) * cos(2 * pi() * {hashed}) AS z "
                          f"FROM generate_series(1, {ERROR_ROWS}) AS i) AS r")
    statements.append(f"CREATE TABLE line AS SELECT i AS id, {uniform} AS x, 0.3 + 0.4 * {uniform} + 0.2 * ({hashed} - 0.5) AS y "
                      f"FROM generate_series(1, {ERROR_ROWS}) AS i")
    mean_table("large_mean", rows, 0.1)
    counts_table("large_counts", rows)
    connection = Source(url, "", 0, []).connect()
    connection.autocommit = True
    cursor = connection.cursor()
    for statement in statements:
        cursor.execute(statement)
    cursor.execute(COPY_AGGREGATE)
    for (statement,) in cursor.fetchall():
        cursor.execute(statement)
    cursor.execute("VACUUM (FREEZE, ANALYZE)")


def least_variance(epsilon):
    """sigma^2(epsilon): the variance of the best noise for one unit of sensitivity (Geng, Viswanath 2014)."""
    b = math.exp(-epsilon)
    ends = 0.5 ** (2 / 3) * math.exp(-2 * epsilon / 3) * (1 + b) ** (2 / 3)
    return (ends + b) / (1 - b) ** 2


def error(contender, source, truth, epsilon, releases, seconds):
    """The mean squared error of an answer, and the relative standard error of that.

    The 64 errors of a release may hang together, so that releases are compared; of few releases these say little, and
    the error is at least that of 64 errors that do not.
    """
    import numpy

    release = contender.make(source, epsilon, contender.batch)
    answers, start = [], time.perf_counter()
    while len(answers) < releases and (len(answers) < 3 or time.perf_counter() - start < seconds):
        answers += release()
    squares = (numpy.array(answers, dtype=float) - truth) ** 2
    each = squares.reshape(len(answers), -1).mean(axis=1)
    deviations = [values.std(ddof=1) / math.sqrt(values.size) for values in (squares, each)]
    return {"mse": squares.mean(), "se": max(deviations) / squares.mean(), "releases": len(each)}


def releases_of(contender, source, epsilon, most, seconds):
    release = contender.make(source, epsilon, contender.batch)
    answers, start = [], time.perf_counter()
    while len(answers) < most and (len(answers) < 3 or time.perf_counter() - start < seconds):
        answers += release()
    import numpy

    return numpy.array(answers, dtype=float)


def quantile_error(contender, source, q, epsilon, most, seconds):
    """By how many rows an answer is off, on average: between it and the place of the quantile."""
    import numpy

    source.q = q
    rows = numpy.sort(source.frame["x"].to_numpy())
    answers = releases_of(contender, source, epsilon, most, seconds)
    off = abs(numpy.searchsorted(rows, answers) - q * len(rows))
    return {"q": q, "off": off.mean(), "se": off.std(ddof=1) / math.sqrt(off.size) / off.mean(), "releases": off.size}


def root_error(contender, source, truth, epsilon, most, seconds):
    """The root mean squared error of all releases but the worst hundredth, and that of all."""
    import numpy

    answers = releases_of(contender, source, epsilon, most, seconds)
    squares = numpy.sort((answers - truth) ** 2)
    kept = squares[: squares.size * 99 // 100] if squares.size >= 100 else squares
    return {"rmse": math.sqrt(kept.mean()), "of_all": math.sqrt(squares.mean()), "truth": truth,
            "se": kept.std(ddof=1) / math.sqrt(kept.size) / kept.mean() / 2, "releases": squares.size}


def errors_of(contender, url, seconds, quick):
    """Each with its table and its epsilon."""
    most = 200 if quick else contender.releases
    rows = [(table, epsilon) for table in MEANS for epsilon in EPSILONS]
    cases = {"mean": rows, "counts": [("counts", 1.0)],
             "quantile": [(table, epsilon) for table in MEANS for epsilon in QUANTILE_EPSILONS],
             "slope": [("line", epsilon) for epsilon in EPSILONS],
             "unbounded": [(table, epsilon) for table in UNBOUNDED for epsilon in QUANTILE_EPSILONS]}
    columns = {"counts": QUESTION_COLUMNS, "slope": ["x", "y"]}.get(contender.task, ["x"])
    for table, epsilon in cases[contender.task]:
        source = Source(url, table, ERROR_ROWS, columns)
        frame = source.frame.to_numpy(dtype=float)
        case = {"contender": contender.name, "table": table, "epsilon": epsilon}
        if contender.task == "mean":
            found = error(contender, source, frame.sum(axis=0)[0] / ERROR_ROWS, epsilon, most, seconds)
            found["ratio"] = found["mse"] * ERROR_ROWS**2 / least_variance(epsilon)
            yield {**case, **found}
        elif contender.task == "counts":
            yield {**case, **error(contender, source, frame.sum(axis=0), epsilon, 20 if quick else 400, seconds)}
        elif contender.task == "quantile":
            for q in QUANTILES:
                yield {**case, **quantile_error(contender, source, q, epsilon, min(most, 1000), seconds)}
        else:
            x = frame[:, 0]
            truth = x.mean() if contender.task == "unbounded" else ((x - x.mean()) @ frame[:, 1]) / ((x - x.mean()) @ x)
            yield {**case, **root_error(contender, source, float(truth), epsilon, min(most, 1000), seconds)}
        for connection in source.connections:
            connection.close()


def errors(url, tasks, quick):
    results = []
    for contender in contenders():
        if contender.accuracy and contender.task in tasks:
            tell(f"the error of {contender.name}")
            results += errors_of(contender, url, 0.5 if quick else 4 * contender.patience, quick)
    return results


def status(pid, field):
    """In megabytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1000
    raise ValueError(field)


def measure(url, name, mode, rows, runs):
    """Times and memory of one contender, in this process. `mode` says whether a DataFrame is already there."""
    contender = next(each for each in contenders() if each.name == name)
    columns = QUESTION_COLUMNS if contender.task == "counts" else ["x"]
    epsilon = 1.0
    ours = next(each for each in contenders() if each.name == ("`dp_counts`" if contender.task == "counts" else "`dp_mean`"))
    small = Source(url, "counts" if contender.task == "counts" else "mean_01", ERROR_ROWS, columns)
    begin = time.perf_counter()
    contender.make(small, epsilon, 1)()
    # What takes seconds is not the better for being repeated five times.
    if time.perf_counter() - begin > 5:
        runs = 1
    for connection in small.connections:
        connection.close()
    del small
    source = Source(url, "large_counts" if contender.task == "counts" else "large_mean", rows, columns)
    reference = Source(url, source.table, rows, columns)
    if mode == "frame":
        source.read()
    Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten
    times, ratios = [], []
    while len(times) < runs and sum(run["total"] for run in times) < 10:
        # Ours takes turns with it, so that a busy moment of the machine hits both.
        start = time.perf_counter()
        ours.make(reference, epsilon, 1)()
        turn = time.perf_counter() - start
        start = time.perf_counter()
        if mode == "table" and contender.reads == "frame":
            source.read()
        read = time.perf_counter()
        release = contender.make(source, epsilon, 1)
        ready = time.perf_counter()
        answer = release()
        end = time.perf_counter()
        assert len(answer) == 1
        del release
        ratios.append((end - start) / turn)
        times.append({"total": end - start, "read": read - start, "set_up": ready - read, "answer": end - ready})
    peak = status("self", "VmHWM")
    backends = [status(each.info.backend_pid, "VmHWM") for each in source.connections if not each.closed]
    median = {key: statistics.median(run[key] for run in times) for key in times[0]}
    spread = [min(run["total"] for run in times), max(run["total"] for run in times)]
    return {"contender": name, "mode": mode, "runs": len(times), **median, "spread": spread,
            "over_ours": statistics.median(ratios), "peak": peak,
            "backend": max(backends, default=0)}


def draws():
    """Nanoseconds of a draw of OpenDP, in its fastest round, of vectors so long that the call itself does not count."""
    import numpy
    import opendp.prelude as dp

    dp.enable_features("contrib")
    rows = dp.vector_domain(dp.atom_domain(T="i64"))
    laplace = lambda scale: dp.m.make_laplace(rows, dp.l1_distance(T="i64"), scale)
    gaussian = lambda scale: dp.m.make_gaussian(rows, dp.l2_distance(T="f64"), scale)
    cases = {
        "no noise": laplace(0.0),
        "two-sided geometric": laplace(1.0),
        "discrete Laplace": laplace(2.0**32),
        "rounded normal, sigma 1e3": gaussian(1e3),
        "rounded normal, sigma 2^32": gaussian(2.0**32),
    }
    vector = numpy.zeros(20_000, dtype=numpy.int64)
    rounds = {name: [] for name in cases}
    for _ in range(15):
        for name, measurement in cases.items():
            start = time.perf_counter()
            measurement(vector)
            rounds[name].append((time.perf_counter() - start) / len(vector) * 1e9)
    return {name: min(found) for name, found in rounds.items()}


def ours(path):
    """Nanoseconds of a draw at eps 1, of the table that the samplers' bench prints."""
    found = {}
    for line in Path(path).read_text().splitlines()[1:]:
        name, _, at_one, _ = line.rsplit(None, 3)
        found[name] = float(at_one)
    return found


def child(url, *arguments):
    command = [sys.executable, "-W", "ignore", __file__, "--url", url, *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, arguments))} failed")
    return json.loads(done.stdout.splitlines()[-1])


def everything(url, rows, runs, samplers, tasks, quick):
    start = time.monotonic()
    tell(f"making the tables, up to {rows} rows")
    make_tables(url, rows)
    with Source(url, "", 0, []).connect() as connection:
        version = connection.server_version
    results = {
        "tasks": tasks, "rows": rows, "runs": runs, "cores": len(os.sched_getaffinity(0)), "load": os.getloadavg()[1],
        "python": platform.python_version(), "postgresql": f"{version // 10000}.{version % 10000}",
        "versions": {package: metadata.version(package) for package in PACKAGES},
        "contenders": [{"name": each.name, "task": each.task, "privacy": each.privacy, "reads": each.reads,
                        "neighbours": each.neighbours} for each in contenders()],
    }
    if "mean" in tasks:
        tell("the samplers")
        results["draws"] = {"ours": ours(samplers), "opendp": child(url, "--draws")}
    results["times"] = []
    for contender in contenders():
        if not contender.timed or contender.task not in tasks:
            continue
        for mode in ["table"] if contender.reads == "sql" else ["frame", "table"]:
            tell(f"the time of {contender.name}" + (", from a DataFrame" if mode == "frame" else ""))
            results["times"].append(child(url, "--measure", contender.name, mode, rows, runs))
    results["errors"] = errors(url, tasks, quick)
    results["minutes"] = (time.monotonic() - start) / 60
    return results


def main():
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--samplers", help="what cargo bench --bench samplers printed")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=TASKS)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--measure", nargs=4, metavar=("NAME", "MODE", "ROWS", "RUNS"))
    parser.add_argument("--draws", action="store_true")
    options = parser.parse_args()
    if options.measure:
        name, mode, rows, runs = options.measure
        found = measure(options.url, name, mode, int(rows), int(runs))
    elif options.draws:
        found = draws()
    else:
        found = everything(options.url, options.rows, options.runs, options.samplers, options.tasks, options.quick)
    print(json.dumps(found))


main()
