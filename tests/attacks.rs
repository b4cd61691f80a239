//! What somebody might try: to average the noise away, to forge or to see a state, to crash a
//! backend, to exhaust its memory. After each the session goes on.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use dp_core::encoding::grid::STEPS;
use dp_core::random::{Bits, Generator};
use dp_mean_tests::calls::{State, calls};
use dp_mean_tests::{
    Build, Database, PARALLEL, explain, memory, refusal, refused, rows, run, session, value,
};
use postgres::types::private::BytesMut;
use postgres::types::{IsNull, ToSql, Type};
use postgres::{Client, NoTls};

const MECHANISMS: [&str; 5] = [
    "hourglass",
    "laplace",
    "staircase",
    "shifted",
    "independent",
];

/// That the session is alive, in the backend it began in, and still answers.
fn alive(client: &mut Client, backend: i32) {
    let now: i32 = value(client, "SELECT pg_backend_pid()");
    assert_eq!(now, backend);
    let answer: f64 = value(
        client,
        "SELECT dp_mean(g, 0, 100, 50) FROM generate_series(0, 100) g",
    );
    assert!((answer - 50.0).abs() < 1e-3, "{answer}");
}

fn backend(client: &mut Client) -> i32 {
    value(client, "SELECT pg_backend_pid()")
}

#[test]
fn no_window_draws_noise_afresh_for_each_row() {
    let (_database, mut client) = session(Build::Release);
    for call in calls() {
        let call = call.sql();
        for window in [
            "OVER ()",
            "OVER (ORDER BY x)",
            "OVER (PARTITION BY x)",
            "FILTER (WHERE x > 1) OVER ()",
        ] {
            for table in ["generate_series(1, 3) x", "(SELECT 1 AS x WHERE false) s"] {
                let sql = format!("SELECT {call} {window} FROM {table}");
                let refusal = refused(&mut client, &sql);
                assert_eq!(refusal.code, "0A000", "{refusal:?}: {sql}");
                let message = "does not support use as a window function";
                assert!(refusal.message.ends_with(message), "{refusal:?}");
            }
        }
    }
}

#[test]
fn no_column_is_an_eps() {
    let (_database, mut client) = session(Build::Release);
    run(
        &mut client,
        "CREATE TABLE t AS SELECT i::float8 AS x, 1.0::float8 AS e FROM generate_series(1, 9) i",
    );
    for call in calls().filter(|call| call.takes_eps()) {
        let call = call.with("100", "e", "");
        for filter in ["", " WHERE x < 0", " WHERE false"] {
            let refusal = refused(&mut client, &format!("SELECT {call} FROM t{filter}"));
            assert_eq!(refusal.code, "22023", "{refusal:?}: {call}");
            assert!(
                refusal
                    .message
                    .ends_with("argument \"eps\" must not depend on the rows"),
                "{refusal:?}"
            );
        }
    }
}

#[test]
fn going_back_in_a_cursor_draws_nothing_new() {
    let (_database, mut client) = session(Build::Release);
    for options in ["SCROLL CURSOR", "SCROLL CURSOR WITH HOLD"] {
        let sql = "SELECT dp_mean(g, 0, 100, 0.01), dp_count(0.01) FROM generate_series(1, 100) g";
        run(
            &mut client,
            &format!("BEGIN; DECLARE c {options} FOR {sql}"),
        );
        let mut seen = Vec::new();
        for fetch in ["NEXT", "FIRST", "ABSOLUTE 1", "LAST", "RELATIVE 0"] {
            let row = client
                .query_one(&format!("FETCH {fetch} FROM c"), &[])
                .expect(fetch);
            seen.push((row.get::<_, f64>(0).to_bits(), row.get::<_, i64>(1)));
            run(&mut client, "MOVE ABSOLUTE 0 FROM c; MOVE NEXT FROM c");
        }
        assert!(seen.iter().all(|answer| *answer == seen[0]), "{seen:?}");
        run(&mut client, "CLOSE c; COMMIT");
    }
    // Without SCROLL there is no way back.
    run(
        &mut client,
        "BEGIN; DECLARE c CURSOR FOR SELECT dp_count(0.01) FROM generate_series(1, 100)",
    );
    run(&mut client, "FETCH NEXT FROM c");
    assert_eq!(refused(&mut client, "FETCH FIRST FROM c").code, "55000");
}

/// Random bytes, the same at every run.
struct Random(Generator);

impl Random {
    fn new(seed: u64) -> Self {
        Self(Generator::from_seed(seed))
    }

    fn below(&mut self, n: usize) -> usize {
        (self.0.word() % n as u64) as usize
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.0.word() as u8).collect()
    }

    fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}

/// What a state of 64 bytes holds behind its length word, in the machine's own order.
fn state(magic: u32, n: i64, s: i128, grid: [f64; 4]) -> Vec<u8> {
    let mut bytes = magic.to_ne_bytes().to_vec();
    bytes.extend(n.to_ne_bytes());
    bytes.extend((s as u64).to_ne_bytes());
    bytes.extend(((s >> 64) as u64).to_ne_bytes());
    bytes.extend(grid.iter().flat_map(|number| number.to_ne_bytes()));
    bytes
}

const MAGIC: u32 = 0xd9_3a_5e_01;

/// What a state of vectors holds behind its length word: the head says how many positions there
/// are, how many of a row may be other than 0, and of which kind they are; the sums follow.
fn vectors(magic: u32, n: i64, layout: [u32; 4], grid: [f64; 4], sums: &[u64]) -> Vec<u8> {
    let mut bytes = magic.to_ne_bytes().to_vec();
    bytes.extend(n.to_ne_bytes());
    bytes.extend(layout.iter().flat_map(|number| number.to_ne_bytes()));
    bytes.extend(grid.iter().flat_map(|number| number.to_ne_bytes()));
    bytes.extend(sums.iter().flat_map(|number| number.to_ne_bytes()));
    bytes
}

const VECTOR_MAGIC: u32 = 0xd9_3a_5e_11;

/// Forgeries of states of vectors: right ones, with all kinds of sums, and those that lie about
/// their length, their kind, what they count, their grid.
fn forged_vectors() -> Vec<Vec<u8>> {
    let mut random = Random::new(21);
    let [grid, none] = grids();
    let mut all = Vec::new();
    for kind in [0, 1, 2, 3, 7, 8, 9, 11] {
        // Of 2^27 counts and more, the length in bytes is beyond what a length word can say.
        for length in [
            0,
            1,
            2,
            3,
            100_000,
            1 << 26,
            1 << 27,
            1 << 28,
            1 << 29,
            u32::MAX,
        ] {
            for most in [1, 2] {
                for words in [0, 2, 4] {
                    let sums: Vec<u64> = (0..words).map(|_| random.0.word()).collect();
                    let n = random.0.word() as i64;
                    let grid = *random.pick(&[grid, none, [f64::NAN; 4], [f64::MAX; 4]]);
                    let layout = [length, most, kind, 0];
                    all.push(vectors(VECTOR_MAGIC, n, layout, grid, &sums));
                }
            }
        }
    }
    let kinds = [(1, none, 2), (2, none, 2), (3, grid, 4)];
    for (kind, grid, words) in kinds
        .into_iter()
        .chain([4, 7, 8, 9, 10].map(|kind| (kind, grid, 2)))
    {
        for word in [0, 1, 1 << 63, u64::MAX] {
            for n in [i64::MIN, -1, 0, i64::MAX] {
                for most in [1, 2] {
                    let good = vectors(
                        VECTOR_MAGIC,
                        n,
                        [2, most, kind, 0],
                        grid,
                        &vec![word; words],
                    );
                    let mut close = good.clone();
                    close[random.below(60)] ^= 1 << random.below(8);
                    all.extend([good, close]);
                }
            }
        }
    }
    all
}

