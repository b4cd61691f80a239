"""The dashboard of budgets, dashboards/superset/budgets, in Apache Superset: imported as it is, connected as docs/operating.md
says, its charts against the ledger and against what was asked, and a picture of it in a browser.

usage: budgets_test.py CONNECTION PICTURE, of an empty database. No browser, no picture: then PICTURE is missing.
"""

import collections
import datetime
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest

import psycopg
import yaml
from psycopg import errors
from psycopg.conninfo import make_conninfo
from werkzeug.serving import make_server

import budgets
from clients import DATABASE, OWNER, SOCKET
from superset_client import Superset

EXPORT = pathlib.Path(__file__).parents[2] / "dashboards" / "superset" / "budgets"
PICTURE = sys.argv[2] if len(sys.argv) > 2 else None
CONNECTION = f"postgresql+psycopg2://budget_reader@/{DATABASE}?host={SOCKET}&port=5432"
CHARTS = ["Answered and refused", "Refused by day and role", "Refused questions", "Spent by day and role", "Spent of each period", "What is left"]


def zipped():
    """The folder as Superset takes it, by the command of docs/operating.md."""
    with tempfile.TemporaryDirectory() as folder:
        archive = pathlib.Path(folder) / "budgets.zip"
        subprocess.run([sys.executable, "-m", "zipfile", "-c", archive, EXPORT.name], cwd=EXPORT.parent, check=True)
        return io.BytesIO(archive.read_bytes())


def day(milliseconds):
    return datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.timezone.utc).date()


