//! Whether the pages of a table are what PostgreSQL writes: what a disk or a tool has damaged is found before rows are
//! read from it.

use std::mem::offset_of;

use pgrx::pg_sys::{self, BlockNumber};

use crate::ledger::tables::{Shape, Table};
use crate::pg::attempt::attempt;

const SIZE: usize = pg_sys::BLCKSZ as usize;

/// The bytes of a header before the data, without NULLs.
const HEAD: usize = offset_of!(pg_sys::HeapTupleHeaderData, t_bits);

/// Calls `found` for each page that is damaged, with what is wrong with it.
pub fn check(table: &Table, shape: &Shape, mut found: impl FnMut(BlockNumber, &'static str)) {
    let blocks = super::pages::blocks(table);
    let look = |block| {
        pgrx::check_for_interrupts!();
        // SAFETY: a page of the table, pinned, and locked against changes while it is copied.
        unsafe {
            let buffer = pg_sys::ReadBuffer(table.relation(), block);
            pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
            let page = pg_sys::BufferGetPage(buffer).cast::<u8>();
            let copy = std::slice::from_raw_parts(page, SIZE).to_vec();
            pg_sys::UnlockReleaseBuffer(buffer);
            wrong(&copy, shape)
        }
    };
    // A page whose checksum is wrong is an ERROR: then each is looked at by itself.
    let at_once = attempt(|| {
        (0..blocks)
            .filter_map(|block| look(block).map(|wrong| (block, wrong)))
            .collect::<Vec<_>>()
    });
    match at_once {
        Some(all) => all
            .into_iter()
            .for_each(|(block, wrong)| found(block, wrong)),
        None => {
            for block in 0..blocks {
                match attempt(|| look(block)) {
                    Some(None) => {}
                    Some(Some(wrong)) => found(block, wrong),
                    None => found(block, "cannot be read"),
                }
            }
        }
    }
}

/// What is wrong with a page; `None` if nothing is.
fn wrong(page: &[u8], shape: &Shape) -> Option<&'static str> {
    let word = |at: usize| usize::from(u16::from_ne_bytes([page[at], page[at + 1]]));
    let long = |at: usize| u32::from_ne_bytes([page[at], page[at + 1], page[at + 2], page[at + 3]]);
    if page.iter().all(|byte| *byte == 0) {
        // A crash may leave a page that was never written.
        return None;
    }
    let lower = word(offset_of!(pg_sys::PageHeaderData, pd_lower));
    let upper = word(offset_of!(pg_sys::PageHeaderData, pd_upper));
    let special = word(offset_of!(pg_sys::PageHeaderData, pd_special));
    let first = offset_of!(pg_sys::PageHeaderData, pd_linp);
    if lower < first || lower > upper || upper > special || special != SIZE {
        return Some("has a damaged header");
    }
    for at in (first..lower).step_by(4) {
        let item = long(at);
        let (offset, state, length) = (
            (item & 0x7fff) as usize,
            (item >> 15) & 3,
            (item >> 17) as usize,
        );
        if state != pg_sys::LP_NORMAL {
            continue;
        }
        if offset < upper || offset + length > SIZE || length < HEAD || offset % 8 != 0 {
            return Some("has a row that lies outside");
        }
        let tuple = &page[offset..offset + length];
        let field = |at: usize| u16::from_ne_bytes([tuple[at], tuple[at + 1]]);
        let columns = field(offset_of!(pg_sys::HeapTupleHeaderData, t_infomask2));
        let marks = field(offset_of!(pg_sys::HeapTupleHeaderData, t_infomask));
        let head = usize::from(tuple[offset_of!(pg_sys::HeapTupleHeaderData, t_hoff)]);
        let columns = usize::from(columns & pg_sys::HEAP_NATTS_MASK as u16);
        if columns != shape.width() || head < HEAD || head > length {
            return Some("has a row with a damaged header");
        }
        if u32::from(marks) & pg_sys::HEAP_HASNULL != 0 {
            return Some("has a row with a NULL");
        }
    }
    None
}
