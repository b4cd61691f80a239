"""SmartNoise SQL, which sends a query without privacy to PostgreSQL and adds noise to what comes back.

Its epsilon is that of each column of the query it sends. A mean is a sum and a count there, so that it gets half of
epsilon for each; `get_privacy_cost` says that this is the epsilon wanted.
"""

from peer import ADD_REMOVE, DELTA, QUESTIONS, Contender


def reader(source, table, columns, privacy):
    import snsql

    metadata = {"row_privacy": True, "censor_dims": False, "clamp_counts": False, "rows": source.rows, **columns}
    if table != source.table:
        metadata["g"] = {"type": "int"}
    return snsql.from_connection(source.connect(), privacy=privacy, metadata={"": {"public": {table: metadata}}})


def releases(source, table, columns, answers, privacy, epsilon, delta, many):
    """Releases of one query. Many of them are the groups of one, each a copy of the same rows."""
    if many > 1:
        table += "_copies"
    group = ("g, ", " GROUP BY g") if many > 1 else ("", "")
    sql = f"SELECT {group[0]}{answers} FROM public.{table}{group[1]}"
    private = reader(source, table, columns, privacy)

    def release():
        if not release.checked:
            spent = private.get_privacy_cost(sql)
            # Its Laplace noise has no delta: what it reports is the slack of its own composition.
            if spent[0] > epsilon * (1 + 1e-9) or spent[1] > max(delta, 1e-15):
                raise ValueError(f"{sql} costs {spent}")
            release.checked = True
        rows = private.execute(sql)[1:]
        return [row[1:] if many > 1 else row for row in rows]

    # The cost is looked up where the error is measured, not where the time is.
    release.checked = many == 1
    return release


def mean(source, epsilon, many):
    from snsql import Privacy

    column = {"x": {"type": "float", "lower": 0.0, "upper": 1.0}}
    release = releases(source, source.table, column, "AVG(x) AS m", Privacy(epsilon=epsilon / 2), epsilon, 0, many)
    return lambda: [row[0] for row in release()]


def counts(delta):
    def make(source, epsilon, many):
        from snsql import Privacy
        from snsql.sql.odometer import OdometerHeterogeneous

        def spent(each, slack):
            odometer = OdometerHeterogeneous(Privacy(epsilon=each, delta=slack))
            for _ in range(QUESTIONS):
                odometer.spend(Privacy(epsilon=each, delta=0.0))
            return odometer.spent

        # Half of a query's delta is the slack of its advanced composition, and all that Laplace noise costs.
        slack = 1.999 * delta or 10e-16
        low, high = epsilon / QUESTIONS, epsilon
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if spent(middle, slack)[0] <= epsilon else (low, middle)
        columns = {f"q{i}": {"type": "int", "lower": 0, "upper": 1} for i in range(QUESTIONS)}
        answers = ", ".join(f"SUM(q{i}) AS s{i}" for i in range(QUESTIONS))
        table = f"{source.table}_as_integers"
        return releases(source, table, columns, answers, Privacy(epsilon=low, delta=slack), epsilon, delta, many)

    return make


CONTENDERS = [
    Contender("SmartNoise `AVG`", "mean", "pure", ADD_REMOVE, "sql", mean, batch=200, patience=2),
    Contender(f"SmartNoise {QUESTIONS} `SUM`, its composition", "counts", "approximate", ADD_REMOVE, "sql",
              counts(DELTA), batch=200),
    Contender(f"SmartNoise {QUESTIONS} `SUM`", "counts", "pure", ADD_REMOVE, "sql", counts(0), batch=200, timed=False),
]
