//! Which pages a charge locks, in which order, and what it writes, with its lines wherever they lie.

use dp_core::privacy::spending::Spent;
use pgrx::pg_sys::{BlockNumber, Oid};
use pgrx::pg_test;

use crate::ledger::balance::{Balance, BalanceKey};
use crate::ledger::balances::place_of;
use crate::ledger::budgets::Name;
use crate::ledger::charge::{Account, Kind, Part, Payer, Request, entry, room_for_text, try_at};
use crate::ledger::lock_order;
use crate::ledger::pages::tests::{line_of, two_pages};
use crate::ledger::pages::{Locked, RowPlace};
use crate::ledger::period_lines::Lines;
use crate::ledger::tables::tests::scratch;
use crate::ledger::tables::{CHARGE, SPENT, Table};

/// What is asked of a budget that no promise limits.
fn request(name: &Name) -> Request {
    Request {
        function: "dp_charge",
        budget: name.clone(),
        payer: Payer::Owner,
        role: Oid::INVALID,
        asked: (0.5, 0.0),
        amount: Spent {
            epsilon: 5,
            rho: 3,
            delta: 2,
        },
        charged: None,
    }
}

fn name() -> Name {
    let name = Name::new(Some(b"b".to_vec()));
    name.unwrap_or_else(|_| panic!("a name"))
}

/// The line at a place.
fn line(spent: &Table, place: RowPlace) -> Balance {
    let page = Locked::lock(spent, place);
    page.row(spent, place)
        .and_then(Balance::read)
        .expect("a line")
}

/// Charges the lines at these places, in this order; the pages that were locked. `None` if one is not where it should
/// be.
fn charge(
    spent: &Table,
    audit: &Table,
    places: [RowPlace; 2],
    keys: [BalanceKey; 2],
) -> Option<Vec<(Oid, BlockNumber)>> {
    charge_all(spent, audit, &[(places, keys)])
}

/// As above, for several charges together.
fn charge_all(
    spent: &Table,
    audit: &Table,
    all: &[([RowPlace; 2], [BalanceKey; 2])],
) -> Option<Vec<(Oid, BlockNumber)>> {
    let request = request(&name());
    let accounts = all
        .iter()
        .map(|(_, keys)| keys.map(|key| Account { key, promise: None }));
    let accounts = Vec::from_iter(accounts);
    let text = room_for_text(all.len());
    let entries = Vec::from_iter(
        all.iter()
            .map(|_| entry(&request, 0, audit, Kind::Charged, text)),
    );
    let parts = all.iter().zip(&accounts);
    let parts = parts.map(|((places, _), accounts)| Part {
        request: &request,
        accounts,
        places: *places,
        of_periods: None,
    });
    let parts = Vec::from_iter(parts);
    lock_order::noted();
    let mut lines = Lines::of(None, std::iter::empty()).unwrap_or_else(|_| panic!("no lines"));
    let result = try_at(&parts, spent, audit, &entries, &mut lines);
    let locked = lock_order::noted();
    assert!(result?.is_ok(), "nothing limits it");
    Some(locked)
}

#[pg_test]
fn pages_are_locked_in_the_order_of_their_numbers() {
    let spent = scratch(&SPENT, c"scratch_spent");
    let audit = scratch(&CHARGE, c"scratch_charge");
    let both = two_pages(&spent);
    // The audit has a page to lock.
    let [low, high] = both.map(|place| line(&spent, place).key);
    charge(&spent, &audit, both, [low, high]).expect("a charge");
    let in_order = [(audit.id(), 0), (spent.id(), 0), (spent.id(), 1)];
    for (n, places, keys) in [(2, both, [low, high]), (3, [both[1], both[0]], [high, low])] {
        let locked = charge(&spent, &audit, places, keys).expect("a charge");
        assert_eq!(locked, in_order);
        for (place, key) in places.into_iter().zip(keys) {
            let spent_now = Spent {
                epsilon: 5 * n,
                rho: 3 * n,
                delta: 2 * n,
            };
            assert_eq!(
                line(&spent, place),
                Balance {
                    spent: spent_now,
                    charges: n,
                    ..Balance::new(key)
                }
            );
        }
    }
}

