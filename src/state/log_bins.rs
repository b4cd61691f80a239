//! `dp_state` of what finds its bounds: a head, and pages of bins, of those alone that have held a row. It grows with
//! the range of the rows, never with their number, up to 20 kilobytes; of a variance, 33.

use dp_core::encoding::log_bins::{BinSums, Content, Limits, OctaveCounts, SLOTS};
use dp_core::encoding::squares::Squares;
use pgrx::pg_sys::{self, Datum};

use crate::pg::varlena::{is_plain, length_word};

/// Slots of a page: those of eight octaves.
const PAGE: usize = 32;

/// Pages that there can be.
const PAGES: usize = SLOTS / PAGE;

const _: () = assert!(PAGES * PAGE == SLOTS);

/// The bytes of the longest state of these sums.
pub const fn longest<S: SlotSums>() -> usize {
    size_of::<Head>() + PAGES * size_of::<Page<S>>()
}

/// In the place of a page that there is not.
const NONE: u8 = u8::MAX;

#[derive(Clone, Copy)]
#[repr(C)]
struct Head {
    header: u32,
    magic: u32,
    limits: Limits,
    /// Pages behind the head.
    pages: u64,
    /// Which of them has the bins from 32 times this place on.
    places: [u8; 32],
}

const _: () = assert!(size_of::<Head>() == 72 && align_of::<Head>() == 8 && PAGES <= 32);

/// What a bin holds, as it lies in a state.
pub trait SlotSums: BinSums {
    /// In words: `palloc` aligns to 8 bytes and no more, so a 128-bit sum is two halves.
    type Words: Copy;
    /// Marks a state of these sums, and the version of its layout.
    const MAGIC: u32;

    fn pack(self) -> Self::Words;
    fn unpack(words: Self::Words) -> Self;
}

#[inline(always)]
fn whole([low, high]: [u64; 2]) -> u128 {
    u128::from(high) << 64 | u128::from(low)
}

#[inline(always)]
fn halves(sum: u128) -> [u64; 2] {
    [sum as u64, (sum >> 64) as u64]
}

impl SlotSums for Content {
    type Words = [u64; 3];
    const MAGIC: u32 = 0xd9_3a_5e_b1;

    #[inline(always)]
    fn pack(self) -> [u64; 3] {
        let [low, high] = halves(self.digits);
        [self.count, low, high]
    }

    #[inline(always)]
    fn unpack([count, low, high]: [u64; 3]) -> Self {
        let digits = whole([low, high]);
        Self { count, digits }
    }
}

impl SlotSums for Squares {
    type Words = [u64; 5];
    const MAGIC: u32 = 0xd9_3a_5e_b2;

    #[inline(always)]
    fn pack(self) -> [u64; 5] {
        let [[low, high], [low_squares, high_squares]] = [self.digits, self.squares].map(halves);
        [self.count, low, high, low_squares, high_squares]
    }

    #[inline(always)]
    fn unpack([count, low, high, low_squares, high_squares]: [u64; 5]) -> Self {
        Self {
            count,
            digits: whole([low, high]),
            squares: whole([low_squares, high_squares]),
        }
    }
}

type Page<S> = [<S as SlotSums>::Words; PAGE];

const _: () = assert!(size_of::<Page<Content>>() == 768 && align_of::<Page<Content>>() == 8);
const _: () = assert!(size_of::<Page<Squares>>() == 1280 && align_of::<Page<Squares>>() == 8);

/// A state of octaves.
pub struct OctaveState<'a, S: SlotSums = Content> {
    head: &'a mut Head,
    pages: &'a mut [Page<S>],
}

