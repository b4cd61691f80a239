//! The one place where noise is drawn: parameters and integers in, answer out.
//!
//! Every final function of every aggregate goes through [`release`], so whatever must happen once per
//! release has this one place to happen in. The generator is held here alone: besides releases it
//! gives the offset of a group's cells, and random bits to mechanisms that need some for each row.

use std::cell::RefCell;

use dp_core::mechanism::definition::Mechanism;
use dp_core::random::{Bits, Generator};
#[cfg(feature = "testing")]
use dp_core::recorder::Record;
use pgrx::pg_sys;

use crate::pg::counters::{Event, count};
use crate::pg::errors;

/// A generator and the process it was made in.
struct Owned {
    process: i32,
    generator: Generator,
}

thread_local! {
    /// One generator per backend process, made at its first release.
    static GENERATOR: RefCell<Option<Owned>> = const { RefCell::new(None) };
}

/// Draws noise and answers.
///
/// # Errors
/// Raises an ERROR if the operating system's random source fails.
pub fn release<D, M: Mechanism<D> + ?Sized>(mechanism: &M, data: &D) -> M::Answer {
    count(Event::Release);
    with_generator(|generator| {
        let answer = mechanism.release(data, generator);
        #[cfg(feature = "testing")]
        generator.end_of_release();
        answer
    })
}

/// A random word for the offset of a group's cells, which need not be secret.
pub fn offset_word() -> u64 {
    with_generator(Bits::word)
}

/// What a row comes to by a map that tosses a secret coin.
pub fn with_coins<A>(map: impl FnOnce(&mut Generator) -> A) -> A {
    with_generator(map)
}

/// Runs `draw` with this process's own generator. A generator inherited through a fork (made in
/// the postmaster, it would give every backend the same noise) is thrown away.
fn with_generator<A>(draw: impl FnOnce(&mut Generator) -> A) -> A {
    // SAFETY: PostgreSQL sets it in every process before any function can run.
    let process = unsafe { pg_sys::MyProcPid };
    let answer = GENERATOR.with_borrow_mut(|slot| {
        if slot.as_ref().is_none_or(|owned| owned.process != process) {
            *slot = Some(Owned {
                process,
                generator: Generator::from_os().ok()?,
            });
        }
        slot.as_mut().map(|owned| draw(&mut owned.generator))
    });
    answer.unwrap_or_else(|| errors::no_randomness())
}

/// Gives this process a generator with a chosen seed.
#[cfg(feature = "testing")]
pub fn seed(seed: u64) {
    // SAFETY: as above.
    let process = unsafe { pg_sys::MyProcPid };
    GENERATOR.set(Some(Owned {
        process,
        generator: Generator::from_seed(seed),
    }));
}

/// From now on every release has the noise of this seed and is recorded; with `playing`, it goes on
/// with the noisy integers of the release that was recorded in its place before.
#[cfg(feature = "testing")]
pub fn record(seed: u64, playing: bool) {
    with_generator(|generator| {
        let records = generator.records();
        let played = records.iter().filter(|_| playing).cloned().collect();
        *generator = Generator::recording(seed, played);
    });
}

/// What was recorded.
#[cfg(feature = "testing")]
pub fn records() -> Vec<Record> {
    with_generator(|generator| generator.records().to_vec())
}

/// Makes the generator, as a release would.
#[cfg(feature = "testing")]
pub fn warm_up() {
    with_generator(|_| ());
}
