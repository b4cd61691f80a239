//! The noise in the answers of vectors is as small as the distributions say, correlated as they say, around
//! the truth, and described as it is: the standard deviations and covariances that come with an
//! answer are those of its noise.
//!
//! The distributions are written here from the papers and from what the comments in SQL promise, and not
//! taken from the code. A value is the sum of a number of its own and `middle` times the number of
//! rows, so its noise has two parts, one of its own and one that all values share; of `correlated`
//! the number of rows comes with the answer.

use std::f64::consts::SQRT_2;

use dp_mean_tests::releases::Releases;
use dp_mean_tests::statistics::{STANDARD_ERRORS, mean, mean_square, normal_chance};
use dp_mean_tests::{rows, run, value};

use crate::accuracy::{Moments, geometric, laplace, normal, rounds_to};

/// What a release may spend.
#[derive(Clone, Debug)]
pub struct Budget {
    /// The eps of the call.
    pub eps: String,
    /// What the mechanism is given.
    pub parameter: String,
    pub mu: f64,
}

impl Budget {
    pub fn of_mu(mu: f64) -> Self {
        Self {
            eps: "NULL".to_owned(),
            parameter: format!("mu={mu}"),
            mu,
        }
    }

    /// `(eps, delta)`, which is `mu`.
    pub fn of_delta(eps: f64, delta: f64, mu: f64) -> Self {
        Self {
            eps: eps.to_string(),
            parameter: format!("delta={delta}"),
            mu,
        }
    }
}

/// What neighbours differ by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    AddRemove,
    Replace,
}

/// The numbers of a row: answers to questions, or values between bounds.
#[derive(Clone, Copy, Debug)]
pub struct Items {
    pub length: usize,
    pub bounds: Option<(f64, f64)>,
}

/// The noise in an answer.
#[derive(Clone, Copy, Debug)]
pub struct Law {
    /// In each value, apart from all others.
    pub own: Moments,
    /// The variance of what all values share.
    pub shared: f64,
    /// What a row is worth in each value for being there.
    pub middle: f64,
    /// The variance of the number of rows, where it comes with the answer: 0 where it was given.
    pub total: Option<f64>,
}

impl Law {
    fn of_own(own: Moments) -> Self {
        Self {
            own,
            shared: 0.0,
            middle: 0.0,
            total: None,
        }
    }

    fn variance(&self) -> f64 {
        self.own.second + self.shared
    }

    /// The covariance of two numbers of the answer, of which those below `length` are values and
    /// the next is the total.
    fn covariance(&self, length: usize, i: usize, j: usize) -> f64 {
        let total = self.total.unwrap_or(f64::NAN);
        match (i < length, j < length) {
            (true, true) if i == j => self.variance(),
            (true, true) => self.shared,
            (false, false) => total,
            _ => self.middle * total,
        }
    }

    /// By how much the fourth moment exceeds that of a normal number: this adds up over
    /// independent numbers.
    fn excess(&self) -> f64 {
        self.own.fourth - normal(self.own.second).fourth
    }
}

/// A mechanism as a call gives it, and its distribution.
#[derive(Clone, Debug)]
pub struct Mechanism {
    pub eps: String,
    pub text: String,
    /// How many numbers of a row may be other than 0.
    pub most: usize,
    pub distribution: Law,
}

impl Items {
    pub fn counts(length: usize) -> Self {
        Self {
            length,
            bounds: None,
        }
    }

    pub fn sums(length: usize, lo: f64, hi: f64) -> Self {
        Self {
            length,
            bounds: Some((lo, hi)),
        }
    }

    fn ends(&self) -> (f64, f64) {
        self.bounds.unwrap_or((0.0, 1.0))
    }

    /// Half the width of the bounds.
    fn half(&self) -> f64 {
        let (lo, hi) = self.ends();
        (hi - lo) / 2.0
    }

    pub fn middle(&self) -> f64 {
        let (lo, hi) = self.ends();
        (lo + hi) / 2.0
    }

    fn magnitude(&self) -> f64 {
        let (lo, hi) = self.ends();
        lo.abs().max(hi.abs())
    }

    /// The number that lies at `part` of the way between the bounds.
    pub fn value(&self, part: f64) -> f64 {
        self.ends().0 + 2.0 * self.half() * part
    }

