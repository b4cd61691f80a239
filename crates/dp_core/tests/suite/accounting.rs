//! Gaussian accounting against references of 50 digits, on the private side of each.

use dp_core::privacy::accounting::{
    RELATIVE_ERROR, delta, epsilon, mu, mu_of_rho, rdp_of_mu, rho_of_mu,
};

/// The relative error that the accounting promises.
const PROMISED: f64 = 1e-12;

/// `(eps, delta, mu, delta_of_mu, eps_of_mu)`: the largest double `mu` such that `mu`-GDP implies
/// (eps, delta)-differential privacy; and, at this `mu` exactly, the smallest doubles that may
/// replace delta, and epsilon.
///
/// From Python's mpmath 1.3 at 120 digits (1000 where epsilon is below 1e-100 or 0), by the
/// formula of Balle and Wang 2018, Theorem 8, with `mpmath.erfc`; roots by bisection to 50
/// digits. Arguments are the doubles shown. Results are rounded to a double with the exact
/// comparison: `mu` down, the others up.
#[rustfmt::skip]
const REFERENCE: &[(f64, f64, f64, f64, f64)] = &[
    (1e-6, 1e-300, 2.74152954215943e-8, 9.999999999999312e-301, 1e-6),
    (1e-6, 1e-100, 4.920894962902149e-8, 9.999999999999823e-101, 1e-6),
    (1e-6, 1e-30, 1.0261690596616387e-7, 9.999999999999948e-31, 1e-6),
    (1e-6, 1e-12, 2.425697605965828e-7, 9.999999999999984e-13, 1e-6),
    (1e-6, 1e-9, 4.1044030202485856e-7, 9.999999999999994e-10, 1e-6),
    (1e-6, 1e-6, 3.6227958837492212e-6, 1e-6, 9.999999999999997e-7),
    (1e-6, 1e-5, 2.6300575650481552e-5, 1e-5, 1e-6),
    (1e-6, 0.01, 0.02506817987465333, 0.01, 9.999999999977456e-7),
    (1e-6, 0.5, 1.3489802871081673, 0.5, 9.999999999593792e-7),
    (0.0001, 1e-300, 2.7321103614469254e-6, 9.999999999998674e-301, 0.0001),
    (0.0001, 1e-100, 4.86729715848317e-6, 9.999999999999848e-101, 0.0001),
    (0.0001, 1e-30, 9.81004498312835e-6, 9.999999999999826e-31, 9.999999999999999e-5),
    (0.0001, 1e-12, 1.9951982722232504e-5, 9.999999999999974e-13, 0.0001),
    (0.0001, 1e-9, 2.763156907398931e-5, 9.999999999999984e-10, 0.0001),
    (0.0001, 1e-6, 5.800091169320337e-5, 9.999999999999997e-7, 0.0001),
    (0.0001, 1e-5, 0.00010667971445313291, 1e-5, 0.0001),
    (0.0001, 0.01, 0.025190828425243564, 0.01, 9.99999999999974e-5),
    (0.0001, 0.5, 1.3490581693565034, 0.5, 9.999999999983203e-5),
    (0.01, 1e-300, 0.00027227775922067664, 9.999999999999622e-301, 0.01),
    (0.01, 1e-100, 0.0004815351313077974, 9.9999999999996e-101, 0.01),
    (0.01, 1e-30, 0.0009411950979527763, 9.999999999999934e-31, 0.01),
    (0.01, 1e-12, 0.0017271220791801817, 9.99999999999998e-13, 0.01),
    (0.01, 1e-9, 0.002180984661044349, 9.999999999999992e-10, 0.01),
    (0.01, 1e-6, 0.0032642362400687984, 9.99999999999999e-7, 0.01),
    (0.01, 1e-5, 0.004101967736605983, 9.999999999999986e-6, 0.009999999999999998),
    (0.01, 0.01, 0.0360999329751467, 0.009999999999999998, 0.009999999999999995),
    (0.01, 0.5, 1.3568202221152998, 0.5, 0.00999999999999986),
    (0.1, 1e-300, 0.0027180616715849265, 9.999999999999897e-301, 0.1),
    (0.1, 1e-100, 0.004789527565443041, 9.999999999999556e-101, 0.1),
    (0.1, 1e-30, 0.009226725449305537, 9.99999999999992e-31, 0.1),
    (0.1, 1e-12, 0.016249843047932856, 9.999999999999917e-13, 0.09999999999999999),
    (0.1, 1e-9, 0.019916423412681464, 9.999999999999961e-10, 0.09999999999999999),
    (0.1, 1e-6, 0.027544650243827618, 9.99999999999998e-7, 0.1),
    (0.1, 1e-5, 0.03252078405620391, 9.999999999999982e-6, 0.09999999999999999),
    (0.1, 0.01, 0.10480177537254445, 0.009999999999999998, 0.1),
    (0.1, 0.5, 1.4251620731584687, 0.5, 0.0999999999999998),
    (0.5, 1e-300, 0.013572217479092099, 9.999999999998265e-301, 0.49999999999999994),
    (0.5, 1e-100, 0.023849520232008523, 9.999999999999461e-101, 0.49999999999999994),
    (0.5, 1e-30, 0.045455493588979476, 9.999999999999859e-31, 0.49999999999999994),
    (0.5, 1e-12, 0.07785630760368639, 9.999999999999986e-13, 0.5),
    (0.5, 1e-9, 0.09368649681784492, 9.999999999999984e-10, 0.5),
    (0.5, 1e-6, 0.12410614903052812, 9.999999999999985e-7, 0.5),
    (0.5, 1e-5, 0.14221055866926122, 9.999999999999994e-6, 0.5),
    (0.5, 0.01, 0.31777172380221036, 0.01, 0.5),
    (0.5, 0.5, 1.692283325550555, 0.49999999999999994, 0.4999999999999998),
    (1.0, 1e-300, 0.027125633915817536, 9.999999999999975e-301, 1.0),
    (1.0, 1e-100, 0.04759772147739076, 9.999999999999678e-101, 1.0),
    (1.0, 1e-30, 0.0902274394277194, 9.999999999999833e-31, 0.9999999999999999),
    (1.0, 1e-12, 0.15248965124598127, 9.99999999999995e-13, 0.9999999999999999),
    (1.0, 1e-9, 0.18197480729533225, 9.99999999999997e-10, 1.0),
    (1.0, 1e-6, 0.2367043806634357, 9.999999999999983e-7, 1.0),
    (1.0, 1e-5, 0.2680511232112942, 9.999999999999994e-6, 1.0),
    (1.0, 0.01, 0.5325166485029507, 0.00999999999999999, 0.9999999999999998),
    (1.0, 0.5, 1.9721336276896815, 0.49999999999999994, 0.9999999999999997),
    (2.0, 1e-300, 0.05420381761475724, 9.99999999999853e-301, 2.0),
    (2.0, 1e-100, 0.09494104582665742, 9.999999999999877e-101, 2.0),
    (2.0, 1e-30, 0.17877091362401976, 9.99999999999991e-31, 2.0),
    (2.0, 1e-12, 0.29738251262067744, 9.999999999999937e-13, 1.9999999999999998),
    (2.0, 1e-9, 0.35154981589778067, 9.999999999999978e-10, 2.0),
    (2.0, 1e-6, 0.4483347403951927, 9.999999999999974e-7, 1.9999999999999998),
    (2.0, 1e-5, 0.5015516891696565, 9.999999999999969e-6, 1.9999999999999998),
    (2.0, 0.01, 0.895853194478009, 0.01, 2.0),
    (2.0, 0.5, 2.4328068504642255, 0.4999999999999999, 1.9999999999999991),
    (4.0, 1e-300, 0.10827344753601718, 9.99999999999948e-301, 4.0),
    (4.0, 1e-100, 0.18916790217720955, 9.999999999999815e-101, 4.0),
    (4.0, 1e-30, 0.3529375480802765, 9.99999999999985e-31, 3.9999999999999996),
    (4.0, 1e-12, 0.5751697253933241, 9.999999999999998e-13, 4.0),
    (4.0, 1e-9, 0.6721316900808129, 9.999999999999947e-10, 3.9999999999999996),
    (4.0, 1e-6, 0.837858757089998, 9.99999999999999e-7, 4.0),
    (4.0, 1e-5, 0.9249308976669363, 9.999999999999982e-6, 4.0),
    (4.0, 0.01, 1.4946759880691027, 0.01, 4.0),
    (4.0, 0.5, 3.153736604901212, 0.49999999999999994, 3.9999999999999996),
    (10.0, 1e-300, 0.26991341142978365, 9.99999999999825e-301, 10.0),
    (10.0, 1e-100, 0.46888114985805124, 9.999999999999873e-101, 10.0),
    (10.0, 1e-30, 0.8576160595625337, 9.99999999999986e-31, 10.0),
    (10.0, 1e-12, 1.3429807286510382, 9.999999999999913e-13, 10.0),
    (10.0, 1e-9, 1.5378773368145398, 9.99999999999994e-10, 10.0),
    (10.0, 1e-6, 1.848132205767084, 9.999999999999968e-7, 10.0),
    (10.0, 1e-5, 2.0004456204306322, 9.999999999999977e-6, 10.0),
    (10.0, 0.01, 2.8563537996214032, 0.01, 10.0),
    (10.0, 0.5, 4.687520671082928, 0.5, 10.0),
    (20.0, 1e-300, 0.5376169038776945, 9.99999999999752e-301, 19.999999999999996),
    (20.0, 1e-100, 0.9264706617959823, 9.999999999999627e-101, 20.0),
    (20.0, 1e-30, 1.6516416488166479, 9.999999999999813e-31, 20.0),
    (20.0, 1e-12, 2.4749379575716706, 9.99999999999991e-13, 20.0),
    (20.0, 1e-9, 2.7792284836722736, 9.999999999999984e-10, 20.0),
    (20.0, 1e-6, 3.2353593068946385, 9.99999999999999e-7, 20.0),
    (20.0, 1e-5, 3.447783446869395, 9.999999999999972e-6, 20.0),
    (20.0, 0.01, 4.530472873935068, 0.009999999999999974, 19.999999999999996),
    (20.0, 0.5, 6.479588852624591, 0.4999999999999998, 19.999999999999996),
    (50.0, 1e-300, 1.329051035687914, 9.999999999998848e-301, 50.0),
    (50.0, 1e-100, 2.243677453648702, 9.999999999999587e-101, 50.0),
    (50.0, 1e-30, 3.7787621965963667, 9.99999999999981e-31, 50.0),
    (50.0, 1e-12, 5.243551361855375, 9.999999999999931e-13, 50.0),
    (50.0, 1e-9, 5.72135976895493, 9.99999999999992e-10, 49.99999999999999),
    (50.0, 1e-6, 6.385986778952409, 9.99999999999999e-7, 50.0),
    (50.0, 1e-5, 6.677323338140026, 9.999999999999969e-6, 50.0),
    (50.0, 0.01, 8.025609808781654, 0.00999999999999999, 50.0),
    (50.0, 0.5, 10.09918981097688, 0.4999999999999995, 49.99999999999999),
    (0.0, 0.5, 1.3489795003921634, 0.5, 0.0),
    (0.0, 1e-6, 2.5066282746316563e-6, 1e-6, 0.0),
    (0.0, 1e-300, 2.5066282746310005e-300, 1e-300, 0.0),
    (0.0, 0.99, 5.151658607097801, 0.99, 0.0),
    (0.0, 1e-310, 2.50662827463095e-310, 1e-310, 0.0),
    (0.0, 5e-324, 1e-323, 5e-324, 0.0),
    (1e-300, 1e-302, 5.8001465710040285e-301, 9.999999999999998e-303, 1e-300),
    (1e-200, 1e-202, 5.800146571004028e-201, 9.999999999999998e-203, 1e-200),
    (1e-250, 1e-300, 6.862873890020214e-252, 9.999999999999919e-301, 1e-250),
    (1e-12, 1e-9, 2.507881389395595e-9, 1e-9, 9.999999999997578e-13),
    (1e-12, 1e-300, 2.770381335579315e-14, 9.999999999999531e-301, 1e-12),
    (1000.0, 1e-6, 40.240854897534966, 9.999999999999798e-7, 999.9999999999999),
    (1000.0, 0.5, 44.74371092638813, 0.49999999999999817, 999.9999999999999),
    (1000000.0, 1e-300, 1377.652327933574, 9.999999999985615e-301, 1000000.0),
    (1000000.0, 1e-6, 1409.4688325084699, 9.99999999999484e-7, 999999.9999999999),
    (1000000.0, 0.5, 1414.2142694795814, 0.4999999999999129, 999999.9999999998),
    (1000000.0, 0.999999, 1418.9756835027968, 0.999999, 1000000.0),
    (1e-6, 0.9, 3.289707738701354, 0.9, 9.99999999716553e-7),
    (1.0, 0.66, 2.4719455608073506, 0.6599999999999999, 0.9999999999999991),
    (1.0, 0.68, 2.544219790587635, 0.68, 0.9999999999999997),
    (1.0, 0.7, 2.619631339485879, 0.7, 0.9999999999999997),
    (1.0, 0.9, 3.7289436819884516, 0.9, 0.9999999999999998),
    (0.1, 0.999, 6.6090799639478, 0.999, 0.09999999999999783),
    (10.0, 0.9999999999, 14.304784900613244, 0.9999999999, 9.999999999999988),
    (0.1, 1e-310, 0.0026730670985466516, 9.999999999999e-311, 0.1),
    (1.0, 5e-324, 0.02611609924709208, 5e-324, 1.0),
    (50.0, 5e-324, 1.2814329835659415, 5e-324, 50.0),
    (1e-6, 5e-324, 2.6374348341964827e-8, 5e-324, 1e-6),
    (1000000.0, 5e-324, 1376.2699247216879, 5e-324, 999999.9999999999),
    (0.0, 0.9999999999999999, 16.58472215162719, 0.9999999999999999, 0.0),
    (1e-6, 0.9999999999999999, 16.584722270537814, 0.9999999999999999, 9.99999979522082e-7),
    (1.0, 0.9999999999999999, 16.70280897470018, 0.9999999999999999, 0.9999999999999819),
    (50.0, 0.9999999999999999, 21.244852809830537, 0.9999999999999999, 49.999999999999964),
    (1000000.0, 0.9999999999999999, 1422.4476357222527, 0.9999999999999999, 999999.9999999998),
];

