"""What a driver does: parameters of all types, prepared statements, generic plans, results in text and in binary.

usage: psycopg_test.py CONNECTION, of a database with the tables of demo/load.sql. The Python of
docs/prepared-statements.md runs first, block by block, as a reader would run it.
"""

import os
import sys
import unittest
from decimal import Decimal
from pathlib import Path

import psycopg
from psycopg.types.composite import CompositeInfo, register_composite

PAGE = Path(__file__).parents[2] / "docs" / "prepared-statements.md"
MEAN = "SELECT dp_mean(age, %s, %s, %s, %s) FROM person"
# Far more noise than a release at eps 50 has, far less than a wrong answer would be off.
CLOSE = 0.5


def python_blocks(page):
    """The fenced blocks of Python, each after as many empty lines as stand above it, so that errors name its lines."""
    blocks, block = [], None
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines()):
        if block is None and line == "```python":
            block = [""] * (number + 1)
        elif block is not None and line == "```":
            blocks.append("\n".join(block))
            block = None
        elif block is not None:
            block.append(line)
    return blocks


class Page(unittest.TestCase):
    def test_every_block_of_python_runs(self):
        blocks = python_blocks(PAGE)
        self.assertGreaterEqual(len(blocks), 5)
        names = {}
        for block in blocks:
            exec(compile(block, PAGE.name, "exec"), names)
        names["connection"].close()


