"""The gate under Apache Superset, through its REST API: a connection as the analyst, a dataset over a view that dp_create_view made,
a dashboard with four charts, the values of a filter, and previews.

usage: superset_test.py CONNECTION, of a database that scripts/test-superset made. See clients.py.
"""

import json

from clients import COUNT, main, url
from superset_client import Superset

REGIONS = ["r0", "r1", "r2", "r3", "r4"]


def metric(aggregate, column, label):
    return {"expressionType": "SIMPLE", "column": {"column_name": column}, "aggregate": aggregate, "label": label}


MEAN_COST = metric("AVG", "cost", "mean")
ROWS = {"expressionType": "SQL", "sqlExpression": "COUNT(*)", "label": "rows"}


class Gate(Superset):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.database = cls.request("post", "database/", 201, json={
            "database_name": "private", "sqlalchemy_uri": url("psycopg2"), "expose_in_sqllab": True})["id"]
        cls.dataset = cls.request("post", "dataset/", 201, json={
            "database": cls.database, "schema": "private", "table_name": "visits"})["id"]

    def query(self, **query):
        query = {"filters": [], "extras": {}, "row_limit": 1000, "order_desc": True, **query}
        return {"datasource": {"id": self.dataset, "type": "table"}, "queries": [query], "result_format": "json",
                "result_type": "full", "force": True}

    def test_the_dataset_has_its_columns_for_nothing(self):
        with self.spends(0, charges=0):
            dataset = self.request("get", f"dataset/{self.dataset}")["result"]
            names = self.request("get", f"database/{self.database}/tables/?q=(schema_name:private)")["result"]
        self.assertIn("cost", [column["column_name"] for column in dataset["columns"]])
        self.assertTrue(next(column for column in dataset["columns"] if column["column_name"] == "at")["is_dttm"])
        self.assertEqual(sorted(name["value"] for name in names), ["people", "visits"])

    def charts(self):
        """The charts: a name, a type, its query, and what it spends."""
        series = {"columns": ["region"], "series_columns": ["region"], "series_limit": 2, "series_limit_metric": MEAN_COST,
                  "metrics": [MEAN_COST], "granularity": "at", "is_timeseries": True, "extras": {"time_grain_sqla": "P1M"},
                  "time_range": "2025-01-01 : 2025-05-01"}
        return [
            ("by month", "echarts_timeseries_line", series, 4),
            ("by region", "table", {"columns": ["region"], "metrics": [ROWS, MEAN_COST], "orderby": [[MEAN_COST, False]]}, 2),
            ("shares", "pie", {"columns": ["region"], "metrics": [ROWS]}, 2),
            ("all", "big_number_total", {"columns": [], "metrics": [ROWS]}, 1),
        ]

    def test_a_dashboard_of_four_charts(self):
        with self.spends(0, charges=0):
            dashboard = self.request("post", "dashboard/", 201, json={"dashboard_title": "visits", "published": True})["id"]
            charts = [
                self.request("post", "chart/", 201, json={
                    "slice_name": name, "viz_type": kind, "datasource_id": self.dataset, "datasource_type": "table",
                    "dashboards": [dashboard], "params": json.dumps({"viz_type": kind}),
                    "query_context": json.dumps({**self.query(**query), "form_data": {"viz_type": kind}}),
                })["id"]
                for name, kind, query, _ in self.charts()
            ]
            listed = self.request("get", f"dashboard/{dashboard}/charts")["result"]
        self.assertEqual(sorted(chart["slice_name"] for chart in listed), ["all", "by month", "by region", "shares"])
        data = []
        for chart, (name, _, _, releases) in zip(charts, self.charts()):
            # Its query asks for the regions first: two questions, each charged for itself.
            charges = 2 if name == "by month" else 1
            with self.subTest(chart=name), self.spends(releases, charges):
                (result,) = self.request("get", f"chart/{chart}/data/?force=true")["result"]
                self.assertEqual((result["status"], result["error"]), ("success", None))
                data.append(result["data"])
        self.assertEqual(len(data), 4)
        months, regions, shares, (total,) = data
        self.near_months(months)
        truth = self.truth("SELECT region, count(*), avg(cost) FROM visits GROUP BY region ORDER BY 3 DESC")
        self.assert_near([(row["region"], row["rows"], row["mean"]) for row in regions], truth)
        counts = {region: count for region, count, _ in truth}
        self.assertEqual(sorted(row["region"] for row in shares), REGIONS)
        for row in shares:
            self.assertAlmostEqual(row["rows"], counts[row["region"]], delta=COUNT)
        self.assertAlmostEqual(total["rows"], sum(counts.values()), delta=COUNT)

    def near_months(self, months):
        """The mean of a month and region, of hundreds of values, for the two regions with the highest mean of all months."""
        truth = self.truth("""
            SELECT region, (1000 * extract(epoch FROM date_trunc('month', at)))::bigint, avg(cost) FROM visits
            WHERE at >= '2025-01-01' AND at < '2025-05-01' AND region IN (
                SELECT region FROM visits WHERE at >= '2025-01-01' AND at < '2025-05-01' GROUP BY region
                ORDER BY avg(cost) DESC LIMIT 2)
            GROUP BY 1, 2""")
        self.assertEqual(len(truth), 8)
        answers = {(row["region"], int(row["__timestamp"])): row["mean"] for row in months}
        self.assertEqual(sorted(answers), sorted((region, month) for region, month, _ in truth))
        for region, month, mean in truth:
            self.assertAlmostEqual(answers[region, month], mean, delta=0.5)

    def test_the_values_of_a_filter(self):
        with self.spends(1):
            values = self.request("get", f"datasource/table/{self.dataset}/column/region/values/")["result"]
        self.assertEqual(sorted(values), REGIONS)

    def test_previews_are_empty(self):
        with self.spends(0, charges=0):
            reply = self.sql("SELECT * FROM private.visits LIMIT 100")
        self.assertEqual(reply["data"], [])
        self.assertIn("cost", [column["column_name"] for column in reply["columns"]])

    def test_samples_of_a_dataset_have_no_rows_but_a_count_of_them(self):
        # Superset asks for a page of rows, and how many there are; the second is a question like any other.
        with self.spends(1):
            reply = self.client.post(f"/datasource/samples?datasource_type=table&datasource_id={self.dataset}", json={})
        self.assertEqual(reply.status_code, 200, reply.get_data(as_text=True))
        result = reply.get_json()["result"]
        self.assertEqual(result["data"], [])
        ((rows,),) = self.truth("SELECT count(*) FROM visits")
        self.assertAlmostEqual(result["total_count"], rows, delta=COUNT)

    def sql(self, sql):
        return self.request("post", "sqllab/execute/", json={
            "database_id": self.database, "sql": sql, "schema": "private", "runAsync": False, "queryLimit": 1000})

    def test_sql_lab(self):
        with self.spends(2):
            data = self.sql("SELECT region, count(*) AS n, avg(cost) AS mean FROM private.visits GROUP BY region ORDER BY region")["data"]
        truth = self.truth("SELECT region, count(*), avg(cost) FROM visits GROUP BY region ORDER BY region")
        self.assert_near([(row["region"], row["n"], row["mean"]) for row in data], truth)

    def test_a_refusal_is_shown(self):
        with self.spends(0, charges=0):
            reply = self.client.post("/api/v1/sqllab/execute/", json={
                "database_id": self.database, "sql": "SELECT string_agg(region, ',') FROM private.visits", "runAsync": False})
        self.assertGreaterEqual(reply.status_code, 400)
        self.assertIn("has no private answer", reply.get_data(as_text=True))

    def test_a_virtual_dataset(self):
        with self.spends(0, charges=0):
            dataset = self.request("post", "dataset/", 201, json={
                "database": self.database, "schema": "private", "table_name": "old",
                "sql": "SELECT region, cost FROM private.visits WHERE age > 30"})["id"]
        query = self.query(columns=["region"], metrics=[ROWS, MEAN_COST], orderby=[["region", True]])
        query["datasource"]["id"] = dataset
        with self.spends(2):
            (result,) = self.request("post", "chart/data", json=query)["result"]
        truth = self.truth("SELECT region, count(*), avg(cost) FROM visits WHERE age > 30 GROUP BY region ORDER BY region")
        self.assert_near([(row["region"], row["rows"], row["mean"]) for row in result["data"]], truth)


if __name__ == "__main__":
    main()