/// Where the first form of delta is used, and a relative error of delta means one.
fn is_direct(eps: f64, mu: f64) -> bool {
    eps / mu - mu / 2.0 >= -1.0
}

/// Whether `value` is `exact` or above it (or below it, for `up` false) by at most the promised
/// error or one subnormal.
fn assert_side(what: &str, up: bool, value: f64, exact: f64) {
    let slack = exact * PROMISED + f64::from_bits(1);
    let ok = if up {
        (exact..=exact + slack).contains(&value)
    } else {
        (exact - slack..=exact).contains(&value)
    };
    assert!(ok, "{what}: {value:e}, exact {exact:e}");
}

#[test]
fn mu_is_the_reference_rounded_down() {
    for &(eps, d, exact, ..) in REFERENCE {
        let found = mu(eps, d).unwrap();
        assert_side(&format!("mu({eps:e}, {d:e})"), false, found, exact);
    }
}

#[test]
fn delta_is_the_reference_rounded_up() {
    for &(eps, _, m, exact, _) in REFERENCE {
        let found = delta(eps, m).unwrap();
        assert_side(&format!("delta({eps:e}, {m:e})"), true, found, exact);
    }
}

#[test]
fn epsilon_is_the_reference_rounded_up() {
    let mut well_conditioned = 0;
    for &(eps, d, m, _, exact) in REFERENCE {
        let found = epsilon(d, m).unwrap();
        let what = format!("epsilon({d:e}, {m:e})");
        assert!(found >= exact, "{what}: {found:e}, exact {exact:e}");
        if eps >= m / 4.0 {
            assert_side(&what, true, found, exact);
            well_conditioned += 1;
        } else if eps > 0.0 {
            // The condition of the problem is below 9 mu / (4 eps).
            assert!(found <= exact * (1.0 + 1e-12 * (m / eps)), "{what}");
        }
    }
    assert!(well_conditioned > 80);
}