    /// The values of a row, where only the first `most` that are other than 0 count.
    pub fn values(&self, row: &[f64], most: usize) -> Vec<f64> {
        let mut left = most;
        let values = row.iter().map(|part| match self.value(*part) {
            0.0 => 0.0,
            _ if left == 0 => 0.0,
            value => {
                left -= 1;
                value
            }
        });
        values.collect()
    }

    /// Whether questions are arguments of the call, and not an array.
    fn are_arguments(&self) -> bool {
        self.bounds.is_none() && self.length <= 97
    }

    fn mechanism(
        &self,
        name: &str,
        eps: &str,
        parameters: &[String],
        distribution: Law,
    ) -> Mechanism {
        let mut parameters = parameters.to_vec();
        if !self.are_arguments() {
            parameters.push(format!("d={}", self.length));
        }
        let text = match parameters.as_slice() {
            [] => name.to_owned(),
            parameters => format!("{name}({})", parameters.join(", ")),
        };
        Mechanism {
            eps: eps.to_owned(),
            text,
            most: self.length,
            distribution,
        }
    }

    /// Lebeda 2024, Corollary 3.1 and Lemma 3.5, and for replacing Lemma 4.2, for values between
    /// any bounds. `weight` is the C of the paper.
    pub fn correlated(
        &self,
        budget: &Budget,
        weight: Option<f64>,
        relation: Relation,
    ) -> Mechanism {
        let (d, half, middle) = (self.length as f64, self.half(), self.middle());
        let mut parameters = vec![budget.parameter.clone()];
        parameters.extend(weight.map(|weight| format!("c={weight}")));
        let (square, distance) = match relation {
            Relation::AddRemove => {
                let best = d.sqrt() * f64::max(1.0, middle.abs() / half);
                let square = weight.map_or(best, |weight| weight * weight);
                (square, d + square)
            }
            Relation::Replace => {
                parameters.push("relation=replace".to_owned());
                let best = f64::max(d, d.sqrt() * middle.abs() / half);
                let square = weight.map_or(best, |weight| weight * weight);
                (square, f64::max(4.0 * d, 2.0 * (d + square)))
            }
        };
        let own = distance / (budget.mu * budget.mu);
        let total = own / square;
        let distribution = Law {
            own: normal(own).times(half),
            shared: total * middle * middle,
            middle,
            total: Some(total),
        };
        self.mechanism("correlated", &budget.eps, &parameters, distribution)
    }

    /// Lebeda 2024, Lemmas 2.1 and 4.1.
    pub fn gaussian(&self, budget: &Budget, relation: Relation) -> Mechanism {
        let mut parameters = vec![budget.parameter.clone()];
        let (lo, hi) = self.ends();
        let factor = match relation {
            Relation::AddRemove => 1.0,
            Relation::Replace => {
                parameters.push("relation=replace".to_owned());
                // A row that stays in its group can move a value by the width of the bounds.
                f64::max(2.0, ((hi - lo) / self.magnitude()).powi(2))
            }
        };
        let unit = normal(factor * self.length as f64 / (budget.mu * budget.mu));
        let distribution = Law::of_own(unit.times(self.magnitude()));
        self.mechanism("gaussian", &budget.eps, &parameters, distribution)
    }

    /// Lebeda 2024, Lemma 3.6.
    pub fn known_n(&self, budget: &Budget, n: usize) -> Mechanism {
        let unit = normal(self.length as f64 / (budget.mu * budget.mu));
        let distribution = Law {
            middle: self.middle(),
            total: Some(0.0),
            ..Law::of_own(unit.times(self.half()))
        };
        let parameters = [budget.parameter.clone(), format!("n={n}")];
        self.mechanism("known_n", &budget.eps, &parameters, distribution)
    }

    /// The two-sided geometric distribution on counts; on sums steps are too small to be seen.
    pub fn laplace(&self, eps: f64, relation: Relation) -> Mechanism {
        let (mut distance, mut parameters) = (self.length as f64, Vec::new());
        if relation == Relation::Replace {
            distance *= 2.0;
            parameters.push("relation=replace".to_owned());
        }
        let own = match self.bounds {
            None => geometric(eps / distance),
            Some(_) => laplace(distance / eps).times(self.magnitude()),
        };
        self.mechanism("laplace", &eps.to_string(), &parameters, Law::of_own(own))
    }

