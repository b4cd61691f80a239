//! `dp_state` of rows that are vectors: a head of 64 bytes, then a sum for each position. It grows
//! with the length of the vectors alone, and is updated in place.

use dp_core::encoding::columns::{Columns, MOST_COLUMNS, sums_of};
use dp_core::encoding::grid::Grid;
use dp_core::encoding::sums::Totals;
use dp_core::mechanism::vector::items::{LONGEST, Rows};
use dp_core::memory;
use pgrx::pg_sys::{self, Datum};

use crate::pg::varlena::{is_plain, length_word};

/// Marks a state of vectors, and the version of its layout.
const MAGIC: u32 = 0xd9_3a_5e_11;

/// Words of 8 bytes in a grid.
const GRID_WORDS: usize = 4;

/// How the numbers of a row come, and how their sums are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// Predicates as arguments of the call; counts of 8 bytes.
    Predicates = 1,
    /// Predicates as an array; counts of 8 bytes.
    Booleans = 2,
    /// Values as an array; sums of 16 bytes.
    Values = 3,
    /// One value, counted in one of some buckets; counts of 8 bytes.
    Buckets = 4,
    /// The same, and in none if it is outside of the bounds.
    BucketsWithin = 5,
    /// One value, counted in the bin of its magnitude; counts of 8 bytes.
    Magnitudes = 6,
    /// One value, counted below, inside or above the bounds; counts of 8 bytes.
    Sides = 7,
    /// One value, counted in a bin of a line for its rank, of equal width; counts of 8 bytes.
    LinearRanks = 8,
    /// Likewise, with bins of equal relative width.
    LogRanks = 9,
    /// The same, around multiples of a step.
    StepRanks = 10,
    /// Several columns; the grid of each, then sums of 16 bytes of their steps and of products of them.
    Products = 11,
}

impl Kind {
    /// Words of 8 bytes in one sum.
    #[inline(always)]
    fn words(self) -> usize {
        match self {
            Self::Values | Self::Products => 2,
            _ => 1,
        }
    }
}

/// What rows look like: fixed by the call, and the same in each of its states.
#[derive(Clone, Copy, PartialEq)]
#[repr(C)]
pub struct Layout {
    length: u32,
    most: u32,
    kind: u32,
    spare: u32,
    grid: Grid,
}

impl Layout {
    /// For rows of a mechanism, whose length is at most [`LONGEST`].
    pub fn new(kind: Kind, rows: Rows, grid: Option<Grid>) -> Self {
        let number = |n: usize| u32::try_from(n).expect("a mechanism's rows have a bounded length");
        Self {
            length: number(rows.length),
            most: number(rows.most),
            kind: kind as u32,
            spare: 0,
            grid: grid.unwrap_or(Grid::NONE),
        }
    }

    #[inline(always)]
    pub fn kind(&self) -> Kind {
        match self.kind {
            1 => Kind::Predicates,
            2 => Kind::Booleans,
            4 => Kind::Buckets,
            5 => Kind::BucketsWithin,
            6 => Kind::Magnitudes,
            7 => Kind::Sides,
            8 => Kind::LinearRanks,
            9 => Kind::LogRanks,
            10 => Kind::StepRanks,
            11 => Kind::Products,
            _ => Kind::Values,
        }
    }

    #[inline(always)]
    pub fn length(&self) -> usize {
        self.length as usize
    }

    /// How many positions of a row may be other than 0; `None` where all may.
    #[inline(always)]
    pub fn most(&self) -> Option<u32> {
        (self.most < self.length).then_some(self.most)
    }

    #[inline(always)]
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Whether two layouts are the same, bit by bit.
    pub fn same(&self, other: &Self) -> bool {
        (self.length, self.most, self.kind) == (other.length, other.most, other.kind)
            && self.grid.same(&other.grid)
    }

