//! PostgreSQL's arrays, read where they lie: no copy, no call, nothing that could panic.

use pgrx::pg_sys::{self, Datum, varlena};
use pgrx::varlena::{varatt_is_1b, varatt_is_1b_e, varatt_is_4b_u};

#[cfg(feature = "pg_test")]
pub mod tests;

/// An array as it lies in a row, plain or with a short header. One with several dimensions is read
/// in the order in which its elements are stored, as `unnest` does.
#[derive(Clone, Copy)]
pub struct Array {
    elements: *const u8,
    /// The bitmap of elements that are not NULL, or null where none is NULL.
    present: *const u8,
    length: usize,
}

impl Array {
    /// The array behind a datum, or `None` where it is compressed, stored elsewhere, or expanded in
    /// memory: `pg_detoast_datum` makes a plain one of it.
    ///
    /// # Safety
    /// `datum` is a non-NULL array that outlives what is made of it.
    #[inline(always)]
    pub unsafe fn of(datum: Datum) -> Option<Self> {
        let start = datum.cast_mut_ptr::<varlena>();
        // SAFETY: a varlena says in its first byte what it is; an array that is not toasted goes on
        // with the fields of ArrayType, here read one by one, for a short header leaves them
        // unaligned. `dataoffset` counts from a header of 4 bytes.
        unsafe {
            let body = if varatt_is_4b_u(start) {
                start.cast::<u8>().add(4)
            } else if varatt_is_1b(start) && !varatt_is_1b_e(start) {
                start.cast::<u8>().add(1)
            } else {
                return None;
            };
            let field = |at: usize| body.add(at).cast::<i32>().read_unaligned();
            let dimensions = usize::try_from(field(0)).unwrap_or(0);
            let mut length = usize::from(dimensions > 0);
            for dimension in 0..dimensions {
                let extent = usize::try_from(field(12 + 4 * dimension)).unwrap_or(0);
                length = length.wrapping_mul(extent);
            }
            let bitmap = 12 + 8 * dimensions;
            let (present, data) = match field(4) {
                0 => (std::ptr::null(), aligned(4 + bitmap) - 4),
                offset => (
                    body.add(bitmap).cast_const(),
                    usize::try_from(offset).unwrap_or(0).wrapping_sub(4),
                ),
            };
            Some(Self {
                elements: body.wrapping_add(data),
                present,
                length,
            })
        }
    }

    /// The array behind a datum, made plain where it is not. It may allocate, and raise.
    ///
    /// # Safety
    /// As for [`of`](Self::of).
    pub unsafe fn detoasted(datum: Datum) -> Self {
        // SAFETY: a varlena, the caller guarantees it; what is made of it lives in the current memory
        // context, which the caller does not leave before it is done.
        unsafe {
            let plain = pg_sys::pg_detoast_datum(datum.cast_mut_ptr());
            Self::of(Datum::from(plain)).expect("a detoasted array is plain")
        }
    }

    /// The first `most` elements as numbers, `None` for a NULL.
    ///
    /// # Safety
    /// The elements are `float8`: of 8 bytes each.
    #[inline(always)]
    pub unsafe fn numbers(self, most: usize) -> impl Iterator<Item = Option<f64>> {
        let mut next = self.elements.cast::<f64>();
        (0..self.length.min(most)).map(move |i| {
            // SAFETY: the bitmap has a bit for each element, and NULLs take no room among them.
            unsafe {
                if !self.present.is_null() && *self.present.add(i / 8) >> (i % 8) & 1 == 0 {
                    return None;
                }
                let element = next.read_unaligned();
                next = next.wrapping_add(1);
                Some(element)
            }
        })
    }

    /// The elements as bytes, where none is NULL: the first `most`.
    ///
    /// # Safety
    /// The elements are stored in a byte each.
    #[inline(always)]
    pub unsafe fn bytes<'a>(self, most: usize) -> Option<&'a [u8]> {
        // SAFETY: there are `length` of them, one after the other.
        self.present
            .is_null()
            .then(|| unsafe { std::slice::from_raw_parts(self.elements, self.length.min(most)) })
    }

    /// The first `most` elements as bytes, 0 for a NULL.
    ///
    /// # Safety
    /// The elements are stored in a byte each.
    #[inline(always)]
    pub unsafe fn bytes_or_zeros(self, most: usize) -> impl Iterator<Item = u8> {
        static ZERO: u8 = 0;
        let mut next = self.elements;
        (0..self.length.min(most)).map(move |i| {
            // SAFETY: as in `numbers`. A choice between addresses, for a branch on NULLs that come
            // in no order is slow.
            unsafe {
                let present =
                    self.present.is_null() || *self.present.add(i / 8) >> (i % 8) & 1 == 1;
                let byte = if present { next } else { &raw const ZERO };
                next = next.wrapping_add(usize::from(present));
                *byte
            }
        })
    }
}

/// The first `most` numbers of an array, `None` for a NULL; nothing of an array with several dimensions. It may
/// allocate, and raise.
///
/// # Safety
/// `datum` is a non-NULL `float8[]` that outlives the call.
pub unsafe fn row_of_numbers(datum: Datum, most: usize) -> Option<Vec<Option<f64>>> {
    // SAFETY: the caller guarantees it; what is detoasted begins with the fields of ArrayType.
    unsafe {
        let plain = pg_sys::pg_detoast_datum(datum.cast_mut_ptr());
        let dimensions = (*plain.cast::<pg_sys::ArrayType>()).ndim;
        let array = Array::of(Datum::from(plain)).expect("a detoasted array is plain");
        (dimensions <= 1).then(|| array.numbers(most).collect())
    }
}

/// `MAXALIGN`.
const fn aligned(size: usize) -> usize {
    (size + 7) & !7
}