class Driver(unittest.TestCase):
    def setUp(self):
        self.connection = psycopg.connect("dbname=health", autocommit=True)
        self.addCleanup(self.connection.close)
        self.age = self.one("SELECT avg(age) FROM person")

    def one(self, sql, parameters=(), **options):
        row = self.connection.execute(sql, parameters, **options).fetchone()
        self.assertEqual(len(row), 1)
        return row[0]

    def modes(self):
        for mode in ("auto", "force_generic_plan", "force_custom_plan"):
            self.connection.execute(f"SET plan_cache_mode = {mode}")
            for options in ({}, {"prepare": True}, {"prepare": False}, {"prepare": True, "binary": True}):
                yield mode, options

    def test_parameters_of_every_type(self):
        numbers = [(0, 100, 50), (0.0, 100.0, 50.0), (Decimal(0), Decimal("1e2"), Decimal("50.0")), ("0", "100", "50")]
        for mode, options in self.modes():
            with self.subTest(mode=mode, **options):
                for lo, hi, eps in numbers:
                    for mech in ("hourglass", "laplace", " staircase ( gamma = 0.5 ) "):
                        answer = self.one(MEAN, (lo, hi, eps, mech), **options)
                        self.assertIs(type(answer), float)
                        self.assertAlmostEqual(answer, self.age, delta=CLOSE)
                answer = self.one(MEAN, (0, 100, None, "gaussian(rho=100)"), **options)
                self.assertAlmostEqual(answer, self.age, delta=CLOSE)

    def test_text_and_varchar_need_no_cast(self):
        for kind in ("text", "varchar", "varchar(20)"):
            sql = f"SELECT dp_mean(age, 0, 100, 50, %s::{kind}) FROM person"
            answer = self.one(sql, ("laplace",))
            self.assertAlmostEqual(answer, self.age, delta=CLOSE)
        # %b: the driver says that it is a text.
        answer = self.one("SELECT dp_mean(age, 0, 100, 50, %b) FROM person", ("laplace",))
        self.assertAlmostEqual(answer, self.age, delta=CLOSE)

    def test_each_execution_is_a_release(self):
        for mode, options in self.modes():
            with self.subTest(mode=mode, **options):
                answers = {self.one(MEAN, (0, 100, 1, "hourglass"), **options) for _ in range(8)}
                self.assertEqual(len(answers), 8)
        with self.connection.cursor() as cursor:
            cursor.executemany(MEAN, [(0, 100, 1, "hourglass")] * 3, returning=True)
            answers = [cursor.fetchone()[0]]
            while cursor.nextset():
                answers.append(cursor.fetchone()[0])
        self.assertEqual(len(set(answers)), 3)
        with self.connection.pipeline():
            cursors = [self.connection.execute(MEAN, (0, 100, 1, "hourglass")) for _ in range(3)]
        self.assertEqual(len({cursor.fetchone()[0] for cursor in cursors}), 3)

    def test_generic_plans_take_other_values_each_time(self):
        self.connection.execute("SET plan_cache_mode = force_generic_plan")
        for hi in (100, 10, 100):
            for mech in ("hourglass", "laplace"):
                truth = self.one("SELECT avg(least(age, %s::float8)) FROM person", (hi,))
                self.assertAlmostEqual(self.one(MEAN, (0, hi, 50, mech), prepare=True), truth, delta=CLOSE)
        kept = self.connection.execute(
            "SELECT generic_plans, custom_plans FROM pg_prepared_statements WHERE statement LIKE '%dp_mean(%'"
        ).fetchall()
        self.assertEqual(kept, [(6, 0)])

    def test_refusals(self):
        wrong = [
            ((0, 100, None, "hourglass"), "22023"),
            ((None, 100, 1, "hourglass"), "22023"),
            ((0, 100, 1, None), "22023"),
            ((0, 100, 1, "nonsense"), "22023"),
            ((0, 100, 1, "geometric"), "22023"),
            ((0, 100, float("nan"), "hourglass"), "22023"),
            ((0, 100, Decimal("NaN"), "hourglass"), "22023"),
            ((0, float("inf"), 1, "hourglass"), "22023"),
            ((0, 100, "much", "hourglass"), "22P02"),
            ((0, 100, True, "hourglass"), "42883"),
        ]
        for mode, options in self.modes():
            with self.subTest(mode=mode, **options):
                for parameters, code in wrong:
                    with self.assertRaises(psycopg.Error) as caught:
                        self.one(MEAN, parameters, **options)
                    self.assertEqual(caught.exception.sqlstate, code, parameters)
                    if code == "22023":
                        self.assertTrue(caught.exception.diag.message_hint, parameters)
        # Without rows they are the same.
        for parameters, code in wrong:
            with self.assertRaises(psycopg.Error) as caught:
                self.one(MEAN + " WHERE false", parameters)
            self.assertEqual(caught.exception.sqlstate, code, parameters)

    def test_types_that_cannot_be_told(self):
        for sql, parameters, code in [
            ("SELECT dp_histogram(age, 0, 100, %s, 1.0) FROM person", (2**40,), "42883"),
            ("SELECT dp_histogram(age, 0, 100, %s, 1.0) FROM person", (5.0,), "42883"),
            ("SELECT dp_count(%s, %s) FROM person", ("x", "1"), "42P18"),
        ]:
            with self.assertRaises(psycopg.Error) as caught:
                self.one(sql, parameters)
            self.assertEqual(caught.exception.sqlstate, code)
        self.assertEqual(len(self.one("SELECT dp_histogram(age, 0, 100, %s::integer, 1.0) FROM person", (5.0,))), 5)
        people = self.one("SELECT count(*) FROM person")
        self.assertEqual(self.one("SELECT dp_count(%s::text, %s) FROM person", ("x", 50)), people)
        self.assertEqual(self.one("SELECT dp_count(%s::text, %s) FROM person", (None, 50)), 0)

    def test_the_same_call_twice(self):
        call = "dp_mean(age, 0, 100, {})"
        other_names = f"SELECT {call.format('%s')} = {call.format('%s')} FROM person"
        one_name = f"SELECT {call.format('%(eps)s')} = {call.format('%(eps)s')} FROM person"
        for mode, same in [("force_custom_plan", True), ("force_generic_plan", False)]:
            self.connection.execute(f"SET plan_cache_mode = {mode}")
            self.assertIs(self.one(other_names, (1, 1), prepare=True), same)
            self.assertIs(self.one(one_name, {"eps": 1}, prepare=True), True)

    def test_results_in_text_and_in_binary(self):
        for binary in (False, True):
            self.assertIs(type(self.one("SELECT dp_count(%s) FROM person", (1,), binary=binary)), int)
            self.assertIs(type(self.one("SELECT dp_keep(%s, %s) FROM person", (1, 1e-6), binary=binary)), bool)
            self.assertEqual(self.one("SELECT %s::dp_mechanism::text", (" laplace ",), binary=binary), "laplace")
            histogram = self.one("SELECT dp_histogram(age, 0, 100, 4, %s) FROM person", (1,), binary=binary)
            self.assertEqual([type(number) for number in histogram], [int] * 4)
            sums = "SELECT dp_sums(ARRAY[age, income], 0, 100, %s, %s) FROM person"
            numbers = self.one(sums, (1, "laplace(d=2)"), binary=binary)
            self.assertEqual([type(number) for number in numbers], [float] * 2)
            row = self.connection.execute(
                "SELECT (dp_var_pop_estimate(age, 0, 100, %s)).* FROM person", (50,), binary=binary
            ).fetchone()
            self.assertEqual([type(number) for number in row], [float] * 12 + [str, float, type(None)] + [float] * 2 + [str])
            self.assertAlmostEqual(row[6], self.age, delta=CLOSE)
            self.assertEqual(row[12], "row")
            self.assertAlmostEqual(row[13], 49, delta=1e-9)
            self.assertEqual(row[14:], (None, 50, 0, "laplace"))

    def test_composite_results(self):
        info = CompositeInfo.fetch(self.connection, "dp_vector_answer")
        register_composite(info, self.connection)
        for binary in (False, True):
            answer = self.one(
                "SELECT dp_counts_estimate(%s, %s, female = 1, age >= %s) FROM person",
                (None, "correlated(mu=10)", 60),
                binary=binary,
            )
            self.assertEqual(len(answer.value), 2)
            self.assertGreater(answer.sd, 0)
            self.assertEqual((answer.epsilon, answer.delta, answer.mechanism), (None, None, "correlated(mu=10.0)"))
            without = self.one(
                "SELECT dp_counts_estimate(%s, %s, female = 1) FROM person", (1, "laplace(d=1)"), binary=binary
            )
            self.assertIsNone(without.total)

    def test_literals(self):
        cursor = psycopg.ClientCursor(self.connection)
        for parameters in [
            (0, 100, 50, "laplace"),
            (-1.5, 100, Decimal("50"), "hourglass"),
            ("0", "100", "50", "laplace"),
        ]:
            answer, = cursor.execute(MEAN, parameters).fetchone()
            self.assertAlmostEqual(answer, self.age, delta=CLOSE)
        with self.assertRaises(psycopg.errors.InvalidParameterValue):
            cursor.execute(MEAN, (0, 100, None, "hourglass"))

    def test_a_transaction_survives_by_a_savepoint(self):
        with self.connection.transaction():
            with self.assertRaises(psycopg.errors.InvalidParameterValue):
                with self.connection.transaction():
                    self.one(MEAN, (0, 100, 1, "nonsense"), prepare=True)
            self.assertAlmostEqual(self.one(MEAN, (0, 100, 50, "laplace"), prepare=True), self.age, delta=CLOSE)


def connect_there(connection):
    """What `psql -d health` would need, as the page says only the database's name."""
    for key, value in psycopg.conninfo.conninfo_to_dict(connection).items():
        if key != "dbname":
            os.environ[f"PG{key.upper()}"] = str(value)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    connect_there(sys.argv.pop())
    unittest.main()
