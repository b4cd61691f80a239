//! `dp_state` of a person whose groups are kept, at most that many of them: a head, a description of each column, a
//! slot for each group in the order of ranks, and the bytes of keys that have some. It grows with the number of groups
//! that are kept, never with that of the rows.

mod columns;
mod sums;
#[cfg(feature = "pg_test")]
pub mod tests;

use dp_core::encoding::contribution::{Contribution, PersonRows, PersonTotal};
use dp_core::encoding::grid::{Bounds, Grid};
use dp_core::encoding::groups::{KeptGroup, LAST, SlotPlace, end_with, place};
use dp_core::request::groups::MOST;
use pgrx::pg_sys::{self, Datum};

use crate::pg::grouping_keys::{Image, KeyType};
use crate::pg::varlena::{is_plain, length_word};
pub use crate::state::groups::columns::{Column, Rule};
use crate::state::groups::columns::{VARLENA, width};
use crate::state::groups::sums::{PersonSums, SumsForm};
use crate::state::scalar::RowSums;

/// Marks a state of groups, and the version of its layout: with sums, and with a row at most in each group.
const MAGIC: u32 = 0xd9_3a_5e_a1;
const MAGIC_OF_ONE_ROW: u32 = 0xd9_3a_5e_a2;

/// The most columns, keys and contributions together: a slot has a bit for each.
pub const MOST_COLUMNS: usize = 64;

/// The most bytes that the keys of a group have together. Groups with longer ones are left out, so that what is kept of
/// a person ends somewhere: at far less than the 1 GB that a value of PostgreSQL can have.
pub const MOST_BYTES: usize = 1 << 16;

/// Bytes that PostgreSQL keeps before each piece of memory, which has together with them a power of two.
const BEFORE: usize = 16;

#[derive(Clone, Copy)]
#[repr(C)]
struct Head {
    header: u32,
    magic: u32,
    /// Groups of this rank and larger ones are out.
    end: u64,
    /// The hash of the person.
    person: u64,
    /// The most groups.
    most: u32,
    columns: u32,
    /// Slots in use, of that many.
    used: u32,
    slots: u32,
    /// Words of keys' bytes in use, of that many.
    filled: u32,
    room: u32,
}

/// A key of a group; `None` is NULL, and what a column of contributions has.
pub type KeyImage<'a> = Option<Image<'a>>;

const _: () = assert!(size_of::<Head>() == 48 && align_of::<Head>() == 8);

/// The state of a person.
pub struct GroupsState<'a> {
    head: &'a mut Head,
    columns: &'a mut [Column],
    slots: &'a mut [u64],
    keys: &'a mut [u64],
    form: SumsForm,
    /// Words of a slot: the rank, a bit for each key that is NULL, and what the columns have.
    width: usize,
}

impl KeptGroup for GroupsState<'_> {
    fn len(&self) -> usize {
        self.head.used as usize
    }

    fn rank(&self, i: usize) -> u64 {
        self.slots[i * self.width]
    }

    fn end(&self) -> u64 {
        self.head.end
    }

    fn cut(&mut self, length: usize, end: u64) {
        self.head.used = length as u32;
        self.head.end = end;
    }
}

/// Bytes of a state.
fn size(columns: usize, words: usize) -> usize {
    size_of::<Head>() + columns * size_of::<Column>() + words * 8
}

