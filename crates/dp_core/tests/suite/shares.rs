//! Every mechanism of every aggregate spends on a row of a person what the privacy unit leaves of the call's budget: the same
//! seed gives the same release for people of several rows and groups as for rows with that share.

use std::collections::BTreeSet;
use std::fmt::Debug;

use dp_core::encoding::bitmap::Occupied;
use dp_core::encoding::cells::CellCounts;
use dp_core::encoding::columns::totals_of;
use dp_core::encoding::log_bins::{BinSums, Limits, OctaveCounts};
use dp_core::encoding::pairs::PairMoments;
use dp_core::encoding::sums::{Moments, Sums, Totals};
use dp_core::error::ParameterError;
use dp_core::estimate::QuantileEstimates;
use dp_core::mechanism::definition::{Info, Mechanism};
use dp_core::mechanism::mean::inputs::Mean;
use dp_core::mechanism::mean::pathological::device::Pathological;
use dp_core::mechanism::sum::inputs::SumMechanism;
use dp_core::mechanism::variance::inputs::SomeVariance;
use dp_core::privacy::accounting;
use dp_core::privacy::cost::Loss;
use dp_core::random::Generator;
use dp_core::registry::{
    BOUNDS, CDF, CLAMPED, CORRELATION, COUNT, COUNTS, COVARIANCE, DISTINCT, Factory, HISTOGRAM,
    KEEP, MEAN, MEANS, MEDIAN, QUANTILE, QUANTILES, REGRESSION, Registry, SLOPE, SUM, SUMS,
    VARIANCE, WEIGHTED_MEAN, catalog, parse,
};
use dp_core::request::arguments::{Arguments, MechanismArgument};
use dp_core::request::checked::Overspent;
use dp_core::request::ranks::Ranks;

/// The rows and groups of a person.
const ROWS: f64 = 3.0;
const GROUPS: f64 = 2.0;

/// The mechanisms that share the budget in a way of their own, each with the test that says how.
const OTHERWISE: &[(&str, &str)] = &[("dp_keep", "keep")];

/// What is reported by releases with some seeds: all noisy integers, the words drawn, and the answers.
fn told<D, A: Debug>(mechanism: &(impl Mechanism<D, Answer = A> + ?Sized), data: &D) -> String {
    let releases = (0..8).map(|seed| {
        let mut generator = Generator::recording(seed, Vec::new());
        let answer = mechanism.release(data, &mut generator);
        generator.end_of_release();
        format!("{answer:?} {:?}", generator.records())
    });
    releases.collect()
}

const SOME: Sums = Sums { n: 40, s: 20 << 32 };

/// Rows in the first positions, or bins.
fn totals() -> Totals {
    Totals {
        n: 40,
        s: vec![3, 1, 9, 0, 27],
    }
}

fn octaves<S: BinSums>(limits: &Limits) -> OctaveCounts<S> {
    let mut octaves = OctaveCounts::default();
    for row in 0..40 {
        octaves.add_row(limits.place_of(f64::from(row) / 40.0));
    }
    octaves
}

fn of_mean(mean: &Mean) -> String {
    match mean {
        Mean::Sums(mechanism) => told(&**mechanism, &SOME),
        Mean::Pathological(device) => match device {
            Pathological::Sums(mechanism) => {
                format!("{:?} {}", mechanism.coin(), told(mechanism, &SOME))
            }
            Pathological::Cells(_) => panic!("no example has this fallback"),
        },
        Mean::Cells(mechanism) => {
            let line = mechanism.line(7);
            let mut rows = CellCounts::new(line);
            (0..40).for_each(|row| rows.add(line.cell_of(f64::from(row) / 4.0)));
            told(&**mechanism, &rows)
        }
        Mean::Auto(mechanism) => told(&**mechanism, &octaves(mechanism.limits())),
    }
}

fn of_sum(sum: &SumMechanism) -> String {
    match sum {
        SumMechanism::Sums(mechanism) => told(&**mechanism, &SOME),
        SumMechanism::Auto(mechanism) => told(&**mechanism, &octaves(mechanism.limits())),
    }
}

fn of_variance(variance: &SomeVariance) -> String {
    let rows = Moments {
        n: 40,
        s: 20 << 24,
        q: 15 << 48,
    };
    match variance {
        SomeVariance::Moments(mechanism) => told(&**mechanism, &rows),
        SomeVariance::Auto(mechanism) => told(&**mechanism, &octaves(mechanism.limits())),
    }
}

/// What a call has besides its budget and its mechanism.
#[derive(Clone, Copy, Default)]
struct Call<'a> {
    bounds: bool,
    x_bounds: bool,
    columns: bool,
    length: Option<usize>,
    ranks: Option<Ranks<'a>>,
}

type Tell<'a> = Box<dyn Fn(&Arguments) -> Result<String, ParameterError> + 'a>;