    /// Whether there can be such rows: of forged bytes there may not.
    #[inline(always)]
    pub(super) fn is_possible(&self) -> bool {
        self.length() <= LONGEST
            && match self.kind {
                1..=10 => true,
                11 => {
                    let columns = self.columns();
                    columns <= MOST_COLUMNS && self.length() == sums_of(columns)
                }
                _ => false,
            }
    }

    /// How many columns there are, of sums of products.
    #[inline(always)]
    pub fn columns(&self) -> usize {
        self.most as usize
    }

    /// Words before the sums: of grids.
    #[inline(always)]
    fn words_of_grids(&self) -> usize {
        match self.kind() {
            Kind::Products => GRID_WORDS * self.columns(),
            _ => 0,
        }
    }

    #[inline(always)]
    fn words(&self) -> usize {
        self.words_of_grids() + self.length() * self.kind().words()
    }

    /// For rows of several columns.
    pub fn of_columns(columns: &Columns) -> Self {
        let rows = Rows {
            length: sums_of(columns.count()),
            most: columns.count(),
        };
        Self::new(Kind::Products, rows, Some(columns.mark()))
    }

    /// The bytes of a state with this layout.
    #[inline(always)]
    pub fn bytes(&self) -> usize {
        size_of::<Head>() + 8 * self.words()
    }

    /// The length word of an uncompressed varlena with this layout, if it is possible. (The longest
    /// of 16 bytes each are far below what a varlena holds.)
    #[inline(always)]
    fn header(&self) -> u32 {
        length_word(self.bytes())
    }
}

#[repr(C)]
struct Head {
    header: u32,
    magic: u32,
    n: i64,
    layout: Layout,
}

const _: () = assert!(size_of::<Head>() == 64 && align_of::<Head>() == 8);

/// A state of vectors.
pub struct VectorState<'a> {
    head: &'a mut Head,
    words: &'a mut [u64],
}

impl<'a> VectorState<'a> {
    /// The state behind a datum, or `None` where the bytes are not one of this version.
    ///
    /// # Safety
    /// `datum` is a non-NULL varlena.
    #[inline(always)]
    pub unsafe fn of(datum: Datum) -> Option<Self> {
        let head = datum.cast_mut_ptr::<Head>();
        // SAFETY: a varlena that is aligned and whose length word is an uncompressed one of at
        // least 64 bytes has a head; it is a state of vectors if its length is what its layout
        // makes it, and then the words follow. Any bytes are valid numbers, and no other reference
        // exists: PostgreSQL calls one support function at a time, and none of ours keeps a state.
        unsafe {
            if !head.is_aligned()
                || !is_plain((*head).header, size_of::<Head>())
                || (*head).magic != MAGIC
            {
                return None;
            }
            let head = &mut *head;
            if !head.layout.is_possible() || head.layout.header() != head.header {
                return None;
            }
            let words = std::ptr::from_mut(head).add(1).cast::<u64>();
            let words = std::slice::from_raw_parts_mut(words, head.layout.words());
            Some(Self { head, words })
        }
    }

    /// A state without rows in the current memory context.
    pub fn new(layout: Layout) -> Self {
        let size = size_of::<Head>() + 8 * layout.words();
        // SAFETY: palloc0 gives that many bytes, zero and aligned to 8, or raises.
        unsafe {
            let head = pg_sys::palloc0(size).cast::<Head>();
            head.write(Head {
                header: layout.header(),
                magic: MAGIC,
                n: 0,
                layout,
            });
            let words = std::slice::from_raw_parts_mut(head.add(1).cast(), layout.words());
            Self {
                head: &mut *head,
                words,
            }
        }
    }

    /// One of several columns.
    pub fn of_columns(columns: &Columns) -> Self {
        let state = Self::new(Layout::of_columns(columns));
        let grids = columns.grids().flat_map(|grid| grid.words());
        for (word, of_grid) in state.words.iter_mut().zip(grids) {
            *word = of_grid;
        }
        state
    }

    pub fn into_datum(self) -> Datum {
        Datum::from(std::ptr::from_mut(self.head))
    }

