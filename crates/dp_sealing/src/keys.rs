//! The keys of a group of servers: a text with a line for each, `id key`, the key as 64 hexadecimal digits. The first
//! seals; all of them open. Empty lines, and those that begin with `#`, say nothing.

use std::fmt;

use zeroize::Zeroizing;

/// The longest name of a key.
const LONGEST_ID: usize = 32;
/// The most keys there may be.
const MOST: usize = 100;

/// A key and its name, which is in what it seals.
pub(crate) struct SealingKey {
    pub(crate) id: Box<[u8]>,
    pub(crate) key: Zeroizing<[u8; 32]>,
}

/// At least one key.
pub struct Keys(Vec<SealingKey>);

/// Why a text has no keys. It tells nothing of the text but the number of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoKeys {
    /// No line has one.
    None,
    /// This line has none, and is not empty.
    Line(usize),
    /// The key in this line has the name of another one.
    Again(usize),
    /// More than 100.
    TooMany,
}

impl fmt::Display for NoKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => write!(f, "there is no key in it"),
            Self::Line(line) => write!(f, "line {line} is not a name and a key"),
            Self::Again(line) => write!(f, "line {line} has the name of another key"),
            Self::TooMany => write!(f, "there are more than {MOST} keys in it"),
        }
    }
}

impl Keys {
    /// The keys of a text.
    ///
    /// # Errors
    /// There are none, or some line is wrong.
    pub fn parse(text: &[u8]) -> Result<Self, NoKeys> {
        let mut keys = Vec::<SealingKey>::new();
        for (i, line) in text.split(|byte| *byte == b'\n').enumerate() {
            let line = line.trim_ascii();
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            let number = i + 1;
            let key = key_of(line).ok_or(NoKeys::Line(number))?;
            if keys.iter().any(|other| other.id == key.id) {
                return Err(NoKeys::Again(number));
            }
            if keys.len() == MOST {
                return Err(NoKeys::TooMany);
            }
            keys.push(key);
        }
        if keys.is_empty() {
            return Err(NoKeys::None);
        }
        Ok(Self(keys))
    }

    /// The key that seals.
    pub(crate) fn first(&self) -> &SealingKey {
        &self.0[0]
    }

    /// The key with this name.
    pub(crate) fn named(&self, id: &[u8]) -> Option<&SealingKey> {
        self.0.iter().find(|key| *key.id == *id)
    }
}

fn key_of(line: &[u8]) -> Option<SealingKey> {
    let end = line.iter().position(u8::is_ascii_whitespace)?;
    let (id, digits) = (&line[..end], line[end..].trim_ascii());
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    if id.len() > LONGEST_ID || !id.iter().all(is_name) {
        return None;
    }
    let digits: &[u8; 64] = digits.try_into().ok()?;
    let mut key = Zeroizing::new([0; 32]);
    for (byte, pair) in key.iter_mut().zip(digits.as_chunks::<2>().0) {
        let [high, low] = pair.map(|digit| char::from(digit).to_digit(16));
        *byte = (high? << 4 | low?) as u8;
    }
    // What somebody types to try it, or what a failed command leaves.
    if key.iter().all(|byte| *byte == key[0]) {
        return None;
    }
    Some(SealingKey { id: id.into(), key })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
    const TWO: &str = "FF0102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F";

    fn ids(text: &str) -> Result<Vec<String>, NoKeys> {
        let keys = Keys::parse(text.as_bytes())?;
        let ids = keys.0.iter();
        Ok(ids
            .map(|key| String::from_utf8_lossy(&key.id).into_owned())
            .collect())
    }

    #[test]
    fn keys_stand_in_lines() {
        assert_eq!(ids(&format!("a {ONE}")), Ok(vec!["a".to_owned()]));
        let text = format!("# keys\n\n  2026-11 \t{TWO}  \r\nb_.{ONE} {ONE}\n");
        assert_eq!(ids(&text), Err(NoKeys::Line(4)));
        let text = format!("# keys\n\n  2026-11 \t{TWO}  \r\nb_. {ONE}\n#x");
        assert_eq!(ids(&text), Ok(vec!["2026-11".to_owned(), "b_.".to_owned()]));
    }

    #[test]
    fn what_is_no_key_is_refused_by_its_line() {
        let zeros = "0".repeat(64);
        let (short, long) = (&ONE[1..], format!("{ONE}0"));
        let other = ONE.replace('a', "g");
        for wrong in [
            ONE.to_owned(),
            "a".to_owned(),
            format!("a {short}"),
            format!("a {long}"),
            format!("a {other}"),
            format!("a {zeros}"),
            format!("a {ONE} b"),
            format!("a/b {ONE}"),
            format!("ä {ONE}"),
            format!("{} {ONE}", "a".repeat(33)),
        ] {
            assert_eq!(ids(&wrong), Err(NoKeys::Line(1)), "{wrong}");
            let below = format!("x {ONE}\n{wrong}");
            assert_eq!(ids(&below), Err(NoKeys::Line(2)), "{wrong}");
        }
        assert_eq!(ids(""), Err(NoKeys::None));
        assert_eq!(ids("# a\n\n"), Err(NoKeys::None));
        assert_eq!(ids(&format!("a {ONE}\na {TWO}")), Err(NoKeys::Again(2)));
        let many = |n| String::from_iter((0..n).map(|i| format!("k{i} {ONE}\n")));
        assert_eq!(ids(&many(MOST)).map(|ids| ids.len()), Ok(MOST));
        assert_eq!(ids(&many(MOST + 1)), Err(NoKeys::TooMany));
    }

    #[test]
    fn what_is_wrong_shows_no_key() {
        for error in [
            NoKeys::None,
            NoKeys::Line(3),
            NoKeys::Again(3),
            NoKeys::TooMany,
        ] {
            let text = error.to_string();
            assert!(text.len() < 50 && !text.contains(&ONE[..8]), "{text}");
        }
    }
}
