//! Budgets: what was spent stays spent, nobody passes a limit, and nobody reaches the ledger but by its functions.

use std::thread;
use std::time::{Duration, Instant};

use dp_core::privacy::spending::{Accounting, HALF, Limit, Spent};
use dp_mean_tests::{
    Build, Database, PARALLEL, Refusal, Role, assert_plan, explain, refusal, refused, rows, run,
    session, value,
};
use postgres::Client;

/// A session with a budget `b` of (epsilon, delta).
pub fn with_budget(epsilon: f64, delta: f64) -> (Database, Client) {
    let (database, mut client) = session(Build::Release);
    run(
        &mut client,
        &format!("SELECT dp_set_budget('b', {epsilon:?}, {delta:?})"),
    );
    (database, client)
}

/// Runs statements one by one, each a transaction of its own unless it is within one.
pub fn steps(client: &mut Client, sql: &str) {
    for statement in sql.split("; ") {
        run(client, statement);
    }
}

/// The charges of a budget, all together.
pub fn charges(client: &mut Client) -> i64 {
    value(
        client,
        "SELECT charges FROM dp_budgets WHERE budget = 'b' AND role IS NULL",
    )
}

pub fn past_limit(refusal: &Refusal) {
    assert_eq!(refusal.code, "53400", "{refusal:?}");
    assert!(refusal.hint.contains("dp_budgets"), "{refusal:?}");
}

#[test]
fn a_charge_is_for_good() {
    let (_database, mut client) = with_budget(1000.0, 0.0);
    run(
        &mut client,
        "CREATE FUNCTION caught() RETURNS void LANGUAGE plpgsql AS $$
         BEGIN PERFORM dp_charge('b', 0.5, 0); RAISE 'no';
         EXCEPTION WHEN OTHERS THEN NULL; END $$;
         CREATE FUNCTION of_sql() RETURNS void LANGUAGE sql AS $$ SELECT dp_charge('b', 0.5, 0) $$;
         CREATE TABLE t (i int);
         CREATE FUNCTION of_trigger() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN PERFORM dp_charge('b', 0.5, 0); RETURN NULL; END $$;
         CREATE TRIGGER charges AFTER INSERT ON t EXECUTE FUNCTION of_trigger()",
    );
    // Each with whether it ends in an error.
    let cases = [
        (1, false, "SELECT dp_charge('b', 0.5, 0)"),
        (1, false, "BEGIN; SELECT dp_charge('b', 0.5, 0); ROLLBACK"),
        (
            1,
            false,
            "BEGIN; SAVEPOINT s; SELECT dp_charge('b', 0.5, 0); ROLLBACK TO s; COMMIT",
        ),
        (1, false, "SELECT caught()"),
        (
            1,
            false,
            "BEGIN; SELECT caught(); SELECT of_sql(); ROLLBACK",
        ),
        (1, false, "BEGIN; INSERT INTO t VALUES (1); ROLLBACK"),
        (
            1,
            true,
            "SELECT dp_charge('b', 0.5, 0), 1 / (random() * 0)::int",
        ),
        (
            1,
            false,
            "BEGIN READ ONLY; SELECT dp_charge('b', 0.5, 0); COMMIT",
        ),
        (
            1,
            false,
            "BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE; \
             SELECT dp_charge('b', 0.5, 0); ROLLBACK",
        ),
        (
            1,
            false,
            "BEGIN; SELECT dp_charge('b', 0.5, 0); PREPARE TRANSACTION 'charged'; \
             ROLLBACK PREPARED 'charged'",
        ),
        (
            1,
            false,
            "BEGIN; DECLARE c CURSOR FOR SELECT dp_charge('b', 0.5, 0) FROM generate_series(1, 9); \
             FETCH 1 FROM c; ROLLBACK",
        ),
        (
            1,
            true,
            "SET statement_timeout = '3s'; SELECT dp_charge('b', 0.5, 0), pg_sleep(20)",
        ),
        (
            7,
            false,
            "RESET statement_timeout; SELECT dp_charge('b', 0.5, 0) FROM generate_series(1, 7)",
        ),
    ];
    let mut expected = 0;
    for (times, fails, sql) in cases {
        let mut statements = sql.split("; ");
        let failed = statements.any(|statement| client.batch_execute(statement).is_err());
        assert_eq!(failed, fails, "{sql}");
        run(&mut client, "ROLLBACK");
        // `caught` and `of_sql` of one case are a charge each.
        expected += times + i64::from(sql.contains("caught(); SELECT of_sql"));
        assert_eq!(charges(&mut client), expected, "{sql}");
    }
    let sql = "SELECT spent_epsilon FROM dp_budgets WHERE role IS NULL";
    assert_eq!(value::<f64>(&mut client, sql), 0.5 * expected as f64);
    let sql = "SELECT count(*) FROM dp_ledger WHERE NOT refused AND epsilon = 0.5";
    assert_eq!(value::<i64>(&mut client, sql), expected);
}

