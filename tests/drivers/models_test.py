"""The gate under dbt: a model that is a table of answers, one that is built on it, and one that asks for rows.

usage: models_test.py CONNECTION, of a database that scripts/test-clients made. See clients.py. The project is tests/drivers/dbt.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import psycopg
from clients import ANALYST, DATABASE, OWNER, SOCKET, Client, main

PROJECT = Path(__file__).parent / "dbt"
TRUTH = "SELECT region, count(*), avg(cost) FROM visits WHERE age > 30 GROUP BY region ORDER BY region"


class Dbt(Client):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.project = Path(folder.name) / "project"
        shutil.copytree(PROJECT, self.project)
        with psycopg.connect(OWNER, autocommit=True) as connection:
            # dbt makes its schema, also where it is there.
            connection.execute(f"GRANT CREATE ON DATABASE {DATABASE} TO analyst")

    def dbt(self, *arguments, status=0):
        run = subprocess.run(
            [Path(sys.executable).with_name("dbt"), "--no-use-colors", *arguments, "--profiles-dir", "."],
            cwd=self.project,
            env={**os.environ, "CLIENTS_HOST": SOCKET, "CLIENTS_DATABASE": DATABASE},
            capture_output=True,
            text=True,
        )
        self.assertEqual(run.returncode, status, run.stdout + run.stderr)
        return run.stdout

    def test_a_table_of_answers(self):
        self.assertAlmostEqual(self.price(TRUTH), 40, delta=1e-6)
        with self.spends(2):
            output = self.dbt("build")
        self.assertIn("PASS=5 WARN=0 ERROR=0 SKIP=0", output)
        with self.spends(0, charges=0):
            self.dbt("run", "--exclude", "tag:spends")
            with psycopg.connect(ANALYST) as connection:
                rows = connection.execute("SELECT * FROM reports.by_region ORDER BY region").fetchall()
                (total,) = connection.execute("SELECT sum(share) FROM reports.shares").fetchone()
        self.assert_near(rows, self.truth(TRUTH))
        self.assertAlmostEqual(float(total), 1, delta=1e-9)

    def test_rows_are_refused(self):
        shutil.copy(self.project / "refused" / "rows.sql", self.project / "models")
        with self.spends(0, charges=0):
            with psycopg.connect(OWNER, autocommit=True) as connection:
                connection.execute("ALTER ROLE analyst SET dp_mean.previews = 'error'")
            try:
                output = self.dbt("run", "--select", "rows", status=1)
            finally:
                with psycopg.connect(OWNER, autocommit=True) as connection:
                    connection.execute("ALTER ROLE analyst SET dp_mean.previews = 'empty'")
        self.assertIn("permission denied for table visits: ", output)


if __name__ == "__main__":
    main()
