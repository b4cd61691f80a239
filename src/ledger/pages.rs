//! Rows of a table, changed in place on their pages, for good: one record of the WAL has all of a change, and
//! no transaction takes it back. Sequences are changed so by PostgreSQL itself.
//!
//! Between the first lock on a page and [`write`] nothing may allocate, wait for a lock that is not one of these, or
//! raise an ERROR that could have been raised before. Everyone locks pages in this order: the audit's first, then the
//! lines' in the order of their numbers.

use std::ptr::NonNull;
use std::thread;

use pgrx::itemptr::item_pointer_set_all;
use pgrx::pg_sys::{self, BlockNumber, OffsetNumber, Page};

#[cfg(feature = "pg_test")]
use crate::ledger::lock_order;
use crate::ledger::rows::{self, Value};
use crate::ledger::tables::{Shape, Table};

#[cfg(feature = "pg_test")]
pub mod tests;

/// Where a row lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowPlace {
    pub block: BlockNumber,
    row: OffsetNumber,
}

/// How far the WAL has to be on disk for a change to be for good.
#[derive(Clone, Copy, Debug)]
pub struct Written(pub pg_sys::XLogRecPtr);

/// A row that everybody sees at once, whatever becomes of the transaction in which it was made.
pub struct Tuple(NonNull<pg_sys::HeapTupleData>);

impl Tuple {
    pub fn new(table: &Table, shape: &Shape, values: &[Value]) -> Self {
        let tuple = rows::form(table, shape, values);
        // SAFETY: a tuple that is ours alone.
        unsafe {
            let header = (*tuple.as_ptr()).t_data;
            // Frozen: older than every transaction.
            (*header).t_choice.t_heap.t_xmin = pg_sys::FrozenTransactionId;
            (*header).t_choice.t_heap.t_xmax = pg_sys::InvalidTransactionId;
            (*header).t_choice.t_heap.t_field3.t_cid = pg_sys::FirstCommandId;
            (*header).t_infomask &= !(pg_sys::HEAP_XACT_MASK as u16);
            (*header).t_infomask |= (pg_sys::HEAP_XMIN_FROZEN | pg_sys::HEAP_XMAX_INVALID) as u16;
            (*header).t_infomask2 &= !(pg_sys::HEAP2_XACT_MASK as u16);
        }
        Self(tuple)
    }

    /// The bytes that it takes on a page.
    fn size(&self) -> usize {
        // SAFETY: a tuple of ours, which lives as long as the call from SQL.
        unsafe { self.0.as_ref().t_len as usize }
    }
}

/// A page, locked so that nobody else reads or changes it.
pub struct Locked {
    buffer: pg_sys::Buffer,
    pub block: BlockNumber,
}

impl Drop for Locked {
    fn drop(&mut self) {
        // After an ERROR PostgreSQL lets go of it itself, and counts on doing so.
        if !thread::panicking() {
            // SAFETY: locked and pinned by `lock` or `lock_to_append`, and let go once.
            unsafe { pg_sys::UnlockReleaseBuffer(self.buffer) };
        }
    }
}