/// The same numbers with the allowance taken off: what is left is the error of the computation,
/// far from using it up. Fails before the guarantee does, on a platform with a worse `exp`.
#[test]
fn computed_deltas_leave_most_of_the_allowance() {
    for &(eps, _, m, exact, _) in REFERENCE {
        if !exact.is_normal() || !is_direct(eps, m) {
            continue;
        }
        let error = delta(eps, m).unwrap() / exact - 1.0 - RELATIVE_ERROR;
        assert!(
            error.abs() < RELATIVE_ERROR / 8.0,
            "delta({eps:e}, {m:e}) is off by {error:e}"
        );
    }
}

#[test]
fn known_values() {
    for (eps, d, expected) in [
        (0.1, 1e-6, 0.027544650),
        (1.0, 1e-6, 0.236704381),
        (1.0, 1e-5, 0.268051123),
        (1.0, 1e-9, 0.181974807),
        (4.0, 1e-6, 0.837858757),
    ] {
        assert!((mu(eps, d).unwrap() - expected).abs() < 6e-10, "{eps} {d}");
    }
    // delta(0, mu) is the total variation distance 2 Phi(mu/2) - 1: of mu = 2, erf(1/sqrt(2)).
    assert_side(
        "delta(0, 2)",
        true,
        delta(0.0, 2.0).unwrap(),
        0.682_689_492_137_085_9,
    );
}