/// Sessions that charge until they end, and how many charges came back to them.
fn charge_until_stopped(database: &Database, stop: impl Fn(&mut Client, i32)) -> (i64, i64) {
    let (mut acknowledged, mut lost) = (0, 0);
    for _ in 0..4 {
        let mut charger = database.connect();
        let pid: i32 = value(&mut charger, "SELECT pg_backend_pid()");
        let charging = thread::spawn(move || {
            let (mut done, mut failed) = (0, 0);
            let start = Instant::now();
            while start.elapsed() < Duration::from_secs(2) {
                match charger.batch_execute("SELECT dp_charge('b', 0.001, 0)") {
                    Ok(()) => done += 1,
                    Err(_) => failed += 1,
                }
                if charger.is_closed() {
                    break;
                }
            }
            (done, failed)
        });
        let mut stopper = database.connect();
        stop(&mut stopper, pid);
        let (done, failed) = charging.join().expect("a session that charges");
        (acknowledged, lost) = (acknowledged + done, lost + failed);
    }
    (acknowledged, lost)
}

#[test]
fn a_cancelled_or_killed_session_gets_nothing_back() {
    let (database, mut client) = with_budget(4000.0, 0.0);
    let (cancelled, refused) = charge_until_stopped(&database, |stopper, pid| {
        for _ in 0..300 {
            run(stopper, &format!("SELECT pg_cancel_backend({pid})"));
        }
    });
    assert!(cancelled > 0 && refused > 0, "{cancelled} {refused}");
    let (killed, lost) = charge_until_stopped(&database, |stopper, pid| {
        thread::sleep(Duration::from_millis(200));
        run(stopper, &format!("SELECT pg_terminate_backend({pid})"));
    });
    assert!(killed > 0 && lost > 0, "{killed} {lost}");
    let (acknowledged, all) = (cancelled + killed, cancelled + killed + refused + lost);
    let charged = charges(&mut client);
    assert!(
        (acknowledged..=all).contains(&charged),
        "{acknowledged} {charged} {all}"
    );
    // The sums are those of whole charges, and each has its row.
    let sql = "SELECT round(spent_epsilon * 1000)::bigint FROM dp_budgets WHERE role IS NULL";
    assert_eq!(value::<i64>(&mut client, sql), charged);
    let sql = "SELECT count(*) FROM dp_ledger WHERE NOT refused";
    assert_eq!(value::<i64>(&mut client, sql), charged);
}

#[test]
fn sessions_together_never_pass_a_limit() {
    for (epsilon, delta, each) in [(1.0, 0.0, 0.0071), (0.5, 1e-6, 0.0131), (3.0, 1e-6, 0.17)] {
        let (database, mut client) = with_budget(epsilon, delta);
        let limit = Limit::new(epsilon, delta, Accounting::Gaussian, HALF).expect("a limit");
        let charge = Spent::of_epsilon(each, 0.0, Accounting::Gaussian).expect("a charge");
        let expected = limit.how_many(&Spent::default(), &charge);
        let sessions: Vec<_> = (0..16)
            .map(|_| {
                let mut client = database.connect();
                thread::spawn(move || {
                    let sql = format!("SELECT dp_charge('b', {each:?}, 0)");
                    for done in 0.. {
                        if let Err(error) = client.batch_execute(&sql) {
                            past_limit(&refusal(&error, &sql));
                            return done;
                        }
                    }
                    0
                })
            })
            .collect();
        let done: i64 = sessions
            .into_iter()
            .map(|session| session.join().expect("a session"))
            .sum();
        assert_eq!(done, expected, "{epsilon} {delta} {each}");
        let sql = "SELECT epsilon, rho, delta, charges FROM dp_mean.spent WHERE role::oid = 0";
        let row = client.query_one(sql, &[]).expect("a line");
        let units = (row.get(0), row.get(1), row.get(2), row.get(3));
        let sum = (charge.epsilon * done, charge.rho * done, 0i64, done);
        assert_eq!(units, sum);
        let sql = "SELECT refused FROM dp_budgets WHERE role IS NULL";
        assert_eq!(value::<i64>(&mut client, sql), 16);
    }
}

