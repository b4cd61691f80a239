//! What a release costs: `rho` against the Rényi divergences of the noise itself.

use dp_core::privacy::accounting::{mu, rho_of_mu};
use dp_core::privacy::cost::{Cost, Loss};
use dp_core::privacy::zcdp::rho_of_eps;
use dp_core::registry::{COUNT, KEEP, MEAN, SUM, VARIANCE, catalog};
use dp_core::request::arguments::{Arguments, MechanismArgument};

use crate::distribution;

type Point = (i64, i64);

/// Orders at which divergences are compared; the largest rho of each noise here is at the lowest.
const ORDERS: [f64; 8] = [1.000_01, 1.1, 1.5, 2.0, 4.0, 16.0, 64.0, 512.0];

/// The smallest rho, over these orders, for noise with the logarithm of a probability `log` at each
/// point of the window, and for a move.
fn rho_of_move(points: &[Point], log: &impl Fn(Point) -> f64, (dx, dy): Point) -> f64 {
    let logs: Vec<_> = points
        .iter()
        .map(|(x, y)| (log((*x, *y)), log((x - dx, y - dy))))
        .filter(|(p, q)| p.is_finite() && q.is_finite())
        .collect();
    let rho = |alpha: f64| {
        let power = |(p, q): &(f64, f64)| alpha * p - (alpha - 1.0) * q;
        let most = logs.iter().map(power).fold(f64::MIN, f64::max);
        let sum: f64 = logs.iter().map(|point| (power(point) - most).exp()).sum();
        (most + sum.ln()) / (alpha - 1.0) / alpha
    };
    ORDERS.map(rho).into_iter().fold(0.0, f64::max)
}

/// Whether the `rho` of a loss covers the noise for all moves, and what part of it the worst one uses.
fn used(
    loss: Loss,
    eps: f64,
    moves: &[Point],
    points: &[Point],
    log: impl Fn(Point) -> f64,
) -> f64 {
    let worst = moves
        .iter()
        .flat_map(|(x, y)| [(*x, *y), (-x, -y)])
        .map(|by| rho_of_move(points, &log, by))
        .fold(0.0, f64::max);
    worst / cost_of(loss, eps)
}

/// The rho of a mechanism with this loss, from the registries.
fn cost_of(loss: Loss, eps: f64) -> f64 {
    let text = match loss {
        Loss::Pure => "hourglass",
        Loss::Laplace { .. } => "laplace",
        Loss::TwoLaplaces { .. } => "independent",
        Loss::BoundedRange | Loss::CountsAndRange | Loss::Approximate | Loss::Gaussian => {
            unreachable!("not in these tests")
        }
    };
    mean(eps, text).rho
}

fn mean(eps: f64, text: &str) -> Cost {
    MEAN.cost(&arguments(Some(eps), Some((Some(0.0), Some(1.0))), text))
        .unwrap()
}

fn arguments<'a>(
    epsilon: Option<f64>,
    bounds: Option<(Option<f64>, Option<f64>)>,
    text: &'a str,
) -> Arguments<'a> {
    Arguments {
        bounds,
        epsilon,
        mechanism: MechanismArgument::Given(Some(text)),
        pathological: true,
        ..Arguments::default()
    }
}

/// All points within `units` of sensitivity.
fn window(steps: i64, units: i64) -> Vec<Point> {
    let reach = units * steps;
    let line = || -reach..=reach;
    line().flat_map(|x| line().map(move |y| (x, y))).collect()
}

#[test]
fn the_losses_of_mechanisms_cover_their_noise() {
    for eps in [0.5, 1.0, 2.0] {
        let units = (30.0 / eps) as i64;
        for steps in [1, 2, 3] {
            let counted: Vec<Point> = (0..=steps).map(|t| (t, 1)).collect();
            let complement: Vec<Point> = (0..=steps).map(|t| (t, steps - t)).collect();
            let points = window(steps, units);
            for core in 1..=steps {
                let log = |(x, k)| distribution::hourglass_pair(x, k, steps, core, eps).ln();
                let part = used(Loss::Pure, eps, &counted, &points, log);
                // Its loss is always eps or -eps.
                assert!(
                    (0.999..1.000_1).contains(&part),
                    "hourglass {eps} {steps}: {part}"
                );
                let log = |(x, y)| distribution::staircase2(x, y, steps, core, eps).ln();
                let part = used(Loss::Pure, eps, &complement, &points, log);
                assert!(
                    (0.5..1.000_1).contains(&part),
                    "staircase {eps} {steps}: {part}"
                );
            }
        }
        // On a line. Counts move by one step.
        let line: Vec<Point> = (-40 * units..=40 * units).map(|x| (x, 0)).collect();
        let log = |(x, _)| distribution::two_sided_geometric(x, eps).ln();
        let part = used(Loss::Pure, eps, &[(1, 0)], &line, log);
        assert!((0.999..1.000_1).contains(&part), "geometric {eps}: {part}");
        // Laplace noise on as fine a grid as can be enumerated: a little above that on a finer one.
        let log = |(x, _)| distribution::two_sided_geometric(x, eps / 40.0).ln();
        for shift in [1, 10, 25, 40] {
            let part = used(Loss::Laplace { steps: 40 }, eps, &[(shift, 0)], &line, log);
            assert!(part < 1.001, "laplace {eps} {shift}: {part}");
            assert!(shift < 40 || part > 0.999, "laplace {eps}: {part}");
        }
    }
}