impl<'a> GroupsState<'a> {
    /// The state behind a datum, or `None` where the bytes are not one of this version.
    ///
    /// # Safety
    /// `datum` is a non-NULL varlena, and nothing else refers to what it has.
    #[inline]
    pub unsafe fn of(datum: Datum) -> Option<Self> {
        let head = datum.cast_mut_ptr::<Head>();
        // SAFETY: a varlena that is aligned and whose length word is an uncompressed one of that many bytes has a
        // head, and then the columns that the head says; it is a state of groups if its length is what these make
        // it, and then slots and keys follow. Any bytes are valid numbers.
        unsafe {
            if !head.is_aligned() || !is_plain((*head).header, size_of::<Head>()) {
                return None;
            }
            let form = match (*head).magic {
                MAGIC => SumsForm::Sums,
                MAGIC_OF_ONE_ROW => SumsForm::OneRow,
                _ => return None,
            };
            let Head {
                header,
                most,
                columns,
                used,
                slots,
                filled,
                room,
                ..
            } = *head;
            let count = columns as usize;
            let is_possible = count <= MOST_COLUMNS
                && (1..=MOST).contains(&most)
                && used <= slots
                && slots <= most
                && filled <= room
                && room as usize <= MOST_ROOM
                && is_plain(header, size(count, 0));
            if !is_possible {
                return None;
            }
            let columns = head.add(1).cast::<Column>();
            let columns = std::slice::from_raw_parts_mut(columns, count);
            let width = width(columns, form);
            let (slots, room) = (slots as usize * width, room as usize);
            if header != length_word(size(count, slots + room)) {
                return None;
            }
            let words = head.add(1).cast::<Column>().add(count).cast::<u64>();
            Some(Self {
                head: &mut *head,
                columns,
                slots: std::slice::from_raw_parts_mut(words, slots),
                keys: std::slice::from_raw_parts_mut(words.add(slots), room),
                form,
                width,
            })
        }
    }

    /// A person without groups, in the current memory context. At most [`MOST`] groups are kept, of at most
    /// [`MOST_COLUMNS`] columns.
    pub fn new(person: u64, most: u32, columns: &[Column]) -> Self {
        let head = Head {
            header: 0,
            magic: 0,
            end: LAST,
            person,
            most,
            columns: columns.len() as u32,
            used: 0,
            slots: 0,
            filled: 0,
            room: 0,
        };
        Self::with_room(head, columns, SumsForm::OneRow, 1, 0)
    }

    /// No groups, but room for some, in the current memory context: for that many or more, as memory comes in powers of
    /// two.
    fn with_room(
        head: Head,
        columns: &[Column],
        form: SumsForm,
        slots: usize,
        room: usize,
    ) -> Self {
        let (width, count) = (width(columns, form), columns.len());
        let least = size(count, slots * width + room) + BEFORE;
        let slots = slots + (least.next_power_of_two() - least) / (width * 8);
        let slots = slots.min(head.most as usize);
        let size = size(count, slots * width + room);
        // SAFETY: palloc0 gives that many bytes, zero and aligned to 8, or raises.
        unsafe {
            let new = pg_sys::palloc0(size).cast::<Head>();
            new.write(Head {
                header: length_word(size),
                magic: match form {
                    SumsForm::Sums => MAGIC,
                    SumsForm::OneRow => MAGIC_OF_ONE_ROW,
                },
                used: 0,
                slots: slots as u32,
                filled: 0,
                room: room as u32,
                ..head
            });
            let first = new.add(1).cast::<Column>();
            let words = first.add(count).cast::<u64>();
            let kept = std::slice::from_raw_parts_mut(first, count);
            kept.copy_from_slice(columns);
            Self {
                head: &mut *new,
                columns: kept,
                slots: std::slice::from_raw_parts_mut(words, slots * width),
                keys: std::slice::from_raw_parts_mut(words.add(slots * width), room),
                form,
                width,
            }
        }
    }

    pub fn into_datum(self) -> Datum {
        Datum::from(std::ptr::from_mut(self.head))
    }

    /// The hash of the person.
    pub fn person(&self) -> u64 {
        self.head.person
    }

    /// How many groups are kept.
    pub fn count(&self) -> usize {
        self.len()
    }

    /// The most groups.
    pub fn most(&self) -> u32 {
        self.head.most
    }

    pub fn columns(&self) -> &[Column] {
        self.columns
    }

    /// Whether it is of a call with the same columns, but for rules that are not known yet.
    pub fn has(&self, most: u32, columns: &[Column]) -> bool {
        let same = |(one, other): (&Column, &Column)| one.is_like(other);
        self.head.most == most
            && self.columns.len() == columns.len()
            && self.columns.iter().zip(columns).all(same)
    }

    /// Where a column of a slot is.
    fn at(&self, slot: usize, column: usize) -> usize {
        slot * self.width + width(&self.columns[..column], self.form)
    }

    fn word(&self, slot: usize, column: usize) -> u64 {
        self.slots[self.at(slot, column)]
    }

    fn is_null(&self, slot: usize, column: usize) -> bool {
        self.slots[slot * self.width + 1] >> column & 1 != 0
    }

