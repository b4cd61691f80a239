//! The pages of the store: each holds one row, of a bytea that fills it. Rows are never moved, and never change their
//! length, so that SQL that reads the table at the same time sees other bytes at worst. Changes are in the WAL
//! by GenericXLog, as those of the ledger are.

use std::ptr::NonNull;
use std::thread;

use pgrx::itemptr::item_pointer_set_all;
use pgrx::pg_sys::{self, BlockNumber, Buffer, Datum, Page};

use crate::ledger::pages::Extending;
use crate::ledger::tables::{Lock, Shape, Table};

/// A page each of answers.
const ANSWER: Shape = Shape::new(c"answer", &[pg_sys::BYTEAOID], 0);

/// The head of a row without NULLs, and that of its bytea.
const TUPLE_HEAD: usize = 24;
const BYTEA_HEAD: usize = size_of::<u32>();

/// How long the row of a page is: as long as fits beside the heads of the page and of the row's place.
const ROW: usize = (pg_sys::BLCKSZ as usize - PAGE_HEAD - size_of::<pg_sys::ItemIdData>()) / 8 * 8;
const PAGE_HEAD: usize = std::mem::offset_of!(pg_sys::PageHeaderData, pd_linp);

/// How many bytes there are on a page.
pub const CONTENT: usize = ROW - TUPLE_HEAD - BYTEA_HEAD;

/// The length that the head of the bytea says.
const BYTEA: i32 = (BYTEA_HEAD + CONTENT) as i32;

/// A row that everybody sees.
const FROZEN: u16 = pg_sys::HEAP_XMIN_FROZEN as u16;

/// One of these is set on a row that is not deleted.
const STAYS: u16 = (pg_sys::HEAP_XMAX_INVALID | pg_sys::HEAP_XMAX_LOCK_ONLY) as u16;

/// The table of the store, open.
pub struct Pages(Table);

impl Pages {
    /// `None` if it is not there, or locked.
    pub fn open_to_read() -> Option<Self> {
        Table::open_at_once(&ANSWER, Lock::Read).map(Self)
    }

    /// The same.
    pub fn open_to_write() -> Option<Self> {
        Table::open_at_once(&ANSWER, Lock::Change).map(Self)
    }

    /// How many pages there are.
    pub fn pages(&self) -> BlockNumber {
        // SAFETY: an open table.
        unsafe {
            let main = pg_sys::ForkNumber::MAIN_FORKNUM;
            pg_sys::RelationGetNumberOfBlocksInFork(self.0.relation(), main)
        }
    }

    /// Makes the table that long, if it is shorter. New pages are empty.
    pub fn lengthen(&self, pages: BlockNumber) {
        let _extending = Extending::of(&self.0);
        while self.pages() < pages {
            // SAFETY: an open table, and the right to make it longer; a page that nobody knows yet is let go at once.
            unsafe {
                // InvalidBlockNumber is what P_NEW represents.
                let new = pg_sys::ReadBuffer(self.0.relation(), pg_sys::InvalidBlockNumber);
                pg_sys::ReleaseBuffer(new);
            }
        }
    }

    /// What `see` sees of a page while nobody changes it; `None` of one that holds nothing.
    pub fn look<R>(&self, page: BlockNumber, see: impl FnOnce(&[u8]) -> R) -> Option<R> {
        let locked = self.lock(page, pg_sys::BUFFER_LOCK_SHARE);
        // SAFETY: locked against changes until `see` has returned.
        unsafe {
            let content = content(pg_sys::BufferGetPage(locked.0))?;
            Some(see(std::slice::from_raw_parts(content.as_ptr(), CONTENT)))
        }
    }

    /// Changes a page, if `change` says that it has. Whether it has.
    pub fn change(&self, page: BlockNumber, change: impl FnOnce(&mut [u8]) -> bool) -> bool {
        let row = self.empty_row(page);
        let locked = self.lock(page, pg_sys::BUFFER_LOCK_EXCLUSIVE);
        // SAFETY: the record gives a copy of the page, which is as long, and becomes the page when it is finished.
        unsafe {
            let now = pg_sys::BufferGetPage(locked.0);
            let is_empty = pg_sys::PageIsNew(now) || pg_sys::PageGetMaxOffsetNumber(now) == 0;
            let record = pg_sys::GenericXLogStart(self.0.relation());
            let whole = pg_sys::GENERIC_XLOG_FULL_IMAGE as i32;
            let flags = if is_empty { whole } else { 0 };
            let copy = pg_sys::GenericXLogRegisterBuffer(record, locked.0, flags);
            if is_empty {
                begin(copy, row);
            }
            let is_changed = content(copy).is_some_and(|content| {
                change(std::slice::from_raw_parts_mut(content.as_ptr(), CONTENT))
            });
            match is_changed {
                true => drop(pg_sys::GenericXLogFinish(record)),
                false => pg_sys::GenericXLogAbort(record),
            }
            is_changed
        }
    }