impl Locked {
    /// The page of a row.
    pub fn lock(table: &Table, place: RowPlace) -> Self {
        let RowPlace { block, .. } = place;
        #[cfg(feature = "pg_test")]
        lock_order::note(table.id(), block);
        // SAFETY: an open table; a page beyond its end is an ERROR.
        let buffer = unsafe {
            let buffer = pg_sys::ReadBuffer(table.relation(), block);
            pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_EXCLUSIVE as i32);
            buffer
        };
        Self { buffer, block }
    }

    /// The last page of a table, with room for the tuple: a new one if need be.
    pub fn lock_to_append(table: &Table, tuple: &Tuple) -> Self {
        Self::lock_to_append_all(table, std::slice::from_ref(tuple))
    }

    /// The same, with room for all of these, which fit on one page.
    pub fn lock_to_append_all(table: &Table, tuples: &[Tuple]) -> Self {
        if let Some(page) = Self::with_room(table, tuples) {
            return page;
        }
        if let Some(page) = Self::emptied(table, tuples) {
            return page;
        }
        // Somebody else may have made it longer meanwhile.
        let _extending = Extending::of(table);
        Self::with_room(table, tuples).unwrap_or_else(|| Self::add(table))
    }

    /// The last page, if it has room.
    fn with_room(table: &Table, tuples: &[Tuple]) -> Option<Self> {
        let block = blocks(table).checked_sub(1)?;
        let page = Self::lock(table, RowPlace { block, row: 0 });
        let room = page.free();
        (room >= room_for(tuples)).then_some(page)
    }

    /// A page that has room as rows were taken out of it, if VACUUM has noted one.
    fn emptied(table: &Table, tuples: &[Tuple]) -> Option<Self> {
        // SAFETY: an open table. No page is locked meanwhile; what is noted may be wrong, and is looked at again.
        let block = unsafe { pg_sys::GetPageWithFreeSpace(table.relation(), room_for(tuples)) };
        if block >= blocks(table) {
            return None;
        }
        let page = Self::lock(table, RowPlace { block, row: 0 });
        let room = page.free();
        if room >= room_for(tuples) {
            return Some(page);
        }
        drop(page);
        // SAFETY: the same.
        unsafe { pg_sys::RecordPageWithFreeSpace(table.relation(), block, room) };
        None
    }

    /// How many bytes it has for rows, beside one more item.
    fn free(&self) -> usize {
        // SAFETY: the page is pinned and locked.
        unsafe {
            let page = pg_sys::BufferGetPage(self.buffer);
            match pg_sys::PageIsNew(page) {
                true => pg_sys::BLCKSZ as usize,
                false => pg_sys::PageGetHeapFreeSpace(page),
            }
        }
    }

    /// A new page at the end, empty until it is written. [`Extending`] is held.
    fn add(table: &Table) -> Self {
        // SAFETY: InvalidBlockNumber is what P_NEW represents; the lock for extending is held.
        unsafe {
            let buffer = pg_sys::ReadBufferExtended(
                table.relation(),
                pg_sys::ForkNumber::MAIN_FORKNUM,
                pg_sys::InvalidBlockNumber,
                pg_sys::ReadBufferMode::RBM_ZERO_AND_LOCK,
                std::ptr::null_mut(),
            );
            let block = pg_sys::BufferGetBlockNumber(buffer);
            Self { buffer, block }
        }
    }

    /// What lies in a row of this page, if it is one that counts.
    pub fn row(&self, table: &Table, place: RowPlace) -> Option<&[u8]> {
        assert_eq!(self.block, place.block, "a row of this page");
        // SAFETY: pinned and locked as long as `self` is, which the row is borrowed from.
        unsafe { row(table, self.buffer, place) }
    }
}

/// How many bytes these take on one page, but for one of their items.
fn room_for(tuples: &[Tuple]) -> usize {
    let items = tuples.len().saturating_sub(1) * size_of::<pg_sys::ItemIdData>();
    // SAFETY: it rounds a number up.
    let sizes = tuples
        .iter()
        .map(|tuple| unsafe { pg_sys::MAXALIGN(tuple.size()) });
    sizes.sum::<usize>() + items
}

/// The right to make a table longer, and for lines to add one.
pub struct Extending<'a>(&'a Table);

impl<'a> Extending<'a> {
    pub fn of(table: &'a Table) -> Self {
        // SAFETY: an open table; nothing is waited for while it is held but pages.
        unsafe {
            pg_sys::LockRelationForExtension(
                table.relation(),
                pg_sys::ExclusiveLock as pg_sys::LOCKMODE,
            )
        };
        Self(table)
    }

    /// The last page of the table, with room for the tuple: a new one if need be.
    pub fn lock_to_append(&self, tuple: &Tuple) -> Locked {
        Locked::with_room(self.0, std::slice::from_ref(tuple))
            .unwrap_or_else(|| Locked::add(self.0))
    }
}