/// What a call says of its budget: epsilon, and parameters of the mechanism.
type Budget = (Option<f64>, Vec<(&'static str, f64)>);

/// An aggregate: its mechanisms, and what a release tells.
struct Family<'a> {
    aggregate: &'static str,
    infos: Vec<&'static Info>,
    call: Call<'a>,
    tell: Tell<'a>,
}

fn family<'a, M: ?Sized>(
    registry: &'static Registry<M>,
    call: Call<'a>,
    tell: impl Fn(&M) -> String + 'a,
) -> Family<'a> {
    Family {
        aggregate: registry.aggregate,
        infos: registry.entries.iter().map(|entry| &entry.info).collect(),
        call,
        tell: Box::new(move |arguments| Ok(tell(&*registry.build(arguments)?))),
    }
}

const QS: [Option<f64>; 3] = [Some(0.2), Some(0.5), Some(0.9)];

/// All aggregates that have mechanisms.
fn families() -> Vec<Family<'static>> {
    let none = Call::default();
    let bounds = Call {
        bounds: true,
        ..none
    };
    let pair = Call {
        x_bounds: true,
        ..bounds
    };
    let several = Call {
        columns: true,
        ..bounds
    };
    let cut = Call {
        length: Some(20),
        ..bounds
    };
    let rank = Call {
        ranks: Some(Ranks::One(Some(0.1))),
        ..bounds
    };
    let ranks = Call {
        ranks: Some(Ranks::Many(&QS)),
        ..bounds
    };
    let pairs = |mechanism: &_| told(mechanism, &PairMoments::of_rows([1 << 20, 1 << 22], 40));
    vec![
        family(&MEAN, bounds, of_mean),
        family(&SUM, bounds, of_sum),
        family(&COUNT, none, |count| told(count, &SOME)),
        family(&KEEP, none, |keep| told(keep, &SOME)),
        family(&VARIANCE, bounds, of_variance),
        family(&COVARIANCE, pair, pairs),
        family(&WEIGHTED_MEAN, pair, |mean| {
            told(mean, &PairMoments::of_rows([1 << 20, 1 << 22], 40))
        }),
        family(&SLOPE, pair, pairs),
        family(&CORRELATION, pair, pairs),
        family(&REGRESSION, several, |regression| {
            told(regression, &totals_of(2, [[1u64 << 20, 1 << 22]; 40]))
        }),
        family(&DISTINCT, none, |distinct| {
            told(distinct, &Occupied { bits: 40 })
        }),
        family(&COUNTS, none, |counts| told(counts, &totals())),
        family(&SUMS, bounds, |sums| told(sums, &totals())),
        family(&MEANS, bounds, |means| told(means, &totals())),
        family(&HISTOGRAM, cut, |histogram| told(histogram, &totals())),
        family(&BOUNDS, none, |bounds| told(bounds, &totals())),
        family(&CLAMPED, bounds, |clamped| told(clamped, &totals())),
        family(&CDF, cut, |cdf| told(cdf, &totals())),
        family(&QUANTILE, rank, |quantile| told(quantile, &totals())),
        family(&MEDIAN, bounds, |median| told(median, &totals())),
        family(&QUANTILES, ranks, |quantiles| told(quantiles, &totals())),
        Family {
            aggregate: "dp_quantile_estimate",
            infos: QUANTILES.entries.iter().map(|entry| &entry.info).collect(),
            call: rank,
            tell: Box::new(|arguments| {
                let made = QuantileEstimates.make(arguments, None, Overspent::NOT)?;
                Ok(told(&*made.mechanism, &totals()))
            }),
        },
    ]
}

/// The example of a mechanism with these parameters in the place of its own budget and unit.
fn text(info: &Info, parameters: &[(&str, f64)]) -> String {
    let choice = parse(info.example).unwrap();
    let own = choice.values().iter();
    let own = own.filter(|(key, _)| !["delta", "mu", "rho", "rows", "groups"].contains(key));
    let own = own.map(|(key, value)| format!("{key}={value}"));
    let all: Vec<_> = own
        .chain(
            parameters
                .iter()
                .map(|(key, value)| format!("{key}={value:?}")),
        )
        .collect();
    format!("{}({})", info.name, all.join(", "))
}

