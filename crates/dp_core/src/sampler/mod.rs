//! Exact samplers of integers, one distribution a file.
//!
//! More of it: docs/proofs/samplers.md.
//!
//! *Exact* means: given independent uniform words, each value comes out with exactly the
//! probability in the sampler's documentation, as a real number. No decision rests on a rounded
//! number. Where a test against an irrational number is needed, the words drawn so far and an
//! interval around the number decide it nearly always, and where they leave it open, more words
//! and a narrower interval are taken until they do.
//!
//! All are generic over [`Bits`](crate::random::Bits) and take a constant amount of memory but
//! where the first word leaves a number's rounding open: about once in 2^50 draws, and more often
//! where the noise itself spans nearly 2^60 steps, or more. How long a draw takes depends on the
//! noise, and only on the noise, never on data; but for [`student`], which rounds the noisy number
//! and not the noise, so that the lengths of its natural numbers, and with them some of its two
//! microseconds, depend on what is noised; for [`selection`], whose coin is for a number of rows; and for
//! [`weighted`], which weighs a score of each place.

pub mod branch;
pub mod discrete_laplace;
mod enclosure;
pub mod exponential;
pub mod geometric;
pub mod hourglass;
pub mod max_norm;
pub(crate) mod natural;
pub mod normal;
pub mod selection;
pub mod staircase;
pub mod staircase2;
pub mod student;
pub mod uniform;
pub mod weighted;