impl Drop for Extending<'_> {
    fn drop(&mut self) {
        if !thread::panicking() {
            // SAFETY: locked by `of`, and unlocked once.
            unsafe {
                pg_sys::UnlockRelationForExtension(
                    self.0.relation(),
                    pg_sys::ExclusiveLock as pg_sys::LOCKMODE,
                )
            };
        }
    }
}

/// How many pages a table has.
pub fn blocks(table: &Table) -> BlockNumber {
    // SAFETY: an open table.
    unsafe {
        pg_sys::RelationGetNumberOfBlocksInFork(table.relation(), pg_sys::ForkNumber::MAIN_FORKNUM)
    }
}

/// The data of a row, if there is one that counts for everybody: committed, or made in place.
///
/// # Safety
/// The buffer is a page of the table, pinned and locked for as long as the row is used.
unsafe fn row<'a>(table: &Table, buffer: pg_sys::Buffer, place: RowPlace) -> Option<&'a [u8]> {
    // SAFETY: by the caller's word; the item is one of the page's, and a normal item is a tuple of the length
    // that it says. The snapshot is PostgreSQL's constant one.
    unsafe {
        let page = pg_sys::BufferGetPage(buffer);
        if pg_sys::PageIsNew(page) || place.row > pg_sys::PageGetMaxOffsetNumber(page) {
            return None;
        }
        let item = pg_sys::PageGetItemId(page, place.row);
        if (*item).lp_flags() != pg_sys::LP_NORMAL {
            return None;
        }
        let header: pg_sys::HeapTupleHeader = pg_sys::PageGetItem(page, item).cast();
        let mut tuple = pg_sys::HeapTupleData {
            t_len: (*item).lp_len(),
            t_data: header,
            t_tableOid: (*table.relation()).rd_id,
            ..Default::default()
        };
        item_pointer_set_all(&mut tuple.t_self, place.block, place.row);
        let snapshot = &raw mut pg_sys::SnapshotSelfData;
        if !pg_sys::HeapTupleSatisfiesVisibility(&mut tuple, snapshot, buffer) {
            return None;
        }
        let head = usize::from((*header).t_hoff);
        let length = (tuple.t_len as usize).checked_sub(head)?;
        Some(std::slice::from_raw_parts(
            header.cast::<u8>().add(head),
            length,
        ))
    }
}

/// The first row, from the table's start, that is looked for. Others may change it as soon as this returns.
pub fn find(table: &Table, mut wanted: impl FnMut(&[u8]) -> bool) -> Option<RowPlace> {
    seek(table, |seen| wanted(seen.data))
}

/// A row that is looked at.
pub struct Seen<'a> {
    pub place: RowPlace,
    pub data: &'a [u8],
    /// This transaction made it, and may still take it back, with all that is changed in place.
    pub uncommitted: bool,
}

/// Calls `visit` for each row. Those of one page are seen at one moment.
pub fn each(table: &Table, mut visit: impl FnMut(&Seen)) {
    seek(table, |seen| {
        visit(&seen);
        false
    });
}

