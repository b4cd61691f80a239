//! What is spent adds up and is compared without a digit lost.

use super::*;
use crate::privacy::cost::Loss;

const ZCDP: Accounting = Accounting::Zcdp;
const GAUSSIAN: Accounting = Accounting::Gaussian;

/// The exact value of that many units is at least, or at most, a number: compared as integers of 2^-1074.
fn compare(units: i64, shift: i32, value: f64) -> std::cmp::Ordering {
    // units / 2^shift against mantissa * 2^exponent, by cross-multiplying within i128.
    let bits = value.to_bits();
    let (exponent, fraction) = ((bits >> 52) as i32, bits & ((1 << 52) - 1));
    assert!(exponent > 0 && exponent < 2047, "a normal number");
    let (mantissa, exponent) = (i128::from(fraction | 1 << 52), exponent - 1075);
    let (mut left, mut right) = (i128::from(units), mantissa);
    let difference = exponent + shift;
    if difference >= 0 {
        right <<= difference.min(70);
    } else {
        // Beyond 63 bits the right side is less than a unit.
        if -difference > 63 {
            return if units > 0 {
                std::cmp::Ordering::Greater
            } else {
                std::cmp::Ordering::Less
            };
        }
        left <<= -difference;
    }
    left.cmp(&right)
}

const VALUES: [f64; 14] = [
    1e-300,
    1e-20,
    8e-16,
    9e-16,
    1e-10,
    1e-6,
    0.1,
    0.3,
    1.0,
    1.0000000000000002,
    2.5,
    3.0,
    50.0,
    4000.1,
];

#[test]
fn charges_are_rounded_up_and_limits_down() {
    for value in VALUES {
        let charge = up(value * UNIT);
        assert!(compare(charge, 50, value).is_ge(), "{value}");
        assert!(compare(charge - 1, 50, value).is_lt(), "{value}: too much");
        let limit = down(value * UNIT);
        assert!(compare(limit, 50, value).is_le(), "{value}");
        assert!(compare(limit + 1, 50, value).is_gt(), "{value}: too little");
        if value < 1.0 {
            let delta = Spent::of_epsilon(1.0, value, ZCDP).unwrap().delta;
            assert!(compare(delta, 62, value).is_ge(), "{value}");
            assert!(compare(delta - 1, 62, value).is_lt(), "{value}: too much");
            // Half of it, and never more.
            let half = Limit::new(1.0, value, ZCDP, HALF).unwrap().delta;
            assert!(compare(half, 61, value).is_le(), "{value}");
            assert!(compare(half + 1, 61, value).is_gt(), "{value}: too little");
        }
    }
}

#[test]
fn what_is_missing_costs_what_its_epsilon_and_delta_cost() {
    assert_eq!(Spent::missing(0.0, 0.0, ZCDP).unwrap(), Spent::default());
    let nothing_but_delta = Spent::missing(0.0, 1e-6, ZCDP).unwrap();
    let delta = Spent::of_epsilon(1.0, 1e-6, ZCDP).unwrap().delta;
    assert_eq!(
        nothing_but_delta,
        Spent {
            delta,
            ..Spent::default()
        }
    );
    for (epsilon, delta) in [(0.3, 0.0), (7.0, 1e-9), (1e-300, 0.5)] {
        assert_eq!(
            Spent::missing(epsilon, delta, ZCDP),
            Spent::of_epsilon(epsilon, delta, ZCDP)
        );
        // Of many charges that were lost it is at least the sum.
        let half = Spent::of_epsilon(epsilon / 2.0, delta / 2.0, ZCDP).unwrap();
        let (both, all) = (
            half.plus(&half),
            Spent::missing(epsilon, delta, ZCDP).unwrap(),
        );
        assert!(
            all.epsilon >= both.epsilon - 1 && all.rho >= both.rho - 1,
            "{epsilon}"
        );
    }
    for epsilon in [-0.1, f64::NAN, f64::INFINITY] {
        assert_eq!(
            Spent::missing(epsilon, 0.0, ZCDP).unwrap_err().argument,
            "eps"
        );
    }
    for (epsilon, delta) in [(0.0, 1.0), (0.0, -0.1), (1.0, 1.0), (0.0, f64::NAN)] {
        assert_eq!(
            Spent::missing(epsilon, delta, ZCDP).unwrap_err().argument,
            "delta"
        );
    }
}

