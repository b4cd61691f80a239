//! Vectors whose length a call or the rows choose.
//!
//! Rust ends the process where memory ends, and a server with it. So whatever has such a length is made
//! here: memory that is not there unwinds, with [`OutOfMemory`] as the payload, to who catches it.

use std::panic::resume_unwind;

/// What unwinds where memory ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory;

/// The first `length` items, in memory of just that size.
///
/// # Panics
/// Unwinds with [`OutOfMemory`] where there is no such memory; no message is printed.
pub fn vector<T>(length: usize, items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut vector = Vec::new();
    if vector.try_reserve_exact(length).is_err() {
        resume_unwind(Box::new(OutOfMemory));
    }
    vector.extend(items.into_iter().take(length));
    vector
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_not_there_unwinds() {
        assert_eq!(vector(3, 1..), [1, 2, 3]);
        assert_eq!(vector(3, 1..2), [1]);
        let impossible = || vector(isize::MAX as usize / 8, std::iter::empty::<u64>());
        let payload = std::panic::catch_unwind(impossible).unwrap_err();
        assert_eq!(payload.downcast_ref(), Some(&OutOfMemory));
    }
}
