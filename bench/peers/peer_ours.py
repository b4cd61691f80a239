"""This extension, and PostgreSQL's own aggregates for the price of no privacy."""

from peer import ADD_REMOVE, DELTA, QUESTIONS, REPLACE, Contender

QUESTION_LIST = ", ".join(f"q{i}" for i in range(QUESTIONS))


# Aggregates over the same arguments whose transition function is the same share one state, and each runs its own final
# function: so copies of an aggregate under other names give as many releases for one scan.
COPIES = 200
COPY_AGGREGATE = f"""
    SELECT format('CREATE AGGREGATE copy_%s_of_dp_mean(%s) (SFUNC = %s, STYPE = %s, FINALFUNC = %s, '
                  'FINALFUNC_MODIFY = SHAREABLE)', copy, pg_get_function_identity_arguments(p.oid), t.proname,
                  aggtranstype::regtype, f.proname)
    FROM pg_aggregate JOIN pg_proc p ON p.oid = aggfnoid JOIN pg_proc t ON t.oid = aggtransfn
    JOIN pg_proc f ON f.oid = aggfinalfn, generate_series(1, {COPIES - 1}) AS copy
    WHERE p.proname = 'dp_mean' AND aggfinalmodify = 's'"""


def query(answer, copies=1):
    """Releases of an SQL expression. Many of them are of as few scans as their copies allow."""

    def make(source, epsilon, many):
        cursor = source.connect().cursor()
        expression = answer.format(epsilon=f"{epsilon!r}::float8", n=source.rows)
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


FILTERS = ", ".join(f"count(*) FILTER (WHERE q{i})" for i in range(QUESTIONS))
CONTENDERS = [
    Contender("PostgreSQL `avg`, no privacy", "mean", "none", "", "sql", query("avg(x)"), accuracy=False),
    mean("`dp_mean`", "hourglass", "pure", ADD_REMOVE),
    mean("`dp_mean`, `clipped(n=)`", "clipped(n={n})", "pure", REPLACE),
    mean("`dp_mean`, `gaussian`", f"gaussian(delta={DELTA})", "approximate", ADD_REMOVE),
    Contender("PostgreSQL 64 `count(*) FILTER`, no privacy", "counts", "none", "", "sql",
              query(f"ARRAY[{FILTERS}]"), accuracy=False),
    counts("`dp_counts`", f"correlated(delta={DELTA})", "approximate"),
    counts("`dp_counts`, `gaussian`", f"gaussian(delta={DELTA})", "approximate"),
    counts("`dp_counts`, `laplace`", "laplace", "pure"),
]