/// What a state of cells holds behind its length word: cells to a unit, their width and offset; the
/// places of the table as a power of two, those that are used, whether rows were left out, nothing; and for
/// each place a cell, its rows and the sum of their steps.
fn cells(magic: u32, n: i64, line: [f64; 3], head: [u32; 4], slots: &[[u64; 3]]) -> Vec<u8> {
    let mut bytes = magic.to_ne_bytes().to_vec();
    bytes.extend(n.to_ne_bytes());
    bytes.extend(line.iter().flat_map(|number| number.to_ne_bytes()));
    bytes.extend(head.iter().flat_map(|number| number.to_ne_bytes()));
    bytes.extend(
        slots
            .iter()
            .flatten()
            .flat_map(|number| number.to_ne_bytes()),
    );
    bytes
}

const CELL_MAGIC: u32 = 0xd9_3a_5e_22;
const COINED_MAGIC: u32 = 0xd9_3a_5e_23;

/// What a state of a mean that may show rows holds behind its length word: what coins chose, and a state of cells
/// with its length word.
fn coined(chosen: [u64; 3], cells: &[u8]) -> Vec<u8> {
    let mut bytes = COINED_MAGIC.to_ne_bytes().to_vec();
    bytes.extend(chosen.iter().flat_map(|number| number.to_ne_bytes()));
    bytes.extend(((cells.len() as u32 + 4) << 2).to_ne_bytes());
    bytes.extend(cells);
    bytes
}

/// The lines of the means without bounds among [`calls`], with an offset.
fn lines() -> [[f64; 3]; 3] {
    [[0.1, 10.0, 0.3], [10.0 / 7.0, 0.7, 3.3], [0.1, 10.0, 0.9]]
}

/// What a list of the bins of rows holds behind its length word: how many there are, the layout of the counts that they stand for,
/// and how many there is room for, as a power of two.
fn list(rows: u64, layout: [u32; 4], grid: [f64; 4], power: u32, bins: &[u32]) -> Vec<u8> {
    let mut bytes = 0xd9_3a_5e_51u32.to_ne_bytes().to_vec();
    bytes.extend(rows.to_ne_bytes());
    bytes.extend(layout.iter().flat_map(|number| number.to_ne_bytes()));
    bytes.extend(grid.iter().flat_map(|number| number.to_ne_bytes()));
    bytes.extend([power, 0].iter().flat_map(|number| number.to_ne_bytes()));
    bytes.extend(bins.iter().flat_map(|bin| bin.to_ne_bytes()));
    bytes
}

/// Forgeries of lists: with more rows than there is room for, bins that there are not, and lies about their length, their kind
/// and their grid.
fn forged_lists() -> Vec<Vec<u8>> {
    let mut random = Random::new(25);
    let [grid, none] = grids();
    let mut all = Vec::new();
    for kind in [3, 8, 11] {
        for length in [1, 64, 100_000, u32::MAX] {
            for (power, room) in [
                (0, 1),
                (3, 8),
                (4, 16),
                (4, 15),
                (5, 32),
                (16, 16),
                (31, 16),
                (u32::MAX, 0),
            ] {
                let rows = *random.pick(&[0, 1, 15, 16, 17, 1 << 40, u64::MAX]);
                let bins: Vec<u32> = (0..room)
                    .map(|_| *random.pick(&[0, 1, 63, 64, u32::MAX]))
                    .collect();
                let grid = *random.pick(&[grid, none, [f64::NAN; 4], [f64::MAX; 4]]);
                all.push(list(rows, [length, 1, kind, 0], grid, power, &bins));
            }
        }
    }
    all
}

/// Forgeries of states of cells: right ones with all kinds of cells, and those that lie about their
/// length, what they hold, where their cells lie.
fn forged_cells() -> Vec<Vec<u8>> {
    let mut random = Random::new(22);
    let mut all = Vec::new();
    let empty = |length: usize| vec![[0; 3]; length];
    // A table of another length than the head says, and one that is none.
    for places in [0, 1, 2, 3, 4, 19, 20, 21, 26, 27, 31, 32, 63, u32::MAX] {
        for length in [0, 1, 7, 8, 9, 16, 17] {
            let slots = empty(length);
            let head = [places, 0, 0, 0];
            all.push(cells(CELL_MAGIC, 1, lines()[0], head, &slots));
        }
    }
    // Cells at the ends, tables without an empty place, numbers of cells that are wrong.
    for cell in [
        i64::MIN,
        i64::MIN + 3,
        -1 << 50,
        -1,
        0,
        1 << 50,
        i64::MAX - 3,
        i64::MAX,
    ] {
        for (count, steps) in [(1, 0), (1_000_000, 5), (u64::MAX, u64::MAX), (1 << 63, 1)] {
            for filled in [1, 6, 8] {
                for used in [0, filled, u32::MAX] {
                    let slot = |i: u32| match i {
                        _ if i >= filled => [0; 3],
                        _ => [(cell as u64).wrapping_add(u64::from(i)), count, steps],
                    };
                    let slots: Vec<_> = (0..8).map(slot).collect();
                    let of_call = random.below(3);
                    let line = lines()[of_call];
                    let n = *random.pick(&[i64::MIN, -1, 0, 1, i64::MAX]);
                    let chosen = *random.pick(&[[0; 3], [u64::MAX; 3], [1, 0, 1 << 63]]);
                    let head = [3, used, random.below(2) as u32, 0];
                    let plain = cells(CELL_MAGIC, n, line, head, &slots);
                    all.push(match of_call {
                        2 => coined(chosen, &plain),
                        _ => plain,
                    });
                }
            }
        }
    }
    // Lines that are none.
    for line in [
        [f64::NAN; 3],
        [f64::MAX; 3],
        [0.0, 10.0, f64::INFINITY],
        [f64::NAN, 10.0, 5e-324],
    ] {
        for full in [0, 1, u32::MAX] {
            let slots = vec![[0, 1_000_000, 5]; 8];
            let head = [3, 8, full, 0];
            all.push(cells(CELL_MAGIC, 1_000_000, line, head, &slots));
        }
    }
    // Near misses, and bytes at random behind the mark.
    for _ in 0..40 {
        let slots: Vec<_> = (0..8).map(|_| [(); 3].map(|()| random.0.word())).collect();
        let line = *random.pick(&lines());
        let head = [3, 5, 0, random.0.word() as u32];
        let mut close = cells(CELL_MAGIC, 5, line, head, &slots);
        all.push(close.clone());
        // The head of what is inside lies too, and so does the length of the whole.
        let mut around = coined([random.0.word(); 3], &close);
        all.push(around.clone());
        let at = random.below(around.len());
        around[at] ^= 1 << random.below(8);
        all.push(around.clone());
        all.push(around[..random.below(around.len())].to_vec());
        let at = random.below(close.len());
        close[at] ^= 1 << random.below(8);
        all.push(close);
        let length = random.below(400);
        let mut marked = CELL_MAGIC.to_ne_bytes().to_vec();
        marked.extend(random.bytes(length));
        all.push(marked);
    }
    all
}

/// What a state of octaves holds behind its length word: limits and where the bins start; the number of pages, and for
/// each of 32 stretches of bins which page has it; and for each page 32 times rows and the sum of their digits in two
/// halves, of a variance that of the squares as well.
fn octaves<const WORDS: usize>(
    limits: [f64; 3],
    pages: u64,
    places: [u8; 32],
    slots: &[[u64; WORDS]],
) -> Vec<u8> {
    let magic = if WORDS == 3 {
        OCTAVE_MAGIC
    } else {
        SQUARES_MAGIC
    };
    let mut bytes = magic.to_ne_bytes().to_vec();
    bytes.extend(limits.iter().flat_map(|number| number.to_ne_bytes()));
    bytes.extend(pages.to_ne_bytes());
    bytes.extend(places);
    let numbers = slots.iter().flatten();
    bytes.extend(numbers.flat_map(|number| number.to_ne_bytes()));
    bytes
}

const OCTAVE_MAGIC: u32 = 0xd9_3a_5e_b1;
const SQUARES_MAGIC: u32 = 0xd9_3a_5e_b2;

