//! `dp_state` of a mean without bounds that may show rows: those that coins chose, and then a state of cells.

use dp_core::encoding::cells::Line;
use dp_core::mechanism::mean::pathological::cells::{Chosen, CoinedCounts};
use pgrx::pg_sys::{self, Datum};

use crate::pg::varlena::{is_plain, length_word};
use crate::state::cells::CellState;

/// Marks such a state, and the version of its layout.
const MAGIC: u32 = 0xd9_3a_5e_23;

#[derive(Clone, Copy)]
#[repr(C)]
struct Head {
    header: u32,
    magic: u32,
    /// Rows that a coin has chosen: their number, and the sum of their steps in two halves.
    chosen: [u64; 3],
}

const _: () = assert!(size_of::<Head>() == 32 && align_of::<Head>() == 8);

/// A state of cells, and what coins chose.
pub struct CoinedCells<'a> {
    head: &'a mut Head,
    cells: CellState<'a>,
}

impl<'a> CoinedCells<'a> {
    /// The state behind a datum, or `None` where the bytes are not one of this version.
    ///
    /// # Safety
    /// `datum` is a non-NULL varlena.
    pub unsafe fn of(datum: Datum) -> Option<Self> {
        let head = datum.cast_mut_ptr::<Head>();
        // SAFETY: a varlena that is aligned and whose length word is an uncompressed one of at least these bytes has
        // both heads, and the second one says how long the whole is. They do not overlap, and no other reference
        // exists: see `CellState::of`.
        unsafe {
            if !head.is_aligned()
                || !is_plain((*head).header, size_of::<Head>() + CellState::SHORTEST)
                || (*head).magic != MAGIC
            {
                return None;
            }
            let cells = CellState::of(Datum::from(head.add(1)))?;
            let whole = length_word(size_of::<Head>() + cells.length());
            let head = &mut *head;
            (head.header == whole).then_some(Self { head, cells })
        }
    }

    /// A state without rows in the current memory context.
    pub fn new(line: Line) -> Self {
        Self::around([0; 3], CellState::new(line))
    }

    /// A copy of these cells behind what coins chose, in the current memory context.
    fn around(chosen: [u64; 3], cells: CellState) -> Self {
        let length = cells.length();
        let size = size_of::<Head>() + length;
        // SAFETY: palloc gives that many bytes, aligned to 8, or raises; at most 2^20 slots are far below what it
        // gives. The copy of a state is one.
        unsafe {
            let head = pg_sys::palloc(size).cast::<Head>();
            head.write(Head {
                header: length_word(size),
                magic: MAGIC,
                chosen,
            });
            let from = cells.into_datum().cast_mut_ptr::<u8>();
            std::ptr::copy_nonoverlapping(from, head.add(1).cast(), length);
            let copy = CellState::of(Datum::from(head.add(1)));
            Self {
                head: &mut *head,
                cells: copy.expect("a copy of a state is one"),
            }
        }
    }

    pub fn into_datum(self) -> Datum {
        Datum::from(std::ptr::from_mut(self.head))
    }

    pub fn line(&self) -> &Line {
        self.cells.line()
    }

    /// Takes in a row; what comes back may be a larger copy.
    pub fn add(mut self, place: (i64, u64), is_chosen: bool) -> Self {
        if is_chosen {
            let mut chosen = self.chosen();
            chosen.add(place);
            self.set_chosen(chosen);
        }
        Self::with(self.head, self.cells.add(place))
    }

    /// Takes in another part of the same group, on the same line; what comes back may be a larger copy.
    pub fn merge(mut self, other: &Self) -> Self {
        let mut chosen = self.chosen();
        chosen.merge(&other.chosen());
        self.set_chosen(chosen);
        Self::with(self.head, self.cells.merge(&other.cells))
    }

    /// With these cells: its own, or larger ones that lie elsewhere.
    fn with(head: &'a mut Head, cells: CellState<'a>) -> Self {
        if std::ptr::from_ref(head).wrapping_add(1).addr() == cells.address() {
            Self { head, cells }
        } else {
            Self::around(head.chosen, cells)
        }
    }

    fn chosen(&self) -> Chosen {
        let [count, low, high] = self.head.chosen;
        Chosen {
            count,
            steps: (u128::from(high) << 64 | u128::from(low)) as i128,
        }
    }

    fn set_chosen(&mut self, chosen: Chosen) {
        let steps = chosen.steps as u128;
        self.head.chosen = [chosen.count, steps as u64, (steps >> 64) as u64];
    }

    /// What a mechanism releases.
    pub fn counts(&self) -> CoinedCounts {
        CoinedCounts {
            cells: self.cells.histogram(),
            chosen: self.chosen(),
        }
    }
}