#[test]
fn many_roles_have_lines_of_their_own() {
    const ROLES: i64 = 400;
    let (database, mut client) = with_budget(1000.0, 0.0);
    let role = |i: i64| format!("{}_r{i}", database.name());
    for i in 0..ROLES {
        run(&mut client, &format!("CREATE ROLE {}", role(i)));
    }
    let limited = "SELECT dp_set_budget('b', 0.75, 0, rolname::regrole::oid) FROM pg_roles WHERE rolname ~ $1";
    let pattern = format!("^{}_r", database.name());
    client
        .execute(limited, &[&pattern])
        .expect("limits of roles");
    let sessions: Vec<_> = (0..8)
        .map(|session| {
            let mut client = database.connect();
            let roles: Vec<_> = (0..ROLES)
                .map(|i| role((i * 7 + session * 50) % ROLES))
                .collect();
            thread::spawn(move || {
                let mut done = 0;
                for role in roles {
                    let sql = format!("SELECT dp_charge('b', 0.25, 0, '{role}')");
                    match client.batch_execute(&sql) {
                        Ok(()) => done += 1,
                        Err(error) => past_limit(&refusal(&error, &sql)),
                    }
                }
                done
            })
        })
        .collect();
    let done: i64 = sessions
        .into_iter()
        .map(|session| session.join().expect("a session, and no deadlock"))
        .sum();
    // Each role has room for three.
    assert_eq!(done, 3 * ROLES);
    let sql = "SELECT count(*) FROM dp_budgets WHERE role IS NOT NULL AND charges = 3 \
               AND spent_epsilon = 0.75 AND left_epsilon = 0";
    assert_eq!(value::<i64>(&mut client, sql), ROLES);
    assert_eq!(charges(&mut client), done);
    assert!(value::<i64>(&mut client, "SELECT pg_relation_size('dp_mean.spent')") > 8192);
    // Its role may go; what it spent stays.
    for i in 0..ROLES {
        run(&mut client, &format!("DROP ROLE {}", role(i)));
    }
    assert_eq!(value::<i64>(&mut client, sql), ROLES);
    run(&mut client, "SELECT dp_charge('b', 0.25, 0)");
}

/// Half a unit is a whole one of a charge, and none of a limit.
#[test]
fn what_is_spent_is_rounded_to_the_private_side() {
    let (_database, mut client) = with_budget(1.0, 0.5);
    run(
        &mut client,
        "SELECT dp_charge('b', power(2, -51), power(2, -63))",
    );
    let sql = "SELECT epsilon, rho, delta FROM dp_mean.spent WHERE role::oid = 0";
    let row = client.query_one(sql, &[]).expect("a line");
    assert_eq!([0, 1, 2].map(|i| row.get::<_, i64>(i)), [1; 3]);
    run(&mut client, "SELECT dp_charge('b', 0.3, 1e-6)");
    let row = client.query_one(sql, &[]).expect("a line");
    let of =
        |epsilon, delta| Spent::of_epsilon(epsilon, delta, Accounting::Gaussian).expect("a charge");
    let sum = of(0.5f64.powi(51), 0.5f64.powi(63)).plus(&of(0.3, 1e-6));
    let units = [0, 1, 2].map(|i| row.get::<_, i64>(i));
    assert_eq!(units, [sum.epsilon, sum.rho, sum.delta]);

    run(
        &mut client,
        "SELECT dp_set_budget('least', 1.5 * power(2, -50), 3 * power(2, -62))",
    );
    run(&mut client, "SELECT dp_set_budget('some', 0.3, 1e-6)");
    let sql = "SELECT epsilon_units, rho_units, delta_units FROM dp_mean.budget_limit p \
               JOIN dp_mean.budget b ON b.id = p.budget WHERE b.name = $1";
    for (name, epsilon, delta) in [
        ("least", 1.5 * 0.5f64.powi(50), 3.0 * 0.5f64.powi(62)),
        ("some", 0.3, 1e-6),
    ] {
        let row = client.query_one(sql, &[&name]).expect("a promise");
        let units = [0, 1, 2].map(|i| row.get::<_, i64>(i));
        let limit = Limit::new(epsilon, delta, Accounting::Gaussian, HALF).expect("a limit");
        assert_eq!(units, [limit.epsilon, limit.rho, limit.delta], "{name}");
        assert!(
            name == "some" || (units[0], units[2]) == (1, 1),
            "{units:?}"
        );
    }
}

/// Lines belong to roles, whatever these are called.
#[test]
fn a_role_that_is_renamed_keeps_its_line() {
    let (database, mut client) = with_budget(1.0, 0.0);
    let [first, second] = ["first", "second"].map(|name| format!("{}_{name}", database.name()));
    let charge = |role: &str| format!("SELECT dp_charge('b', 0.25, 0, '{role}')");
    steps(
        &mut client,
        &format!(
            "CREATE ROLE {first}; SELECT dp_set_budget('b', 0.5, 0, '{first}'); {}",
            charge(&first)
        ),
    );
    run(
        &mut client,
        &format!("ALTER ROLE {first} RENAME TO {second}"),
    );
    let line = |client: &mut Client, role: &str| {
        let sql = "SELECT spent_epsilon, left_epsilon FROM dp_budgets WHERE role::text = $1";
        let rows = client.query(sql, &[&role]).expect("lines");
        Vec::from_iter(rows.iter().map(|row| (row.get(0), row.get(1))))
    };
    assert_eq!(line(&mut client, &second), [(0.25, 0.25)]);
    assert!(line(&mut client, &first).is_empty());
    // Who takes the old name has a line of their own, and no limit but the budget's.
    run(&mut client, &format!("CREATE ROLE {first}"));
    run(&mut client, &charge(&first));
    run(&mut client, &charge(&second));
    past_limit(&refused(&mut client, &charge(&second)));
    run(&mut client, &charge(&first));
    assert_eq!(line(&mut client, &second), [(0.5, 0.0)]);
    let named = format!("SELECT count(*) FROM dp_ledger WHERE role::text = '{second}'");
    assert_eq!(value::<i64>(&mut client, &named), 3);
    run(
        &mut client,
        &format!("DROP ROLE {first}; DROP ROLE {second}"),
    );
    assert_eq!(charges(&mut client), 4);
}

