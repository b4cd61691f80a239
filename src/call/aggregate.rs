//! An aggregate: what its SQL declaration says of it.

use dp_core::registry::Factory;

use crate::call::signature::Signature;

/// An aggregate, as its SQL declaration has it.
pub struct Aggregate<M: ?Sized + 'static> {
    /// Its SQL name.
    pub name: &'static str,
    /// Its arguments.
    pub signature: Signature,
    /// What makes its mechanisms.
    pub mechanisms: &'static dyn Factory<M>,
}
