//! Audits through SQL: how private can the mechanisms be at most, judged by their answers alone? `whole` has
//! every mechanism, and is `make audit` too.

mod gate;
mod gaussian;
mod unbiased;
mod whole;