/// Forgeries of states of octaves: right ones with all kinds of pages, and those that lie about their length, their limits and
/// which page is where.
fn forged_octaves() -> Vec<Vec<u8>> {
    [octaves_with::<3>(), octaves_with::<5>()].concat()
}

fn octaves_with<const WORDS: usize>() -> Vec<Vec<u8>> {
    let mut random = Random::new(24);
    let mut all = Vec::new();
    let none = [f64::NEG_INFINITY, f64::INFINITY, 0.0];
    let of_call = [none, [0.0, 100.0, 0.0]];
    // As many pages as the head says, more, and fewer.
    for pages in [0, 1, 2, 25, 26, 27, 255, 1 << 32, u64::MAX] {
        for there in [0, 1, 2, 26, 27] {
            let slots = vec![[1; WORDS]; 32 * there];
            all.push(octaves(none, pages, [0; 32], &slots));
        }
    }
    // Pages that are not there, are in two places, or are in places behind the last; numbers at the ends.
    for place in [0, 1, 2, 25, 26, 31, 254, 255] {
        for word in [0, 1, 1 << 62, 1 << 63, u64::MAX] {
            for limits in of_call {
                let mut places = [place; 32];
                all.push(octaves(limits, 2, places, &[[word; WORDS]; 64]));
                places[random.below(32)] = random.below(256) as u8;
                all.push(octaves(limits, 2, places, &[[word; WORDS]; 64]));
            }
        }
    }
    for limits in [
        [f64::NAN; 3],
        [f64::INFINITY; 3],
        [5.0, -5.0, 1e300],
        [0.0, 100.0, f64::NAN],
    ] {
        all.push(octaves(limits, 1, [0; 32], &[[1 << 40; WORDS]; 32]));
    }
    for limits in of_call {
        for _ in 0..20 {
            let slots: Vec<_> = (0..32)
                .map(|_| [(); WORDS].map(|()| random.0.word()))
                .collect();
            let mut close = octaves(limits, 1, [0; 32], &slots);
            all.push(close.clone());
            let at = random.below(close.len());
            close[at] ^= 1 << random.below(8);
            all.push(close);
        }
    }
    all
}

const PAIR_MAGIC: u32 = 0xd9_3a_5e_04;

/// Forgeries of states of two columns: right ones with all kinds of sums, near misses, and other grids.
fn forged_pairs() -> Vec<Vec<u8>> {
    let mut random = Random::new(23);
    let of_call = [
        [0.0, 100.0, 0.0, STEPS as f64 / 100.0],
        [0.0, 99.0, 0.0, STEPS as f64 / 99.0],
    ];
    let mut all = Vec::new();
    for grids in [of_call, [of_call[0]; 2], [[f64::NAN; 4]; 2]] {
        for word in [0, 1, 1 << 63, u64::MAX] {
            for length in [10, 11, 12] {
                let mut bytes = PAIR_MAGIC.to_ne_bytes().to_vec();
                bytes.extend((0..length).flat_map(|_| word.to_ne_bytes()));
                let numbers = grids.iter().flatten();
                bytes.extend(numbers.flat_map(|number| number.to_ne_bytes()));
                let mut close = bytes.clone();
                close[random.below(160)] ^= 1 << random.below(8);
                all.extend([bytes, close]);
            }
        }
    }
    all
}

const BITMAP_MAGIC: u32 = 0xd9_3a_5e_71;

/// Forgeries of states of bitmaps: right ones, full tables, heads that lie about what follows.
fn forged_bitmaps() -> Vec<Vec<u8>> {
    let mut random = Random::new(24);
    let mut all = Vec::new();
    for power in [0, 9, 10, 11, 20, 27, 28, 31, 32, u32::MAX] {
        for slots in [0, 1, 3, 4, 5, 14, 15, 31, u32::MAX] {
            for used in [0, 12, u32::MAX] {
                let words = match (power, slots) {
                    (10, 0) => 32,
                    (11, 0) => 64,
                    _ => 16,
                };
                let word = *random.pick(&[0, 1, 1025, u32::MAX]);
                let head = [BITMAP_MAGIC, power, slots, used, 0];
                let all_words = head.into_iter().chain(std::iter::repeat_n(word, words));
                let bytes: Vec<u8> = all_words.flat_map(u32::to_ne_bytes).collect();
                let mut close = bytes.clone();
                close[random.below(24)] ^= 1 << random.below(8);
                all.extend([bytes, close]);
            }
        }
    }
    all
}

/// The grids of [`calls`] with bounds: of values, and of a count.
fn grids() -> [[f64; 4]; 2] {
    [[0.0, 100.0, 0.0, STEPS as f64 / 100.0], [0.0; 4]]
}

/// Hundreds of forgeries: of every length, of the right length, with the right mark, with the
/// right grid.
fn forgeries() -> Vec<Vec<u8>> {
    let mut random = Random::new(20);
    let mut all: Vec<Vec<u8>> = (0..=200).map(|length| random.bytes(length)).collect();
    for length in 0..=200 {
        let mut marked = MAGIC.to_ne_bytes().to_vec();
        marked.extend(random.bytes(length));
        marked.truncate(length);
        all.push(marked);
    }
    for _ in 0..50 {
        let [grid, none] = grids();
        let n = random.0.word() as i64;
        let s = i128::from(random.0.word() as i64) << random.below(64);
        all.push(state(MAGIC, n, s, *random.pick(&[grid, none])));
        let mut close = state(MAGIC, n, s, grid);
        close[random.below(60)] ^= 1 << random.below(8);
        all.push(close);
        all.push(state(MAGIC ^ 1 << random.below(32), n, s, grid));
        let mut noise = [0.0; 4];
        noise.fill_with(|| f64::from_bits(random.0.word()));
        all.push(state(MAGIC, n, s, noise));
    }
    for n in [i64::MIN, -1, 0, i64::MAX] {
        for s in [i128::MIN, -1, 0, i128::MAX] {
            all.extend(grids().map(|grid| state(MAGIC, n, s, grid)));
        }
    }
    let [nan, max, tiny] = [f64::NAN, f64::MAX, 5e-324];
    for grid in [
        [nan; 4],
        [max; 4],
        [tiny; 4],
        [0.0, 100.0, nan, nan],
        [0.0, 100.0, 0.0, max],
    ] {
        all.push(state(MAGIC, 1, 1, grid));
    }
    all
}

fn hexadecimal(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("\\x{digits}")
}

/// Runs a query that may fail, but only in words of ours.
fn answered_or_refused(client: &mut Client, sql: &str) -> bool {
    match client.simple_query(sql) {
        Ok(_) => true,
        Err(error) => {
            let refusal = refusal(&error, sql);
            let ours = ["XX001", "22023"].contains(&refusal.code.as_str());
            assert!(ours, "{refusal:?}: {sql}");
            false
        }
    }
}

/// The forgeries of each kind of state, and the states that their mark is of.
fn forgeries_of_states() -> [(Vec<Vec<u8>>, [State; 2]); 7] {
    [
        (forgeries(), [State::Sums, State::Moments]),
        (forged_vectors(), [State::Vector, State::Bins]),
        (forged_lists(), [State::Bins, State::Vector]),
        (forged_cells(), [State::Cells; 2]),
        (forged_pairs(), [State::Pairs; 2]),
        (forged_bitmaps(), [State::Ids; 2]),
        (forged_octaves(), [State::Octaves; 2]),
    ]
}

