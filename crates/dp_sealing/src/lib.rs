//! States of aggregates on their way from server to server: sealed under a key that only the servers have. Knows no
//! PostgreSQL, and no aggregate.
//!
//! A sealed state is a text. It can be opened only by who has the key, and nobody else can make one or change one; it
//! is bound to the call that it belongs to; and it has a nonce that no other one has, by which a part that comes twice
//! is noticed. What it does not hide is how long it is: [`room`] says to what lengths states are filled up.

#![forbid(unsafe_code)]

mod base64;
mod cipher;
pub mod keys;
pub mod sealed;
pub mod seen;
pub mod token;

pub use keys::Keys;
pub use sealed::{Nonce, Opener, Part, Sealer, Unsealed, room};
pub use seen::Seen;