#[test]
fn units_as_numbers_are_on_the_side_that_was_asked_for() {
    for units in [
        0,
        1,
        (1 << 53) + 1,
        (1 << 60) + 1,
        (1 << 62) - 1,
        i64::MAX - 1,
        i64::MAX,
    ] {
        let (low, high) = (float_down(units, UNIT), float_up(units, UNIT));
        assert!((low * UNIT) as i128 <= i128::from(units), "{units}");
        assert!((high * UNIT) as i128 >= i128::from(units), "{units}");
        assert!(high <= low.next_up(), "{units}");
    }
}

#[test]
fn a_charge_is_never_nothing_and_a_huge_one_never_fits() {
    let largest = Limit::new(4096.0, 0.999, ZCDP, HALF).unwrap();
    for epsilon in [5e-324, 1e-300, 1e-17] {
        let charge = Spent::of_epsilon(epsilon, 5e-324, ZCDP).unwrap();
        assert_eq!((charge.epsilon, charge.rho, charge.delta), (1, 1, 1));
    }
    for epsilon in [8192.0, 1e10, f64::MAX] {
        let charge = Spent::of_epsilon(epsilon, 0.0, ZCDP).unwrap();
        assert_eq!((charge.epsilon, charge.rho), (UNBOUNDED, UNBOUNDED));
        assert!(!largest.allows(&charge));
        assert_eq!(largest.how_many(&Spent::default(), &charge), 0);
    }
    // Nor does what was spent wrap around.
    let full = Spent {
        epsilon: UNBOUNDED,
        rho: UNBOUNDED,
        delta: UNBOUNDED,
    };
    assert_eq!(full.plus(&full), full);
    assert!(!largest.allows(&full));
    assert_eq!(largest.left(&full), 0.0);
    assert_eq!(largest.total(&full), None);
    let top = Limit {
        epsilon: i64::MAX - 1,
        rho: i64::MAX - 1,
        delta: i64::MAX - 1,
        ..largest
    };
    assert!(!top.allows(&full));
}

#[test]
fn what_does_not_divide_a_limit_stops_below_it() {
    let limit = Limit::new(1.0, 0.0, ZCDP, HALF).unwrap();
    let charge = Spent::of_epsilon(0.3, 0.0, ZCDP).unwrap();
    let mut spent = Spent::default();
    let mut fitted = 0;
    while limit.allows(&spent.plus(&charge)) {
        assert_eq!(limit.how_many(&spent, &charge), 3 - fitted);
        spent = spent.plus(&charge);
        fitted += 1;
    }
    assert_eq!(fitted, 3);
    assert_eq!(limit.how_many(&spent, &charge), 0);
    // A decimal reader's sums come out, though 0.1 is a little more than a tenth.
    for (epsilon, limit, times) in [(0.1, 1.0, 10), (0.1, 3.0, 30), (0.1, 0.3, 3), (0.7, 4.9, 7)] {
        let charge = Spent::of_epsilon(epsilon, 0.0, ZCDP).unwrap();
        let limit = Limit::new(limit, 0.0, ZCDP, HALF).unwrap();
        assert_eq!(limit.how_many(&Spent::default(), &charge), times);
        let spent = Epsilon::new(Some(epsilon)).unwrap().value() * UNIT;
        assert_eq!(charge.epsilon as f64, spent);
    }
    let exact = Spent::of_epsilon(0.125, 0.0, ZCDP).unwrap();
    assert_eq!(limit.how_many(&Spent::default(), &exact), 8);
}

