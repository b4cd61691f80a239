//! Audits through SQL: how private can the mechanisms be at most, judged by their answers alone? `whole` is
//! `make audit`; the others are held to thresholds in every run.

mod gate;
mod gaussian;
mod unbiased;
mod whole;