/// A superuser can make PostgreSQL start each group with bytes of a choice. Each forgery meets every `stride`th call that
/// has such a state, and a few of those with others, which look no further than its mark; the next one meets others.
fn forged_first_states(build: Build, stride: usize) {
    let (_database, mut client) = session(build);
    let backend = backend(&mut client);
    run(
        &mut client,
        "CREATE TABLE few AS SELECT i::float8 AS x FROM generate_series(1, 20) i;
         CREATE TABLE none (x float8); CREATE TABLE nulls AS SELECT NULL::float8 AS x;
         SET dp_mean.allow_pathological = on;
         UPDATE pg_type SET typinput = 'byteain'::regproc WHERE typname = 'dp_state'",
    );
    let calls: Vec<_> = calls().map(|call| (call.state, call.sql())).collect();
    let all = calls.iter().map(|(_, call)| format!("({call})::text"));
    let all = all.collect::<Vec<_>>().join(", ");
    let (mut answers, mut errors) = (0, 0);
    let forgeries = forgeries_of_states().into_iter();
    let forgeries = forgeries.flat_map(|(all, kinds)| all.into_iter().map(move |one| (one, kinds)));
    for (i, (bytes, kinds)) in forgeries.enumerate() {
        let update = "UPDATE pg_aggregate SET agginitval = '{}' WHERE aggtranstype = 'dp_mean.dp_state'::regtype";
        run(&mut client, &update.replace("{}", &hexadecimal(&bytes)));
        let table = ["few", "none", "nulls"][i % 3];
        let is_met = |(place, (state, _)): &(usize, &(State, String))| {
            let every = if kinds.contains(state) {
                stride
            } else {
                12 * stride
            };
            (place + i) % every == 0
        };
        let met = calls.iter().enumerate().filter(is_met);
        let met = met.map(|(_, (_, call))| call);
        for call in met.chain([&all].into_iter().filter(|_| i % (8 * stride) == 0)) {
            let sql = format!("SELECT {call} FROM {table}");
            if answered_or_refused(&mut client, &sql) {
                answers += 1
            } else {
                errors += 1
            }
        }
    }
    assert!(
        answers > 100 && errors > 1000,
        "{answers} answers, {errors} errors"
    );
    run(
        &mut client,
        "UPDATE pg_aggregate SET agginitval = NULL WHERE aggtranstype = 'dp_mean.dp_state'::regtype",
    );
    alive(&mut client, backend);
}

#[test]
fn forged_first_states_end_in_errors_or_answers() {
    // The build with checks has them all.
    forged_first_states(Build::Release, 4);
}

#[test]
fn forged_first_states_break_no_check_of_a_debug_build() {
    forged_first_states(Build::Testing, 1);
}

/// A state says how questions come, but not that they are booleans: that the call must say.
#[test]
fn a_forged_first_state_does_not_stand_in_for_the_types_of_questions() {
    let (_database, mut client) = session(Build::Release);
    let backend = backend(&mut client);
    run(
        &mut client,
        "CREATE TABLE few AS SELECT i::float8 AS x FROM generate_series(1, 20) i;
         CREATE TABLE none (x float8);
         UPDATE pg_type SET typinput = 'byteain'::regproc WHERE typname = 'dp_state'",
    );
    for kind in [1, 2, 3] {
        let bytes = vectors(
            VECTOR_MAGIC,
            1,
            [1, 1, kind, 0],
            grids()[1],
            &[1; 2][..kind as usize / 3 + 1],
        );
        let update = format!(
            "UPDATE pg_aggregate SET agginitval = '{}' WHERE aggtranstype = 'dp_mean.dp_state'::regtype",
            hexadecimal(&bytes)
        );
        run(&mut client, &update);
        for question in ["x::int", "repeat('x', 50)", "ARRAY[x]", "VARIADIC ARRAY[x]"] {
            for table in ["none", "few"] {
                let sql = format!("SELECT dp_counts(1, 'laplace(d=1)', {question}) FROM {table}");
                assert_eq!(refused(&mut client, &sql).code, "42804", "{sql}");
            }
        }
    }
    let back = "UPDATE pg_aggregate SET agginitval = NULL \
                WHERE aggtranstype = 'dp_mean.dp_state'::regtype";
    run(&mut client, back);
    alive(&mut client, backend);
}

/// A superuser can bring bytes of a choice to the combine and final functions: every `stride`th forgery.
fn forged_partial_states(build: Build, stride: usize) {
    let (_database, mut client) = session(build);
    let backend = backend(&mut client);
    run(
        &mut client,
        "CREATE FUNCTION forge(cstring) RETURNS dp_mean.dp_state
             LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'byteain';
         CREATE AGGREGATE combined(dp_mean.dp_state) (SFUNC = dp_mean.dp_state_combine, STYPE = dp_mean.dp_state);
         CREATE AGGREGATE finished(dp_mean.dp_state)
             (SFUNC = dp_mean.dp_state_combine, STYPE = dp_mean.dp_state, FINALFUNC = dp_mean.dp_mean_final);
         CREATE FUNCTION hand_over(dp_mean.dp_state, float8, float8, float8, float8) RETURNS dp_mean.dp_state
             LANGUAGE sql AS $$ SELECT forge(textout(current_setting('attack.bytes'))) $$;
         CREATE FUNCTION hand_over(dp_mean.dp_state, float8, float8, float8, float8, dp_mechanism)
             RETURNS dp_mean.dp_state
             LANGUAGE sql AS $$ SELECT forge(textout(current_setting('attack.bytes'))) $$;
         CREATE FUNCTION hand_over(dp_mean.dp_state, float8, float8, float8, float8, float8)
             RETURNS dp_mean.dp_state
             LANGUAGE sql AS $$ SELECT forge(textout(current_setting('attack.bytes'))) $$;
         CREATE AGGREGATE forged_number(float8, float8, float8, float8, float8)
             (SFUNC = hand_over, STYPE = dp_mean.dp_state, FINALFUNC = dp_mean.dp_mean_final);
         CREATE FUNCTION hand_over(dp_mean.dp_state, float8[], float8, float8, float8, dp_mechanism)
             RETURNS dp_mean.dp_state
             LANGUAGE sql AS $$ SELECT forge(textout(current_setting('attack.bytes'))) $$;
         CREATE TABLE few AS SELECT i::float8 AS x FROM generate_series(1, 3) i",
    );
    for last in [
        "mean",
        "mean_and_count",
        "sum",
        "variance",
        "variance_estimate",
    ] {
        let sql = format!(
            "CREATE AGGREGATE forged_{last}(float8, float8, float8, float8, dp_mechanism)
                 (SFUNC = hand_over, STYPE = dp_mean.dp_state, FINALFUNC = dp_mean.dp_{last}_final)"
        );
        run(&mut client, &sql);
    }
    for last in ["sums", "sums_estimate", "means"] {
        let sql = format!(
            "CREATE AGGREGATE forged_{last}(float8[], float8, float8, float8, dp_mechanism)
                 (SFUNC = hand_over, STYPE = dp_mean.dp_state, FINALFUNC = dp_mean.dp_{last}_final)"
        );
        run(&mut client, &sql);
    }
    for (aggregate, last) in [
        ("mean", "dp_mean_final"),
        ("mean_and_count", "dp_mean_and_count_final"),
        ("sum", "dp_sum_final"),
        ("count", "dp_count_final"),
        ("count_estimate", "dp_count_estimate_final"),
        ("mean_estimate", "dp_mean_estimate_final"),
    ] {
        let sql = format!(
            "CREATE AGGREGATE forged_{aggregate}(float8, float8, float8, float8)
                 (SFUNC = hand_over, STYPE = dp_mean.dp_state, FINALFUNC = dp_mean.{last})"
        );
        run(&mut client, &sql);
    }
    let good = hexadecimal(&state(MAGIC, 1, 1, grids()[0]));
    let of_vectors = hexadecimal(&vectors(
        VECTOR_MAGIC,
        1,
        [2, 2, 3, 0],
        grids()[0],
        &[1, 0, 1, 0],
    ));
    let (mut answers, mut errors) = (0, 0);
    let of_cells = hexadecimal(&cells(
        CELL_MAGIC,
        3,
        lines()[0],
        [3, 1, 0, 0],
        &[[[5, 3, 9]].as_slice(), &[[0; 3]; 7]].concat(),
    ));
    let forgeries = forgeries_of_states().into_iter().flat_map(|(all, _)| all);
    for bytes in forgeries.step_by(stride) {
        let bad = hexadecimal(&bytes);
        let mut statements = Vec::new();
        for (left, right) in [
            (&good, &bad),
            (&bad, &good),
            (&bad, &bad),
            (&of_vectors, &bad),
            (&bad, &of_vectors),
            (&of_cells, &bad),
            (&bad, &of_cells),
        ] {
            statements.push(format!(
                "SELECT pg_column_size(combined(forge(textout(b)))) FROM (VALUES ('{left}'), ('{right}')) v(b)"
            ));
        }
        statements.push(format!("SELECT pg_column_size(combined(forge('{bad}')))"));
        run(&mut client, &format!("SET attack.bytes = '{bad}'"));
        for aggregate in ["mean", "mean_and_count", "sum", "mean_estimate"] {
            statements.push(format!("SELECT forged_{aggregate}(x, 0, 100, 1) FROM few"));
        }
        let scale = "(delta=1e-6, scale=1)";
        for aggregate in ["mean", "mean_and_count"] {
            statements.push(format!(
                "SELECT forged_{aggregate}(x, NULL, NULL, 1, 'symmetric{scale}') FROM few"
            ));
            statements.push(format!(
                "SELECT forged_{aggregate}(x, NULL, NULL, 1, 'auto') FROM few"
            ));
        }
        for aggregate in ["sum", "variance", "variance_estimate"] {
            statements.push(format!(
                "SELECT forged_{aggregate}(x, NULL, NULL, 1, 'auto') FROM few"
            ));
        }
        for aggregate in ["sums", "sums_estimate", "means"] {
            statements.push(format!(
                "SELECT forged_{aggregate}(ARRAY[x], 0, 100, 1, 'correlated(delta=1e-6, d=2)') FROM few"
            ));
        }
        for sql in statements {
            if answered_or_refused(&mut client, &sql) {
                answers += 1
            } else {
                errors += 1
            }
        }
    }
    assert!(
        answers > 100 && errors > 1000,
        "{answers} answers, {errors} errors"
    );
    // An aggregate without our arguments is none of ours.
    for sql in [
        format!("SELECT finished(forge('{good}'))"),
        "SELECT forged_count(x, 0, 100, 1) FROM few".to_owned(),
        "SELECT forged_count_estimate(x, 0, 100, 1) FROM few".to_owned(),
        "SELECT forged_number(x, 0, 100, 1, 1) FROM few".to_owned(),
    ] {
        let refusal = refused(&mut client, &sql);
        assert_eq!(refusal.code, "0A000", "{refusal:?}");
        assert!(
            refusal
                .message
                .ends_with("works inside the aggregates of dp_mean only"),
            "{refusal:?}"
        );
    }
    alive(&mut client, backend);
}