#[test]
fn without_a_delta_only_the_sum_counts() {
    let limit = Limit::new(3.0, 0.0, ZCDP, HALF).unwrap();
    assert_eq!((limit.rho, limit.delta), (0, 0));
    let pure = Spent::of_epsilon(3.0, 0.0, ZCDP).unwrap();
    assert!(limit.allows(&pure));
    assert!(!limit.allows(&Spent::of_epsilon(1e-3, 1e-12, ZCDP).unwrap()));
    let gaussian = Spent::of(&Cost::of_mu(1e-6, None).unwrap(), ZCDP);
    assert!(!limit.allows(&gaussian));
    assert_eq!(limit.total(&gaussian), None);
    assert_eq!(limit.total(&pure), Some((3.0, 0.0)));
}

#[test]
fn costs_are_charged_as_their_mechanisms_say() {
    let pure = Spent::of(&Cost::of_epsilon(Loss::Pure, 0.5, 0.0, 1.0, 1), ZCDP);
    assert_eq!(pure, Spent::of_epsilon(0.5, 0.0, ZCDP).unwrap());
    let laplace = Spent::of(
        &Cost::of_epsilon(Loss::Laplace { steps: 1 << 32 }, 0.5, 0.0, 1.0, 1),
        ZCDP,
    );
    assert!(laplace.epsilon == pure.epsilon && laplace.rho < pure.rho);
    let keep = Spent::of(
        &Cost::of_epsilon(Loss::Approximate, 0.5, 1e-9, 1.0, 1),
        ZCDP,
    );
    assert_eq!(keep, Spent::of_epsilon(0.5, 1e-9, ZCDP).unwrap());
    // Gaussian noise costs the same in both terms; what is pure costs more beside it.
    let noise = Cost::of_mu(0.1, Some((0.5, 1e-6))).unwrap();
    assert_eq!(Spent::of(&noise, ZCDP), Spent::of(&noise, GAUSSIAN));
    for (loss, more) in [(Loss::Pure, 1.5), (Loss::BoundedRange, 1.57)] {
        let cost = Cost::of_epsilon(loss, 0.1, 0.0, 1.0, 1);
        let ratio = cost.half_square / cost.rho;
        assert!(ratio > more && ratio < 1.573, "{ratio}");
    }
    let choices = Cost::of_choices(0.00125);
    let same = Cost::of_epsilon(Loss::BoundedRange, 0.1, 0.0, 1.0, 1);
    assert!((choices.half_square / same.half_square - 1.0).abs() < 1e-9);
    let gaussian = Spent::of(&noise, ZCDP);
    assert_eq!(gaussian.epsilon, UNBOUNDED);
    assert_eq!(gaussian.delta, 0);
    assert!(gaussian.rho >= (0.005 * UNIT) as i64);
    // Once something without a bound was spent, only the rhos count, and pure ones go on to fit there.
    let limit = Limit::new(3.0, 1e-6, ZCDP, HALF).unwrap();
    assert!(limit.allows(&gaussian) && limit.allows(&gaussian.plus(&pure)));
    let many = Spent::of_epsilon(1.0, 0.0, ZCDP).unwrap();
    assert!(limit.allows(&many) && !limit.allows(&gaussian.plus(&many)));
}

