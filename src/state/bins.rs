//! `dp_state` of rows that are counted in one bin each. While they are few, a head of 72 bytes and the bin of each row,
//! in 4 bytes: it grows with the number of rows, whatever their values are. From half the size of a count for each bin
//! on, these counts: a state of vectors.

use dp_core::encoding::sums::Totals;
use pgrx::pg_sys::{self, Datum};

use crate::pg::varlena::{is_plain, length_word};
use crate::state::vector::{Layout, VectorState};

/// Marks a list of rows, and the version of its layout.
const MAGIC: u32 = 0xd9_3a_5e_51;

/// Rows that the list of a new group has room for, as a power of two; and those that any may have.
const SMALLEST: u32 = 4;
const LARGEST: u32 = 16;

/// The fewest bins for which a list is kept.
const WORTH_IT: usize = 64;

#[repr(C)]
struct Head {
    header: u32,
    magic: u32,
    rows: u64,
    layout: Layout,
    /// How many rows there is room for, as a power of two.
    power: u32,
    spare: u32,
}

const _: () = assert!(size_of::<Head>() == 72 && align_of::<Head>() == 8);

/// The bins of the rows of a group, one by one.
pub struct List<'a> {
    head: &'a mut Head,
    bins: &'a mut [u32],
}

impl<'a> List<'a> {
    /// The list behind a datum, or `None` where the bytes are not one of this version.
    ///
    /// # Safety
    /// `datum` is a non-NULL varlena.
    #[inline(always)]
    pub unsafe fn of(datum: Datum) -> Option<Self> {
        let head = datum.cast_mut_ptr::<Head>();
        // SAFETY: a varlena that is aligned and whose length word is an uncompressed one of at least 72 bytes has a
        // head; it is a list if its length is what the head makes it, and then the bins follow. Any bytes are valid
        // numbers, and no other reference exists: PostgreSQL calls one support function at a time, and none of ours
        // keeps a state.
        unsafe {
            if !head.is_aligned()
                || !is_plain((*head).header, size_of::<Head>())
                || (*head).magic != MAGIC
                || !(SMALLEST..=LARGEST).contains(&(*head).power)
                || header((*head).power) != (*head).header
                || !(*head).layout.is_possible()
            {
                return None;
            }
            let head = &mut *head;
            let bins = std::ptr::from_mut(head).add(1).cast::<u32>();
            let bins = std::slice::from_raw_parts_mut(bins, 1 << head.power);
            Some(Self { head, bins })
        }
    }

    /// An empty list in the current memory context.
    fn new(layout: Layout, power: u32) -> Self {
        let room = 1usize << power;
        // SAFETY: palloc0 gives that many bytes, zero and aligned to 8, or raises.
        unsafe {
            let head = pg_sys::palloc0(size(power)).cast::<Head>();
            head.write(Head {
                header: header(power),
                magic: MAGIC,
                rows: 0,
                layout,
                power,
                spare: 0,
            });
            let bins = std::slice::from_raw_parts_mut(head.add(1).cast(), room);
            Self {
                head: &mut *head,
                bins,
            }
        }
    }

    #[inline(always)]
    pub fn layout(&self) -> &Layout {
        &self.head.layout
    }

    /// Takes in a row, or says that there is no room. Cannot panic.
    #[inline(always)]
    pub fn add(&mut self, bin: usize) -> bool {
        let Some(free) = self.bins.get_mut(self.head.rows as usize) else {
            return false;
        };
        *free = bin as u32;
        self.head.rows += 1;
        true
    }

    fn rows(&self) -> impl Iterator<Item = usize> {
        let rows = self.bins.iter().take(self.head.rows as usize);
        rows.map(|bin| *bin as usize)
    }

    /// The same rows with room for more: in a list, or as counts.
    fn grown(self) -> Bins<'a> {
        let power = self.head.power + 1;
        if power > LARGEST || 1 << power > self.layout().length() {
            return Bins::Counts(self.counted());
        }
        let larger = Self::new(self.head.layout, power);
        for (into, bin) in larger.bins.iter_mut().zip(&*self.bins) {
            *into = *bin;
        }
        larger.head.rows = self.head.rows;
        Bins::List(larger)
    }

    fn counted(&self) -> VectorState<'a> {
        let mut counts = VectorState::new(self.head.layout);
        for bin in self.rows() {
            counts.count_rows_in(bin, 1);
        }
        counts
    }
}

fn size(power: u32) -> usize {
    size_of::<Head>() + (size_of::<u32>() << power)
}

#[inline(always)]
fn header(power: u32) -> u32 {
    length_word(size(power))
}

/// The rows of a group.
pub enum Bins<'a> {
    /// One by one.
    List(List<'a>),
    /// As counts of all bins.
    Counts(VectorState<'a>),
}

impl Bins<'_> {
    /// The state behind a datum, or `None` where the bytes are neither.
    ///
    /// # Safety
    /// `datum` is a non-NULL varlena.
    pub unsafe fn of(datum: Datum) -> Option<Self> {
        // SAFETY: the caller guarantees it.
        unsafe {
            let counts = VectorState::of(datum).map(Self::Counts);
            counts.or_else(|| List::of(datum).map(Self::List))
        }
    }

    /// A state without rows in the current memory context.
    pub fn new(layout: Layout) -> Self {
        if layout.length() < WORTH_IT {
            Self::Counts(VectorState::new(layout))
        } else {
            Self::List(List::new(layout, SMALLEST))
        }
    }

    pub fn layout(&self) -> &Layout {
        match self {
            Self::List(list) => list.layout(),
            Self::Counts(counts) => counts.layout(),
        }
    }

    /// Takes in that many rows of one bin; what comes back may be a larger copy.
    pub fn add(mut self, bin: usize, rows: u32) -> Self {
        for taken in 0..rows {
            self = match self {
                Self::Counts(mut counts) => {
                    counts.count_rows_in(bin, rows - taken);
                    return Self::Counts(counts);
                }
                Self::List(mut list) => match list.add(bin) {
                    true => Self::List(list),
                    false => list.grown().add(bin, 1),
                },
            };
        }
        self
    }

    /// Takes in another part of the same group, whose layout is the same; what comes back may be a larger copy.
    pub fn merge(self, other: &Self) -> Self {
        match (self, other) {
            (one, Self::List(list)) => list.rows().fold(one, |one, bin| one.add(bin, 1)),
            (Self::Counts(mut one), Self::Counts(counts)) => {
                one.merge(counts);
                Self::Counts(one)
            }
            (Self::List(list), Self::Counts(counts)) => {
                let mut one = list.counted();
                one.merge(counts);
                Self::Counts(one)
            }
        }
    }

    /// What a mechanism releases.
    pub fn totals(&self) -> Totals {
        match self {
            Self::Counts(counts) => counts.totals(),
            Self::List(list) => {
                let mut totals = Totals::new(list.layout().length());
                for bin in list.rows() {
                    totals.n += 1;
                    if let Some(count) = totals.s.get_mut(bin) {
                        *count += 1;
                    }
                }
                totals
            }
        }
    }

    pub fn into_datum(self) -> Datum {
        match self {
            Self::List(list) => Datum::from(std::ptr::from_mut(list.head)),
            Self::Counts(counts) => counts.into_datum(),
        }
    }
}