#[test]
fn forged_partial_states_end_in_errors_or_answers() {
    // The build with checks has them all.
    forged_partial_states(Build::Release, 7);
}

#[test]
fn forged_partial_states_break_no_check_of_a_debug_build() {
    forged_partial_states(Build::Testing, 1);
}

/// Parts of one call have one grid. Those of two calls, which only a superuser could bring together, add up to a refusal,
/// of 16 bytes, in whatever order they come; of one call, to a state of the same size as each.
#[test]
fn parts_on_two_grids_are_refused() {
    let (_database, mut client) = session(Build::Release);
    run(
        &mut client,
        "CREATE FUNCTION forge(cstring) RETURNS dp_mean.dp_state
             LANGUAGE internal IMMUTABLE STRICT AS 'byteain';
         CREATE AGGREGATE combined(dp_mean.dp_state) (SFUNC = dp_mean.dp_state_combine, STYPE = dp_mean.dp_state)",
    );
    // Marks, words of sums, numbers of the grid: of a mean, a variance, two columns, a person's rows, a person's total.
    for (magic, words, numbers) in [
        (MAGIC, 3, 4),
        (MAGIC, 5, 4),
        (0xd9_3a_5e_04, 11, 8),
        (0xd9_3a_5e_02, 5, 2),
        (0xd9_3a_5e_03, 3, 4),
    ] {
        let part = |changed: usize| {
            let mut bytes = magic.to_ne_bytes().to_vec();
            (0..words).for_each(|_| bytes.extend(1u64.to_ne_bytes()));
            for i in 0..numbers {
                let number: f64 = if i == changed { 0.5 } else { i as f64 };
                bytes.extend(number.to_ne_bytes());
            }
            hexadecimal(&bytes)
        };
        let mut size = |parts: &[&String]| -> i32 {
            let parts = parts.iter().map(|part| format!("(forge('{part}'))"));
            let parts = parts.collect::<Vec<_>>().join(", ");
            let sql = format!("SELECT pg_column_size(combined(b)) FROM (VALUES {parts}) v(b)");
            value(&mut client, &sql)
        };
        let one = part(numbers);
        let whole = 8 + 8 * (words + numbers) as i32;
        assert_eq!(size(&[&one, &one]), whole, "{magic:x}");
        for changed in 0..numbers {
            let other = part(changed);
            for parts in [[&one, &other, &one], [&other, &one, &one]] {
                assert_eq!(size(&parts), 16, "{magic:x}, number {changed}");
            }
        }
    }
}

#[test]
fn states_in_forms_that_only_tables_have_are_refused() {
    let (_database, mut client) = session(Build::Release);
    let backend = backend(&mut client);
    // Stored as PostgreSQL would store a text: with short length words at odd addresses,
    // compressed, and out of line.
    run(
        &mut client,
        "CREATE FUNCTION forge(cstring) RETURNS dp_mean.dp_state
             LANGUAGE internal IMMUTABLE STRICT AS 'byteain';
         CREATE AGGREGATE combined(dp_mean.dp_state) (SFUNC = dp_mean.dp_state_combine, STYPE = dp_mean.dp_state);
         UPDATE pg_type SET typstorage = 'x', typalign = 'i' WHERE typname = 'dp_state';
         CREATE TABLE odd (padding text, s dp_mean.dp_state)",
    );
    let good = state(MAGIC, 1, 1, grids()[0]);
    let mut random = Random::new(1);
    let [long, longer] = [1500, 20_000].map(|length| random.bytes(length));
    for (bytes, form) in [
        (good, "pg_column_size(s) = 61"),
        (vec![0; 100_000], "pg_column_size(s) < 2000"),
        (long, "pg_column_size(s) = 1504"),
        (longer, "pg_column_size(s) > 10000"),
        (vec![], "pg_column_size(s) = 1"),
    ] {
        let bytes = hexadecimal(&bytes);
        for padding in 0..8 {
            let insert = "TRUNCATE odd; INSERT INTO odd VALUES";
            run(
                &mut client,
                &format!("{insert} (repeat('y', {padding}), forge('{bytes}'))"),
            );
            assert!(
                value::<bool>(&mut client, &format!("SELECT {form} FROM odd")),
                "{form}"
            );
            let refusal = refused(&mut client, "SELECT pg_column_size(combined(s)) FROM odd");
            assert_eq!(refusal.code, "XX001", "{refusal:?}");
        }
    }
    alive(&mut client, backend);
}

#[test]
fn a_state_has_no_first_value_in_sql() {
    let (_database, mut client) = session(Build::Release);
    let refusal = refused(
        &mut client,
        "CREATE AGGREGATE evil(float8, float8, float8, float8) (SFUNC = dp_mean.dp_mean_trans,
             STYPE = dp_mean.dp_state, INITCOND = 'anything', FINALFUNC = dp_mean.dp_mean_final)",
    );
    assert_eq!(refusal.code, "0A000", "{refusal:?}");
    assert_eq!(
        refusal.message,
        "dp_state has no text but what servers of Citus seal for each other, and no binary form"
    );
}

/// A `dp_mechanism` in its binary form, whatever the bytes.
#[derive(Debug)]
struct Binary(Vec<u8>);