    /// Joseph, Yu 2024: the Count ellipse.
    pub fn ellipse(&self, budget: &Budget, most: usize) -> Mechanism {
        let (d, k) = (self.length as f64, most as f64);
        let (p, q) = (k * k / d, k - k * k / d);
        let whole = p.sqrt() + (q * (d - 1.0)).sqrt();
        let (along, across) = (p.sqrt() * whole, (q / (d - 1.0)).sqrt() * whole);
        let unit = self.magnitude() / budget.mu;
        let distribution = Law {
            shared: (along - across) / d * unit * unit,
            ..Law::of_own(normal(across).times(unit))
        };
        let parameters = [budget.parameter.clone(), format!("k={most}")];
        let mechanism = self.mechanism("ellipse", &budget.eps, &parameters, distribution);
        Mechanism { most, ..mechanism }
    }

    /// Every mechanism, in every way it can be set up.
    fn mechanisms(&self, mu: f64, n: usize) -> Vec<Mechanism> {
        use Relation::{AddRemove, Replace};
        let (budget, root) = (Budget::of_mu(mu), (self.length as f64).sqrt());
        let mut mechanisms = vec![
            self.correlated(&budget, None, AddRemove),
            self.correlated(&budget, Some(root), AddRemove),
            self.correlated(&budget, Some(0.25), AddRemove),
            self.correlated(&budget, None, Replace),
            self.correlated(&budget, Some(root / 2.0), Replace),
            self.correlated(&budget, Some(root * 2.0), Replace),
            self.gaussian(&budget, AddRemove),
            self.gaussian(&budget, Replace),
            self.known_n(&budget, n),
            self.laplace(1.0, AddRemove),
            self.laplace(1.0, Replace),
        ];
        let (lo, hi) = self.ends();
        if lo * hi == 0.0 {
            let half = self.length / 2;
            let mut most = vec![1, half.div_ceil(2), half];
            most.retain(|most| (1..=half).contains(most));
            most.dedup();
            mechanisms.extend(most.iter().map(|most| self.ellipse(&budget, *most)));
        }
        mechanisms
    }

    /// A call of `dp_counts` or `dp_sums`, or of their `kin`, such as `dp_counts_estimate`.
    pub fn call(&self, kin: &str, mechanism: &Mechanism) -> String {
        let Mechanism { eps, text, .. } = mechanism;
        match self.bounds {
            Some((lo, hi)) => format!("dp_sums{kin}(x, {lo}, {hi}, {eps}, '{text}')"),
            None if self.are_arguments() => {
                let questions: Vec<_> = (1..=self.length).map(|j| format!("q[{j}]")).collect();
                format!("dp_counts{kin}({eps}, '{text}', {})", questions.join(", "))
            }
            None => format!("dp_counts{kin}({eps}, '{text}', VARIADIC q)"),
        }
    }

    /// The values of one release, and the total if it has one, as one array.
    pub fn whole_answer(&self, mechanism: &Mechanism) -> String {
        let call = self.call("_estimate", mechanism);
        match mechanism.distribution.total {
            Some(_) => format!("({call}).value || ({call}).total"),
            None => format!("({call}).value"),
        }
    }

    /// A table of these rows, given by how far their values are between the bounds, each in its
    /// group.
    pub fn fill(&self, releases: &mut Releases, table: &str, rows: &[(u32, Vec<f64>)]) {
        let array = |elements: Vec<String>| format!("'{{{}}}'", elements.join(","));
        let mut sql = format!("CREATE TABLE {table} (g integer, q boolean[], x float8[]);");
        for (group, parts) in rows {
            let answers = parts.iter().map(|part| (*part >= 0.5).to_string());
            let values = parts.iter().map(|part| self.value(*part).to_string());
            sql += &format!(
                "INSERT INTO {table} VALUES ({group}, {}, {});",
                array(answers.collect()),
                array(values.collect())
            );
        }
        run(releases.client(), &sql);
    }
}