/// A budget goes with its owner's name, and stays when they go, who must give it away before.
#[test]
fn a_budget_stays_when_its_owner_goes() {
    let (database, mut client) = session(Build::Release);
    let [first, second] = ["first", "second"].map(|name| format!("{}_{name}", database.name()));
    run(&mut client, &format!("CREATE ROLE {first} LOGIN"));
    let grant = "GRANT EXECUTE ON FUNCTION dp_set_budget, dp_charge(text, float8, float8) TO";
    run(&mut client, &format!("{grant} {first}"));
    let mut owner = database.connect_as(&first);
    steps(
        &mut owner,
        "SELECT dp_set_budget('b', 1, 0); SELECT dp_charge('b', 0.25, 0)",
    );
    run(
        &mut client,
        &format!("ALTER ROLE {first} RENAME TO {second}"),
    );
    run(&mut owner, "SELECT dp_charge('b', 0.25, 0)");
    drop(owner);
    // Somebody else who has the name now is not the owner.
    run(
        &mut client,
        &format!("CREATE ROLE {first} LOGIN; {grant} {first}"),
    );
    let mut other = database.connect_as(&first);
    assert_eq!(
        refused(&mut other, "SELECT dp_charge('b', 0.25, 0)").code,
        "42501"
    );
    run(
        &mut client,
        &format!(
            "SELECT dp_set_budget_owner('b', 'postgres'); DROP OWNED BY {second}; DROP ROLE {second}"
        ),
    );
    assert_eq!(
        refused(&mut other, "SELECT dp_charge('b', 0.25, 0)").code,
        "42501"
    );
    drop(other);
    run(&mut client, "SELECT dp_charge('b', 0.5, 0)");
    past_limit(&refused(&mut client, "SELECT dp_charge('b', 0.25, 0)"));
    assert_eq!(charges(&mut client), 3);
    run(
        &mut client,
        &format!("DROP OWNED BY {first}; DROP ROLE {first}"),
    );
}

#[test]
fn a_role_line_and_the_budget_both_count() {
    let (database, mut client) = with_budget(1.0, 0.0);
    let role = Role::new(&database);
    let name = role.name();
    run(
        &mut client,
        &format!("SELECT dp_set_budget('b', 0.5, 0, '{name}')"),
    );
    run(
        &mut client,
        &format!("SELECT dp_charge('b', 0.375, 0, '{name}')"),
    );
    let error = refused(
        &mut client,
        &format!("SELECT dp_charge('b', 0.25, 0, '{name}')"),
    );
    past_limit(&error);
    let message = format!(
        "dp_charge: role \"{name}\" in budget \"b\" has epsilon 0.125 left of 0.5, and this takes 0.25"
    );
    assert_eq!(error.message, message);
    run(&mut client, "SELECT dp_charge('b', 0.5, 0)");
    // The budget has 0.125 left, which is what the role has; then neither has any.
    run(
        &mut client,
        &format!("SELECT dp_charge('b', 0.125, 0, '{name}')"),
    );
    let error = refused(&mut client, "SELECT dp_charge('b', 0.125, 0)");
    let message = "dp_charge: budget \"b\" has epsilon 0 left of 1, and this takes 0.125";
    assert_eq!(error.message, message);
    // A higher limit of the role does not help it past the budget's.
    run(
        &mut client,
        &format!("SELECT dp_set_budget('b', 5, 0, '{name}')"),
    );
    past_limit(&refused(
        &mut client,
        &format!("SELECT dp_charge('b', 0.125, 0, '{name}')"),
    ));
}