impl ToSql for Binary {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        out.extend_from_slice(&self.0);
        Ok(IsNull::No)
    }

    fn accepts(kind: &Type) -> bool {
        kind.name() == "dp_mechanism"
    }

    postgres::types::to_sql_checked!();
}

#[test]
fn a_mechanism_of_a_megabyte_is_refused_by_every_road() {
    let (_database, mut client) = session(Build::Release);
    let backend = backend(&mut client);
    let prepared = client
        .prepare("SELECT dp_mean(1, 0, 1, 1, $1)")
        .expect("a statement");
    let typed = client
        .prepare_typed("SELECT dp_mean(1, 0, 1, 1, $1)", &[Type::TEXT])
        .expect("a statement");
    for text in [
        "x".repeat(1 << 20),
        " ".repeat(1 << 20) + "hourglass",
        format!("hourglass({})", "gamma=0.5,".repeat(1 << 17)),
        "(".repeat(1 << 20),
        format!("hourglass(gamma={})", "1".repeat(1 << 20)),
    ] {
        let began = Instant::now();
        let mut refusals = vec![
            refused(
                &mut client,
                &format!("SELECT dp_mean(1, 0, 1, 1, '{text}')"),
            ),
            refused(&mut client, &format!("SELECT '{text}'::text::dp_mechanism")),
            refused(
                &mut client,
                &format!("SELECT dp_mean(1, 0, 1, 1, (SELECT '{text}'::varchar))"),
            ),
        ];
        let bound = client
            .query(&typed, &[&text])
            .expect_err("a bind parameter");
        refusals.push(refusal(&bound, "a text"));
        let bound = client
            .query(&prepared, &[&Binary(text.into())])
            .expect_err("a bind parameter");
        refusals.push(refusal(&bound, "a dp_mechanism"));
        for refusal in refusals {
            assert_eq!(refusal.code, "22023", "{refusal:?}");
            assert_eq!(
                refusal.message,
                "dp_mechanism: the text is too long for the name of a mechanism"
            );
        }
        assert!(began.elapsed() < Duration::from_secs(5));
    }
    alive(&mut client, backend);
}

#[test]
fn random_texts_are_a_mechanism_or_an_error() {
    let (_database, mut client) = session(Build::Testing);
    let backend = backend(&mut client);
    let prepared = client
        .prepare("SELECT m::text::dp_mechanism = m AND m::text::dp_mechanism::text = m::text FROM (SELECT $1::dp_mechanism AS m) s")
        .expect("a statement");
    let pieces: [&[u8]; 31] = [
        b"correlated",
        b"ellipse",
        b"gaussian",
        b"delta",
        b"d",
        b"k",
        b"relation",
        b"replace",
        b"1e5",
        b"hourglass",
        b"staircase",
        b"laplace",
        b"geometric",
        b"(",
        b")",
        b"()",
        b"gamma",
        b"=",
        b",",
        b" ",
        b"0.5",
        b"1e-300",
        b"-",
        b"+",
        b".",
        b"e",
        b"999",
        b"\t",
        b"\xc3\xa9",
        b"\xff",
        b"\0",
    ];
    let mut random = Random::new(3);
    let (mut taken, mut errors) = (0, 0);
    for i in 0..2000 {
        let bytes = match i % 3 {
            0 => {
                let length = random.below(40);
                random.bytes(length)
            }
            1 => (0..random.below(10))
                .flat_map(|_| random.pick(&pieces).to_vec())
                .collect(),
            _ => {
                let number = f64::from_bits(random.0.word());
                let (name, key) = *random.pick(&[
                    ("hourglass", "gamma"),
                    ("staircase", "gamma"),
                    ("correlated", "d=3, relation=replace, delta"),
                    ("known_n", "mu=1, n"),
                ]);
                format!(
                    "{name}{}({key}{}={number:?})",
                    " ".repeat(i % 2),
                    " ".repeat(i % 5)
                )
                .into_bytes()
            }
        };
        match client.query_one(&prepared, &[&Binary(bytes.clone())]) {
            Ok(row) => {
                taken += 1;
                assert!(row.get::<_, bool>(0), "it reads back otherwise: {bytes:?}");
            }
            Err(error) => {
                errors += 1;
                let refusal = refusal(&error, "a random text");
                // 22021: bytes that are no text in the database's encoding; 08P01, 22P03: a NUL.
                let codes = ["22023", "22021", "08P01", "22P03"];
                assert!(
                    codes.contains(&refusal.code.as_str()),
                    "{refusal:?}: {bytes:?}"
                );
            }
        }
    }
    assert!(
        taken > 500 && errors > 1000,
        "{taken} taken, {errors} errors"
    );
    alive(&mut client, backend);
}

#[test]
fn a_long_scan_can_be_cancelled() {
    let (database, mut client) = session(Build::Release);
    let mut other = database.connect();
    let backend = backend(&mut client);
    let endless = "(SELECT generate_series(1, 1000000000) AS x) s";
    let queries = [
        format!("SELECT dp_mean(x, 0, 100, 1), dp_sum(x, 0, 1, 1), dp_count(1) FROM {endless}"),
        format!("SELECT x % 1000, dp_mean(x, 0, 100, 1, 'laplace') FROM {endless} GROUP BY 1"),
        format!("SELECT dp_count(x, 1) FILTER (WHERE x < 0) FROM {endless}"),
        format!("SELECT dp_counts(1, 'laplace', x > 9, x > 99) FROM {endless}"),
        format!("SELECT dp_sums(ARRAY[x, x], 0, 9, 1, 'laplace(d=99)') FROM {endless}"),
        format!("SELECT dp_mean(NULLIF(x, x), 0, 100, 1) FROM {endless}"),
    ];
    let mut before = None;
    for sql in queries.iter().chain(&queries) {
        let running = thread::spawn({
            let sql = sql.clone();
            move || {
                let error = client.simple_query(&sql).expect_err("it is cancelled");
                (Instant::now(), refusal(&error, &sql), client)
            }
        });
        let active = format!(
            "SELECT state = 'active' AND query LIKE '%dp_%' FROM pg_stat_activity WHERE pid = {backend}"
        );
        while !value::<bool>(&mut other, &active) {
            thread::sleep(Duration::from_millis(5));
        }
        thread::sleep(Duration::from_millis(50));
        let asked = Instant::now();
        run(&mut other, &format!("SELECT pg_cancel_backend({backend})"));
        let (ended, refusal, session) = running.join().expect("the session's thread");
        client = session;
        assert_eq!(refusal.code, "57014", "{refusal:?}: {sql}");
        assert!(ended - asked < Duration::from_secs(3), "{sql}");
        alive(&mut client, backend);
        // From the second round on, everything that the session caches is there.
        if Some(sql) == queries.last() {
            let now = memory(&mut client);
            let before = *before.get_or_insert(now);
            assert!(now < before + 100_000, "{before} bytes grew to {now}");
        }
    }
}