fn seek(table: &Table, mut wanted: impl FnMut(Seen) -> bool) -> Option<RowPlace> {
    for block in 0..blocks(table) {
        pgrx::check_for_interrupts!();
        // SAFETY: a page of the table, pinned, and locked against changes while its rows are looked at.
        let found = unsafe {
            let buffer = pg_sys::ReadBuffer(table.relation(), block);
            pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
            let page = pg_sys::BufferGetPage(buffer);
            let last = match pg_sys::PageIsNew(page) {
                true => 0,
                false => pg_sys::PageGetMaxOffsetNumber(page),
            };
            let mut places = (1..=last).map(|row| RowPlace { block, row });
            let found = places.find(|place| {
                let Some(data) = row(table, buffer, *place) else {
                    return false;
                };
                let item = pg_sys::PageGetItemId(page, place.row);
                let uncommitted = rows::is_uncommitted(pg_sys::PageGetItem(page, item).cast());
                wanted(Seen {
                    place: *place,
                    data,
                    uncommitted,
                })
            });
            pg_sys::UnlockReleaseBuffer(buffer);
            found
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

/// What is to happen on a locked page.
pub enum Change<'a> {
    /// A row gets other data, of the same length.
    Overwrite(&'a Locked, RowPlace, &'a [u8]),
    /// A row is added; the page has room for it.
    Append(&'a Locked, &'a Tuple),
}

impl Change<'_> {
    fn page(&self) -> &Locked {
        match self {
            Self::Overwrite(page, ..) | Self::Append(page, _) => page,
        }
    }
}

/// The most pages that are changed together: a record of the WAL has no more.
const MOST_PAGES: usize = pg_sys::XLR_MAX_BLOCK_ID as usize + 1;

/// Makes changes, all of them or none, as one record of the WAL. It is not on disk yet: see [`flush`](super::flush).
pub fn write(table: &Table, changes: &[Change]) -> Written {
    // The pages, each once. In a place of their own: nothing may take memory.
    let mut buffers = [0; MOST_PAGES];
    let mut count = 0;
    for change in changes {
        let buffer = change.page().buffer;
        if !buffers[..count].contains(&buffer) {
            assert!(count < MOST_PAGES, "no more pages than a record has");
            buffers[count] = buffer;
            count += 1;
        }
    }
    let buffers = &buffers[..count];
    // SAFETY: the pages are locked; rows that are overwritten were read under this lock with that length.
    unsafe {
        match count <= pg_sys::MAX_GENERIC_XLOG_PAGES as usize {
            true => write_changes(table, buffers, changes),
            false => write_pages(buffers, changes),
        }
    }
}

/// A record of what changes on a few pages.
///
/// # Safety
/// As for [`write`], which calls it with the pages of the changes.
unsafe fn write_changes(table: &Table, buffers: &[pg_sys::Buffer], changes: &[Change]) -> Written {
    let mut pages: [Page; pg_sys::MAX_GENERIC_XLOG_PAGES as usize] = [std::ptr::null_mut(); _];
    // SAFETY: by the caller's word; GenericXLogStart gives copies of the pages, which are as long, and which become
    // the pages when it is finished.
    unsafe {
        let record = pg_sys::GenericXLogStart(table.relation());
        for (page, buffer) in pages.iter_mut().zip(buffers) {
            *page = open(record, *buffer);
        }
        apply(buffers, &pages, changes);
        Written(pg_sys::GenericXLogFinish(record))
    }
}

/// A record of more pages, which has them whole.
///
/// # Safety
/// The same.
unsafe fn write_pages(buffers: &[pg_sys::Buffer], changes: &[Change]) -> Written {
    const SIZE: usize = pg_sys::BLCKSZ as usize;
    let mut pages: [Page; MOST_PAGES] = [std::ptr::null_mut(); MOST_PAGES];
    // SAFETY: by the caller's word. What can fail comes before the first page changes; an ERROR after that stops the
    // server, as PostgreSQL's own do, and the WAL has all of it or nothing.
    unsafe {
        let copies = pg_sys::palloc(SIZE * buffers.len()).cast::<u8>();
        for (i, buffer) in buffers.iter().enumerate() {
            let (page, copy) = (pg_sys::BufferGetPage(*buffer), copies.add(SIZE * i));
            copy.copy_from_nonoverlapping(page.cast(), SIZE);
            pages[i] = copy.cast();
            if pg_sys::PageIsNew(pages[i]) {
                pg_sys::PageInit(pages[i], SIZE, 0);
            }
        }
        apply(buffers, &pages, changes);
        pg_sys::XLogEnsureRecordSpace(buffers.len() as i32 - 1, 0);
        pg_sys::CritSectionCount += 1;
        pg_sys::XLogBeginInsert();
        for (i, buffer) in buffers.iter().enumerate() {
            let page = pg_sys::BufferGetPage(*buffer);
            page.cast::<u8>()
                .copy_from_nonoverlapping(pages[i].cast(), SIZE);
            pg_sys::MarkBufferDirty(*buffer);
            let whole = (pg_sys::REGBUF_FORCE_IMAGE | pg_sys::REGBUF_STANDARD) as u8;
            pg_sys::XLogRegisterBuffer(i as u8, *buffer, whole);
        }
        let manager = pg_sys::RmgrIds::RM_XLOG_ID as pg_sys::RmgrId;
        let written = pg_sys::XLogInsert(manager, pg_sys::XLOG_FPI as u8);
        for buffer in buffers {
            let header = pg_sys::BufferGetPage(*buffer).cast::<pg_sys::PageHeaderData>();
            (*header).pd_lsn.xlogid = (written >> 32) as u32;
            (*header).pd_lsn.xrecoff = written as u32;
        }
        pg_sys::CritSectionCount -= 1;
        pg_sys::pfree(copies.cast());
        Written(written)
    }
}

/// Makes the changes in copies of the pages, which stand in the order of their buffers.
///
/// # Safety
/// The same.
unsafe fn apply(buffers: &[pg_sys::Buffer], pages: &[Page], changes: &[Change]) {
    for change in changes {
        let known = buffers.iter().zip(pages);
        let page = { known }.find(|(buffer, _)| **buffer == change.page().buffer);
        let (_, page) = page.expect("the pages of the changes");
        // SAFETY: by the caller's word.
        unsafe {
            match change {
                Change::Overwrite(_, place, data) => overwrite(*page, *place, data),
                Change::Append(of, tuple) => append(*page, of.block, tuple),
            }
        }
    }
}

/// The copy of a page, in which changes are made.
///
/// # Safety
/// The buffer is locked; the record was started and not finished.
unsafe fn open(record: *mut pg_sys::GenericXLogState, buffer: pg_sys::Buffer) -> Page {
    // SAFETY: by the caller's word.
    unsafe {
        if !pg_sys::PageIsNew(pg_sys::BufferGetPage(buffer)) {
            return pg_sys::GenericXLogRegisterBuffer(record, buffer, 0);
        }
        let whole = pg_sys::GENERIC_XLOG_FULL_IMAGE as i32;
        let page = pg_sys::GenericXLogRegisterBuffer(record, buffer, whole);
        pg_sys::PageInit(page, pg_sys::BLCKSZ as pg_sys::Size, 0);
        page
    }
}

/// # Safety
/// The page has this row.
unsafe fn overwrite(page: Page, place: RowPlace, data: &[u8]) {
    // SAFETY: by the caller's word; the length is checked.
    unsafe {
        let item = pg_sys::PageGetItemId(page, place.row);
        let header: pg_sys::HeapTupleHeader = pg_sys::PageGetItem(page, item).cast();
        let head = usize::from((*header).t_hoff);
        assert_eq!(
            (*item).lp_len() as usize,
            head + data.len(),
            "a row of this length"
        );
        let row = header.cast::<u8>().add(head);
        row.copy_from_nonoverlapping(data.as_ptr(), data.len());
    }
}

/// # Safety
/// The page is page `block` of the table that the tuple was made for.
unsafe fn append(page: Page, block: BlockNumber, tuple: &Tuple) {
    // SAFETY: by the caller's word; a row that finds no room is a panic, and the record is never finished.
    unsafe {
        let row = pg_sys::PageAddItemExtended(
            page,
            tuple.0.as_ref().t_data.cast(),
            tuple.size(),
            pg_sys::InvalidOffsetNumber,
            pg_sys::PAI_IS_HEAP as i32,
        );
        assert!(row != pg_sys::InvalidOffsetNumber, "the page has room");
        let item = pg_sys::PageGetItemId(page, row);
        let header: pg_sys::HeapTupleHeader = pg_sys::PageGetItem(page, item).cast();
        item_pointer_set_all(&mut (*header).t_ctid, block, row);
    }
}