/// Values from `from` to `to`, the same number of steps apart on a logarithmic scale.
fn spread(from: f64, to: f64, steps: u32) -> impl Iterator<Item = f64> {
    let ratio = (to.ln() - from.ln()) / f64::from(steps);
    (0..=steps).map(move |i| (from.ln() + ratio * f64::from(i)).exp())
}

/// All of the domain, and its ends.
fn epsilons() -> impl Iterator<Item = f64> {
    [0.0, 5e-324, 1e-300, 1e-100]
        .into_iter()
        .chain(spread(1e-12, 1e6, 36))
        .chain([1e12, 1e30, 1e300, f64::MAX])
}

fn deltas() -> impl Iterator<Item = f64> {
    [5e-324, 1e-323, 1e-310, f64::MIN_POSITIVE]
        .into_iter()
        .chain(spread(1e-300, 0.4, 30))
        .chain([0.5, 0.68, 0.7, 0.9, 0.999, 1.0 - 1e-9, 1.0 - f64::EPSILON])
        .chain([1f64.next_down()])
}

fn mus() -> impl Iterator<Item = f64> {
    [5e-324, 1e-310, 1e-200, 1e-151, 1e-150, 1e-100]
        .into_iter()
        .chain(spread(1e-12, 1e6, 60))
        .chain([1e12, 1e100, f64::MAX])
}