impl Family<'_> {
    fn told(&self, epsilon: Option<f64>, text: &str) -> String {
        let bounds = |given: bool| given.then_some((Some(0.0), Some(1.0)));
        let mut arguments = Arguments {
            bounds: bounds(self.call.bounds),
            x_bounds: bounds(self.call.x_bounds),
            columns: self.call.columns.then_some([&[Some(0.0)], &[Some(1.0)]]),
            ranks: self.call.ranks,
            epsilon,
            delta: (self.aggregate == "dp_keep").then_some(Some(1e-3)),
            length: self.call.length,
            mechanism: MechanismArgument::Given(Some(text)),
            pathological: true,
        };
        (self.tell)(&arguments).unwrap_or_else(|refused| {
            // Of means that know no bounds.
            assert_eq!(refused.argument, "lo", "{text}: {}", refused.message);
            arguments.bounds = Some((None, None));
            (self.tell)(&arguments).unwrap_or_else(|error| panic!("{text}: {}", error.message))
        })
    }

    /// The budgets that a mechanism takes: the epsilon and the parameters of a person, and of a row.
    fn budgets(&self, info: &Info) -> Vec<[Budget; 2]> {
        let takes = |name| info.parameters.iter().any(|known| known.name == name);
        let mu = |mu: f64| vec![("mu", mu / (ROWS * GROUPS.sqrt()) * (1.0 - 1e-15))];
        let mut budgets = Vec::new();
        // Both shares are exact.
        for (epsilon, share) in [(6.0, 1.0), (0.75, 0.125)] {
            let delta = 1e-3;
            if info.loss == Loss::Gaussian {
                let whole = accounting::mu(epsilon, delta).unwrap();
                budgets.push([(Some(epsilon), vec![("delta", delta)]), (None, mu(whole))]);
                budgets.push([(None, vec![("mu", epsilon)]), (None, mu(epsilon))]);
                let whole = accounting::mu_of_rho(epsilon).unwrap();
                budgets.push([(None, vec![("rho", epsilon)]), (None, mu(whole))]);
            } else if takes("delta") {
                let steps = (ROWS * share).exp_m1() / share.exp_m1();
                let of_row = delta / GROUPS / steps * (1.0 - 1e-12);
                let [whole, part] = [delta, of_row].map(|delta| vec![("delta", delta)]);
                budgets.push([(Some(epsilon), whole), (Some(share), part)]);
            } else {
                budgets.push([(Some(epsilon), vec![]), (Some(share), vec![])]);
            }
        }
        if info.loss == Loss::BoundedRange && takes("rho") {
            // Groups add up in rho, and rows in its root; both shares of 8 rho are exact.
            let whole = vec![("rho", 2.25)];
            budgets.push([(None, whole), (None, vec![("rho", 0.125)])]);
        }
        budgets
    }
}

#[test]
fn every_mechanism_spends_the_share_of_a_row() {
    let families = families();
    let mut tried = BTreeSet::new();
    let mut wrong = Vec::new();
    for family in &families {
        for info in &family.infos {
            tried.insert((family.aggregate, info.name));
            if OTHERWISE.contains(&(family.aggregate, info.name)) {
                continue;
            }
            for [(whole, of_person), (share, of_row)] in family.budgets(info) {
                let mut of_people = of_person.clone();
                of_people.extend([("rows", ROWS), ("groups", GROUPS)]);
                let people = family.told(whole, &text(info, &of_people));
                let what = format!("{}: {}", family.aggregate, text(info, &of_people));
                if people != family.told(share, &text(info, &of_row)) {
                    wrong.push(what);
                // So that the two are not the same whatever is spent. There is nothing to see of a median of no epsilon.
                } else if people == family.told(whole, &text(info, &of_person)) {
                    wrong.push(format!("{what}, where nothing is seen"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    let known: BTreeSet<_> = catalog().map(|(name, _, info)| (name, info.name)).collect();
    tried.remove(&("dp_quantile_estimate", "em"));
    assert_eq!(tried, known, "a mechanism that was not tried");
    assert!(OTHERWISE.iter().all(|one| known.contains(one)));
}

/// `keep` knows people: it counts as many as the rows are of at least, and shares both numbers among the groups.
#[test]
fn keep_counts_people_and_shares_among_groups() {
    let kept = |epsilon: f64, delta: f64, text: &str, n: i64| -> Vec<bool> {
        let arguments = Arguments {
            epsilon: Some(epsilon),
            delta: Some(Some(delta)),
            mechanism: MechanismArgument::Given(Some(text)),
            ..Arguments::default()
        };
        let keep = KEEP.build(&arguments).unwrap();
        let draw = |seed| keep.release(&Sums { n, s: 0 }, &mut Generator::from_seed(seed));
        (0..2000).map(draw).collect()
    };
    let delta = 1.0 / 16.0;
    for (rows, people) in [(3, 1), (4, 2), (7, 3)] {
        let of_people = kept(2.0, 2.0 * delta, "keep(rows=3, groups=2)", rows);
        assert!(of_people == kept(1.0, delta, "keep", people), "{rows}");
        for other in ["keep(rows=3)", "keep(groups=2)"] {
            assert!(
                of_people != kept(2.0, 2.0 * delta, other, rows),
                "{other} {rows}"
            );
        }
    }
}
