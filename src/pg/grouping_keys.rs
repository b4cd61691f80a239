//! Values by which rows are grouped: hashed and compared as PostgreSQL does for GROUP BY.

use pgrx::pg_sys::{self, Datum, Oid, TypeCacheEntry};

use crate::pg::hash::Hashing;

/// A type of values that can be hashed, with a collation.
#[derive(Clone, Copy)]
pub struct KeyType {
    /// PostgreSQL keeps it for as long as the process lives.
    entry: *mut TypeCacheEntry,
    collation: Oid,
    lies: Lies,
    hashing: Hashing,
}

/// Whether values of a type, with a collation, are the same groups as values of another type with its own, or more: so
/// that no two groups become one.
pub fn keeps_apart((from, collation): (Oid, Oid), (to, other): (Oid, Oid)) -> bool {
    let operator = pg_sys::TYPECACHE_EQ_OPR as i32;
    // SAFETY: look-ups by oid of types and of a collation that expressions have.
    unsafe {
        let equal = |kind| (*pg_sys::lookup_type_cache(kind, operator)).eq_opr;
        pg_sys::IsBinaryCoercible(from, to)
            && equal(from) == equal(to)
            && (other == collation
                || other == Oid::INVALID
                || pg_sys::get_collation_isdeterministic(other))
    }
}

/// How the values of a type lie in memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Lies {
    /// In the datum itself.
    Inside,
    /// Behind a pointer, that many bytes.
    Fixed(u32),
    /// Behind a pointer, with their length.
    Varlena,
}

/// What two values must share to be the same bits: what lies inside, or the bytes without those of the length.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Image<'a> {
    Inside(u64),
    Bytes(&'a [u8]),
}

impl Lies {
    /// How the values of a type lie; `None` where there is no such type, or they are C strings.
    pub fn of(kind: Oid) -> Option<Self> {
        let (mut length, mut by_value) = (0, false);
        // SAFETY: catalog look-ups by oid; the first says whether the second finds it.
        unsafe {
            if !pg_sys::get_typisdefined(kind) {
                return None;
            }
            pg_sys::get_typlenbyval(kind, &mut length, &mut by_value);
        }
        Self::from(length, by_value)
    }

    fn from(length: i16, by_value: bool) -> Option<Self> {
        match (by_value, length) {
            (true, _) => Some(Self::Inside),
            (false, -1) => Some(Self::Varlena),
            (false, length) => u32::try_from(length).ok().map(Self::Fixed),
        }
    }
}

impl KeyType {
    /// A type with a collation, or `None` where it has no hash, or none that takes a seed.
    pub fn of(kind: Oid, collation: Oid) -> Option<Self> {
        // SAFETY: a look-up by oid, which raises where there is no such type; the entry stays.
        let (entry, has_equality, lies) = unsafe {
            let entry = pg_sys::lookup_type_cache(kind, pg_sys::TYPECACHE_EQ_OPR_FINFO as i32);
            let equal = (*entry).eq_opr_finfo.fn_oid;
            let lies = Lies::from((*entry).typlen, (*entry).typbyval);
            (entry, equal != Oid::INVALID, lies)
        };
        let lies = lies.filter(|_| has_equality)?;
        Some(Self {
            entry,
            collation,
            lies,
            hashing: Hashing::of(kind, collation)?,
        })
    }

    /// How its values lie in memory.
    pub fn lies(&self) -> Lies {
        self.lies
    }

    /// The hash of a value, mixed with a seed: equal values have equal hashes.
    ///
    /// # Safety
    /// The datum is of this type; the caller is below a guard.
    #[inline]
    pub unsafe fn hash(&self, datum: Datum, seed: u64) -> u64 {
        // SAFETY: the caller guarantees it.
        unsafe { self.hashing.of_any(datum) }.wrapping_add(seed)
    }

    /// Whether two values are one group.
    ///
    /// # Safety
    /// Both are of this type.
    pub unsafe fn equal(&self, a: Datum, b: Datum) -> bool {
        // SAFETY: the function that the catalog names for the type takes two values, and answers a boolean.
        let equal = unsafe {
            let function = &raw mut (*self.entry).eq_opr_finfo;
            pg_sys::FunctionCall2Coll(function, self.collation, a, b)
        };
        equal.value() as u8 != 0
    }

    /// The bits of a value. Those of a varlena that is not stored plainly live in the current memory context.
    ///
    /// # Safety
    /// The datum is of this type, and lives as long as the image.
    pub unsafe fn image<'a>(&self, datum: Datum) -> Image<'a> {
        match self.lies() {
            Lies::Inside => Image::Inside(datum.value() as u64),
            // SAFETY: that many bytes, by the catalog.
            Lies::Fixed(length) => Image::Bytes(unsafe {
                std::slice::from_raw_parts(datum.cast_mut_ptr(), length as usize)
            }),
            // SAFETY: a varlena.
            Lies::Varlena => Image::Bytes(unsafe {
                pgrx::varlena_to_byte_slice(pg_sys::pg_detoast_datum_packed(datum.cast_mut_ptr()))
            }),
        }
    }
}