#[test]
fn a_budget_is_certainly_private_and_the_next_is_not() {
    for eps in epsilons() {
        for d in deltas() {
            let m = mu(eps, d).unwrap();
            assert!(m.is_finite() && m > 0.0, "{eps:e} {d:e}: {m:e}");
            assert!(delta(eps, m).unwrap() <= d, "{eps:e} {d:e}: {m:e}");
            assert!(delta(eps, m.next_up()).unwrap() > d, "{eps:e} {d:e}: {m:e}");
        }
    }
}

#[test]
fn an_epsilon_is_certainly_private_and_the_one_before_is_not() {
    for m in mus().filter(|&m| m <= 1e12) {
        for d in deltas() {
            let eps = epsilon(d, m).unwrap();
            assert!(delta(eps, m).unwrap() <= d, "{d:e} {m:e}: {eps:e}");
            if eps == 0.0 {
                continue;
            }
            let before = eps.next_down();
            assert!(delta(before, m).unwrap() > d, "{d:e} {m:e}: {eps:e}");
        }
    }
    // A budget's own epsilon comes back, but for the allowance.
    for eps in spread(1e-6, 50.0, 20) {
        for d in spread(1e-300, 1e-7, 20).filter(|&d| d < eps / 10.0) {
            let back = epsilon(d, mu(eps, d).unwrap()).unwrap();
            assert!(
                (back / eps - 1.0).abs() < PROMISED,
                "{eps:e} {d:e}: {back:e}"
            );
        }
    }
}

