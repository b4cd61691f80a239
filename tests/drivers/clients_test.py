"""The gate under psycopg, SQLAlchemy and pandas, each with what it has of its own.

usage: clients_test.py CONNECTION, of a database that scripts/test-clients made. See clients.py.
"""

import pandas
import psycopg
import sqlalchemy
from psycopg import errors
from sqlalchemy import func, orm, select

from clients import ANALYST, EPSILON, MEAN, Client, main, url

# A mean with its count is one release, as cost is NOT NULL; which regions there are is another.
BY_REGION = "SELECT region, count(*), avg(cost) FROM visits WHERE age > 30 GROUP BY region ORDER BY region"


class Psycopg(Client):
    def setUp(self):
        self.connection = psycopg.connect(ANALYST, autocommit=True)
        self.addCleanup(self.connection.close)

    def test_parameters_are_bound_on_the_server(self):
        sql = "SELECT count(*), avg(cost) FROM visits WHERE age > %s AND region = ANY(%s) AND at >= %s"
        with self.spends(1):
            rows = self.connection.execute(sql, [30, ["r1", "r2"], "2025-03-01"]).fetchall()
        self.assert_near(rows, self.truth("SELECT count(*), avg(cost) FROM visits WHERE age > 30 AND region IN ('r1', 'r2') AND at >= '2025-03-01'"))

    def test_prepared_statements_become_generic(self):
        sql = "SELECT region, count(*), avg(cost) FROM visits WHERE age > %s GROUP BY region ORDER BY region"
        truth = self.truth(BY_REGION)
        for mode in ("auto", "force_generic_plan", "force_custom_plan"):
            with self.subTest(mode=mode), psycopg.connect(ANALYST, autocommit=True) as connection:
                connection.execute(f"SET plan_cache_mode = {mode}")
                # A release and a choice of groups; prepared by psycopg from the sixth on.
                with self.spends(2 * 12, charges=12):
                    for _ in range(12):
                        self.assert_near(connection.execute(sql, [30]).fetchall(), truth)
                plans = connection.execute(
                    "SELECT generic_plans, custom_plans FROM pg_prepared_statements WHERE statement LIKE '%avg(cost)%'", prepare=False
                ).fetchall()
                self.assertEqual(len(plans), 1)
                generic, custom = plans[0]
                if mode == "force_custom_plan":
                    self.assertEqual(generic, 0)
                else:
                    self.assertGreater(generic, 0)

    def test_bounds_and_epsilon_are_parameters(self):
        ((truth,),) = self.truth("SELECT avg(cost) FROM visits")
        with self.spends(8 * 5 / EPSILON, charges=8):
            for _ in range(8):
                (answer,) = self.connection.execute("SELECT dp_mean(cost, %s, %s, %s) FROM visits", [0, 100, 5]).fetchone()
                self.assertAlmostEqual(answer, truth, delta=MEAN)

    def test_binary_results(self):
        with self.spends(2), self.connection.cursor(binary=True) as cursor:
            rows = cursor.execute(BY_REGION).fetchall()
        self.assertEqual([type(value) for value in rows[0]], [str, int, float])
        self.assert_near(rows, self.truth(BY_REGION))

    def test_a_cursor_on_the_server_is_charged_once(self):
        for binary in (False, True):
            with self.subTest(binary=binary), self.spends(2), self.connection.transaction():
                with self.connection.cursor("kept") as cursor:
                    cursor.itersize = 2
                    rows = list(cursor.execute(BY_REGION, binary=binary))
                self.assert_near(rows, self.truth(BY_REGION))

    def test_rows_are_refused(self):
        self.connection.execute("SET dp_mean.previews = 'error'")
        with self.spends(0, charges=0):
            for sql in ("SELECT * FROM visits", "SELECT cost FROM visits LIMIT 1", "SELECT max(cost) FROM visits", "COPY visits TO STDOUT"):
                with self.subTest(sql=sql), self.assertRaises(errors.InsufficientPrivilege) as caught:
                    self.connection.execute(sql)
                self.assertEqual(caught.exception.sqlstate, "42501")

    def test_the_price_before(self):
        with self.spends(0, charges=0):
            self.assertAlmostEqual(self.price(BY_REGION), 2 * EPSILON, delta=1e-6)


class Base(orm.DeclarativeBase):
    pass


class Visit(Base):
    __tablename__ = "visits"
    __table_args__ = {"schema": "private"}
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    region: orm.Mapped[str]
    age: orm.Mapped[int]
    cost: orm.Mapped[float]