impl<S: SlotSums> OctaveState<'_, S> {
    /// The state behind a datum, or `None` where the bytes are not one of this version.
    ///
    /// # Safety
    /// `datum` is a non-NULL varlena.
    #[inline(always)]
    pub unsafe fn of(datum: Datum) -> Option<Self> {
        let head = datum.cast_mut_ptr::<Head>();
        // SAFETY: a varlena that is aligned and whose length word is an uncompressed one of at least 72 bytes has a
        // head; it is a state of octaves if its length is what the head makes it, and then the pages follow. Any
        // bytes are valid numbers, and no other reference exists: PostgreSQL calls one support function at a time,
        // and none of ours keeps a state.
        unsafe {
            if !head.is_aligned() {
                return None;
            }
            if !is_plain((*head).header, size_of::<Head>())
                || (*head).magic != S::MAGIC
                || (*head).pages > PAGES as u64
                || header::<S>((*head).pages) != (*head).header
            {
                return None;
            }
            let head = &mut *head;
            let pages = std::ptr::from_mut(head).add(1).cast::<Page<S>>();
            let pages = std::slice::from_raw_parts_mut(pages, head.pages as usize);
            Some(Self { head, pages })
        }
    }

    /// A state without rows in the current memory context.
    pub fn new(limits: Limits) -> Self {
        Self::with_pages(Head {
            header: 0,
            magic: S::MAGIC,
            limits,
            pages: 0,
            places: [NONE; 32],
        })
    }

    /// As many empty pages as the head says, in the current memory context.
    fn with_pages(mut head: Head) -> Self {
        head.header = header::<S>(head.pages);
        let pages = head.pages as usize;
        // SAFETY: palloc0 gives that many bytes, zero and aligned to 8, or raises; at most 26 pages are far below
        // what it gives.
        unsafe {
            let new =
                pg_sys::palloc0(size_of::<Head>() + pages * size_of::<Page<S>>()).cast::<Head>();
            new.write(head);
            let pages = std::slice::from_raw_parts_mut(new.add(1).cast(), pages);
            Self {
                head: &mut *new,
                pages,
            }
        }
    }

    pub fn into_datum(self) -> Datum {
        Datum::from(std::ptr::from_mut(self.head))
    }

    #[inline(always)]
    pub fn limits(&self) -> &Limits {
        &self.head.limits
    }

    /// Takes in a row whose bin has a page, or says that it has none. Cannot panic.
    #[inline(always)]
    pub fn add_to_known(&mut self, (slot, digits): (usize, u64)) -> bool {
        self.add_to_slot(slot, &S::of_row(digits))
    }

    #[inline(always)]
    fn add_to_slot(&mut self, slot: usize, more: &S) -> bool {
        match self.slot(slot) {
            Some(words) => {
                let mut held = S::unpack(*words);
                held.add(more);
                *words = held.pack();
                true
            }
            None => false,
        }
    }

    #[inline(always)]
    fn slot(&mut self, slot: usize) -> Option<&mut S::Words> {
        let place = *self.head.places.get(slot / PAGE)?;
        self.pages.get_mut(usize::from(place))?.get_mut(slot % PAGE)
    }

    /// Takes in a row; what comes back may be a larger copy.
    pub fn add(self, place: (usize, u64)) -> Self {
        let mut state = self.with_page_of(place.0);
        state.add_to_known(place);
        state
    }

    /// With a page for this slot.
    fn with_page_of(self, slot: usize) -> Self {
        let page = slot / PAGE;
        let is_there = |place: u8| usize::from(place) < self.pages.len();
        if page >= PAGES || is_there(self.head.places[page]) {
            return self;
        }
        let mut head = Head {
            pages: self.head.pages + 1,
            ..*self.head
        };
        head.places[page] = self.head.pages as u8;
        let larger = Self::with_pages(head);
        larger.pages[..self.pages.len()].copy_from_slice(self.pages);
        larger
    }

    /// Takes in another part of the same group, with the same limits; what comes back may be a larger copy.
    pub fn merge(self, other: &Self) -> Self {
        other.occupied().fold(self, |state, (slot, content)| {
            let mut state = state.with_page_of(slot);
            state.add_to_slot(slot, &content);
            state
        })
    }

    fn occupied(&self) -> impl Iterator<Item = (usize, S)> {
        let pages = self.head.places.iter().enumerate().take(PAGES);
        let pages = pages.filter_map(|(i, place)| Some((i, self.pages.get(usize::from(*place))?)));
        let slots = pages.flat_map(|(i, page)| (i * PAGE..).zip(page));
        slots
            .map(|(slot, held)| (slot, S::unpack(*held)))
            .filter(|(_, content)| content.count() != 0)
    }

    /// What a mechanism releases.
    pub fn counts(&self) -> OctaveCounts<S> {
        let mut counts = OctaveCounts::default();
        for (slot, content) in self.occupied() {
            counts.add(slot, &content);
        }
        counts
    }
}

/// The length word of an uncompressed varlena with that many pages, which are few.
#[inline(always)]
fn header<S: SlotSums>(pages: u64) -> u32 {
    length_word(size_of::<Head>() + size_of::<Page<S>>() * pages as usize)
}
