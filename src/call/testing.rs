//! How much of its budget a mechanism spends: all of it and no more, but where a test wants the noise too small.

use dp_core::request::checked::Overspent;

#[cfg(feature = "testing")]
thread_local! {
    /// What every budget is multiplied with before the noise is set up.
    static FACTOR: std::cell::Cell<f64> = const { std::cell::Cell::new(1.0) };
}

#[cfg(not(feature = "testing"))]
pub fn overspent() -> Overspent {
    Overspent::NOT
}

#[cfg(feature = "testing")]
pub fn overspent() -> Overspent {
    Overspent::times(FACTOR.get())
}

/// From now on budgets are overspent that many times.
#[cfg(feature = "testing")]
pub fn set_factor(factor: f64) {
    FACTOR.set(factor);
}