#[test]
fn limits_are_a_part_of_their_transaction() {
    let (database, mut client) = session(Build::Release);
    run(
        &mut client,
        "BEGIN; SELECT dp_set_budget('b', 9, 0); ROLLBACK",
    );
    assert_eq!(
        refused(&mut client, "SELECT dp_charge('b', 1, 0)").code,
        "42704"
    );
    steps(
        &mut client,
        "SELECT dp_set_budget('b', 1, 0); SELECT dp_charge('b', 1, 0)",
    );

    // A charge is for good, so it does not rest on a limit that is not.
    run(&mut client, "BEGIN; SELECT dp_set_budget('b', 9, 0)");
    let error = refused(&mut client, "SELECT dp_charge('b', 1, 0)");
    assert_eq!(error.code, "55000");
    run(&mut client, "ROLLBACK");
    past_limit(&refused(&mut client, "SELECT dp_charge('b', 1, 0)"));

    // Nor does another session see it before COMMIT.
    let mut other = database.connect();
    run(&mut client, "BEGIN; SELECT dp_set_budget('b', 9, 0)");
    past_limit(&refused(&mut other, "SELECT dp_charge('b', 1, 0)"));
    run(&mut client, "COMMIT");
    run(&mut other, "SELECT dp_charge('b', 1, 0)");

    // Whatever snapshot the transaction has, what counts is now.
    run(
        &mut other,
        "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1",
    );
    run(&mut client, "SELECT dp_set_budget('b', 2.5, 0)");
    past_limit(&refused(&mut other, "SELECT dp_charge('b', 1, 0)"));
    run(
        &mut other,
        "ROLLBACK; BEGIN ISOLATION LEVEL REPEATABLE READ",
    );
    assert_eq!(charges(&mut other), 2);
    run(&mut client, "SELECT dp_charge('b', 0.25, 0)");
    assert_eq!(charges(&mut other), 3);
    run(&mut other, "ROLLBACK");

    // Below what was spent: it stays spent.
    run(&mut client, "SELECT dp_set_budget('b', 0.5, 0)");
    let sql =
        "SELECT spent_epsilon, left_epsilon, questions_left FROM dp_budgets WHERE role IS NULL";
    let row = client.query_one(sql, &[]).expect("a line");
    assert_eq!((row.get(0), row.get(1), row.get(2)), (2.25, 0.0, 0i64));
    // Each promise is on record.
    let promises = rows(
        &mut client,
        "SELECT number, epsilon FROM dp_budget_limits ORDER BY 1",
    );
    let promises: Vec<(i64, f64)> = promises
        .iter()
        .map(|row| (row.get(0), row.get(1)))
        .collect();
    assert_eq!(promises, [(1, 1.0), (2, 9.0), (3, 2.5), (4, 0.5)]);
}

#[test]
fn questions_left_counts_at_the_price_of_the_policies() {
    let (_database, mut client) = with_budget(2.0, 0.0);
    let left = |client: &mut Client| -> i64 {
        value(
            client,
            "SELECT questions_left FROM dp_budgets WHERE role IS NULL",
        )
    };
    assert_eq!(left(&mut client), 20);
    run(
        &mut client,
        "CREATE TABLE cheap (id int PRIMARY KEY); CREATE TABLE dear (id int PRIMARY KEY);
         SELECT dp_protect('cheap', 'id', 'b', query_eps => 0.25)",
    );
    assert_eq!(left(&mut client), 8);
    run(
        &mut client,
        "SELECT dp_protect('dear', 'id', 'b', query_eps => 0.5)",
    );
    assert_eq!(left(&mut client), 4);
}

#[test]
fn a_budget_is_closed_and_not_deleted() {
    let (_database, mut client) = with_budget(1.0, 0.0);
    run(&mut client, "SELECT dp_charge('b', 0.5, 0)");
    run(&mut client, "SELECT dp_close_budget('b')");
    for sql in [
        "SELECT dp_charge('b', 0.1, 0)",
        "SELECT dp_set_budget('b', 5, 0)",
        "SELECT dp_set_budget('b', 5, 0, 'postgres')",
        "SELECT dp_close_budget('b')",
    ] {
        let error = refused(&mut client, sql);
        assert_eq!(error.code, "55000", "{sql}: {error:?}");
        assert!(
            error.message.ends_with("budget \"b\" is closed"),
            "{error:?}"
        );
    }
    let sql = "SELECT closed AND spent_epsilon = 0.5 AND left_epsilon = 0 FROM dp_budgets WHERE role IS NULL";
    assert!(value::<bool>(&mut client, sql));
    // A charge that it refuses is counted, and noted once a minute, like one that has no room.
    refused(&mut client, "SELECT dp_charge('b', 0.25, 0)");
    let sql = "SELECT refused FROM dp_budgets WHERE role IS NULL";
    assert_eq!(value::<i64>(&mut client, sql), 2);
    let sql = "SELECT array_agg(epsilon) FROM dp_ledger WHERE refused";
    assert_eq!(value::<Vec<f64>>(&mut client, sql), [0.1]);
}