    /// The bytes of a key that does not lie inside, with their length word if it is a varlena; `None` only of
    /// forged bytes.
    fn bytes(&self, slot: usize, column: usize) -> Option<&[u8]> {
        let word = self.word(slot, column);
        let (start, length) = (word as u32 as usize, (word >> 32) as usize);
        let words = self
            .keys
            .get(start..start.checked_add(length.div_ceil(8))?)?;
        // SAFETY: words are bytes, eight each.
        let bytes =
            unsafe { std::slice::from_raw_parts(words.as_ptr().cast::<u8>(), words.len() * 8) };
        let bytes = bytes.get(..length)?;
        let is_whole = match self.columns[column].lies {
            VARLENA => {
                let (header, _) = bytes.split_first_chunk::<4>()?;
                u32::from_ne_bytes(*header) == length_word(length)
            }
            lies => lies as usize == length,
        };
        is_whole.then_some(bytes)
    }

    /// A key of a group.
    fn key(&self, slot: usize, column: usize) -> KeyImage<'_> {
        if self.is_null(slot, column) {
            return None;
        }
        Some(match self.columns[column].lies {
            0 => Image::Inside(self.word(slot, column)),
            VARLENA => Image::Bytes(self.bytes(slot, column)?.get(4..)?),
            _ => Image::Bytes(self.bytes(slot, column)?),
        })
    }

    /// A key of a group as a value of its type; `None` for NULL.
    pub fn key_datum(&self, slot: usize, column: usize) -> Option<Datum> {
        if self.is_null(slot, column) {
            return None;
        }
        Some(match self.columns[column].lies {
            0 => Datum::from(self.word(slot, column)),
            _ => Datum::from(self.bytes(slot, column)?.as_ptr()),
        })
    }

    /// Where a group with this rank and these keys is, or goes; `key` and `datum` are those of the column.
    fn place<'b>(
        &mut self,
        rank: u64,
        key: impl Fn(usize) -> KeyImage<'b>,
        datum: impl Fn(usize) -> Option<Datum>,
    ) -> SlotPlace {
        let most = self.head.most as usize;
        place(self, most, rank, |kept, slot| {
            (0..kept.columns.len()).all(|column| {
                let Some((kind, collation)) = kept.columns[column].key() else {
                    return true;
                };
                match (kept.key(slot, column), key(column)) {
                    (one, other) if one == other => true,
                    (Some(_), Some(_)) => {
                        let [one, other] = [kept.key_datum(slot, column), datum(column)];
                        let kind = KeyType::of(kind, collation);
                        let equal = kind.zip(one.zip(other));
                        // SAFETY: both are values of the column's type.
                        equal.is_some_and(|(kind, (one, other))| unsafe { kind.equal(one, other) })
                    }
                    _ => false,
                }
            })
        })
    }

    /// The group with this rank and these keys, one that is new if it belongs there: the state, which may be a larger
    /// copy, and the group's slot, `None` where it is out.
    pub fn group<'b>(
        mut self,
        rank: u64,
        key: impl Fn(usize) -> KeyImage<'b>,
        datum: impl Fn(usize) -> Option<Datum>,
    ) -> (Self, Option<usize>) {
        let columns = self.columns.len();
        // With a length word, which not all have.
        let bytes_of = |column: usize| match key(column) {
            Some(Image::Bytes(bytes)) => bytes.len() + 4,
            _ => 0,
        };
        match self.place(rank, &key, datum) {
            SlotPlace::Out => (self, None),
            SlotPlace::Known(slot) => {
                // Of values that are equal and not the same bits, the one that all orders of rows agree on.
                for column in 0..columns {
                    let is_key = self.columns[column].key_type().is_some();
                    if is_key && key(column) < self.key(slot, column) {
                        self = self.with_space(0, bytes_of(column).div_ceil(8));
                        self.set_key(slot, column, key(column));
                    }
                }
                (self, Some(slot))
            }
            SlotPlace::New(slot) => {
                let bytes = (0..columns).map(bytes_of);
                if bytes.clone().sum::<usize>() > MOST_BYTES {
                    return (self, None);
                }
                let words = bytes.map(|bytes| bytes.div_ceil(8)).sum();
                self = self.with_space(1, words);
                let (start, end) = (slot * self.width, self.len() * self.width);
                self.slots.copy_within(start..end, start + self.width);
                self.slots[start..start + self.width].fill(0);
                self.slots[start] = rank;
                self.head.used += 1;
                for column in 0..columns {
                    if self.columns[column].key_type().is_some() {
                        self.set_key(slot, column, key(column));
                    }
                }
                (self, Some(slot))
            }
        }
    }

    /// Sets a key, for which there is room.
    fn set_key(&mut self, slot: usize, column: usize, key: KeyImage) {
        let at = self.at(slot, column);
        let bit = 1u64 << column;
        match key {
            None => self.slots[slot * self.width + 1] |= bit,
            Some(Image::Inside(word)) => self.slots[at] = word,
            Some(Image::Bytes(content)) => {
                let is_varlena = self.columns[column].lies == VARLENA;
                let length = content.len() + if is_varlena { 4 } else { 0 };
                let start = self.head.filled as usize;
                let words = &mut self.keys[start..start + length.div_ceil(8)];
                // SAFETY: words are bytes, eight each.
                let bytes = unsafe {
                    std::slice::from_raw_parts_mut(words.as_mut_ptr().cast::<u8>(), words.len() * 8)
                };
                let content_at = length - content.len();
                if is_varlena {
                    bytes[..content_at].copy_from_slice(&length_word(length).to_ne_bytes());
                }
                bytes[content_at..length].copy_from_slice(content);
                self.head.filled += length.div_ceil(8) as u32;
                self.slots[at] = (length as u64) << 32 | start as u64;
            }
        }
    }

    /// The same groups, with that many slots and that many words for bytes of keys that are free: in a larger copy
    /// where they are not.
    fn with_space(self, slots: usize, words: usize) -> Self {
        let needed = self.len() + slots;
        let has_slots = needed <= self.head.slots as usize;
        if has_slots && words <= self.keys.len() - self.head.filled as usize {
            return self;
        }
        self.copy(self.form, needed, words)
    }

    /// The columns whose keys have bytes in a slot.
    fn with_bytes(&self, slot: usize) -> impl Iterator<Item = usize> {
        let has = move |column: &usize| {
            let of = &self.columns[*column];
            of.key_type().is_some() && of.lies != 0 && !self.is_null(slot, *column)
        };
        (0..self.columns.len()).filter(has)
    }

    /// A copy of this form, with that many slots and that many free words for bytes of keys, or more.
    fn copy(&self, form: SumsForm, slots: usize, words: usize) -> Self {
        let used = self.len();
        let long = |slot| {
            let long = move |column| ((self.word(slot, column) >> 32) as usize).div_ceil(8);
            self.with_bytes(slot).map(long).sum::<usize>()
        };
        let live = (0..used).map(long).sum::<usize>();
        // As much again is free for keys that come: each is copied a few times at most.
        let room = (live + words) * 2;
        let mut copy = Self::with_room(*self.head, self.columns, form, slots, room);
        copy.head.used = used as u32;
        if form == self.form {
            let words = used * self.width;
            copy.slots[..words].copy_from_slice(&self.slots[..words]);
        } else {
            (0..used).for_each(|slot| copy.set_sums(slot, self));
        }
        for slot in 0..used {
            for column in self.with_bytes(slot) {
                copy.set_key(slot, column, self.key(slot, column));
            }
        }
        copy
    }

    /// Sets a slot to what another state has in the same one, in this one's form, which is that of sums.
    fn set_sums(&mut self, slot: usize, other: &Self) {
        let [to, from] = [slot * self.width, slot * other.width];
        self.slots[to..to + 2].copy_from_slice(&other.slots[from..from + 2]);
        for column in 0..self.columns.len() {
            let [to, from] = [self.at(slot, column), other.at(slot, column)];
            let (to, from) = (&mut self.slots[to..], &other.slots[from..]);
            let of = &self.columns[column];
            if of.key_type().is_some() {
                to[0] = from[0];
            } else if of.is_total() {
                PersonTotal::read(other.form, from).write(to);
            } else {
                PersonRows::read(other.form, from).write(to);
            }
        }
    }

    /// Takes in a value of a group; `None` where it comes by another rule than the values before. What comes back may
    /// be a larger copy.
    pub fn add(self, slot: usize, column: usize, rule: &Rule, grid: &Grid, x: f64) -> Option<Self> {
        self.columns[column].comes_by(rule).then(|| {
            if rule.total {
                self.take_in::<PersonTotal, 3>(slot, column, PersonTotal::steps(grid, x))
            } else {
                self.take_in::<PersonRows, 5>(slot, column, grid.steps_above(x))
            }
        })
    }

    #[inline(always)]
    fn take_in<S: PersonSums<N>, const N: usize>(
        self,
        slot: usize,
        column: usize,
        steps: S::Steps,
    ) -> Self {
        let at = self.at(slot, column);
        if self.form == SumsForm::OneRow && self.slots[at] == 0 {
            self.slots[at] = S::word(steps);
            return self;
        }
        self.sum::<S, N>(slot, column, |sums| sums.add(steps))
    }

    /// Changes the sums of a group. What comes back may be a larger copy.
    fn sum<S: PersonSums<N>, const N: usize>(
        mut self,
        slot: usize,
        column: usize,
        change: impl FnOnce(&mut S),
    ) -> Self {
        if self.form == SumsForm::OneRow {
            self = self.copy(SumsForm::Sums, self.len(), 0);
        }
        let at = self.at(slot, column);
        let words = &mut self.slots[at..at + N];
        let mut sums = S::read(SumsForm::Sums, words);
        change(&mut sums);
        sums.write(words);
        self
    }

    /// Takes in what another part of the same person's rows has of a group.
    fn take_in_part<S: PersonSums<N>, const N: usize>(
        self,
        slot: usize,
        column: usize,
        (form, words): (SumsForm, &[u64]),
    ) -> Self {
        let at = self.at(slot, column);
        if [self.form, form] == [SumsForm::OneRow; 2] && (self.slots[at] == 0 || words[0] == 0) {
            self.slots[at] |= words[0];
            return self;
        }
        self.sum::<S, N>(slot, column, |sums| sums.merge(&S::read(form, words)))
    }

    /// What is kept of several persons together: nothing, even of who comes in later. To add one person to a group, or
    /// to remove one, moves no more than what one of them contributes.
    pub fn close(&mut self) {
        self.cut(0, 0);
    }

    /// Takes in another part of the same person's rows; `None` where it is of another call. What comes back may be a
    /// larger copy.
    pub fn merge(mut self, other: &Self) -> Option<Self> {
        if !self.has(other.head.most, other.columns) {
            return None;
        }
        if self.head.person != other.head.person {
            self.close();
            return Some(self);
        }
        for (column, of) in other.columns.iter().enumerate() {
            let rule = of.rule();
            if rule.is_some_and(|rule| !self.columns[column].comes_by(&rule)) {
                return None;
            }
        }
        end_with(&mut self, other.head.end);
        for from in 0..other.len() {
            let key = |column| other.key(from, column);
            let datum = |column| other.key_datum(from, column);
            let (kept, slot) = self.group(other.rank(from), key, datum);
            self = kept;
            let Some(slot) = slot else { continue };
            for column in 0..self.columns.len() {
                if self.columns[column].key_type().is_some() {
                    continue;
                }
                let part = (other.form, &other.slots[other.at(from, column)..]);
                self = if self.columns[column].is_total() {
                    self.take_in_part::<PersonTotal, 3>(slot, column, part)
                } else {
                    self.take_in_part::<PersonRows, 5>(slot, column, part)
                };
            }
        }
        Some(self)
    }

    /// What the person contributes to a group, with the bounds; `None` without a value.
    pub fn contribution(&self, slot: usize, column: usize) -> Option<(Bounds, Contribution)> {
        let rule = self.columns[column].rule()?;
        let [lo, hi] = rule.bounds.map(f64::from_bits);
        let bounds = Bounds::new(Some(lo), Some(hi)).ok()?;
        let words = &self.slots[self.at(slot, column)..];
        let given = if rule.total {
            PersonTotal::read(self.form, words).contribution(&bounds)
        } else {
            PersonRows::read(self.form, words).contribution(rule.k)
        };
        Some((bounds, given?))
    }
}

/// The most words for bytes of keys: all groups' and as many again, and what is added.
const MOST_ROOM: usize = 2 * (MOST as usize + 1) * (MOST_BYTES / 8 + MOST_COLUMNS);
