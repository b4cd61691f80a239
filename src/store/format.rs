//! What is written on a page of the store: parts of answers, one behind the other, the oldest first. Bytes that are
//! damaged are found out, and never believed.

use dp_core::encoding::bitmap;

use crate::store::key::{Key, LONGEST};

/// What a page begins with: pages of another version are empty.
const VERSION: [u8; 6] = *b"kept 1";

/// The head of a page: its version, and how many bytes of parts follow.
const HEAD: usize = 8;

/// The head of a part: its key, the answer's number, when it expires, which part it is of how many, its length.
const PART_HEAD: usize = 56;

/// The head and the checksum behind the bytes.
const PART: usize = PART_HEAD + 8;

/// The most bytes of an answer on a page of that size.
pub const fn most_bytes(page: usize) -> usize {
    page - HEAD - PART
}

/// A part of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    pub key: &'a [u8; 32],
    /// The number of the answer, by which its parts know one another.
    pub answer: u64,
    /// When it expires, in microseconds, as PostgreSQL counts them.
    pub until: i64,
    /// Which part it is, from 0, of how many.
    pub number: u16,
    pub of: u16,
    pub bytes: &'a [u8],
}

impl Part<'_> {
    /// How many bytes of a page it takes.
    pub fn size(&self) -> usize {
        PART + self.bytes.len()
    }

    /// Whether it is this part of the answer to a question.
    pub fn is(&self, key: &Key, number: u16) -> bool {
        *self.key == key.0 && self.number == number
    }

    /// Whether it is not too old yet. What would last for longer than anything does is from a clock that was wrong.
    pub fn is_fresh(&self, now: i64) -> bool {
        let left = i128::from(self.until) - i128::from(now);
        (1..=LONGEST.as_micros().cast_signed()).contains(&left)
    }

    /// Writes it. The place is as long as its size.
    fn write(&self, place: &mut [u8]) {
        let length = u16::try_from(self.bytes.len()).expect("a part is shorter than a page");
        let (head, rest) = place.split_at_mut(PART_HEAD);
        head[..32].copy_from_slice(self.key);
        head[32..40].copy_from_slice(&self.answer.to_ne_bytes());
        head[40..48].copy_from_slice(&self.until.to_ne_bytes());
        head[48..50].copy_from_slice(&self.number.to_ne_bytes());
        head[50..52].copy_from_slice(&self.of.to_ne_bytes());
        head[52..54].copy_from_slice(&length.to_ne_bytes());
        head[54..56].fill(0);
        rest[..self.bytes.len()].copy_from_slice(self.bytes);
        let (summed, sum) = place.split_at_mut(PART_HEAD + self.bytes.len());
        sum.copy_from_slice(&bitmap::of_bytes(summed).to_ne_bytes());
    }
}

/// The parts on a page, with where each ends, as far as their lengths make sense. Their bytes may be damaged: see
/// [`whole`].
struct Written<'a> {
    page: &'a [u8],
    at: usize,
}

/// Where a part lies on its page.
type Span = std::ops::Range<usize>;

impl<'a> Iterator for Written<'a> {
    type Item = (Span, Part<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let (head, rest) = self.page.get(self.at..)?.split_at_checked(PART_HEAD)?;
        let word = |from: usize| head[from..].first_chunk().copied();
        let short = |from: usize| head[from..].first_chunk().copied().map(u16::from_ne_bytes);
        let part = Part {
            key: head.first_chunk()?,
            answer: u64::from_ne_bytes(word(32)?),
            until: i64::from_ne_bytes(word(40)?),
            number: short(48)?,
            of: short(50)?,
            bytes: rest.get(..usize::from(short(52)?))?,
        };
        let span = self.at..self.at + part.size();
        self.page.get(span.clone())?;
        self.at = span.end;
        Some((span, part))
    }
}

fn written(page: &[u8]) -> Written<'_> {
    let used = page
        .strip_prefix(&VERSION)
        .and_then(|rest| rest.first_chunk())
        .map_or(0, |used| usize::from(u16::from_ne_bytes(*used)));
    let parts = page.get(..HEAD + used).unwrap_or_default();
    Written {
        page: parts,
        at: HEAD,
    }
}

/// Whether the bytes of a part are those that were written.
fn whole(page: &[u8], span: &Span) -> bool {
    let summed = page[span.clone()].split_last_chunk();
    summed.is_some_and(|(bytes, sum)| bitmap::of_bytes(bytes) == u64::from_ne_bytes(*sum))
}

/// The last part on a page that is `wanted`, and undamaged.
pub fn find(page: &[u8], mut wanted: impl FnMut(&Part) -> bool) -> Option<Part<'_>> {
    let found = written(page).filter(|(span, part)| wanted(part) && whole(page, span));
    found.last().map(|(_, part)| part)
}

/// How many bytes a page has for a part of an answer, if what has expired goes.
pub fn room(page: &[u8], now: i64) -> usize {
    let fresh = written(page).filter(|(_, part)| part.is_fresh(now));
    page.len() - HEAD - fresh.map(|(span, _)| span.len()).sum::<usize>()
}

/// Takes away the first part of an answer to a question. The others will not be found without it.
pub fn remove(page: &mut [u8], key: &Key) -> bool {
    let parts = written(page).filter(|(_, part)| !part.is(key, 0));
    let parts: Vec<Span> = parts.map(|(span, _)| span).collect();
    let end = gather(page, parts);
    finish(page, end);
    true
}

/// Adds a part, and takes away what has expired and what is damaged. Where that does not do and others may be evicted,
/// the oldest go, but none of the same answer. Whether it has found room: else nothing changes.
pub fn add(page: &mut [u8], new: &Part, now: i64, evicting: bool) -> bool {
    let Some(most) = page.len().checked_sub(HEAD + new.size()) else {
        return false;
    };
    let stays = |span: &Span, part: &Part| part.is_fresh(now) && whole(page, span);
    let parts = written(page).filter(|(span, part)| stays(span, part));
    let mut parts: Vec<(Span, bool)> = parts
        .map(|(span, part)| (span, part.answer == new.answer))
        .collect();
    let mut used: usize = parts.iter().map(|(span, _)| span.len()).sum();
    parts.retain(|(span, is_own)| {
        let goes = evicting && used > most && !is_own;
        if goes {
            used -= span.len();
        }
        !goes
    });
    if used > most {
        return false;
    }
    let end = gather(page, parts.into_iter().map(|(span, _)| span));
    new.write(&mut page[end..end + new.size()]);
    finish(page, end + new.size());
    true
}

/// Moves parts to the front, one behind the other, in their order; where the last one ends.
fn gather(page: &mut [u8], parts: impl IntoIterator<Item = Span>) -> usize {
    parts.into_iter().fold(HEAD, |end, span| {
        let length = span.len();
        page.copy_within(span, end);
        end + length
    })
}

/// Says where the parts of a page end.
fn finish(page: &mut [u8], end: usize) {
    let used = u16::try_from(end - HEAD).expect("a page is short");
    page[..VERSION.len()].copy_from_slice(&VERSION);
    page[VERSION.len()..HEAD].copy_from_slice(&used.to_ne_bytes());
}
