// The gate under node-postgres: bound parameters, named (prepared) statements, a cursor, a pool, a refusal.
// usage: node_test.js HOST DATABASE, of a server that scripts/test-clients made. See ../clients.py for the numbers.
"use strict";
const assert = require("node:assert/strict");
const test = require("node:test");
const { Client, Pool } = require("pg");
const Cursor = require("pg-cursor");

const [host, database] = process.argv.slice(2);
const analyst = { host, port: 5432, database, user: "analyst" };
const EPSILON = 20, COUNT = 5, MEAN = 0.1;
const SQL = "SELECT region, count(*), avg(cost) FROM visits WHERE age > $1 GROUP BY region ORDER BY region";

async function as(user, work) {
  const client = new Client({ ...analyst, user });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

const truth = () => as("postgres", async (client) => (await client.query(SQL, [30])).rows);

// What `work` does costs so many releases, in so many charges.
async function spends(releases, charges, work) {
  const spent = () => as("analyst", async (client) =>
    (await client.query("SELECT spent_epsilon, charges FROM dp_budgets WHERE role = 'analyst'::regrole")).rows[0] ??
      { spent_epsilon: 0, charges: 0 });
  const before = await spent();
  await work();
  const after = await spent();
  assert.ok(Math.abs(after.spent_epsilon - before.spent_epsilon - releases * EPSILON) < 1e-6, "epsilon");
  assert.equal(Number(after.charges) - Number(before.charges), charges);
}

function near(rows, exact) {
  assert.ok(rows.length > 0);
  assert.deepEqual(rows.map((row) => row.region), exact.map((row) => row.region));
  rows.forEach((row, i) => {
    assert.ok(Math.abs(row.count - exact[i].count) <= COUNT, `count ${row.count} of ${exact[i].count}`);
    assert.ok(Math.abs(row.avg - exact[i].avg) <= MEAN, `avg ${row.avg} of ${exact[i].avg}`);
  });
  assert.notDeepEqual(rows.map((row) => row.avg), exact.map((row) => row.avg));
}

test("bound parameters", async () => {
  const exact = await truth();
  await spends(2, 1, () => as("analyst", async (client) => near((await client.query(SQL, [30])).rows, exact)));
});

test("a named statement is prepared once, and charged at each execution", async () => {
  const exact = await truth();
  await spends(2 * 12, 12, () => as("analyst", async (client) => {
    for (let i = 0; i < 12; i++) near((await client.query({ name: "by_region", text: SQL, values: [30] })).rows, exact);
    const { rows } = await client.query("SELECT generic_plans FROM pg_prepared_statements WHERE name = 'by_region'");
    assert.equal(rows.length, 1);
    assert.ok(Number(rows[0].generic_plans) > 0);
  }));
});

test("a cursor is charged once", async () => {
  const exact = await truth();
  await spends(2, 1, () => as("analyst", async (client) => {
    const cursor = client.query(new Cursor(SQL, [30]));
    const rows = [];
    for (let part; (part = await cursor.read(2)).length > 0; ) rows.push(...part);
    await cursor.close();
    near(rows, exact);
  }));
});

test("a pool", async () => {
  const exact = await truth();
  await spends(2 * 4, 4, async () => {
    const pool = new Pool({ ...analyst, max: 2 });
    const answers = await Promise.all([1, 2, 3, 4].map(() => pool.query(SQL, [30])));
    await pool.end();
    answers.forEach(({ rows }) => near(rows, exact));
  });
});

test("rows are refused, previews are empty, dp_cost says the price", async () => {
  await spends(0, 0, () => as("analyst", async (client) => {
    assert.equal((await client.query("SELECT * FROM visits LIMIT 10")).rows.length, 0);
    await client.query("SET dp_mean.previews = 'error'");
    await assert.rejects(client.query("SELECT * FROM visits LIMIT 10"), { code: "42501" });
    const price = await client.query("SELECT sum(epsilon) AS epsilon FROM dp_cost($1)", [SQL.replace("$1", "30")]);
    assert.ok(Math.abs(price.rows[0].epsilon - 2 * EPSILON) < 1e-6);
  }));
});
