"""This extension, and PostgreSQL's own aggregates for the price of no privacy."""

from peer import ADD_REMOVE, DELTA, QUESTIONS, REPLACE, Contender

QUESTION_LIST = ", ".join(f"q{i}" for i in range(QUESTIONS))


# Aggregates over the same arguments whose transition function is the same share one state, and each runs its own final
# function: so copies of an aggregate under other names give as many releases for one scan.
COPIES = 200
COPY_AGGREGATE = f"""
    SELECT format('CREATE AGGREGATE copy_%s_of_dp_mean(%s) (SFUNC = %s, STYPE = %s, FINALFUNC = %s, '
                  'FINALFUNC_MODIFY = SHAREABLE)', copy, pg_get_function_identity_arguments(p.oid), aggtransfn,
                  aggtranstype::regtype, aggfinalfn)
    FROM pg_aggregate JOIN pg_proc p ON p.oid = aggfnoid, generate_series(1, {COPIES - 1}) AS copy
    WHERE p.proname = 'dp_mean' AND aggfinalmodify = 's'"""


def query(answer, copies=1):
    """Releases of an SQL expression. Many of them are of as few scans as their copies allow."""

    def make(source, epsilon, many):
        cursor = source.connect().cursor()
        expression = answer.format(epsilon=f"{epsilon!r}::float8", n=source.rows, q=source.q)
        if many == 1:
            sql = f"SELECT {expression} FROM {source.table}"
        else:
            each = ", ".join([expression] + [f"copy_{copy}_of_{expression}" for copy in range(1, copies)])
            answers = f"ARRAY[{each}]" if copies > 1 else each
            # The condition is always true; it makes the sub-select depend on `scan`, so that it runs again for each.
            sql = (f"SELECT s.answers FROM generate_series(1, {many // copies}) AS scan, LATERAL "
                   f"(SELECT {answers} AS answers FROM {source.table} WHERE scan > 0) AS s")

        def release():
            cursor.execute(sql)
            answers = [row[0] for row in cursor.fetchall()]
            return [each for scan in answers for each in scan] if many > 1 and copies > 1 else answers

        return release

    return make


def mean(name, mechanism, privacy, neighbours):
    return Contender(name, "mean", privacy, neighbours, "sql",
                     query(f"dp_mean(x, 0, 1, {{epsilon}}, '{mechanism}')", COPIES), batch=100 * COPIES,
                     releases=100_000)


def counts(name, mechanism, privacy):
    return Contender(name, "counts", privacy, ADD_REMOVE, "sql",
                     query(f"dp_counts({{epsilon}}, '{mechanism}', {QUESTION_LIST})"), batch=100)


def other(name, task, answer):
    return Contender(name, task, "pure", ADD_REMOVE, "sql", query(answer), batch=100, timed=False)


def bounds_then_mean(source, epsilon, many):
    """Half of eps for each; where no bounds are found, the answer is 0."""
    cursor = source.connect().cursor()
    half = f"{epsilon / 2!r}::float8"

    def release():
        cursor.execute(f"SELECT (dp_bounds(x, {half})).* FROM {source.table}")
        lower, upper = cursor.fetchone()
        if lower is None or upper is None:
            return [0.0]
        cursor.execute(f"SELECT dp_mean(x, %s, %s, {half}) FROM {source.table}", (lower, upper))
        return [cursor.fetchone()[0]]

    return release


FILTERS = ", ".join(f"count(*) FILTER (WHERE q{i})" for i in range(QUESTIONS))
CONTENDERS = [
    Contender("PostgreSQL `avg`, no privacy", "mean", "none", "", "sql", query("avg(x)"), accuracy=False),
    mean("`dp_mean`", "hourglass", "pure", ADD_REMOVE),
    mean("`dp_mean`, `clipped(n=)`", "clipped(n={n})", "pure", REPLACE),
    mean("`dp_mean`, `gaussian`", f"gaussian(delta={DELTA})", "approximate", ADD_REMOVE),
    Contender(f"PostgreSQL {QUESTIONS} `count(*) FILTER`, no privacy", "counts", "none", "", "sql",
              query(f"ARRAY[{FILTERS}]"), accuracy=False),
    counts("`dp_counts`", f"correlated(delta={DELTA})", "approximate"),
    counts("`dp_counts`, `gaussian`", f"gaussian(delta={DELTA})", "approximate"),
    counts("`dp_counts`, `knorm`", "knorm", "pure"),
    counts("`dp_counts`, `laplace`", "laplace", "pure"),
    other("`dp_quantile`", "quantile", "dp_quantile(x, 0, 1, {q}, {epsilon})"),
    other("`dp_regr_slope`", "slope", "dp_regr_slope(y, x, 0, 1, 0, 1, {epsilon})"),
    other("`dp_mean`, `auto`", "unbounded", "dp_mean(x, NULL, NULL, {epsilon}, 'auto')"),
    Contender("`dp_bounds`, then `dp_mean`", "unbounded", "pure", ADD_REMOVE, "sql", bounds_then_mean, timed=False),
]
