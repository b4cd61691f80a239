//! What a part costs of a mean: sealing, opening, and noticing that it comes once. `PARTS` says
//! how many. Prints nanoseconds a part, medians of nine runs.

use std::hint::black_box;
use std::rc::Rc;
use std::time::Instant;

use dp_sealing::{Keys, Opener, Sealer, Seen};

const RUNS: usize = 9;

fn main() {
    let parts = std::env::var("PARTS").map_or(1_000_000, |parts| parts.parse().expect("a number"));
    let key = "one 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
    let keys = Rc::new(Keys::parse(key.as_bytes()).expect("a key"));
    let name =
        b"public.dp_mean(double precision,double precision,double precision,double precision)";
    let (call, state) = ([7; 10], [7; 25]);
    let mut times = [(); 3].map(|()| Vec::new());
    let mut letters = 0;
    for _ in 0..RUNS {
        // As of eight shards, whose parts come by turns, as many as were sent at once.
        let sealers = (0..8).map(|_| Sealer::new(&keys, name, &call).expect("a sealer"));
        let mut sealers = Vec::from_iter(sealers);
        let mut texts = Vec::with_capacity(parts);
        let began = Instant::now();
        for i in 0..parts {
            let text = sealers[i / 64 % 8]
                .seal(&state, state.len())
                .expect("a part");
            texts.push(Box::<[u8]>::from(text));
        }
        times[0].push(began.elapsed());
        letters = texts[0].len();

        let mut opener = Opener::new(Rc::clone(&keys), name);
        let mut nonces = Vec::with_capacity(parts);
        let began = Instant::now();
        for text in &texts {
            let part = opener.open(text).expect("a part");
            black_box((part.call, part.state));
            nonces.push(part.nonce);
        }
        times[1].push(began.elapsed());

        let mut seen = Seen::default();
        let began = Instant::now();
        assert!(nonces.iter().all(|nonce| seen.insert(nonce) == Ok(true)));
        times[2].push(began.elapsed());
    }
    println!("{parts} parts of {letters} letters");
    for (what, mut times) in ["seal", "open", "comes once"].into_iter().zip(times) {
        times.sort_unstable();
        println!("{what}: {} ns", times[RUNS / 2].as_nanos() / parts as u128);
    }
}
