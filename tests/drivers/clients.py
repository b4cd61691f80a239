"""What the tests of clients share: the truth, which the superuser reads, and what the analyst has spent."""

import contextlib
import sys
import unittest

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

# The budget of tests/forms/world.sql, and what it says of one aggregate, or of one choice of groups.
EPSILON = 20
# The noise of world.sql is for 4 rows of a person at epsilon 20: a count is further off than this with a probability of
# less than 1e-8, and a mean of thousands of values between 0 and 100 as well.
COUNT = 5
MEAN = 0.1

OWNER = sys.argv[1] if len(sys.argv) > 1 else ""
ANALYST = make_conninfo(OWNER, user="analyst")
SOCKET, DATABASE = (conninfo_to_dict(OWNER).get(name) for name in ("host", "dbname"))


def url(driver):
    """The analyst's connection as SQLAlchemy writes it."""
    return f"postgresql+{driver}://analyst@/{DATABASE}?host={SOCKET}&port=5432"


class Client(unittest.TestCase):
    def truth(self, sql):
        with psycopg.connect(OWNER) as connection:
            return connection.execute(sql).fetchall()

    def spent(self):
        with psycopg.connect(ANALYST) as connection:
            return connection.execute("SELECT spent_epsilon, charges FROM dp_budgets WHERE role = 'analyst'::regrole").fetchone() or (0, 0)

    def price(self, sql):
        with psycopg.connect(ANALYST) as connection:
            return connection.execute("SELECT sum(epsilon) FROM dp_cost(%s)", [sql]).fetchone()[0]

    @contextlib.contextmanager
    def spends(self, releases, charges=1):
        """What is inside costs so many releases of world.sql, in so many charges."""
        epsilon, number = self.spent()
        yield
        after, last = self.spent()
        self.assertAlmostEqual(after - epsilon, releases * EPSILON, delta=1e-6)
        self.assertEqual(last - number, charges)

    def assert_near(self, rows, truth):
        """Rows of keys, then a count, then a mean: the same keys, and the numbers but for noise."""
        rows, truth = [tuple(row) for row in rows], [tuple(row) for row in truth]
        self.assertEqual([row[:-2] for row in rows], [row[:-2] for row in truth])
        self.assertGreater(len(rows), 0)
        for row, true in zip(rows, truth):
            self.assertAlmostEqual(float(row[-2]), float(true[-2]), delta=COUNT)
            self.assertAlmostEqual(float(row[-1]), float(true[-1]), delta=MEAN)
        # Noise was added: no answer is the truth itself.
        self.assertNotEqual([float(row[-1]) for row in rows], [float(true[-1]) for true in truth])


def main():
    if not OWNER:
        raise SystemExit("usage: %s CONNECTION, of a database that scripts/test-clients made" % sys.argv[0])
    unittest.main(argv=sys.argv[:1])