    /// Locks a page. One that is damaged is empty, and the server says so by a WARNING.
    fn lock(&self, page: BlockNumber, mode: u32) -> Locked {
        // SAFETY: an open table; a page beyond its end is an ERROR.
        unsafe {
            let buffer = pg_sys::ReadBufferExtended(
                self.0.relation(),
                pg_sys::ForkNumber::MAIN_FORKNUM,
                page,
                pg_sys::ReadBufferMode::RBM_ZERO_ON_ERROR,
                std::ptr::null_mut(),
            );
            pg_sys::LockBuffer(buffer, mode as i32);
            Locked(buffer)
        }
    }

    /// The row of a page that holds nothing yet: everybody sees it, whatever becomes of the transaction.
    fn empty_row(&self, page: BlockNumber) -> pg_sys::HeapTuple {
        // SAFETY: memory of the call for a bytea of that length; the table has one column, of that type.
        unsafe {
            let bytea = pg_sys::palloc0(BYTEA_HEAD + CONTENT);
            pgrx::set_varsize_4b(bytea.cast(), BYTEA);
            let columns = (*self.0.relation()).rd_att;
            let (mut value, mut null) = (Datum::from(bytea), false);
            let tuple = pg_sys::heap_form_tuple(columns, &raw mut value, &raw mut null);
            let header = (*tuple).t_data;
            // Frozen: older than every transaction.
            (*header).t_choice.t_heap.t_xmin = pg_sys::FrozenTransactionId;
            (*header).t_choice.t_heap.t_xmax = pg_sys::InvalidTransactionId;
            (*header).t_choice.t_heap.t_field3.t_cid = pg_sys::FirstCommandId;
            (*header).t_infomask &= !(pg_sys::HEAP_XACT_MASK as u16);
            (*header).t_infomask |= FROZEN | pg_sys::HEAP_XMAX_INVALID as u16;
            (*header).t_infomask2 &= !(pg_sys::HEAP2_XACT_MASK as u16);
            item_pointer_set_all(&mut (*header).t_ctid, page, 1);
            tuple
        }
    }
}

/// A page that is pinned and locked.
struct Locked(Buffer);

impl Drop for Locked {
    fn drop(&mut self) {
        // After an ERROR PostgreSQL lets go of it itself, and counts on doing so.
        if !thread::panicking() {
            // SAFETY: pinned and locked by `lock`, and let go once.
            unsafe { pg_sys::UnlockReleaseBuffer(self.0) };
        }
    }
}

/// Makes a page that holds just this row.
///
/// # Safety
/// The page is ours alone; the row was made by [`Pages::empty_row`].
unsafe fn begin(page: Page, row: pg_sys::HeapTuple) {
    // SAFETY: by the caller's word. A row that finds no room is not added, and the page is none of the store's.
    unsafe {
        pg_sys::PageInit(page, pg_sys::BLCKSZ as pg_sys::Size, 0);
        let (data, length) = ((*row).t_data.cast(), (*row).t_len as pg_sys::Size);
        let heap = pg_sys::PAI_IS_HEAP as i32;
        pg_sys::PageAddItemExtended(page, data, length, pg_sys::InvalidOffsetNumber, heap);
    }
}

/// Where the bytes are on a page of the store; `None` of another, whatever is on it.
///
/// # Safety
/// A page that is locked, or a copy of one.
unsafe fn content(page: Page) -> Option<NonNull<u8>> {
    // SAFETY: by the caller's word a page has its length. The row's place is on it, and so is the row, which is as long
    // as those of the store: its head, that of its bytea, and the bytes.
    unsafe {
        if pg_sys::PageIsNew(page) || pg_sys::PageGetMaxOffsetNumber(page) == 0 {
            return None;
        }
        let item = pg_sys::PageGetItemId(page, 1);
        let (at, length) = ((*item).lp_off() as usize, (*item).lp_len() as usize);
        let is_on_it = at % 8 == 0 && at >= PAGE_HEAD && at + ROW <= pg_sys::BLCKSZ as usize;
        if (*item).lp_flags() != pg_sys::LP_NORMAL || length != ROW || !is_on_it {
            return None;
        }
        let row = page.cast::<u8>().add(at);
        let header = &*row.cast::<pg_sys::HeapTupleHeaderData>();
        // What others have added is theirs, until it is frozen; what they have deleted is gone, or will be.
        let is_frozen = header.t_infomask & FROZEN == FROZEN;
        let stays = header.t_infomask & STAYS != 0;
        let is_plain = header.t_infomask & pg_sys::HEAP_HASNULL as u16 == 0
            && usize::from(header.t_hoff) == TUPLE_HEAD;
        if !(is_frozen && stays && is_plain) {
            return None;
        }
        let bytea = row.add(TUPLE_HEAD);
        let is_whole =
            pgrx::varatt_is_4b_u(bytea.cast()) && pgrx::varsize_4b(bytea.cast()) == BYTEA as usize;
        is_whole
            .then(|| NonNull::new(bytea.add(BYTEA_HEAD)))
            .flatten()
    }
}
