//! Nanoseconds per draw of each sampler, per release and per set-up of each mechanism: medians
//! of rounds that take turns, so that a busy moment of the machine hits all alike.

use std::hint::black_box;
use std::time::Instant;

use dp_core::encoding::grid::STEPS;
use dp_core::encoding::sums::Sums;
use dp_core::mechanism::definition::Scalar;
use dp_core::privacy::epsilon::Epsilon;
use dp_core::random::{Bits, Generator};
use dp_core::registry::{self, Registry};
use dp_core::request::arguments::{Arguments, MechanismArgument};
use dp_core::sampler::discrete_laplace::DiscreteLaplace;
use dp_core::sampler::geometric::Geometric;
use dp_core::sampler::hourglass::Hourglass;
use dp_core::sampler::max_norm::MaxNorm;
use dp_core::sampler::normal::{RoundedNormal, RoundedSums};
use dp_core::sampler::staircase::{self, Staircase};
use dp_core::sampler::staircase2::{self, Staircase2};
use dp_core::sampler::student::RoundedStudent;
use dp_core::sampler::uniform;

const ROUNDS: usize = 25;
const DRAWS: u32 = 4000;
const SETUPS: u32 = 100;

struct Case {
    name: String,
    calls: u32,
    run: Box<dyn FnMut(&mut Generator)>,
    rounds: Vec<f64>,
}

fn case(name: impl Into<String>, calls: u32, run: impl FnMut(&mut Generator) + 'static) -> Case {
    Case {
        name: name.into(),
        calls,
        run: Box::new(run),
        rounds: Vec::new(),
    }
}

/// A case whose loop is inside, so that the call through the box does not count.
fn draws<T>(name: &str, draw: impl Fn(&mut Generator) -> T + 'static) -> Case {
    case(name, DRAWS, move |generator| {
        for _ in 0..DRAWS {
            black_box(draw(generator));
        }
    })
}

fn releases<M: ?Sized, A: 'static>(
    cases: &mut Vec<Case>,
    registry: &'static Registry<M>,
    of_sums: fn(Box<M>) -> Option<Box<Scalar<A>>>,
    epsilon: f64,
) {
    for entry in registry.entries {
        let name = entry.info.example;
        let has_scale = entry.info.parameters.iter().any(|p| p.name == "scale");
        let bound = |value: f64| (!has_scale).then_some(value);
        let bounds = (registry.aggregate != "dp_count").then_some((bound(0.0), bound(100.0)));
        let build = move || {
            let arguments = Arguments {
                bounds,
                epsilon: Some(epsilon),
                mechanism: MechanismArgument::Given(Some(name)),
                pathological: true,
                ..Arguments::default()
            };
            registry.build(&arguments).expect("valid arguments")
        };
        let sums = Sums {
            n: 10_000,
            s: 5_000 * i128::from(STEPS),
        };
        if let Some(ready) = of_sums(build()) {
            cases.push(draws(
                &format!("{} {name}: release", registry.aggregate),
                move |generator| ready.release(black_box(&sums), generator),
            ));
        }
        cases.push(case(
            format!("{} {name}: set-up", registry.aggregate),
            SETUPS,
            move |_| {
                for _ in 0..SETUPS {
                    black_box(build());
                }
            },
        ));
    }
}

fn cases(value: f64) -> Vec<Case> {
    let epsilon = Epsilon::new(Some(value)).expect("a valid epsilon");
    let core = staircase::core_of(staircase::best_gamma(value), STEPS);
    let core2 = staircase::core_of(staircase2::best_gamma(value), STEPS);
    let geometric = Geometric::new(epsilon);
    let two_sided = Staircase::two_sided_geometric(epsilon);
    let laplace = DiscreteLaplace::new(STEPS, epsilon);
    let stairs = Staircase::new(STEPS, core, epsilon);
    let pair = Hourglass::new(STEPS, core, epsilon);
    let stairs2 = Staircase2::new(STEPS, core2, epsilon);
    let mut cases = vec![
        draws("word", |generator| generator.word()),
        draws("uniform below 3 * 2^40", |generator| {
            uniform::below(3 << 40, generator)
        }),
        draws("geometric", move |generator| geometric.draw(generator)),
        draws("two-sided geometric", move |generator| {
            two_sided.draw(generator)
        }),
        draws("discrete Laplace", move |generator| laplace.draw(generator)),
        draws("staircase", move |generator| stairs.draw(generator)),
        draws("hourglass pair", move |generator| pair.draw(generator)),
        draws("two-dimensional staircase", move |generator| {
            stairs2.draw(generator)
        }),
    ];
    for (name, length, steps) in [
        ("cube of 13, one coordinate", 13, 1 << 20),
        ("cube of 65, one coordinate", 65, 1 << 20),
        ("cube of 65, of sums", 65, STEPS),
    ] {
        let cube = MaxNorm::new(length, steps, epsilon);
        let calls = DRAWS / length as u32;
        let run = move |generator: &mut Generator| {
            for _ in 0..calls {
                black_box(cube.draw(generator));
            }
        };
        cases.push(case(name, calls * length as u32, run));
    }
    // These know no epsilon: their columns differ by chance.
    for (name, sigma) in [
        ("rounded normal, sigma 0.3", 0.3),
        ("rounded normal, sigma 1e3", 1e3),
        ("rounded normal, sigma 2^32", 2f64.powi(32)),
        ("rounded normal, sigma 2^52", 2f64.powi(52)),
        ("rounded normal, sigma 2^60", 2f64.powi(60)),
    ] {
        let normal = RoundedNormal::new(sigma);
        cases.push(draws(name, move |generator| normal.draw(generator)));
    }
    let student = RoundedStudent::new((1, 3), (1, 1000), 40);
    cases.push(draws("rounded Student's t", move |generator| {
        student.draw(generator)
    }));
    let sums = RoundedSums::new(2f64.powi(32), 2f64.powi(32));
    cases.push(case("rounded sum, one of 1000", DRAWS, move |generator| {
        for _ in 0..DRAWS / 1000 {
            black_box(sums.draw(1000, generator));
        }
    }));
    releases(&mut cases, &registry::MEAN, |mean| mean.sums(), value);
    releases(&mut cases, &registry::SUM, |sum| sum.sums(), value);
    releases(&mut cases, &registry::COUNT, Some, value);
    cases
}

fn main() {
    let epsilons = [0.01, 1.0, 16.0];
    let mut tables: Vec<Vec<Case>> = epsilons.iter().map(|epsilon| cases(*epsilon)).collect();
    let mut generator = Generator::from_os().expect("the operating system's random source");
    for _ in 0..ROUNDS {
        for case in tables.iter_mut().flatten() {
            let start = Instant::now();
            (case.run)(&mut generator);
            case.rounds
                .push(start.elapsed().as_nanos() as f64 / f64::from(case.calls));
        }
    }
    println!(
        "{:<36}{:>12}{:>12}{:>12}",
        "ns (median), eps =", epsilons[0], epsilons[1], epsilons[2]
    );
    for row in 0..tables[0].len() {
        print!("{:<36}", tables[0][row].name);
        for table in &mut tables {
            let rounds = &mut table[row].rounds;
            rounds.sort_by(f64::total_cmp);
            print!("{:>12.1}", rounds[rounds.len() / 2]);
        }
        println!();
    }
}