/// Fails if what was measured is farther from what is expected than by the standard errors.
fn agree(what: &str, measured: f64, expected: f64, error: f64) {
    let deviation = (measured - expected) / error;
    println!("{what}: {measured:.6}, expected {expected:.6} +- {error:.6}: {deviation:+.2}");
    assert!(
        (measured - expected).abs() <= STANDARD_ERRORS * error,
        "{what}: {measured}, expected {expected} +- {error}"
    );
}

/// Fails if the errors, given by position, have another mean than 0 or other covariances than
/// they should; `excess` says by how much the fourth moment of a position is not that of a normal
/// number.
fn check_matrix(
    what: &str,
    errors: &[Vec<f64>],
    covariance: impl Fn(usize, usize) -> f64,
    excess: f64,
) {
    for (i, one) in errors.iter().enumerate() {
        let count = one.len() as f64;
        let bias = format!("{what}, bias of {i}");
        agree(&bias, mean(one), 0.0, (covariance(i, i) / count).sqrt());
        for (j, other) in errors.iter().enumerate().take(i + 1) {
            let products = one.iter().zip(other).map(|(a, b)| a * b);
            let expected = covariance(i, j);
            let excess = if i == j { excess } else { 0.0 };
            let variance = covariance(i, i) * covariance(j, j) + expected * expected + excess;
            agree(
                &format!("{what}, covariance of {i} and {j}"),
                products.sum::<f64>() / count,
                expected,
                (variance / count).sqrt(),
            );
        }
    }
}

/// Rows of every kind of number, the bounds among them, but for questions of 0 and 1 alone.
fn some_rows(items: &Items, n: usize) -> Vec<(u32, Vec<f64>)> {
    let part = |i: usize, j: usize| {
        let part = ((3 * i + j * j + j / 5) % 5) as f64 / 4.0;
        if items.bounds.is_none() {
            part.round()
        } else {
            part
        }
    };
    (0..n)
        .map(|i| (1, (0..items.length).map(|j| part(i, j)).collect()))
        .collect()
}

/// The numbers without noise: the values, and how many rows there are.
fn truth(items: &Items, rows: &[(u32, Vec<f64>)], most: usize) -> Vec<f64> {
    let mut sums = vec![0.0; items.length];
    for (_, row) in rows {
        for (sum, value) in sums.iter_mut().zip(items.values(row, most)) {
            *sum += value;
        }
    }
    sums.push(rows.len() as f64);
    sums
}

/// The errors of `count` releases by position; each gives as many numbers as `truth`.
fn errors(
    releases: &mut Releases,
    answer: &str,
    table: &str,
    truth: &[f64],
    count: usize,
) -> Vec<Vec<f64>> {
    let answers = releases.draw_arrays(answer, table, None, count);
    assert_eq!(answers.len(), count * truth.len(), "{answer}");
    let column = |(position, true_number): (usize, &f64)| {
        let numbers = answers.iter().skip(position).step_by(truth.len());
        numbers.map(|number| number - true_number).collect()
    };
    truth.iter().enumerate().map(column).collect()
}

/// A session with a table of some rows and one of none.
fn session(seed: i64, items: &Items, n: usize) -> (Releases, Vec<(u32, Vec<f64>)>) {
    let mut releases = Releases::seeded(seed);
    let full = some_rows(items, n);
    items.fill(&mut releases, "data", &full);
    items.fill(&mut releases, "nothing", &[]);
    (releases, full)
}