/// In steps of a few times the allowance.
#[test]
fn results_are_monotone() {
    let step = 1.0 + 4.0 * RELATIVE_ERROR;
    for &(eps, d, m, ..) in REFERENCE {
        let what = format!("{eps:e} {d:e} {m:e}");
        let at = mu(eps, d).unwrap();
        assert!(mu(eps * step, d).unwrap() >= at, "{what}");
        assert!(
            mu(eps, d * step.min(1.0 / d)).map_or(true, |more| more >= at),
            "{what}"
        );
        // In delta, to the last digit.
        let before = mu(eps, d.next_down());
        assert!(before.map_or(d == 5e-324, |less| less <= at), "{what}");

        let at = delta(eps, m).unwrap();
        assert!(delta(eps * step, m).unwrap() <= at, "{what}");
        assert!(delta(eps, m * step).unwrap() >= at, "{what}");

        let at = epsilon(d, m).unwrap();
        assert!(epsilon(d, m * step).unwrap() >= at, "{what}");
        assert!(
            epsilon(d.next_down().max(5e-324), m).unwrap() >= at,
            "{what}"
        );
    }
}

#[test]
fn results_are_sensible_in_all_of_the_domain() {
    for eps in epsilons() {
        let mut last = 0.0;
        for m in mus() {
            let found = delta(eps, m).unwrap();
            assert!(found > 0.0 && found <= 1.0, "delta({eps:e}, {m:e})");
            assert!(found >= last, "delta({eps:e}, {m:e})");
            last = found;
        }
        let mut last = 0.0;
        for d in deltas() {
            let found = mu(eps, d).unwrap();
            assert!(found >= last, "mu({eps:e}, {d:e})");
            last = found;
        }
    }
    for d in deltas() {
        let mut last = 0.0;
        for eps in epsilons() {
            let found = mu(eps, d).unwrap();
            assert!(found >= last, "mu({eps:e}, {d:e})");
            last = found;
        }
        let mut last = 0.0;
        for m in mus().filter(|&m| m <= 1e12) {
            let found = epsilon(d, m).unwrap();
            assert!(found.is_finite() && found >= last, "epsilon({d:e}, {m:e})");
            last = found;
        }
    }
    for m in mus() {
        let mut last = 1.0;
        for eps in epsilons() {
            let found = delta(eps, m).unwrap();
            assert!(found <= last, "delta({eps:e}, {m:e})");
            last = found;
        }
    }
}

#[test]
fn the_ends_of_the_range() {
    assert_eq!(delta(1e6, 1e-12).unwrap(), 5e-324);
    assert_eq!(delta(f64::MAX, 5e-324).unwrap(), 5e-324);
    assert_eq!(delta(0.0, 1e6).unwrap(), 1.0);
    assert_eq!(delta(0.0, f64::MAX).unwrap(), 1.0);
    assert_eq!(delta(-0.0, 1.0), delta(0.0, 1.0));
    assert_eq!(mu(0.0, 5e-324).unwrap(), 1e-323);
    // Above 2^80 a greater epsilon buys nothing more.
    assert_eq!(mu(f64::MAX, 0.5), mu(2f64.powi(80), 0.5));
    // 0 just where delta is at least that of epsilon 0.
    for m in [1e-9, 0.1, 1.0, 3.0, 10.0] {
        let most = delta(0.0, m).unwrap();
        assert_eq!(epsilon(most, m).unwrap(), 0.0);
        assert!(epsilon(most.next_down(), m).unwrap() > 0.0);
    }
}

