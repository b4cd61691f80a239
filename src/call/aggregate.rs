//! An aggregate: what its SQL declaration says of it.

use dp_core::registry::{Factory, Made};
use pgrx::pg_sys::Datum;

use crate::call::signature::{Input, Signature, Values};
use crate::call::testing::overspent;

/// An aggregate, as its SQL declaration has it.
pub struct Aggregate<M: ?Sized + 'static> {
    /// Its SQL name.
    pub name: &'static str,
    /// Its arguments.
    pub signature: Signature,
    /// What makes its mechanisms.
    pub mechanisms: &'static dyn Factory<M>,
}

impl<M: ?Sized> Aggregate<M> {
    /// What the arguments of a call make, that has values and no questions; `None` for arguments that are refused. An
    /// argument that differs from row to row has none, and NULL is `Some(None)`.
    ///
    /// # Safety
    /// The values are of the types that the SQL declaration has.
    pub unsafe fn made_of(&self, values: &[Option<Option<Datum>>]) -> Option<Made<M>> {
        let mut public = Vec::new();
        for (i, parameter) in self.signature.public_of_call(values.len())? {
            public.push((parameter, (*values.get(i)?)?));
        }
        // SAFETY: the caller guarantees it.
        let values = unsafe { Values::read(public.into_iter()) };
        let arguments = values.arguments(Input::Value);
        let made = self
            .mechanisms
            .make(&arguments, values.confidence(), overspent());
        made.ok()
    }
}