class SQLAlchemy(Client):
    def setUp(self):
        self.engine = sqlalchemy.create_engine(url("psycopg"), pool_size=2, max_overflow=0, pool_pre_ping=True)
        self.addCleanup(self.engine.dispose)

    def statement(self, table):
        return select(table.region, func.count(), func.avg(table.cost)).where(table.age > 30).group_by(table.region).order_by(table.region)

    def test_core_on_a_reflected_view(self):
        self.assertEqual(sorted(sqlalchemy.inspect(self.engine).get_view_names("private")), ["people", "visits"])
        visits = sqlalchemy.Table("visits", sqlalchemy.MetaData(), schema="private", autoload_with=self.engine)
        with self.spends(2), self.engine.connect() as connection:
            rows = connection.execute(self.statement(visits.c)).all()
        self.assert_near(rows, self.truth(BY_REGION))

    def test_orm(self):
        with self.spends(2), orm.Session(self.engine) as session:
            rows = session.execute(self.statement(Visit)).all()
        self.assert_near(rows, self.truth(BY_REGION))

    def test_a_query_around_answers(self):
        inner = self.statement(Visit).add_columns(func.avg(Visit.age).label("ages")).subquery()
        with self.spends(3), orm.Session(self.engine) as session:
            ages = session.execute(select(func.max(inner.c.ages))).scalar_one()
        (truth,) = self.truth("SELECT max(ages) FROM (SELECT avg(age) AS ages FROM visits WHERE age > 30 GROUP BY region) AS a")
        self.assertAlmostEqual(float(ages), float(truth[0]), delta=0.5)

    def test_the_pool_gives_each_checkout_its_own_charge(self):
        truth = self.truth(BY_REGION)
        with self.spends(2 * 8, charges=8):
            for _ in range(8):
                with self.engine.connect() as connection:
                    self.assert_near(connection.execute(self.statement(Visit)).all(), truth)
        self.assertLessEqual(self.engine.pool.checkedin(), 2)

    def test_rows_of_the_orm(self):
        with self.spends(0, charges=0), orm.Session(self.engine) as session:
            self.assertEqual(session.scalars(select(Visit).limit(10)).all(), [])  # a preview
            session.execute(sqlalchemy.text("SET dp_mean.previews = 'error'"))
            with self.assertRaises(sqlalchemy.exc.ProgrammingError) as caught:
                session.scalars(select(Visit).limit(10)).all()
        self.assertEqual(caught.exception.orig.sqlstate, "42501")

    def test_the_price_before(self):
        sql = str(self.statement(Visit).compile(self.engine, compile_kwargs={"literal_binds": True}))
        with self.spends(0, charges=0):
            self.assertAlmostEqual(self.price(sql), 2 * EPSILON, delta=1e-6)


class Pandas(Client):
    def setUp(self):
        self.engine = sqlalchemy.create_engine(url("psycopg"))
        self.addCleanup(self.engine.dispose)

    def test_read_sql_asks_once(self):
        with self.spends(2):
            frame = pandas.read_sql(BY_REGION, self.engine)
        self.assertEqual(list(frame.columns), ["region", "count", "avg"])
        self.assertEqual([str(kind) for kind in frame.dtypes][1:], ["int64", "float64"])
        self.assert_near(frame.itertuples(index=False), self.truth(BY_REGION))

    def test_read_sql_in_chunks_with_parameters(self):
        sql = sqlalchemy.text("SELECT region, count(*), avg(cost) FROM visits WHERE age > :age GROUP BY region ORDER BY region")
        with self.spends(2), self.engine.connect().execution_options(stream_results=True) as connection:
            chunks = list(pandas.read_sql(sql, connection, params={"age": 30}, chunksize=2))
        self.assertEqual([len(chunk) for chunk in chunks], [2, 2, 1])
        self.assert_near(pandas.concat(chunks).itertuples(index=False), self.truth(BY_REGION))

    def test_a_preview_and_a_refusal(self):
        with self.spends(0, charges=0):
            frame = pandas.read_sql_table("visits", self.engine, schema="private")
            self.assertEqual(len(frame), 0)
            self.assertIn("cost", frame.columns)
            with self.engine.connect() as connection:
                connection.exec_driver_sql("SET dp_mean.previews = 'error'")
                with self.assertRaises(pandas.errors.DatabaseError) as caught:
                    pandas.read_sql("SELECT * FROM visits", connection)
        self.assertEqual(caught.exception.__cause__.orig.sqlstate, "42501")

    def test_to_sql_keeps_the_answers(self):
        with self.spends(2):
            pandas.read_sql(BY_REGION, self.engine).to_sql("by_region", self.engine, schema="reports", index=False)
        with self.spends(0, charges=0):
            kept = pandas.read_sql("SELECT * FROM reports.by_region ORDER BY region", self.engine)
        self.assert_near(kept.itertuples(index=False), self.truth(BY_REGION))


if __name__ == "__main__":
    main()