/// What the papers print.
#[test]
fn the_expected_variances_are_the_published_ones() {
    use Relation::{AddRemove, Replace};
    let budget = Budget::of_mu(1.0);
    for (length, variance, digit) in [
        (2, 1.457, 0.001),
        (4, 2.25, 0.01),
        (16, 6.25, 0.01),
        (64, 20.25, 0.01),
        (1_000, 266.06, 0.01),
        (10_000, 2_550.25, 0.01),
    ] {
        let (items, d) = (Items::counts(length), length as f64);
        let is = |what: &str, mechanism: Mechanism, expected: f64| {
            let variance = mechanism.distribution.variance();
            assert!(
                (variance / expected - 1.0).abs() < 1e-12,
                "{what}, d {length}: {variance}"
            );
        };
        let correlated = items.correlated(&budget, None, AddRemove);
        assert!(rounds_to(
            correlated.distribution.variance(),
            variance,
            digit
        ));
        is("correlated", correlated, (d.sqrt() + 1.0).powi(2) / 4.0);
        let replace = items.correlated(&budget, None, Replace);
        is("correlated, replace", replace, d + 1.0);
        is("gaussian", items.gaussian(&budget, AddRemove), d);
        is(
            "gaussian, replace",
            items.gaussian(&budget, Replace),
            2.0 * d,
        );
        is("known_n", items.known_n(&budget, 0), d / 4.0);
        let half = items.ellipse(&budget, length / 2);
        is("ellipse", half, (d + 2.0 * (d - 1.0).sqrt()) / 4.0);
        // All but the first: of a continuous distribution, or nearly.
        let laplace = items.laplace(1.0, AddRemove).distribution.variance();
        assert!((laplace / (2.0 * d * d) - 1.0).abs() < 0.1 / (d * d));
        let laplace = items.laplace(1.0, Replace).distribution.variance();
        assert!((laplace / (8.0 * d * d) - 1.0).abs() < 0.1 / (d * d));
    }
    // Lebeda 2024, after Lemma 3.5: a good total for twice the variance of the counts.
    let distribution = Items::counts(10_000)
        .correlated(&budget, Some(100.0), AddRemove)
        .distribution;
    assert_eq!(
        (distribution.variance(), distribution.total),
        (5_000.5, Some(2.0))
    );
    let distribution = Items::counts(64)
        .correlated(&budget, None, Replace)
        .distribution;
    assert_eq!((distribution.total, distribution.shared), (Some(4.0), 1.0));
}

/// All values of a release have the same distribution, and their sum tells what they share.
#[test]
fn counts_err_as_little_as_their_laws_say() {
    for (length, count) in [
        (1, 10_000),
        (2, 10_000),
        (4, 10_000),
        (16, 5_000),
        (64, 2_000),
        (1_000, 500),
    ] {
        let items = Items::counts(length);
        let (mut releases, full) = session(31, &items, 5);
        let none = Vec::new();
        for (table, rows) in [("data", &full), ("nothing", &none)] {
            for mechanism in items.mechanisms(1.0, rows.len()) {
                let what = format!("{}, d {length}, {table}", mechanism.text);
                let truth = &truth(&items, rows, mechanism.most)[..length];
                let call = items.call("", &mechanism);
                let errors = errors(&mut releases, &call, table, truth, count);

                let (distribution, d) = (mechanism.distribution, length as f64);
                let squares = errors.iter().map(|errors| mean_square(errors, 0.0));
                let one = distribution.excess() + 2.0 * distribution.variance().powi(2);
                let two = 2.0 * distribution.shared.powi(2);
                let error = ((one + (d - 1.0) * two) / (d * count as f64)).sqrt();
                agree(
                    &what,
                    squares.sum::<f64>() / d,
                    distribution.variance(),
                    error,
                );

                let sum = (0..count).map(|i| errors.iter().map(|errors| errors[i]).sum());
                let variance = d * distribution.own.second + d * d * distribution.shared;
                let excess = d * distribution.excess();
                let what = format!("{what}, sum");
                check_matrix(&what, &[sum.collect()], |_, _| variance, excess);
            }
        }
    }
}

/// Every covariance of an answer, with and without the total.
fn check_answers(seed: i64, items: &Items, count: usize) {
    let (mut releases, full) = session(seed, items, 5);
    let none = Vec::new();
    for (table, rows, total) in [
        ("data", &full, true),
        ("nothing", &none, true),
        ("data", &full, false),
    ] {
        for mechanism in items.mechanisms(0.8, rows.len()) {
            let what = format!("{:?} {}, {table}", items.bounds, mechanism.text);
            let mut truth = truth(items, rows, mechanism.most);
            let answer = if total {
                items.whole_answer(&mechanism)
            } else {
                items.call("", &mechanism)
            };
            let distribution = mechanism.distribution;
            if !total || distribution.total.is_none() {
                truth.truncate(items.length);
            }
            let errors = errors(&mut releases, &answer, table, &truth, count);
            let covariance = |i, j| distribution.covariance(items.length, i, j);
            check_matrix(&what, &errors, covariance, distribution.excess());
        }
    }
}