#[test]
fn transactions_go_on_after_an_error() {
    let (_database, mut client) = session(Build::Release);
    let backend = backend(&mut client);
    run(
        &mut client,
        "CREATE TABLE t AS SELECT i % 7 AS k, i::float8 AS x FROM generate_series(1, 1000) i",
    );
    let good = "SELECT k, dp_mean(x, 0, 100, 1), dp_sum(x, 0, 1, 1), dp_count(1), \
        dp_counts(1, 'laplace', x > 9), dp_sums(ARRAY[x], 0, 1, NULL, 'correlated(mu=1, d=70)') \
        FROM t GROUP BY k";
    let bad = [
        ("SELECT dp_mean(x, 0, 100, 0) FROM t", "22023"),
        ("SELECT k, dp_mean(x, 0, 100, x) FROM t GROUP BY k", "22023"),
        // Once there are states.
        (
            "SELECT k, dp_mean(1 / (x - 900), 0, 100, 1) FROM t GROUP BY k",
            "22012",
        ),
        (
            "SELECT dp_sum(x, 0, 100, 1), sum(1 / (x - 900)) FROM t",
            "22012",
        ),
        ("SELECT dp_counts(1, 'laplace', k) FROM t", "42804"),
        (
            "SELECT k, dp_counts(1, 'laplace', 1 / (x - 900) > 0) FROM t GROUP BY k",
            "22012",
        ),
        (
            "SELECT dp_sums(ARRAY[1 / (x - 900)], 0, 1, 1, 'laplace(d=9)') FROM t",
            "22012",
        ),
        // Once there is an answer.
        ("SELECT 1 / (dp_count(1) * 0) FROM t", "22012"),
        ("SELECT 1 / (dp_count(1) * 0) FROM t GROUP BY k", "22012"),
    ];
    for (sql, code) in bad {
        run(&mut client, "BEGIN");
        assert_eq!(refused(&mut client, sql).code, code, "{sql}");
        assert_eq!(refused(&mut client, good).code, "25P02");
        run(&mut client, "ROLLBACK");
        assert_eq!(rows(&mut client, good).len(), 7);
        run(&mut client, &format!("BEGIN; {good}; SAVEPOINT s"));
        assert_eq!(refused(&mut client, sql).code, code, "{sql}");
        run(&mut client, "ROLLBACK TO s");
        assert_eq!(rows(&mut client, good).len(), 7);
        run(&mut client, "COMMIT");
        // Subtransactions, many.
        let block = format!(
            "DO $$ DECLARE caught int := 0; BEGIN
                 FOR i IN 1..100 LOOP
                     BEGIN
                         PERFORM * FROM ({bad}) s;
                     EXCEPTION WHEN SQLSTATE '{code}' THEN caught := caught + 1;
                     END;
                     PERFORM * FROM ({good}) s;
                 END LOOP;
                 ASSERT caught = 100;
             END $$",
            bad = sql
        );
        run(&mut client, &block);
    }
    alive(&mut client, backend);
}

#[test]
fn a_panic_is_an_ordinary_error() {
    let (_database, mut client) = session(Build::Testing);
    let backend = backend(&mut client);
    for _ in 0..3 {
        let refusal = refused(&mut client, "SELECT dp_test_panic()");
        assert_eq!(refusal.code, "XX000", "{refusal:?}");
        assert_eq!(refusal.message, "dp_mean: a panic that a test asked for");
        assert!(refusal.hint.contains("report it"), "{refusal:?}");
        alive(&mut client, backend);
    }
    run(&mut client, "BEGIN; SAVEPOINT s");
    assert_eq!(
        refused(
            &mut client,
            "SELECT dp_test_panic() FROM generate_series(1, 3)"
        )
        .code,
        "XX000"
    );
    run(&mut client, "ROLLBACK TO s; COMMIT");
    alive(&mut client, backend);
}

#[test]
fn an_argument_may_run_the_aggregates_itself() {
    let (_database, mut client) = session(Build::Testing);
    let backend = backend(&mut client);
    run(
        &mut client,
        "CREATE TABLE t AS SELECT i::float8 AS x FROM generate_series(1, 100) i;
         CREATE FUNCTION nested() RETURNS float8 STABLE LANGUAGE plpgsql AS $$
         BEGIN
             PERFORM dp_mean(x, 0, 100, 1), dp_count(x, 1) FROM t;
             PERFORM dp_mean(x, 0, 100, 1) FROM t WHERE false;
             BEGIN
                 PERFORM dp_mean(x, 0, 100, -1) FROM t;
             EXCEPTION WHEN SQLSTATE '22023' THEN
                 RETURN 50;
             END;
             RAISE 'not refused';
         END $$;
         CREATE FUNCTION failing() RETURNS float8 STABLE LANGUAGE plpgsql AS $$
         BEGIN
             PERFORM dp_mean(x, 0, 100, 1) FROM t;
             RAISE division_by_zero;
         END $$",
    );
    for _ in 0..20 {
        let answer: f64 = value(&mut client, "SELECT dp_mean(x, 0, 100, nested()) FROM t");
        assert!((answer - 50.5).abs() < 1e-3, "{answer}");
        let answer: f64 = value(
            &mut client,
            "SELECT dp_mean(x, 0, 100, nested()) FROM t WHERE false",
        );
        assert!((0.0..=100.0).contains(&answer));
        for table in ["t", "t WHERE false"] {
            let sql = format!("SELECT dp_mean(x, 0, 100, failing()) FROM {table}");
            assert_eq!(refused(&mut client, &sql).code, "22012");
        }
    }
    alive(&mut client, backend);
}

#[test]
fn a_hundred_thousand_groups_fit_in_little_memory() {
    let (_database, mut client) = session(Build::Release);
    run(
        &mut client,
        "SET max_parallel_workers_per_gather = 0; SET work_mem = '64kB'; SET enable_sort = off;
         CREATE TABLE t AS SELECT i % 100000 AS k, (i % 10)::float8 AS x FROM generate_series(1, 200000) i;
         ANALYZE t",
    );
    let sql =
        "SELECT k, dp_mean(x, 0, 100, 50) - avg(x) AS mean, dp_sum(x, 0, 100, 50) - sum(x) AS sum,
                      dp_count(50) - count(*) AS count
               FROM t GROUP BY k";
    let plan: String = rows(
        &mut client,
        &format!("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) {sql}"),
    )
    .iter()
    .map(|row| row.get::<_, String>(0))
    .collect::<Vec<_>>()
    .join("\n");
    assert!(
        plan.contains("HashAggregate") && plan.contains("Disk Usage"),
        "{plan}"
    );
    // Two rows a group: at eps 50 the mean is off by less than 100 * e^-16.
    let wrong = format!(
        "SELECT count(*), count(*) FILTER (WHERE abs(mean) > 1e-3 OR abs(sum) > 1e-3 OR count <> 0) FROM ({sql}) s"
    );
    let row = client.query_one(&wrong, &[]).expect("the groups");
    assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1)), (100_000, 0));
}

#[test]
fn memory_does_not_grow_with_rows() {
    let (_database, mut client) = session(Build::Release);
    run(
        &mut client,
        // A sort would hold the rows; groups that go to disk would be others with more rows.
        "SET max_parallel_workers_per_gather = 0; SET jit = off; SET enable_sort = off; SET work_mem = '1GB'",
    );
    // Cells are as many as the places where values lie, and ids as many as there are. Pages of octaves are as many as the values span:
    // these are the same for any number of rows. Rows in bins are listed until there are
    // as many as bins: 16,384 in a group.
    let calls = calls().filter(|call| !matches!(call.state, State::Cells | State::Ids));
    let calls = calls.map(|call| call.sql()).collect::<Vec<_>>().join(", ");
    for grouping in ["", " GROUP BY x::int % 10"] {
        let mut held = |count: i64| {
            // While the cursor is open, so are the aggregate's states.
            run(
                &mut client,
                &format!(
                    "BEGIN; DECLARE c CURSOR FOR SELECT {calls}
                     FROM (SELECT (generate_series(1, {count}) % 1000 + 1)::float8 AS x) s{grouping}; FETCH NEXT FROM c"
                ),
            );
            let held = memory(&mut client);
            run(&mut client, "COMMIT");
            held
        };
        // The first run fills caches, and what others do in the server empties some, which are filled again: seldom in
        // four of five pairs. A quarter of a byte a row would show in all of them, but where a cache was just emptied.
        held(200_000);
        let mut grown = [0; 5].map(|_| -held(200_000) + held(600_000));
        grown.sort_unstable();
        assert!(grown[1] < 100_000, "{grown:?}");
    }
}