#[test]
fn rho_and_renyi_are_rounded_to_the_private_side() {
    assert_eq!(rho_of_mu(2.0).unwrap(), 2.0);
    assert_eq!(mu_of_rho(2.0).unwrap(), 2.0);
    assert_eq!(mu_of_rho(0.5).unwrap(), 1.0);
    assert_eq!(rdp_of_mu(2.0, 3.0).unwrap(), 6.0);
    // From mpmath, rounded up, down and up.
    assert_eq!(rho_of_mu(0.1).unwrap(), 0.005000000000000001);
    assert_eq!(mu_of_rho(0.1).unwrap(), 0.4472135954999579);
    assert_eq!(rdp_of_mu(0.1, 2.1).unwrap(), 0.010500000000000004);
    assert_eq!(rho_of_mu(1e-200).unwrap(), 5e-324);
    assert!(rdp_of_mu(5e-324, 1e300).unwrap() > 0.0);
    assert_side(
        "mu_of_rho",
        false,
        mu_of_rho(5e-324).unwrap(),
        3.143455569405257e-162,
    );
    assert!(mu_of_rho(f64::MAX).unwrap() > 1.8e154);
    for m in spread(1e-12, 1e6, 5000) {
        let rho = rho_of_mu(m).unwrap();
        // Above it, by at most one place; and the residual of the product below is exact.
        assert!((m / 2.0).mul_add(m, -rho) <= 0.0, "{m:e}");
        assert!((m / 2.0).mul_add(m, -rho.next_down()) > 0.0, "{m:e}");
        let back = mu_of_rho(rho).unwrap();
        assert!(back.mul_add(back, -2.0 * rho) <= 0.0, "{m:e}");
        let above = back.next_up();
        assert!(above.mul_add(above, -2.0 * rho) > 0.0, "{m:e}");
        let rdp = rdp_of_mu(m, 1.7).unwrap();
        assert!(1.7f64.mul_add(rho, -rdp) <= 0.0, "{m:e}");
        assert!(1.7f64.mul_add(rho, -rdp.next_down()) > 0.0, "{m:e}");
    }
}

#[test]
fn bad_arguments_are_named() {
    type Call = fn(f64) -> Result<f64, dp_core::error::ParameterError>;
    let positive = [f64::NAN, f64::INFINITY, -f64::INFINITY, 0.0, -0.0, -1.0];
    let eps = [f64::NAN, f64::INFINITY, -f64::INFINITY, -5e-324, -1.0];
    let delta_values = [
        f64::NAN,
        f64::INFINITY,
        -f64::INFINITY,
        0.0,
        -0.0,
        -1e-9,
        1.0,
        2.0,
    ];
    let alpha = [f64::NAN, f64::INFINITY, -f64::INFINITY, 0.0, 1.0, -2.0];
    let cases: [(&str, Call, &[f64]); 13] = [
        ("eps", |x| mu(x, 1e-6), &eps),
        ("delta", |x| mu(1.0, x), &delta_values),
        ("eps", |x| delta(x, 1.0), &eps),
        ("mu", |x| delta(1.0, x), &positive),
        ("delta", |x| epsilon(x, 1.0), &delta_values),
        ("mu", |x| epsilon(1e-6, x), &positive),
        ("mu", rho_of_mu, &positive),
        ("rho", mu_of_rho, &positive),
        ("mu", |x| rdp_of_mu(x, 2.0), &positive),
        ("alpha", |x| rdp_of_mu(1.0, x), &alpha),
        // Answers too large for a float8.
        ("mu", rho_of_mu, &[1e155, f64::MAX]),
        ("mu", |x| epsilon(1e-6, x), &[1e13, f64::MAX]),
        ("alpha", |x| rdp_of_mu(1e154, x), &[1e10, f64::MAX]),
    ];
    for (argument, call, values) in cases {
        for &value in values {
            let error = call(value).unwrap_err();
            assert_eq!(error.argument, argument, "{value}");
            assert!(!error.message.is_empty() && !error.hint.is_empty());
        }
    }
    assert!(epsilon(1e-6, 2f64.powi(40)).is_ok());
}