#[test]
fn counts_and_their_total_vary_together_as_their_laws_say() {
    check_answers(32, &Items::counts(4), 10_000);
}

#[test]
fn sums_and_their_total_vary_together_as_their_laws_say() {
    // Bounds around 0, far from it, and at it.
    for (lo, hi) in [(-1.0, 3.0), (10.0, 20.0), (0.0, 5.0), (-3.0, 0.0)] {
        check_answers(33, &Items::sums(4, lo, hi), 4_000);
    }
}

#[test]
fn an_estimate_describes_its_noise() {
    let mut all: Vec<_> = [1, 2, 4, 16, 64, 97, 98, 1_000].map(Items::counts).into();
    for (lo, hi) in [
        (0.0, 1.0),
        (-1.0, 3.0),
        (-2.0, 2.0),
        (10.0, 20.0),
        (-20.0, -10.0),
        (0.0, 5.0),
        (-3.0, 0.0),
    ] {
        all.extend([1, 4, 25].map(|length| Items::sums(length, lo, hi)));
    }
    let mut releases = Releases::seeded(34);
    Items::counts(1).fill(&mut releases, "nothing", &[]);
    for items in all {
        for mechanism in [0.01, 1.0, 7.0]
            .iter()
            .flat_map(|mu| items.mechanisms(*mu, 3))
        {
            let (call, distribution) =
                (items.call("_estimate", &mechanism), mechanism.distribution);
            let sql = format!(
                "SELECT e.sd, e.covariance, e.total_sd, e.total_covariance \
                 FROM (SELECT ({call}).* FROM nothing) e"
            );
            let answer = rows(releases.client(), &sql).remove(0);
            let near = |column: usize, expected: Option<f64>, unit: f64| {
                let number: Option<f64> = answer.get(column);
                let near = match (number, expected) {
                    (Some(number), Some(expected)) => (number - expected).abs() <= 1e-9 * unit,
                    (number, expected) => number == expected,
                };
                let what = answer.columns()[column].name();
                assert!(near, "{call}: {what} is {number:?}, not {expected:?}");
            };
            let (sd, total_sd) = (
                distribution.variance().sqrt(),
                distribution.total.map(f64::sqrt),
            );
            near(0, Some(sd), sd);
            near(1, Some(distribution.shared), distribution.variance());
            near(2, total_sd, total_sd.unwrap_or(0.0));
            let covariance = distribution.total.map(|total| distribution.middle * total);
            near(3, covariance, covariance.unwrap_or(0.0).abs());
        }
    }
}

/// Whatever the budget is given as. Balle, Wang 2018, and the conversions of Bun, Steinke 2016.
#[test]
fn the_budget_sets_the_noise() {
    let mut releases = Releases::seeded(35);
    let items = Items::counts(4);
    items.fill(&mut releases, "nothing", &[]);
    for (eps, parameter, mu) in [
        ("0.1", "delta=1e-6", 0.027544650),
        ("1", "delta=1e-6", 0.236704381),
        ("1", "delta=1e-5", 0.268051123),
        ("1", "delta=1e-9", 0.181974807),
        ("4", "delta=1e-6", 0.837858757),
        ("NULL", "mu=0.3", 0.3),
        ("NULL", "rho=0.5", 1.0),
        ("NULL", "rho=8", 4.0),
    ] {
        let budget = Budget {
            eps: eps.to_owned(),
            parameter: parameter.to_owned(),
            mu,
        };
        for mechanism in [
            items.correlated(&budget, None, Relation::AddRemove),
            items.gaussian(&budget, Relation::AddRemove),
            items.known_n(&budget, 0),
            items.ellipse(&budget, 2),
        ] {
            let call = items.call("_estimate", &mechanism);
            let sql = format!("SELECT ({call}).sd FROM nothing");
            let sd: f64 = value(releases.client(), &sql);
            let expected = mechanism.distribution.variance().sqrt();
            // The digits that are published.
            let error = 0.5e-9 / mu + 1e-9;
            assert!(
                (sd / expected - 1.0).abs() <= error,
                "{call}: {sd}, not {expected}"
            );
        }
    }
}