#[test]
fn a_group_takes_what_its_positions_take() {
    let (_database, mut client) = session(Build::Release);
    run(
        &mut client,
        "SET max_parallel_workers_per_gather = 0; SET work_mem = '1GB'; SET enable_sort = off; SET jit = off;
         CREATE TABLE t AS SELECT i AS k, i::float8 AS x FROM generate_series(1, 50000) i; ANALYZE t",
    );
    let mut held = |call: &str| {
        let sql = format!("SELECT k, {call} FROM t GROUP BY k");
        assert!(explain(&mut client, &sql).contains("HashAggregate"));
        let mut bytes = 0;
        for _ in 0..2 {
            run(
                &mut client,
                &format!("BEGIN; DECLARE c CURSOR FOR {sql}; FETCH NEXT FROM c"),
            );
            bytes = memory(&mut client);
            run(&mut client, "COMMIT");
        }
        bytes as f64 / 50_000.0
    };
    // What PostgreSQL itself adds is at most 16 bytes to a piece of memory, and a little to each block
    // of pieces; and one call leaves some kilobytes more in caches than another.
    const ADDED: f64 = 18.0 + 10_000.0 / 50_000.0;
    // A state by value takes no memory beyond the hash table's. It is measured again, as caches grow with each call.
    let mut each_group = |call: &str| held(call) - held("max(k)");
    for call in calls().filter(|call| call.state == State::Sums) {
        let call = call.sql();
        let each = each_group(&call);
        // A state of more than 64 bytes would take 128.
        assert!(
            each > 60.0 && each <= 64.0 + ADDED,
            "{call}: {each} bytes a group"
        );
    }
    // Pieces of memory are of 2^k bytes: 8 counts, or 4 sums, and a head fill one.
    for (call, bytes) in [
        ("dp_counts(1, 'laplace(d=8)', VARIADIC ARRAY[x > 3])", 128.0),
        ("dp_sums(ARRAY[x], 0, 9, 1, 'laplace(d=4)')", 128.0),
        ("dp_clamped(x, 0, 9, 1)", 128.0),
    ] {
        let each = each_group(call);
        assert!(
            each > bytes - 4.0 && each <= bytes + ADDED,
            "{call}: {each} bytes a group"
        );
    }
}

#[test]
fn bounds_at_the_ends_of_float8_give_answers_inside() {
    let (_database, mut client) = session(Build::Testing);
    run(
        &mut client,
        "CREATE TABLE t AS SELECT unnest('{NaN, NULL, Infinity, -Infinity, 0, -0, 1, -1, 5e-324, -5e-324,
             2.2250738585072014e-308, 1.7976931348623157e308, -1.7976931348623157e308, 1e300, 1000000.5,
             1e-300, 5e-301}'::float8[]) AS x;
         CREATE TABLE none (x float8)",
    );
    for (lo, hi) in [
        ("1e300", "1.7e308"),
        ("1e6", "1000001"),
        ("-0.0", "1e-300"),
        ("0", "5e-324"),
        ("-5e-324", "0"),
        ("-8e307", "8e307"),
        ("-1.7976931348623157e308", "0"),
        ("0", "1.7976931348623157e308"),
        ("1", "1.0000000000000002"),
        ("-1e-310", "1e-310"),
    ] {
        let (low, high): (f64, f64) = (lo.parse().expect("lo"), hi.parse().expect("hi"));
        for eps in ["9.5367431640625e-7", "1", "50"] {
            for table in ["t", "none"] {
                for mechanism in MECHANISMS {
                    let call = format!("(x, '{lo}', '{hi}', {eps}, '{mechanism}')");
                    // Not the same call twice: two releases.
                    let sql =
                        format!("SELECT dp_mean{call}, (dp_mean_and_count{call}).* FROM {table}");
                    for _ in 0..3 {
                        let row = client
                            .query_one(&sql, &[])
                            .unwrap_or_else(|error| panic!("{error:?}: {sql}"));
                        let [one, two, count] = [0, 1, 2].map(|i| row.get::<_, f64>(i));
                        assert!(
                            one.is_finite() && (low..=high).contains(&one),
                            "{one}: {sql}"
                        );
                        assert!(
                            two.is_finite() && (low..=high).contains(&two),
                            "{two}: {sql}"
                        );
                        assert!(count.is_finite(), "{count}: {sql}");
                    }
                }
                for mechanism in ["staircase", "laplace"] {
                    let sql = format!(
                        "SELECT dp_sum(x, '{lo}', '{hi}', {eps}, '{mechanism}') FROM {table}"
                    );
                    let sum: f64 = value(&mut client, &sql);
                    // The largest floats times some noise overflow, to an infinity of its sign.
                    let magnitude = low.abs().max(high.abs());
                    assert!(
                        !sum.is_nan() && (sum.is_finite() || magnitude > 1e300),
                        "{sum}: {sql}"
                    );
                }
            }
        }
    }
}

#[test]
fn no_plan_and_no_message_shows_a_state() {
    let database = Database::new(Build::Release);
    let url = dp_mean_tests::variable("DP_MEAN_RELEASE_URL");
    let notices = Arc::new(Mutex::new(Vec::new()));
    let mut config: postgres::Config = url.parse().expect("a connection string");
    config.dbname(database.name()).notice_callback({
        let notices = notices.clone();
        move |notice| {
            notices
                .lock()
                .expect("no panic")
                .push(format!("{notice:?}"))
        }
    });
    let mut client = config.connect(NoTls).expect("a session");
    run(
        &mut client,
        "CREATE TABLE t AS SELECT 3 + (i % 1000) * 0.0625 AS x FROM generate_series(1, 20000) i;
         ANALYZE t; DELETE FROM t WHERE ctid = (SELECT ctid FROM t LIMIT 1)",
    );
    let row = client
        .query_one(
            "SELECT sum(x)::float8, avg(x)::float8, count(*) FROM t",
            &[],
        )
        .expect("truth");
    let (sum, mean, n): (f64, f64, i64) = (row.get(0), row.get(1), row.get(2));
    let steps = (sum * STEPS as f64 / 100.0).round() as i128;
    let digits = |text: String| text.chars().take(7).collect::<String>();
    let secrets = [
        digits(sum.to_string()),
        digits(mean.to_string()),
        digits(steps.to_string()),
        format!("{:x}", steps >> 8),
    ];
    run(&mut client, "SET dp_mean.allow_pathological = on");
    let calls = calls()
        .map(|call| call.sql())
        .collect::<Vec<_>>()
        .join(", ");
    let mut seen = Vec::new();
    for settings in ["SET max_parallel_workers_per_gather = 0", PARALLEL] {
        run(&mut client, settings);
        for format in ["TEXT", "JSON", "XML"] {
            let sql = format!(
                "EXPLAIN (ANALYZE, VERBOSE, BUFFERS, WAL, SETTINGS, FORMAT {format}) SELECT {calls} FROM t"
            );
            for message in client.simple_query(&sql).expect("a plan") {
                if let postgres::SimpleQueryMessage::Row(row) = message {
                    seen.push(row.get(0).unwrap_or_default().to_owned());
                }
            }
        }
    }
    assert!(seen.len() > 10);
    // Not at the noisiest settings either, nor in errors that come when there are states.
    run(
        &mut client,
        "SET client_min_messages = debug5; SET log_error_verbosity = verbose",
    );
    run(
        &mut client,
        "SET debug_print_plan = on; SET log_executor_stats = on",
    );
    for settings in ["SET max_parallel_workers_per_gather = 0", PARALLEL] {
        run(&mut client, settings);
        run(&mut client, &format!("SELECT {calls} FROM t"));
        let sql = "SELECT dp_mean(x, 0, 100, 1), dp_sum(x, 0, 100, (SELECT 1 / (count(*) - $1)::float8 FROM t)) FROM t";
        let sql = sql.replace("$1", &n.to_string());
        seen.push(format!("{:?}", refused(&mut client, &sql)));
        let sql = "SELECT dp_mean(x, 0, 100, 1), sum(1 / (x - 65.375)) FROM t";
        seen.push(format!("{:?}", refused(&mut client, sql)));
    }
    let notices = notices.lock().expect("no panic");
    assert!(notices.len() > 10, "{}", notices.len());
    for text in seen.iter().chain(notices.iter()) {
        for secret in &secrets {
            assert!(!text.contains(secret), "{secret} stands in {text}");
        }
    }
}
