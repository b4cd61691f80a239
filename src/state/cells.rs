//! `dp_state` of a mean without bounds: a head, and a table of the cells that hold a row. It grows
//! with the number of those cells, never with that of the rows, and not beyond `cells::MOST`.

use dp_core::encoding::cells::{CellCounts, Cells, Content, LAST, Line, MOST};
use pgrx::pg_sys::{self, Datum};

use crate::pg::varlena::{is_plain, length_word};

/// Marks a state of cells, and the version of its layout.
const MAGIC: u32 = 0xd9_3a_5e_22;

/// Slots in the table of a new group, as a power of two.
const SMALLEST: u32 = 3;

#[derive(Clone, Copy)]
#[repr(C)]
struct Head {
    header: u32,
    magic: u32,
    n: i64,
    line: Line,
    /// Slots in the table, as a power of two.
    power: u32,
    /// Cells in it.
    used: u32,
    /// Whether rows were left out: 0 or 1.
    full: u32,
    unused: u32,
}

const _: () = assert!(size_of::<Head>() == 56 && align_of::<Head>() == 8);

/// A slot of the table: empty where its count is 0.
#[derive(Clone, Copy)]
#[repr(C)]
struct Slot {
    cell: i64,
    content: Content,
}

const _: () = assert!(size_of::<Slot>() == 24 && align_of::<Slot>() == 8);

/// A state of cells.
pub struct CellState<'a> {
    head: &'a mut Head,
    slots: &'a mut [Slot],
}

impl<'a> CellState<'a> {
    /// The state behind a datum, or `None` where the bytes are not one of this version.
    ///
    /// # Safety
    /// `datum` is a non-NULL varlena.
    #[inline(always)]
    pub unsafe fn of(datum: Datum) -> Option<Self> {
        let head = datum.cast_mut_ptr::<Head>();
        // SAFETY: a varlena that is aligned and whose length word is an uncompressed one of at
        // least 56 bytes has a head; it is a state of cells if its length is what the head makes
        // it, and then the table follows. Any bytes are valid numbers, and no other reference
        // exists: PostgreSQL calls one support function at a time, and none of ours keeps a state.
        unsafe {
            if !head.is_aligned() {
                return None;
            }
            if !is_plain((*head).header, size_of::<Head>())
                || (*head).magic != MAGIC
                || !is_possible((*head).power)
                || header((*head).power) != (*head).header
            {
                return None;
            }
            let head = &mut *head;
            let slots = std::ptr::from_mut(head).add(1).cast::<Slot>();
            let slots = std::slice::from_raw_parts_mut(slots, 1 << head.power);
            Some(Self { head, slots })
        }
    }

    /// A state without rows in the current memory context.
    pub fn new(line: Line) -> Self {
        Self::with_slots(Head {
            header: 0,
            magic: MAGIC,
            n: 0,
            line,
            power: SMALLEST,
            used: 0,
            full: 0,
            unused: 0,
        })
    }

    /// An empty table for this head, in the current memory context.
    fn with_slots(mut head: Head) -> Self {
        head.header = header(head.power);
        let slots = 1usize << head.power;
        // SAFETY: palloc0 gives that many bytes, zero and aligned to 8, or raises; at most
        // 2^20 slots are far below what it gives.
        unsafe {
            let new = pg_sys::palloc0(length(head.power)).cast::<Head>();
            new.write(head);
            let slots = std::slice::from_raw_parts_mut(new.add(1).cast(), slots);
            Self {
                head: &mut *new,
                slots,
            }
        }
    }

    pub fn into_datum(self) -> Datum {
        Datum::from(std::ptr::from_mut(self.head))
    }

    #[inline(always)]
    pub fn line(&self) -> &Line {
        &self.head.line
    }

    /// The fewest bytes that a state has.
    pub const SHORTEST: usize = length(SMALLEST);

    /// Where it lies.
    pub fn address(&self) -> usize {
        std::ptr::from_ref(&*self.head).addr()
    }

    /// How many bytes it has.
    pub fn length(&self) -> usize {
        length(self.head.power)
    }