#[pg_test]
fn a_page_with_both_lines_is_locked_once() {
    let spent = scratch(&SPENT, c"scratch_spent");
    let audit = scratch(&CHARGE, c"scratch_charge");
    let keys = [0, 7].map(|role| BalanceKey {
        budget: 4,
        role: Oid::from_u32(role),
    });
    let places = keys.map(|key| place_of(&spent, key));
    charge(&spent, &audit, places, keys).expect("a charge");
    let locked = charge(&spent, &audit, places, keys).expect("a charge");
    assert_eq!(locked, [(audit.id(), 0), (spent.id(), 0)]);
    for (place, key) in places.into_iter().zip(keys) {
        assert_eq!(
            (line(&spent, place).key, line(&spent, place).charges),
            (key, 2)
        );
    }
}

#[pg_test]
fn charges_that_are_made_together_lock_each_page_once_in_order() {
    let spent = scratch(&SPENT, c"scratch_spent");
    let audit = scratch(&CHARGE, c"scratch_charge");
    let [low, high] = two_pages(&spent);
    // The audit has a page to lock.
    let [first, last] = [low, high].map(|place| line(&spent, place).key);
    charge(&spent, &audit, [low, high], [first, last]).expect("a charge");
    let twice = [([high, low], [last, first]), ([low, high], [first, last])];
    let locked = charge_all(&spent, &audit, &twice).expect("charges");
    assert_eq!(locked, [(audit.id(), 0), (spent.id(), 0), (spent.id(), 1)]);
    for place in [low, high] {
        assert_eq!(line(&spent, place).charges, 3);
    }
}

/// Lines on that many pages that one record of changes has no room for them.
#[pg_test]
fn charges_that_are_made_together_may_be_of_many_pages() {
    let spent = scratch(&SPENT, c"scratch_spent");
    let audit = scratch(&CHARGE, c"scratch_charge");
    let line_at = |budget| {
        let key = BalanceKey {
            budget,
            role: Oid::INVALID,
        };
        (place_of(&spent, key), key)
    };
    let mut lines = vec![line_at(0)];
    for budget in 1.. {
        let next = line_at(budget);
        if next.0.block != lines[lines.len() - 1].0.block {
            lines.push(next);
        }
        if lines.len() == 8 {
            break;
        }
    }
    let pairs = lines
        .chunks(2)
        .map(|pair| ([pair[0].0, pair[1].0], [pair[0].1, pair[1].1]));
    let pairs = Vec::from_iter(pairs);
    for n in 1..=2 {
        charge_all(&spent, &audit, &pairs).expect("charges");
        for (place, key) in &lines {
            let spent_now = Spent {
                epsilon: 5 * n,
                rho: 3 * n,
                delta: 2 * n,
            };
            assert_eq!(
                line(&spent, *place),
                Balance {
                    spent: spent_now,
                    charges: n,
                    ..Balance::new(*key)
                }
            );
        }
        assert_eq!(
            line_of(&spent, 1).map(|place| line(&spent, place).charges),
            Some(0)
        );
    }
}

#[pg_test]
fn a_line_that_is_not_where_it_was_is_not_charged() {
    let spent = scratch(&SPENT, c"scratch_spent");
    let audit = scratch(&CHARGE, c"scratch_charge");
    let places = two_pages(&spent);
    let keys = places.map(|place| line(&spent, place).key);
    let other = |key: BalanceKey| BalanceKey {
        budget: key.budget + 1000,
        ..key
    };
    for wrong in [
        [other(keys[0]), keys[1]],
        [keys[0], other(keys[1])],
        [keys[1], keys[0]],
    ] {
        assert!(charge(&spent, &audit, places, wrong).is_none());
    }
    for place in places {
        assert_eq!(line(&spent, place).charges, 0);
    }
}

#[pg_test]
fn a_line_is_made_once() {
    let spent = scratch(&SPENT, c"scratch_spent");
    let key = BalanceKey {
        budget: 4,
        role: Oid::from_u32(9),
    };
    let place = place_of(&spent, key);
    assert_eq!(line(&spent, place), Balance::new(key));
    assert_eq!(place_of(&spent, key), place);
    assert_ne!(place_of(&spent, BalanceKey { budget: 5, ..key }), place);
    assert_ne!(
        place_of(
            &spent,
            BalanceKey {
                role: Oid::INVALID,
                ..key
            }
        ),
        place
    );
}