/// Of a value, of the sum and of the difference of two, and of the total, by what the estimate
/// says of them.
#[test]
fn intervals_of_two_standard_deviations_hold_the_truth() {
    const COUNT: usize = 20_000;
    let budget = Budget::of_mu(0.5);
    for items in [
        Items::counts(4),
        Items::sums(4, -1.0, 3.0),
        Items::sums(4, 0.0, 2.0),
    ] {
        let (mut releases, full) = session(36, &items, 5);
        let mut mechanisms = vec![
            items.correlated(&budget, None, Relation::AddRemove),
            items.correlated(&budget, None, Relation::Replace),
            items.gaussian(&budget, Relation::AddRemove),
            items.known_n(&budget, full.len()),
        ];
        if items.value(0.0) == 0.0 {
            mechanisms.push(items.ellipse(&budget, 2));
        }
        for mechanism in mechanisms {
            let truth = truth(&items, &full, mechanism.most);
            let [one, other, total] = [truth[0], truth[1], truth[4]];
            let call = items.call("_estimate", &mechanism);
            // The numbers, and the variances of their errors.
            let mut quantities = vec![
                ("e.value[1]", one, "e.sd ^ 2"),
                (
                    "e.value[1] - e.value[2]",
                    one - other,
                    "2 * (e.sd ^ 2 - e.covariance)",
                ),
                (
                    "e.value[1] + e.value[2]",
                    one + other,
                    "2 * (e.sd ^ 2 + e.covariance)",
                ),
            ];
            if mechanism
                .distribution
                .total
                .is_some_and(|total| total > 0.0)
            {
                quantities.extend([
                    ("e.total", total, "e.total_sd ^ 2"),
                    (
                        "e.value[1] - e.total",
                        one - total,
                        "e.sd ^ 2 + e.total_sd ^ 2 - 2 * e.total_covariance",
                    ),
                ]);
            }
            let held = quantities.iter().map(|(number, truth, variance)| {
                format!("avg((abs({number} - {truth}) <= 1.96 * sqrt({variance}))::integer)")
            });
            let sql = format!(
                "SELECT ARRAY[{}]::float8[] FROM generate_series(1, {COUNT}) scan, LATERAL \
                 (SELECT ({call}).* FROM data WHERE scan > 0) e",
                held.collect::<Vec<_>>().join(", ")
            );
            let held: Vec<f64> = value(releases.client(), &sql);
            for ((number, ..), held) in quantities.iter().zip(held) {
                let chance = 1.0 - 2.0 * normal_chance(-1.96);
                let error = (chance * (1.0 - chance) / COUNT as f64).sqrt();
                agree(&format!("{call}, {number}"), held, chance, error);
            }
        }
    }
}

/// A mean errs by `(s - m k) / (n + k)`, with `m` the mean and noise `s` and `k` on the sum and
/// the number of rows. Here `k` is no more than a 250th of `n`, and the second order too small to
/// be seen.
#[test]
fn means_err_as_their_parts_say() {
    const ROWS: usize = 100;
    const COUNT: usize = 10_000;
    let budget = Budget::of_mu(10.0);
    for (lo, hi) in [(-1.0, 3.0), (10.0, 20.0)] {
        let items = Items::sums(4, lo, hi);
        let (mut releases, full) = session(37, &items, ROWS);
        let mut truth = truth(&items, &full, items.length);
        let n = truth.pop().expect("the number of rows");
        let means: Vec<_> = truth.iter().map(|sum| sum / n).collect();
        for mechanism in [
            items.correlated(&budget, None, Relation::AddRemove),
            items.correlated(&budget, Some(SQRT_2 * 2.0), Relation::AddRemove),
            items.correlated(&budget, None, Relation::Replace),
            items.known_n(&budget, ROWS),
        ] {
            let Mechanism {
                eps,
                text,
                distribution,
                ..
            } = mechanism;
            let call = format!("dp_means(x, {lo}, {hi}, {eps}, '{text}')");
            let errors = errors(&mut releases, &call, "data", &means, COUNT);
            let per_row = |mean: f64| distribution.middle - mean;
            let covariance = |i, j| {
                let own = if i == j { distribution.own.second } else { 0.0 };
                let total = distribution.total.unwrap_or(0.0);
                (own + per_row(means[i]) * per_row(means[j]) * total) / (n * n)
            };
            check_matrix(&call, &errors, covariance, 0.0);
        }
    }
}