    /// Takes in a row in a cell that holds rows already, or says that it holds none. Cannot panic.
    #[inline(always)]
    pub fn add_to_known(&mut self, (cell, steps): (i64, u64)) -> bool {
        let Some(slot) = self.slot(cell) else {
            return false;
        };
        if slot.content.count == 0 {
            return false;
        }
        slot.content.count = slot.content.count.wrapping_add(1);
        slot.content.steps = slot.content.steps.wrapping_add(steps);
        self.head.n = self.head.n.wrapping_add(1);
        true
    }

    /// The slot of a cell: the one that has it, or the empty one where it goes. `None` only of
    /// forged bytes: a table always has empty slots.
    #[inline(always)]
    fn slot(&mut self, cell: i64) -> Option<&mut Slot> {
        let mask = self.slots.len() - 1;
        // The offset was drawn at random: nobody can choose cells that fall on one another.
        let key = cell as u64 ^ self.head.line.offset().to_bits();
        let mut i = (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize;
        for _ in 0..=mask {
            i &= mask;
            let slot = self.slots.get(i)?;
            if slot.cell == cell || slot.content.count == 0 {
                return self.slots.get_mut(i);
            }
            i += 1;
        }
        None
    }

    /// Takes in what a cell holds; where the table is too small for it, in a larger copy.
    fn add_content(mut self, cell: i64, content: Content) -> Self {
        let known = self.slot(cell).is_some_and(|slot| slot.content.count != 0);
        if !known {
            if self.head.used as usize >= MOST {
                self.head.full = 1;
                return self;
            }
            // At most three quarters full.
            if (self.head.used as usize + 1) * 4 > self.slots.len() * 3 {
                self = self.grown();
            }
            self.head.used += 1;
        }
        if let Some(slot) = self.slot(cell) {
            slot.cell = cell;
            slot.content.count = slot.content.count.wrapping_add(content.count);
            slot.content.steps = slot.content.steps.wrapping_add(content.steps);
        }
        self
    }

    fn grown(self) -> Self {
        let mut larger = Self::with_slots(Head {
            power: self.head.power + 1,
            ..*self.head
        });
        for old in self.slots.iter().filter(|slot| slot.content.count != 0) {
            if let Some(slot) = larger.slot(old.cell) {
                *slot = *old;
            }
        }
        larger
    }

    /// Takes in a row; what comes back may be a larger copy.
    pub fn add(self, (cell, steps): (i64, u64)) -> Self {
        self.head.n = self.head.n.wrapping_add(1);
        self.add_content(cell, Content { count: 1, steps })
    }

    /// Takes in another part of the same group, on the same line; what comes back may be a larger
    /// copy.
    pub fn merge(self, other: &Self) -> Self {
        self.head.n = self.head.n.wrapping_add(other.head.n);
        self.head.full |= other.head.full;
        let occupied = other.slots.iter().filter(|slot| slot.content.count != 0);
        occupied.fold(self, |state, slot| {
            state.add_content(slot.cell, slot.content)
        })
    }

    /// What a mechanism releases.
    pub fn histogram(&self) -> CellCounts {
        let occupied = self.slots.iter().filter(|slot| slot.content.count != 0);
        // Only of forged bytes is there a cell beyond the last, or another number of them than the head's.
        let (count, cells) = (occupied.clone().count(), occupied);
        let cells = cells.map(|slot| (slot.cell.clamp(-LAST, LAST), slot.content));
        CellCounts {
            n: self.head.n,
            cells: Cells::of(count, cells),
            full: self.head.full != 0,
            ..CellCounts::new(self.head.line)
        }
    }
}

/// Whether a table can have 2 to this power of slots: of forged bytes it may not.
#[inline(always)]
fn is_possible(power: u32) -> bool {
    (SMALLEST..=20).contains(&power)
}

/// The length word of an uncompressed varlena with a table of 2 to this power of slots, which is possible.
#[inline(always)]
fn header(power: u32) -> u32 {
    length_word(length(power))
}

/// How many bytes a state with such a table has.
#[inline(always)]
const fn length(power: u32) -> usize {
    size_of::<Head>() + (size_of::<Slot>() << power)
}
