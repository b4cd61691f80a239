//! `dp_state` of a mean that finds its bounds: a head, and pages of bins, of those alone that have held a row. It grows with
//! the range of the rows, never with their number, up to 20 kilobytes.

use dp_core::encoding::octaves::{BinSums, Content, Limits, OctaveCounts, SLOTS};
use pgrx::pg_sys::{self, Datum};

use crate::pg::varlena::{is_plain, length_word};

/// Marks a state of octaves, and the version of its layout.
const MAGIC: u32 = 0xd9_3a_5e_41;

/// Slots of a page: those of eight octaves.
const PAGE: usize = 32;

/// Pages that there can be.
const PAGES: usize = SLOTS / PAGE;

const _: () = assert!(PAGES * PAGE == SLOTS);

/// The bytes of the longest state.
pub const LONGEST: usize = size_of::<Head>() + PAGES * size_of::<Page>();

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

/// What a bin holds: the number of its rows, and the sum of their digits in two halves.
#[derive(Clone, Copy)]
#[repr(C)]
struct Slot([u64; 3]);

type Page = [Slot; PAGE];

const _: () = assert!(size_of::<Page>() == 768 && align_of::<Page>() == 8);

impl Slot {
    #[inline(always)]
    fn content(&self) -> Content {
        let [count, low, high] = self.0;
        Content {
            count,
            digits: u128::from(high) << 64 | u128::from(low),
        }
    }

    #[inline(always)]
    fn add(&mut self, more: &Content) {
        let mut held = self.content();
        held.add(more);
        self.0 = [held.count, held.digits as u64, (held.digits >> 64) as u64];
    }
}

/// A state of octaves.
pub struct OctaveState<'a> {
    head: &'a mut Head,
    pages: &'a mut [Page],
}

impl<'a> OctaveState<'a> {
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
                || (*head).magic != MAGIC
                || (*head).pages > PAGES as u64
                || header((*head).pages) != (*head).header
            {
                return None;
            }
            let head = &mut *head;
            let pages = std::ptr::from_mut(head).add(1).cast::<Page>();
            let pages = std::slice::from_raw_parts_mut(pages, head.pages as usize);
            Some(Self { head, pages })
        }
    }

    /// A state without rows in the current memory context.
    pub fn new(limits: Limits) -> Self {
        Self::with_pages(Head {
            header: 0,
            magic: MAGIC,
            limits,
            pages: 0,
            places: [NONE; 32],
        })
    }

    /// As many empty pages as the head says, in the current memory context.
    fn with_pages(mut head: Head) -> Self {
        head.header = header(head.pages);
        let pages = head.pages as usize;
        // SAFETY: palloc0 gives that many bytes, zero and aligned to 8, or raises; at most 26 pages are far below
        // what it gives.
        unsafe {
            let new = pg_sys::palloc0(size_of::<Head>() + pages * size_of::<Page>()).cast::<Head>();
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
        let digits = u128::from(digits);
        match self.slot(slot) {
            Some(slot) => {
                slot.add(&Content { count: 1, digits });
                true
            }
            None => false,
        }
    }

    #[inline(always)]
    fn slot(&mut self, slot: usize) -> Option<&mut Slot> {
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
            if let Some(held) = state.slot(slot) {
                held.add(&content);
            }
            state
        })
    }

    fn occupied(&self) -> impl Iterator<Item = (usize, Content)> {
        let pages = self.head.places.iter().enumerate().take(PAGES);
        let pages = pages.filter_map(|(i, place)| Some((i, self.pages.get(usize::from(*place))?)));
        let slots = pages.flat_map(|(i, page)| (i * PAGE..).zip(page));
        slots
            .map(|(slot, held)| (slot, held.content()))
            .filter(|(_, content)| content.count != 0)
    }

    /// What a mechanism releases.
    pub fn counts(&self) -> OctaveCounts {
        let mut counts = OctaveCounts::new();
        for (slot, content) in self.occupied() {
            counts.add(slot, &content);
        }
        counts
    }
}

/// The length word of an uncompressed varlena with so many pages, of which there are few.
#[inline(always)]
fn header(pages: u64) -> u32 {
    length_word(size_of::<Head>() + size_of::<Page>() * pages as usize)
}
