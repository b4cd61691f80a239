//! What an audit listens with: the integers that noise meets, and how many random words a release
//! draws. Only in the testing build.

/// A noisy integer that a guarantee is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// What it depends on of the rows.
    pub exact: Vec<i128>,
    /// With its noise.
    pub noisy: i128,
}

/// One release.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Random words drawn, from the first row on.
    pub words: u64,
    /// Its noisy integers, in the order in which they were made.
    pub notes: Vec<Note>,
}

/// Records releases, and may play back the noisy integers of others.
#[derive(Clone, Debug)]
pub struct Recorder {
    seed: u64,
    played: Vec<Record>,
    records: Vec<Record>,
    current: Record,
}

impl Recorder {
    /// Of releases that all have the noise of this seed, with records to play back, one for each.
    pub fn new(seed: u64, played: Vec<Record>) -> Self {
        Self {
            seed,
            played,
            records: Vec::new(),
            current: Record::default(),
        }
    }

    /// The seed of every release.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The releases that have ended.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Counts a word.
    pub fn count_word(&mut self) {
        self.current.words += 1;
    }

    /// Takes a note, and returns the integer to go on with: that of the record to play back, if it
    /// has one in this place.
    pub fn note(&mut self, exact: &[i128], noisy: i128) -> i128 {
        let played = self.played.get(self.records.len());
        let played = played.and_then(|record| record.notes.get(self.current.notes.len()));
        let exact = exact.to_vec();
        self.current.notes.push(Note { exact, noisy });
        played.map_or(noisy, |note| note.noisy)
    }

    /// Ends a release.
    pub fn end_of_release(&mut self) {
        self.records.push(std::mem::take(&mut self.current));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_noted_is_played_back() {
        let mut first = Recorder::new(7, Vec::new());
        assert_eq!(first.note(&[1, 2], 5), 5);
        first.count_word();
        first.end_of_release();
        assert_eq!(first.note(&[3], 6), 6);
        first.end_of_release();
        let note = |exact: &[i128], noisy| Note {
            exact: exact.to_vec(),
            noisy,
        };
        let expected = [(1, note(&[1, 2], 5)), (0, note(&[3], 6))];
        for (record, (words, note)) in first.records().iter().zip(expected) {
            assert_eq!((record.words, &record.notes), (words, &vec![note]));
        }
        assert_eq!(first.records().len(), 2);

        let mut second = Recorder::new(7, first.records().to_vec());
        assert_eq!(second.note(&[9], 4), 5);
        // There is no second note in that release.
        assert_eq!(second.note(&[9], 4), 4);
        second.end_of_release();
        assert_eq!(second.note(&[9], 4), 6);
        second.end_of_release();
        assert_eq!(second.note(&[9], 4), 4);
        // What was played back does not hide what was made.
        assert_eq!(second.records()[0].notes[0], note(&[9], 4));
    }
}
