//! The file with the keys that seal states on their way between servers. Who reads it can open states, and make some:
//! it must be a file of the user that runs the server, which nobody else may read.

use std::cell::RefCell;
use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::rc::Rc;

use dp_sealing::Keys;

use crate::pg::settings;

/// The longest file.
const LONGEST: u64 = 1 << 16;

/// What a file was when it was read: if it still is, it need not be read again.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Version([i64; 7]);

impl Version {
    fn of(file: &Metadata) -> Self {
        Self([
            file.dev() as i64,
            file.ino() as i64,
            file.size() as i64,
            file.mtime(),
            file.mtime_nsec(),
            file.ctime(),
            file.ctime_nsec(),
        ])
    }
}

/// What was read last: where, which version, and the keys.
type Known = (String, Version, Rc<Keys>);

thread_local! {
    static KNOWN: RefCell<Option<Known>> = const { RefCell::new(None) };
}

/// The keys, or why there are none, in words that tell nothing of what is in the file. The file is looked at each
/// time, once a query, so that a change of it holds for the next.
pub fn keys() -> Result<Rc<Keys>, String> {
    let path = path();
    // A backend's working directory is that of the database cluster.
    let found = std::fs::metadata(&path);
    let found = found.map_err(|error| format!("its file cannot be read ({})", error.kind()))?;
    let known = KNOWN.with_borrow(|known| {
        let same = |(of, version, _): &&Known| *of == path && *version == Version::of(&found);
        known
            .as_ref()
            .filter(same)
            .map(|(_, _, keys)| Rc::clone(keys))
    });
    if let Some(keys) = known {
        return Ok(keys);
    }
    if !found.is_file() {
        return Err("it is not a file".to_owned());
    }
    let (version, keys) = read(&path)?;
    let keys = Rc::new(keys);
    KNOWN.set(Some((path, version, Rc::clone(&keys))));
    Ok(keys)
}

fn read(path: &str) -> Result<(Version, Keys), String> {
    let unreadable = |error: std::io::Error| format!("its file cannot be read ({})", error.kind());
    let file = File::open(path).map_err(unreadable)?;
    // Of the very file that was opened.
    let found = file.metadata().map_err(unreadable)?;
    let server = std::fs::metadata(".").map_err(unreadable)?;
    if !found.is_file() || found.size() > LONGEST {
        return Err("it is not a file of at most 64 kB".to_owned());
    }
    // PostgreSQL starts in no directory that another user owns.
    if found.uid() != server.uid() {
        return Err(
            "its file belongs to another user than the one that runs the server".to_owned(),
        );
    }
    if found.permissions().mode() & 0o177 != 0 {
        return Err("its file may be read by others: its mode must be 0600 or 0400".to_owned());
    }
    let mut text = Vec::new();
    let mut whole = file.take(LONGEST);
    whole.read_to_end(&mut text).map_err(unreadable)?;
    let keys = Keys::parse(&text);
    text.fill(0);
    let keys = keys.map_err(|error| format!("in its file, {error}"))?;
    Ok((Version::of(&found), keys))
}

#[cfg(feature = "testing")]
thread_local! {
    static OTHER: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// From now on this session's keys are those of another file.
#[cfg(feature = "testing")]
pub fn set_path(path: String) {
    OTHER.set(Some(path));
}

fn path() -> String {
    #[cfg(feature = "testing")]
    if let Some(path) = OTHER.with_borrow(Clone::clone) {
        return path;
    }
    settings::state_key_file()
}
