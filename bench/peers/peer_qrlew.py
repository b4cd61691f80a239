"""Qrlew, which writes a query with noise in it that PostgreSQL runs. All its noise is Gaussian."""

from peer import ADD_REMOVE, DELTA, QUESTIONS, Contender


def query(answers):
    def make(source, epsilon, many):
        import sqlalchemy
        from pyqrlew import Dialect, dataset_from_database

        engine = sqlalchemy.create_engine("postgresql+psycopg2://", creator=source.connect)
        dataset = dataset_from_database("peers", engine, "public")
        if "x" in source.columns:
            dataset = dataset.with_range("public", source.table, "x", 0.0, 1.0)
        relation = dataset.relation(f"SELECT {answers} FROM {source.table}")
        private = relation.rewrite_with_differential_privacy(
            dataset, [(source.table, [], "id")], {"epsilon": epsilon, "delta": DELTA},
            max_multiplicity=1.0, max_multiplicity_share=1.0)
        sql = private.relation().to_query(Dialect.PostgreSql)
        cursor = source.connect().cursor()

        def release():
            cursor.execute(sql)
            return [row if len(row) > 1 else row[0] for row in cursor.fetchall()]

        return release

    return make


CONTENDERS = [
    Contender("Qrlew `AVG`", "mean", "approximate", ADD_REMOVE, "sql", query("avg(x) AS m"), patience=2),
    Contender(f"Qrlew {QUESTIONS} `COUNT`", "counts", "approximate", ADD_REMOVE, "sql",
              query(", ".join(f"count(CASE WHEN q{i} THEN 1 END) AS a{i}" for i in range(QUESTIONS))), patience=2, timed=False),
]