#[test]
fn every_mechanism_costs_what_its_loss_says() {
    let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
    for (eps, groups) in [(0.1, 1), (1.0, 4), (8.0, 100)] {
        let each = eps / f64::from(groups);
        let pure = f64::from(groups) * rho_of_eps(each).unwrap();
        let laplace = |eps: f64| eps + (-eps).exp_m1();
        let cost = |name: &str| mean(eps, &format!("{name}(groups={groups})"));
        for name in ["hourglass", "staircase", "smooth"] {
            let cost = cost(name);
            assert!(cost.rho >= pure && near(cost.rho, pure), "{name} {cost:?}");
            assert_eq!((cost.epsilon, cost.delta), (Some(eps), Some(0.0)));
            assert_eq!((cost.failure, cost.mu), (0.0, None));
        }
        let one = f64::from(groups) * laplace(each);
        assert!(near(cost("laplace").rho, one));
        let two = f64::from(groups) * 2.0 * laplace(each / 2.0);
        assert!(near(cost("independent").rho, two) && near(cost("shifted").rho, two));
        // Approximate: rho for what is left of delta, which is spent in all.
        let text = format!("symmetric(delta=1e-6, scale=10, groups={groups})");
        let cost = MEAN
            .cost(&arguments(Some(eps), Some((None, None)), &text))
            .unwrap();
        assert!(near(cost.rho, pure), "{cost:?}");
        assert_eq!((cost.delta, cost.failure), (Some(1e-6), 1e-6));
        // Gaussian: mu in all, whatever its shares are.
        let bounds = Some((Some(0.0), Some(1.0)));
        let text = format!("gaussian(delta=1e-6, groups={groups}, rows=3)");
        let cost = SUM.cost(&arguments(Some(eps), bounds, &text)).unwrap();
        let asked = mu(eps, 1e-6).unwrap();
        assert!(near(cost.mu.unwrap(), asked), "{cost:?}");
        assert!(near(cost.rho, rho_of_mu(asked).unwrap()), "{cost:?}");
        assert_eq!((cost.epsilon, cost.delta), (Some(eps), Some(1e-6)));
        assert_eq!(cost.failure, 0.0);
    }
    let own = arguments(None, None, "gaussian(rho=0.25)");
    let cost = COUNT.cost(&own).unwrap();
    assert_eq!((cost.epsilon, cost.delta), (None, None));
    assert!(near(cost.rho, 0.25), "{cost:?}");
    // The delta of an aggregate that takes it as an argument.
    let mut keep = arguments(Some(1.0), None, "keep(rows=3, groups=2)");
    keep.delta = Some(Some(1e-5));
    let cost = KEEP.cost(&keep).unwrap();
    assert_eq!((cost.delta, cost.failure), (Some(1e-5), 1e-5));
    assert!(near(cost.rho, 2.0 * rho_of_eps(0.5).unwrap()));
    let bounds = Some((Some(0.0), Some(1.0)));
    let cost = VARIANCE
        .cost(&arguments(Some(1.0), bounds, "laplace"))
        .unwrap();
    assert!(near(cost.rho, (-1f64).exp()), "{cost:?}");
}

#[test]
fn guarantees_and_losses_agree() {
    for (aggregate, _, info) in catalog() {
        let said = info.guarantee;
        let what = format!("{aggregate} {}", info.name);
        match info.loss {
            Loss::Gaussian => assert!(said.contains("Gaussian"), "{what}"),
            Loss::Approximate => assert!(said.contains("delta"), "{what}"),
            Loss::Pure
            | Loss::BoundedRange
            | Loss::CountsAndRange
            | Loss::Laplace { .. }
            | Loss::TwoLaplaces { .. } => {
                assert!(said.starts_with("eps-differential"), "{what}");
            }
        }
    }
}
