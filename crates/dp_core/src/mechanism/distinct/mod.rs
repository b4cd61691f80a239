//! Mechanisms that count distinct ids.

pub mod bitmap;
