//! What the crate promises, checked from outside: privacy by enumeration (`privacy`, `vectors`),
//! samplers against the laws that the enumeration is about (`samplers`, `tapes`), accuracy against
//! the literature (`accuracy`), Gaussian accounting against references of many digits
//! (`accounting`), what the mechanisms without bias of their own promise (`honest`), and behaviour
//! at the edges (`order`, `parsing`, `extremes`).

mod accounting;
mod accuracy;
mod extremes;
mod honest;
mod law;
mod normal;
mod order;
mod parsing;
mod privacy;
mod samplers;
mod stats;
mod symmetric;
mod tapes;
#[cfg(feature = "testing")]
mod vectors;
mod words;