class Budgets(Superset):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.months = budgets.make(OWNER)
        cls.today = datetime.date.today()
        # Nothing is imported without the password; this server asks for none.
        cls.request("post", "dashboard/import/", 422, data={"formData": (zipped(), "budgets.zip")})
        cls.request("post", "dashboard/import/", data={
            "formData": (zipped(), "budgets.zip"), "passwords": json.dumps({"databases/dp_mean_budgets.yaml": "any"})})
        (database,) = cls.request("get", "database/")["result"]
        cls.request("put", f"database/{database['id']}", json={"sqlalchemy_uri": CONNECTION})
        (cls.dashboard,) = cls.request("get", "dashboard/")["result"]
        charts = cls.request("get", f"dashboard/{cls.dashboard['id']}/charts")["result"]
        cls.charts = {chart["slice_name"]: chart for chart in charts}

    def reader(self, sql):
        with psycopg.connect(make_conninfo(OWNER, user="budget_reader")) as connection:
            return connection.execute(sql).fetchall()

    def data(self, name, **of):
        """What a chart shows; of these values of columns alone, as the filter of the dashboard has it."""
        chart = self.request("get", f"chart/{self.charts[name]['id']}")["result"]
        context = json.loads(chart["query_context"])
        context["queries"][0]["filters"] += [{"col": column, "op": "==", "val": value} for column, value in of.items()]
        (result,) = self.request("post", "chart/data", json={**context, "force": True})["result"]
        self.assertEqual((result["status"], result["error"]), ("success", None))
        return result["data"]

    def test_it_has_six_charts_and_no_secret(self):
        self.assertEqual(sorted(self.charts), CHARTS)
        connection = yaml.safe_load((EXPORT / "databases" / "dp_mean_budgets.yaml").read_text())
        self.assertEqual(connection["sqlalchemy_uri"], "postgresql+psycopg2://budget_reader:XXXXXXXXXX@localhost:5432/health")
        self.assertFalse(connection["expose_in_sqllab"] or connection["allow_dml"])

    def test_its_role_sees_and_cannot_change(self):
        seen = {budget for (budget,) in self.reader("SELECT budget FROM dp_budgets")}
        self.assertEqual(seen, {"patients", "staff", "visits", "an old study"})
        for call in ("dp_set_budget('patients', 100, 0)", "dp_charge('staff', 0.1, 0)", "dp_close_budget('staff')", "dp_ledger_archive('infinity')",
                     "dp_continue_budget('staff', 0, 0)", "dp_restore_budget('staff', 0, 0)", "dp_set_budget_owner('staff', 'budget_reader')"):
            with self.subTest(call=call), self.assertRaises(errors.InsufficientPrivilege):
                self.reader(f"SELECT {call}")

    def test_each_chart_has_data_as_it_was_saved(self):
        for name, chart in self.charts.items():
            with self.subTest(chart=name):
                (result,) = self.request("get", f"chart/{chart['id']}/data/?force=true")["result"]
                self.assertEqual((result["status"], result["error"]), ("success", None))
                self.assertGreater(len(result["data"]), 0)

    def test_spent_by_day_and_role(self):
        for budget in ("patients", "staff", "visits"):
            with self.subTest(budget=budget):
                expected = collections.Counter()
                for question in budgets.questions():
                    if question.budget == budget:
                        expected[self.today - datetime.timedelta(question.days), question.role] += question.share * question.periods
                shown = {(day(row["at"]), row["role"]): row["Share of the limit"] for row in self.data("Spent by day and role", budget=budget)}
                self.assertEqual(sorted(shown), sorted(expected))
                for key, share in expected.items():
                    self.assertAlmostEqual(shown[key], share, delta=1e-6)
                # All days together are what the ledger says of the budget, or of its periods.
                view = "dp_budget_periods" if budget == "visits" else "dp_budgets"
                ((spent,),) = self.reader(f"SELECT sum(spent_share) FROM {view} WHERE budget = '{budget}' AND role IS NULL")
                self.assertAlmostEqual(sum(shown.values()), spent, delta=1e-6)

    def test_what_is_left(self):
        shown = {(row["budget"], row["who"]): row for row in self.data("What is left")}
        self.assertEqual(sorted(shown), [("patients", "all together"), ("staff", "all together"), ("staff", "carl")])
        truth = self.reader("""
            SELECT budget, coalesce(role::text, 'all together'), limit_epsilon, spent_share, 1 - spent_share, questions_left, ends_on
            FROM dp_budgets WHERE (budget, coalesce(role::text, '')) IN (('patients', ''), ('staff', ''), ('staff', 'carl'))""")
        for budget, who, *numbers, ends_on in truth:
            row = shown[budget, who]
            self.assertEqual([row[name] for name in ("limit_epsilon", "spent_share", "left_share", "questions_left")], numbers)
            self.assertEqual(day(row["ends_on"]), ends_on)
        # 25 of 30 questions, two of them today: the five that are left are those of two days and a half.
        patients = shown["patients", "all together"]
        self.assertEqual(patients["questions_left"], 5)
        self.assertAlmostEqual(patients["spent_share"], 25 / 30, delta=1e-6)
        self.assertAlmostEqual(patients["last_day_share"], 2 / 30, delta=1e-6)
        self.assertEqual(day(patients["ends_at_last_day"]), self.today + datetime.timedelta(2))
        # 25 questions in 30 days: the five that are left are those of six days.
        self.assertEqual(day(patients["ends_on"]), self.today + datetime.timedelta(6))
        for who in ("all together", "carl"):
            self.assertEqual((shown["staff", who]["left_share"], shown["staff", who]["questions_left"]), (0, 0))
            self.assertIsNone(shown["staff", who]["last_day_share"])

    def test_spent_of_each_period(self):
        shown = {(row["budget"], row["period"]): row["Spent"] for row in self.data("Spent of each period")}
        asked = collections.Counter()
        for question in budgets.questions():
            if question.budget == "visits":
                asked.update(range(question.first, question.first + question.periods))
        self.assertEqual(sorted(asked.values()), [1, 1, 2, 3, 4, 6])
        for month, number in asked.items():
            self.assertAlmostEqual(shown["visits", str(self.months[month])], number / 6, delta=1e-6)
        self.assertEqual(len(shown), len(asked))

    def test_refused_questions(self):
        expected = collections.Counter((self.today - datetime.timedelta(question.days), question.role) for question in budgets.REFUSED)
        shown = {(day(row["at"]), row["role"]): row["Minutes with a refusal"] for row in self.data("Refused by day and role")}
        self.assertEqual(shown, dict(expected))
        rows = [(day(row["at"]), row["budget"], row["role"], row["query"]) for row in self.data("Refused questions")]
        self.assertEqual(rows, self.reader("SELECT l.at::date, budget, role::text, query FROM dp_ledger l WHERE refused ORDER BY l.at DESC"))
        self.assertEqual(len(rows), len(budgets.REFUSED))

    def test_answered_and_refused(self):
        shown = {(row["budget"], row["role"]): (row["answered"], row["reused"], row["refused"]) for row in self.data("Answered and refused")}
        count = lambda questions: collections.Counter((question.budget, question.role) for question in questions)
        answered, reused, refused = count(budgets.questions()), count([budgets.REUSED]), count(budgets.REFUSED)
        self.assertEqual(shown, {key: (answered[key], reused[key], refused[key]) for key in answered | refused})

    @unittest.skipUnless(PICTURE, "there is no browser")
    def test_in_a_browser(self):
        import browser

        server = make_server("127.0.0.1", 0, self.app, threaded=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.shutdown)
        session = self.client.get_cookie("session").value
        with browser.Browser(f"http://127.0.0.1:{server.port}", session) as page:
            page.open(f"/superset/dashboard/{self.dashboard['id']}/", len(CHARTS))
            self.assertEqual(page.empty(), [])
            texts = page.texts()
            page.picture(PICTURE)
        for name in CHARTS:
            self.assertIn(name, texts)
        self.assertIn("83.3%", texts)
        self.assertLess(pathlib.Path(PICTURE).stat().st_size, 200_000)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
