"""A month of three budgets for the dashboard of their owner. What happens now is moved to the days before by the superuser, as
nobody else could.
"""

import collections

import psycopg
from psycopg import errors
from psycopg.conninfo import make_conninfo

TABLES = """
CREATE EXTENSION dp_mean;
CREATE ROLE budget_owners;
CREATE ROLE budget_reader LOGIN IN ROLE budget_owners;
CREATE ROLE steward LOGIN IN ROLE budget_owners;
CREATE ROLE ann LOGIN;
CREATE ROLE bob LOGIN;
CREATE ROLE carl LOGIN;
GRANT EXECUTE ON FUNCTION dp_set_budget, dp_close_budget(text), dp_set_budget_owner(text, regrole),
    dp_charge(text, float8, float8, regrole) TO steward;
CREATE TABLE patient (id int PRIMARY KEY, age int NOT NULL, weight float8 NOT NULL);
INSERT INTO patient SELECT i, 20 + i % 60, 50 + i % 50 FROM generate_series(1, 5000) AS i;
CREATE TABLE visit (patient int NOT NULL, day date NOT NULL, cost float8 NOT NULL);
INSERT INTO visit SELECT p, current_date - (1 + 7 * p % 365), 40 + p % 60 FROM generate_series(1, 5000) AS p;
ALTER TABLE patient OWNER TO steward;
ALTER TABLE visit OWNER TO steward;
SELECT dp_set_budget('another''s', 1, 0);
"""
BUDGETS = """
SELECT dp_set_budget('patients', 3, 1e-6), dp_set_budget('staff', 2, 0), dp_set_budget('visits', 3, 1e-6),
    dp_set_budget('an old study', 1, 0);
SELECT dp_set_budget('staff', 1.5, 0, 'carl');
SELECT dp_protect('patient', 'id', 'patients', query_eps => 0.1),
    dp_protect('visit', 'patient', 'visits', query_eps => 0.5, period => 'day', every => '1 month', since => '{since}');
SELECT dp_declare('patient', 'weight', 0, 200), dp_declare('visit', 'cost', 0, 200);
SELECT dp_allow('patient', 'ann'), dp_allow('patient', 'bob'), dp_allow('visit', 'ann'), dp_allow('visit', 'bob');
SELECT dp_close_budget('an old study');
SELECT dp_set_budget_owner(budget, 'budget_owners') FROM dp_budgets WHERE role IS NULL;
"""
# The last six months that have ended, and the first day of this one.
MONTHS = "SELECT (date_trunc('month', now()) - n * interval '1 month')::date FROM generate_series(6, 0, -1) AS n"

# A question: how many days ago, by which role, of which budget, and what it takes of the limit of each of so many periods.
Asked = collections.namedtuple("Asked", "days role budget share first periods")


def questions():
    """What is asked and answered."""
    asked = []
    for days in range(27, -1, -1):
        if days % 7 not in (2, 3):  # two days of each week without
            asked.append(Asked(days, "ann", "patients", 0.1 / 3, None, 1))
            if days % 4 == 0:
                asked.append(Asked(days, "bob", "patients", 0.1 / 3, None, 1))
    for days, role in [(24, "carl"), (20, "carl"), (17, "ann"), (12, "carl"), (9, "carl"), (4, "carl"), (3, "ann"), (2, "carl")]:
        asked.append(Asked(days, role, "staff", 0.25 / 2, None, 1))
    for days, role, first, periods in [
        (26, "ann", 0, 3), (25, "bob", 2, 3), (19, "ann", 3, 3), (13, "bob", 4, 2), (11, "ann", 5, 1), (5, "ann", 3, 3), (4, "bob", 5, 1), (1, "ann", 5, 1),
    ]:
        asked.append(Asked(days, role, "visits", 0.5 / 3, first, periods))
    return asked


# What is asked of the same, and refused.
REFUSED = [
    Asked(2, "carl", "staff", 0, None, 1), Asked(1, "bob", "visits", 0, 4, 2), Asked(1, "ann", "staff", 0, None, 1),
    Asked(1, "carl", "staff", 0, None, 1), Asked(0, "ann", "visits", 0, 3, 3), Asked(0, "ann", "staff", 0, None, 1),
]

# What is asked a second time, and answered for nothing.
REUSED = Asked(0, "bob", "patients", 0.1 / 3, None, 1)


def statement(question, number, months):
    """The role that asks, and its SQL: the number makes it another question than those before."""
    if question.budget == "patients":
        return question.role, f"SELECT avg(weight) FROM patient WHERE age > {20 + number % 50} -- {number}"
    if question.budget == "staff":
        return "steward", f"SELECT dp_charge('staff', 0.25, 0, '{question.role}')"
    first, end = months[question.first], months[question.first + question.periods]
    return question.role, f"SELECT avg(cost) FROM visit WHERE day >= '{first}' AND day < '{end}' AND cost > {number % 40}"


def make(owner):
    """Makes the budgets in an empty database and asks. Returns the months."""
    with psycopg.connect(owner, autocommit=True) as superuser:
        superuser.execute(TABLES)
        months = [month for (month,) in superuser.execute(MONTHS)]
        sessions = {role: psycopg.connect(make_conninfo(owner, user=role), autocommit=True) for role in ("steward", "ann", "bob")}
        sessions["steward"].execute(BUDGETS.format(since=months[0]))
        superuser.execute("SET session_replication_role = replica")
        superuser.execute("UPDATE dp_mean.budget SET at = at - interval '40 days'")
        for number, question in enumerate(sorted(questions() + REFUSED, key=lambda question: -question.days)):
            role, sql = statement(question, number, months)
            try:
                sessions[role].execute(sql)
                refused = False
            except errors.ConfigurationLimitExceeded:
                refused = True
            if refused != (question in REFUSED):
                raise AssertionError(f"{question} was {'refused' if refused else 'answered'}")
            for table, column in (("charge", "at"), ("spent", "noted")):
                superuser.execute(
                    f"UPDATE dp_mean.{table} SET {column} = {column} - make_interval(days => %s) WHERE {column} > now() - interval '1 hour'",
                    [question.days])
            if question == REUSED:
                sessions[role].execute(sql)
        for session in sessions.values():
            session.close()
    return months
