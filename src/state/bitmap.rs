//! `dp_state` of ids: a head, and the places of a bitmap that are set. While they are few, as a table of them that
//! grows; then as the bitmap itself. It never holds an id, and is never longer than the bitmap.

use dp_core::encoding::bitmap::Occupied;
use dp_core::mechanism::distinct::bitmap::POWERS;
use pgrx::pg_sys::{self, Datum};

use crate::pg::varlena::{is_plain, length_word};

/// Marks a state of a bitmap, and the version of its layout.
const MAGIC: u32 = 0xd9_3a_5e_71;

/// Slots in the table of a new group, as a power of two.
const SMALLEST: u32 = 4;

#[derive(Clone, Copy)]
#[repr(C)]
struct Head {
    header: u32,
    magic: u32,
    /// Bits of the bitmap, as a power of two.
    power: u32,
    /// Slots in the table, as a power of two; 0 where there is the bitmap.
    slots: u32,
    /// Places in the table.
    used: u32,
    spare: u32,
}

const _: () = assert!(size_of::<Head>() == 24 && align_of::<Head>() == 4);

impl Head {
    /// Words of 4 bytes behind the head: a place and 1, or 0; or 32 bits of the bitmap.
    #[inline(always)]
    fn words(&self) -> usize {
        match self.slots {
            0 => 1 << (self.power - 5),
            slots => 1 << slots,
        }
    }

    /// Whether there can be such a state: of forged bytes there may not. A table is at most half as long as the
    /// bitmap.
    #[inline(always)]
    fn is_possible(&self) -> bool {
        let [least, most] = POWERS;
        let is_table = self.slots >= SMALLEST && self.slots.saturating_add(6) <= self.power;
        self.power >= least && self.power <= most && (self.slots == 0 || is_table)
    }

    /// The length word of an uncompressed varlena with this head, which is possible.
    #[inline(always)]
    fn length_word(&self) -> u32 {
        length_word(size_of::<Self>() + 4 * self.words())
    }
}

/// A state of a bitmap.
pub struct BitmapState<'a> {
    head: &'a mut Head,
    words: &'a mut [u32],
}

impl<'a> BitmapState<'a> {
    /// The state behind a datum, or `None` where the bytes are not one of this version.
    ///
    /// # Safety
    /// `datum` is a non-NULL varlena.
    #[inline(always)]
    pub unsafe fn of(datum: Datum) -> Option<Self> {
        let head = datum.cast_mut_ptr::<Head>();
        // SAFETY: a varlena that is aligned and whose length word is an uncompressed one of at least 24 bytes has a
        // head; it is a bitmap's if its length is what the head makes it, and then the words follow. Any bytes are
        // valid numbers, and no other reference exists: PostgreSQL calls one support function at a time, and none of
        // ours keeps a state.
        unsafe {
            if !head.is_aligned()
                || !is_plain((*head).header, size_of::<Head>())
                || (*head).magic != MAGIC
                || !(*head).is_possible()
                || (*head).length_word() != (*head).header
            {
                return None;
            }
            let head = &mut *head;
            let words = std::ptr::from_mut(head).add(1).cast::<u32>();
            let words = std::slice::from_raw_parts_mut(words, head.words());
            Some(Self { head, words })
        }
    }

    /// A state without ids in the current memory context, of a bitmap of 2 to this power of bits.
    pub fn new(power: u32) -> Self {
        Self::with_slots(power, SMALLEST)
    }

    /// The same with a table of that many slots, as a power of two, or with the bitmap.
    fn with_slots(power: u32, slots: u32) -> Self {
        let mut head = Head {
            header: 0,
            magic: MAGIC,
            power,
            slots,
            used: 0,
            spare: 0,
        };
        head.header = head.length_word();
        let length = head.words();
        // SAFETY: palloc0 gives that many bytes, zero and aligned to 8, or raises; the largest bitmap has 16 MB.
        unsafe {
            let new = pg_sys::palloc0(size_of::<Head>() + 4 * length).cast::<Head>();
            new.write(head);
            let words = std::slice::from_raw_parts_mut(new.add(1).cast(), length);
            Self {
                head: &mut *new,
                words,
            }
        }
    }

    pub fn into_datum(self) -> Datum {
        Datum::from(std::ptr::from_mut(self.head))
    }

    #[inline(always)]
    pub fn power(&self) -> u32 {
        self.head.power
    }

    /// Sets a place, or says that the table is too small for it. Cannot panic.
    #[inline(always)]
    pub fn set(&mut self, place: u32) -> bool {
        if self.head.slots == 0 {
            if let Some(word) = self.words.get_mut((place >> 5) as usize) {
                *word |= 1 << (place & 31);
            }
            return true;
        }
        let length = self.words.len();
        // Places are hashes: their last digits are as good as any.
        let mut i = place as usize;
        // Only of forged bytes is there no empty slot.
        for _ in 0..length {
            i &= length - 1;
            let Some(slot) = self.words.get_mut(i) else {
                return false;
            };
            if *slot == place.wrapping_add(1) {
                return true;
            }
            if *slot == 0 {
                // At most three quarters full.
                if (self.head.used as usize).saturating_mul(4) >= length * 3 {
                    return false;
                }
                *slot = place.wrapping_add(1);
                self.head.used = self.head.used.wrapping_add(1);
                return true;
            }
            i += 1;
        }
        false
    }

    /// Sets a place; what comes back may be a larger copy.
    pub fn insert(mut self, place: u32) -> Self {
        while !self.set(place) {
            self = self.grown();
        }
        self
    }

    /// The same places in a table of twice the size, or in the bitmap if that is as short.
    fn grown(self) -> Self {
        let (power, slots) = (self.head.power, self.head.slots + 1);
        let slots = if slots + 6 <= power { slots } else { 0 };
        let larger = Self::with_slots(power, slots);
        self.places().fold(larger, Self::insert)
    }

    /// The places of a table.
    fn places(&self) -> impl Iterator<Item = u32> {
        let slots = if self.head.slots == 0 {
            &[]
        } else {
            &*self.words
        };
        slots
            .iter()
            .filter(|slot| **slot != 0)
            .map(|slot| *slot - 1)
    }

    /// Takes in another part of the same group, of a bitmap of the same size; what comes back may be a larger copy.
    pub fn merge(self, other: &Self) -> Self {
        if other.head.slots != 0 {
            return other.places().fold(self, Self::insert);
        }
        let into = match self.head.slots {
            0 => self,
            _ => {
                let bitmap = Self::with_slots(self.head.power, 0);
                self.places().fold(bitmap, Self::insert)
            }
        };
        for (into, from) in into.words.iter_mut().zip(&*other.words) {
            *into |= *from;
        }
        into
    }

    /// What a mechanism releases.
    pub fn occupied(&self) -> Occupied {
        let bits = match self.head.slots {
            0 => self
                .words
                .iter()
                .map(|word| u64::from(word.count_ones()))
                .sum(),
            _ => self.places().count() as u64,
        };
        Occupied { bits }
    }
}