#[test]
fn what_is_wrong_with_a_call_is_said() {
    let (_database, mut client) = with_budget(1.0, 1e-6);
    for (sql, code, message) in [
        (
            "dp_charge('c', 1, 0)",
            "42704",
            "dp_charge: budget \"c\" does not exist",
        ),
        (
            "dp_charge(NULL, 1, 0)",
            "22023",
            "dp_charge: argument \"budget\" must not be NULL",
        ),
        (
            "dp_charge('b', NULL, 0)",
            "22023",
            "dp_charge: argument \"eps\" must not be NULL",
        ),
        (
            "dp_charge('b', 1, NULL)",
            "22023",
            "dp_charge: argument \"delta\" must not be NULL",
        ),
        (
            "dp_charge('b', 0, 0)",
            "22023",
            "dp_charge: argument \"eps\" must be a finite number greater than 0",
        ),
        (
            "dp_charge('b', 'NaN', 0)",
            "22023",
            "dp_charge: argument \"eps\" must be a finite number greater than 0",
        ),
        (
            "dp_charge('b', -1, 0)",
            "22023",
            "dp_charge: argument \"eps\" must be a finite number greater than 0",
        ),
        (
            "dp_charge('b', 1, 1)",
            "22023",
            "dp_charge: argument \"delta\" must be 0, or above 0 and below 1",
        ),
        (
            "dp_charge('b', 1, -0.1)",
            "22023",
            "dp_charge: argument \"delta\" must be 0, or above 0 and below 1",
        ),
        (
            "dp_charge('b', 1, 0, NULL)",
            "42704",
            "dp_charge: argument \"role\" is not a role",
        ),
        (
            "dp_charge('b', 1, 0, 0::oid)",
            "42704",
            "dp_charge: argument \"role\" is not a role",
        ),
        (
            "dp_set_budget('c', 1, 0, 'postgres')",
            "42704",
            "dp_set_budget: budget \"c\" does not exist",
        ),
        (
            "dp_set_budget('c', 5000, 0)",
            "22023",
            "dp_set_budget: argument \"eps\" must be at most 4096",
        ),
        (
            "dp_set_budget('c', 1, 2)",
            "22023",
            "dp_set_budget: argument \"delta\" must be 0, or above 0 and below 1",
        ),
        (
            "dp_set_budget('', 1, 0)",
            "22023",
            "dp_set_budget: argument \"budget\" must have 1 to 63 bytes, and no control characters",
        ),
        (
            "dp_set_budget(E'a\\nb', 1, 0)",
            "22023",
            "dp_set_budget: argument \"budget\" must have 1 to 63 bytes, and no control characters",
        ),
        (
            "dp_close_budget('c')",
            "42704",
            "dp_close_budget: budget \"c\" does not exist",
        ),
        (
            "dp_charge('b', 2, 0)",
            "53400",
            "dp_charge: budget \"b\" has epsilon 1 left of 1, and this takes 2",
        ),
        (
            "dp_charge('b', 1e300, 0)",
            "53400",
            "dp_charge: budget \"b\" has epsilon 1 left of 1, and this takes 1",
        ),
        (
            "dp_charge('b', 0.1, 1e-6)",
            "53400",
            "dp_charge: budget \"b\" has delta 5e-7 left of 5e-7, and this takes 1e-6",
        ),
    ] {
        let error = refused(&mut client, &format!("SELECT {sql}"));
        assert_eq!(error.code, code, "{sql}: {error:?}");
        assert!(error.message.starts_with(message), "{sql}: {error:?}");
        assert!(!error.hint.is_empty(), "{sql}");
    }
    // None of it was spent, and what had no room is counted.
    assert_eq!(charges(&mut client), 0);
    let sql = "SELECT refused FROM dp_budgets WHERE role IS NULL";
    assert_eq!(value::<i64>(&mut client, sql), 3);
    let sql = "SELECT count(*) FROM dp_ledger WHERE refused";
    assert_eq!(value::<i64>(&mut client, sql), 1);
    // In a transaction that cannot write, a limit is refused by PostgreSQL.
    let sql = "BEGIN READ ONLY; SELECT dp_set_budget('b', 2, 0)";
    assert_eq!(refused(&mut client, sql).code, "25006");
}

#[test]
fn the_audit_says_who_asked_what() {
    let (database, mut client) = with_budget(1.0, 1e-6);
    let role = Role::new(&database);
    // Not within a character, and at most a thousand bytes.
    let long = "\u{e4}".repeat(700);
    let sql = format!(
        "SELECT dp_charge('b', 0.25, 1e-9, '{}') /* {long} */",
        role.name()
    );
    run(&mut client, &sql);
    let row = client.query_one(
        "SELECT budget, role::text, session_role::text, relation::text, refused, epsilon, delta, query, \
         now() - at < interval '1 minute' FROM dp_ledger",
        &[],
    );
    let row = row.expect("one charge");
    let texts = [0, 1, 2].map(|i| row.get::<_, String>(i));
    assert_eq!(texts, ["b", role.name(), "postgres"]);
    assert_eq!(row.get::<_, Option<String>>(3), None);
    assert!(!row.get::<_, bool>(4) && row.get::<_, bool>(8));
    assert_eq!(row.get::<_, f64>(5), 0.25);
    assert!((row.get::<_, f64>(6) / 1e-9 - 1.0).abs() < 1e-9);
    let query: String = row.get(7);
    assert!(
        query.len() >= 998 && query.len() <= 1000 && sql.starts_with(&query),
        "{query}"
    );
}