    #[inline(always)]
    pub fn layout(&self) -> &Layout {
        &self.head.layout
    }

    /// Takes in one row. Its numbers go into [`counts`](Self::counts) or [`sums`](Self::sums).
    #[inline(always)]
    pub fn count_row(&mut self) {
        self.head.n = self.head.n.wrapping_add(1);
    }

    /// Takes in one row for the count at `position`.
    #[inline(always)]
    pub fn count_in(&mut self, position: usize) {
        if let Some(count) = self.words.get_mut(position) {
            *count = count.wrapping_add(1);
        }
    }

    /// Takes in that many rows for the count at `position`.
    pub fn count_rows_in(&mut self, position: usize, rows: u32) {
        self.head.n = self.head.n.wrapping_add(i64::from(rows));
        if let Some(count) = self.words.get_mut(position) {
            *count = count.wrapping_add(u64::from(rows));
        }
    }

    /// The number of rows for which it holds, for each predicate.
    #[inline(always)]
    pub fn counts(&mut self) -> std::slice::IterMut<'_, u64> {
        self.words.iter_mut()
    }

    /// The sum of steps at each position, as two halves: see [`add_steps`].
    #[inline(always)]
    pub fn sums(&mut self) -> std::slice::ChunksExactMut<'_, u64> {
        self.grids_and_sums().1
    }

    /// The grid of each column, where there are several, and the sums.
    #[inline(always)]
    pub fn grids_and_sums(
        &mut self,
    ) -> (
        impl Iterator<Item = Grid>,
        std::slice::ChunksExactMut<'_, u64>,
    ) {
        let grids = self.head.layout.words_of_grids();
        // There are as many words: it never falls back.
        let (grids, sums) = match self.words.split_at_mut_checked(grids) {
            Some((grids, sums)) => (&*grids, sums),
            None => (&[][..], &mut [][..]),
        };
        let (grids, _) = grids.as_chunks::<GRID_WORDS>();
        (
            grids.iter().map(|words| Grid::of_words(*words)),
            sums.chunks_exact_mut(2),
        )
    }

    /// Takes in another part of the same group, whose layout is the same.
    pub fn merge(&mut self, other: &Self) {
        self.head.n = self.head.n.wrapping_add(other.head.n);
        match self.layout().kind().words() {
            1 => {
                for (into, from) in self.words.iter_mut().zip(&*other.words) {
                    *into = into.wrapping_add(*from);
                }
            }
            _ => {
                let others = other.words_of_sums().chunks_exact(2);
                for (into, from) in self.sums().zip(others) {
                    set(into, sum(into).wrapping_add(sum(from)));
                }
            }
        }
    }

    fn words_of_sums(&self) -> &[u64] {
        let grids = self.layout().words_of_grids();
        self.words.get(grids..).unwrap_or_default()
    }

    /// What a mechanism releases.
    pub fn totals(&self) -> Totals {
        let length = self.layout().length();
        Totals {
            n: self.head.n,
            s: match self.layout().kind().words() {
                1 => memory::vector(length, self.words.iter().map(|count| i128::from(*count))),
                _ => memory::vector(length, self.words_of_sums().chunks_exact(2).map(sum)),
            },
        }
    }
}

/// The sum in two halves. (`palloc` aligns to 8 bytes, an `i128` wants 16.)
#[inline(always)]
fn sum(halves: &[u64]) -> i128 {
    match halves {
        [low, high] => (u128::from(*high) << 64 | u128::from(*low)) as i128,
        _ => 0,
    }
}

#[inline(always)]
fn set(halves: &mut [u64], sum: i128) {
    if let [low, high] = halves {
        (*low, *high) = (sum as u64, (sum >> 64) as u64);
    }
}

/// Adds the steps of one row to a sum.
#[inline(always)]
pub fn add_steps(halves: &mut [u64], steps: i64) {
    set(halves, sum(halves).wrapping_add(i128::from(steps)));
}