#[test]
fn what_is_left_fits_and_more_does_not() {
    for (epsilon, delta, accounting) in [
        (3.0, 1e-6, ZCDP),
        (1.0, 0.0, ZCDP),
        (0.05, 1e-9, ZCDP),
        (4096.0, 0.5, ZCDP),
        (3.0, 1e-6, GAUSSIAN),
        (0.05, 1e-9, GAUSSIAN),
    ] {
        let limit = Limit::new(epsilon, delta, accounting, HALF).unwrap();
        let pure = |epsilon, delta| Spent::of_epsilon(epsilon, delta, accounting).unwrap();
        for used in [0.0, 0.01, 0.3, 0.9] {
            let spent = match used {
                0.0 => Spent::default(),
                _ => pure(used * epsilon, delta / 4.0),
            };
            let left = limit.left(&spent);
            assert!(left >= (1.0 - used) * epsilon * (1.0 - 1e-9), "{left}");
            let fits = |epsilon: f64| limit.allows(&spent.plus(&pure(epsilon, 0.0)));
            assert!(fits(left), "{epsilon} {delta} {used}: {left}");
            assert!(!fits(left + 1e-9 * epsilon), "{epsilon} {delta}: {left}");
        }
    }
    // After something without a bound: what rho leaves.
    let limit = Limit::new(3.0, 1e-6, ZCDP, HALF).unwrap();
    let gaussian = Spent::of(&Cost::of_mu(0.5, None).unwrap(), ZCDP);
    let left = limit.left(&gaussian);
    let charge = |epsilon| gaussian.plus(&Spent::of_epsilon(epsilon, 0.0, ZCDP).unwrap());
    assert!(left > 0.1 && limit.allows(&charge(left)));
    assert!(!limit.allows(&charge(left + 1e-9)));
    // Nothing is, where the deltas are used up.
    let failed = Spent::of_epsilon(1e-3, 9e-7, ZCDP).unwrap();
    assert_eq!(limit.left(&failed), 0.0);
}

#[test]
fn the_total_is_within_every_limit_that_allowed_it() {
    for (epsilon, delta) in [(3.0, 1e-6), (1.0, 1e-3), (10.0, 1e-9), (2.0, 0.0)] {
        let limit = Limit::new(epsilon, delta, ZCDP, HALF).unwrap();
        for each in [0.013, 0.1, 0.7, 1.9] {
            let charge = Spent::of_epsilon(each, 0.0, ZCDP).unwrap();
            let mut spent = Spent::default();
            for _ in 0..limit.how_many(&spent, &charge) {
                spent = spent.plus(&charge);
            }
            let (total, rest) = limit.total(&spent).unwrap();
            assert!(total <= epsilon && rest <= delta, "{total} {rest}");
            // And what does not fit has a total above it.
            let (total, _) = limit.total(&spent.plus(&charge)).unwrap();
            assert!(total > epsilon * (1.0 - 1e-9), "{total} {epsilon}");
        }
    }
    let limit = Limit::new(3.0, 1e-6, ZCDP, HALF).unwrap();
    assert_eq!(limit.total(&Spent::default()), Some((0.0, 0.0)));
    // With failures beside the half of delta.
    let charge = Spent::of_epsilon(0.01, 1e-9, ZCDP).unwrap();
    let spent = (0..400).fold(Spent::default(), |spent, _| spent.plus(&charge));
    assert!(limit.allows(&spent));
    let (total, delta) = limit.total(&spent).unwrap();
    assert!(
        total < 1.5 && (9e-7..9.001e-7).contains(&delta),
        "{total} {delta}"
    );
}

#[test]
fn bad_limits_and_charges_are_refused() {
    for bad in [f64::NAN, f64::INFINITY, -1.0, 0.0, -0.0] {
        assert_eq!(
            Limit::new(bad, 0.0, ZCDP, HALF).unwrap_err().argument,
            "eps"
        );
        assert_eq!(
            Spent::of_epsilon(bad, 0.0, ZCDP).unwrap_err().argument,
            "eps"
        );
    }
    assert!(Limit::new(4096.0, 0.0, ZCDP, HALF).is_ok());
    assert!(Limit::new(4096.0_f64.next_up(), 0.0, ZCDP, HALF).is_err());
    for bad in [f64::NAN, f64::INFINITY, -1e-9, 1.0, 2.0] {
        assert_eq!(
            Limit::new(1.0, bad, ZCDP, HALF).unwrap_err().argument,
            "delta"
        );
        assert_eq!(
            Spent::of_epsilon(1.0, bad, ZCDP).unwrap_err().argument,
            "delta"
        );
    }
}