#[test]
fn a_lock_on_the_ledger_is_not_waited_for_for_ever() {
    let (database, mut client) = with_budget(1.0, 0.0);
    let mut other = database.connect();
    for table in ["spent", "charge", "budget_limit", "history", "budget"] {
        run(&mut other, &format!("BEGIN; LOCK TABLE dp_mean.{table}"));
        let start = Instant::now();
        let error = refused(&mut client, "SELECT dp_charge('b', 0.1, 0)");
        assert_eq!(error.code, "55P03", "{table}: {error:?}");
        let seconds = start.elapsed().as_secs_f64();
        assert!((5.0..20.0).contains(&seconds), "{table}: {seconds}");
        run(&mut other, "ROLLBACK");
    }
    run(&mut client, "SELECT dp_charge('b', 0.1, 0)");
    assert_eq!(charges(&mut client), 1);
    // A charge holds no lock that its transaction goes on to hold.
    run(&mut client, "BEGIN; SELECT dp_charge('b', 0.1, 0)");
    steps(
        &mut other,
        "SET lock_timeout = '5s'; VACUUM FULL dp_mean.spent; VACUUM FULL dp_mean.charge",
    );
    run(&mut client, "ROLLBACK");
}

/// Whatever a function that calls it claims.
#[test]
fn a_parallel_plan_does_not_charge() {
    let (_database, mut client) = with_budget(1.0, 0.0);
    run(
        &mut client,
        "CREATE TABLE big AS SELECT i FROM generate_series(1, 5000) i; ANALYZE big;
         CREATE FUNCTION sly(i int) RETURNS bool LANGUAGE plpgsql PARALLEL SAFE AS $$
         BEGIN PERFORM dp_charge('b', 0.001, 0); RETURN true; END $$",
    );
    run(&mut client, PARALLEL);
    let sql = "SELECT count(*) FROM big WHERE sly(i)";
    assert_plan(&explain(&mut client, sql), &["Gather"], sql);
    let error = refused(&mut client, sql);
    assert_eq!(error.code, "25000", "{error:?}");
    assert_eq!(
        error.message,
        "dp_charge: cannot charge a budget in a parallel plan"
    );
    assert_eq!(charges(&mut client), 0);
}

