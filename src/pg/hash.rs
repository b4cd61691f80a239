//! Ids, and keys of groups, of any type as hashes, which equal ones share.

use dp_core::encoding::bitmap::{of_bytes, of_word};
use pgrx::pg_sys::{self, Datum, Oid, TypeCacheEntry};

use crate::pg::varlena;

/// How the ids of a call become hashes. (With one kind more, a table of jumps would stand in the way of a row, which
/// calls and jumps nowhere.)
#[derive(Clone, Copy)]
pub enum Hashing {
    /// Whole numbers and their like, of that many bits: equal if these are.
    Word(u64),
    /// A varlena, equal if its bytes are.
    Bytes,
    /// By the type's own function, under this collation.
    Own(*mut TypeCacheEntry, Oid),
}

impl Hashing {
    /// Of a type under a collation; `None` where the type has no hash that equal values share.
    pub fn of(kind: Oid, collation: Oid) -> Option<Self> {
        // SAFETY: catalog look-ups by oid, below a guard; a type's cache entry is never freed.
        unsafe {
            let plain = |collation| {
                collation == pg_sys::InvalidOid || pg_sys::get_collation_isdeterministic(collation)
            };
            match pg_sys::getBaseType(kind) {
                pg_sys::BOOLOID | pg_sys::CHAROID => Some(Self::Word(0xff)),
                pg_sys::INT2OID => Some(Self::Word(0xffff)),
                pg_sys::INT4OID | pg_sys::OIDOID | pg_sys::DATEOID => Some(Self::Word(0xffff_ffff)),
                pg_sys::INT8OID | pg_sys::TIMESTAMPOID | pg_sys::TIMESTAMPTZOID => {
                    Some(Self::Word(u64::MAX))
                }
                pg_sys::BYTEAOID => Some(Self::Bytes),
                pg_sys::TEXTOID | pg_sys::VARCHAROID if plain(collation) => Some(Self::Bytes),
                base => {
                    let wanted = pg_sys::TYPECACHE_HASH_EXTENDED_PROC_FINFO as i32;
                    let entry = pg_sys::lookup_type_cache(base, wanted);
                    let has_one = (*entry).hash_extended_proc_finfo.fn_oid != pg_sys::InvalidOid;
                    has_one.then_some(Self::Own(entry, collation))
                }
            }
        }
    }

    /// The hash of an id that can be had without a call of PostgreSQL. Cannot panic.
    ///
    /// # Safety
    /// `id` is a value of the type.
    #[inline(always)]
    pub unsafe fn of_plain(&self, id: Datum) -> Option<u64> {
        // SAFETY: the caller guarantees it.
        unsafe {
            match *self {
                Self::Word(mask) => Some(of_word(id.value() as u64 & mask)),
                Self::Bytes => varlena::plain_bytes(id).map(of_bytes),
                Self::Own(..) => None,
            }
        }
    }

    /// The hash of an id.
    ///
    /// # Safety
    /// `id` is a value of the type; the caller is below a guard.
    pub unsafe fn of_any(&self, id: Datum) -> u64 {
        // SAFETY: the caller guarantees it; what is made of a compressed value lives as long as the row.
        unsafe {
            if let Some(hash) = self.of_plain(id) {
                return hash;
            }
            match *self {
                Self::Own(entry, collation) => {
                    let function = &raw mut (*entry).hash_extended_proc_finfo;
                    let seed = Datum::from(0u64);
                    let hash = pg_sys::FunctionCall2Coll(function, collation, id, seed);
                    of_word(hash.value() as u64)
                }
                _ => {
                    let whole = pg_sys::pg_detoast_datum_packed(id.cast_mut_ptr());
                    of_bytes(pgrx::varlena_to_byte_slice(whole))
                }
            }
        }
    }
}