/// What a role with no rights, and one that may make budgets, can do.
#[test]
fn nobody_reaches_the_ledger_but_by_its_functions() {
    let (database, mut client) = with_budget(1.0, 0.0);
    run(&mut client, "SELECT dp_charge('b', 0.125, 0)");
    let role = Role::new(&database);
    let mut nobody = role.connect();
    let tables = ["budget", "budget_limit", "history", "spent", "charge"];
    run(
        &mut client,
        &format!("GRANT CREATE ON SCHEMA public TO {}", role.name()),
    );
    for table in tables {
        for sql in [
            "SELECT * FROM dp_mean.{t}",
            "INSERT INTO dp_mean.{t} DEFAULT VALUES",
            "UPDATE dp_mean.{t} SET budget = 1",
            "DELETE FROM dp_mean.{t}",
            "TRUNCATE dp_mean.{t}",
            "COPY dp_mean.{t} TO STDOUT",
            "BEGIN; LOCK TABLE dp_mean.{t}",
            "PREPARE p AS DELETE FROM dp_mean.{t}",
            "CREATE VIEW public.v AS SELECT * FROM dp_mean.{t}",
            "CREATE RULE r AS ON INSERT TO dp_mean.{t} DO NOTHING",
            "CREATE TRIGGER g BEFORE INSERT ON dp_mean.{t} EXECUTE FUNCTION suppress_redundant_updates_trigger()",
            "ALTER TABLE dp_mean.{t} ADD c int",
            "DROP TABLE dp_mean.{t}",
            "CREATE TABLE public.heir () INHERITS (dp_mean.{t})",
        ] {
            let sql = sql.replace("{t}", table);
            let error = refused(&mut nobody, &sql);
            run(&mut nobody, "ROLLBACK");
            assert_eq!(error.code, "42501", "{sql}: {error:?}");
            // Not even by name: it is the schema that is shut.
            assert!(error.message.contains("schema dp_mean"), "{sql}: {error:?}");
        }
        // Who could see the schema finds the tables shut too.
        run(
            &mut client,
            &format!("GRANT USAGE ON SCHEMA dp_mean TO {}", role.name()),
        );
        let sql = format!("DELETE FROM dp_mean.{table}");
        assert_eq!(refused(&mut nobody, &sql).code, "42501");
        run(
            &mut client,
            &format!("REVOKE USAGE ON SCHEMA dp_mean FROM {}", role.name()),
        );
        // And so does a superuser, for what changes rows.
        for sql in [
            "UPDATE dp_mean.{t} SET {c} = {c}",
            "DELETE FROM dp_mean.{t}",
            "TRUNCATE dp_mean.{t}",
        ] {
            let column = if table == "budget" { "id" } else { "budget" };
            let sql = sql.replace("{t}", table).replace("{c}", column);
            let error = refused(&mut client, &sql);
            assert!(
                error.message.contains("cannot be changed by UPDATE"),
                "{sql}: {error:?}"
            );
        }
    }
    for call in [
        "dp_set_budget('mine', 1, 0)",
        "dp_set_budget('b', 1, 0, 'postgres')",
        "dp_close_budget('b')",
        "dp_restore_budget('b', 0.1, 0)",
        "dp_restore_budget('b', 0.1, 0, 'postgres')",
        "dp_charge('b', 0.1, 0)",
        "dp_charge('b', 0.1, 0, 'postgres')",
        "dp_set_budget_owner('b', 'postgres')",
        "dp_continue_budget('b', 0, 0)",
    ] {
        let error = refused(&mut nobody, &format!("SELECT {call}"));
        assert_eq!(error.code, "42501", "{call}: {error:?}");
    }
    let seen = |client: &mut Client| {
        ["dp_budgets", "dp_ledger", "dp_budget_limits"]
            .map(|view| value::<i64>(client, &format!("SELECT count(*) FROM {view}")))
    };
    assert_eq!(seen(&mut nobody), [0, 0, 0]);
    assert_eq!(seen(&mut client), [2, 1, 1]);

    // Who may call the functions has budgets of their own, and not another's.
    run(
        &mut client,
        &format!(
            "GRANT EXECUTE ON FUNCTION dp_set_budget, \
             dp_close_budget(text), dp_charge(text, float8, float8) TO {}",
            role.name()
        ),
    );
    for call in [
        "dp_set_budget('b', 9, 0)",
        "dp_close_budget('b')",
        "dp_charge('b', 0.1, 0)",
    ] {
        let error = refused(&mut nobody, &format!("SELECT {call}"));
        assert_eq!(error.code, "42501", "{call}: {error:?}");
        assert!(
            error.message.ends_with("must be owner of budget \"b\""),
            "{error:?}"
        );
    }
    steps(
        &mut nobody,
        "SELECT dp_set_budget('mine', 1, 0); SELECT dp_charge('mine', 0.5, 0)",
    );
    assert_eq!(seen(&mut nobody), [2, 1, 1]);
    // One's own line of another's budget.
    let name = role.name();
    run(
        &mut client,
        &format!(
            "SELECT dp_charge('b', 0.25, 0, '{name}'); SELECT dp_set_budget('b', 0.5, 0, '{name}')"
        ),
    );
    assert_eq!(seen(&mut nobody), [3, 2, 2]);
    let sql = "SELECT left_epsilon FROM dp_budgets WHERE budget = 'b'";
    assert_eq!(value::<f64>(&mut nobody, sql), 0.25);
    // A condition of the reader's own sees no other line.
    run(
        &mut nobody,
        "CREATE FUNCTION public.tell(text) RETURNS bool LANGUAGE plpgsql COST 0.0001 AS \
         $$ BEGIN RAISE 'saw %', $1; END $$",
    );
    let error = refused(
        &mut nobody,
        "SELECT * FROM dp_ledger WHERE session_role = 'postgres'::regrole AND public.tell(query)",
    );
    assert!(error.message.contains("dp_charge('b', 0.25"), "{error:?}");
}

#[test]
fn vacuum_and_amcheck_find_nothing_wrong() {
    let (_database, mut client) = with_budget(1000.0, 0.0);
    // Servers from PyPI do not have it.
    let sql = "SELECT count(*) > 0 FROM pg_available_extensions WHERE name = 'amcheck'";
    let amcheck: bool = value(&mut client, sql);
    if amcheck {
        run(&mut client, "CREATE EXTENSION amcheck");
    }
    let many = "SELECT dp_charge('b', 0.01, 0) FROM generate_series(1, 300)";
    for (i, sql) in [
        "VACUUM (FREEZE) dp_mean.spent, dp_mean.charge",
        "VACUUM FULL dp_mean.spent, dp_mean.charge",
        "VACUUM (FREEZE, DISABLE_PAGE_SKIPPING) dp_mean.charge",
        "CLUSTER dp_mean.budget_limit USING budget_limit_pkey; VACUUM FULL",
        "ANALYZE; REINDEX TABLE dp_mean.budget_limit",
    ]
    .into_iter()
    .enumerate()
    {
        run(&mut client, many);
        steps(&mut client, sql);
        assert_eq!(charges(&mut client), 300 * (i as i64 + 1), "{sql}");
        for table in ["budget", "budget_limit", "history", "spent", "charge"]
            .into_iter()
            .filter(|_| amcheck)
        {
            let sql = format!("SELECT count(*) FROM verify_heapam('dp_mean.{table}')");
            assert_eq!(value::<i64>(&mut client, &sql), 0, "{table}");
        }
    }
    run(&mut client, many);
    let sql = "SELECT count(*) FROM dp_ledger";
    assert_eq!(value::<i64>(&mut client, sql), 1800);
    assert_eq!(
        value::<i64>(&mut client, "SELECT count(*) FROM dp_mean.spent"),
        2
    );
}
