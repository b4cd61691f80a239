//! Figures of the literature, drawn from the mechanisms of `dp_core`, and the one of docs/against-others.md:
//! `make figures`, or
//! `cargo run --release -p dp_figures`.
//!
//! `dp_figures [FOLDER [NAME ...]]` writes `NAME.svg` and, where it makes the numbers in it, `NAME.tsv`, into
//! `docs/figures` if no folder is given; all figures if no names are. `docs/figures.md` says what
//! they show. Noise is drawn by the mechanisms themselves, from seeds that are fixed, so that the
//! same files come out each time.

#![forbid(unsafe_code)]

mod distributions;
mod drawing;
mod estimate;
mod figure;
mod kamath_1;
mod kamath_3a;
mod kulesza;
mod kulesza_2;
mod kulesza_3;
mod kulesza_h;
mod lebeda_2;
mod lebeda_3;
mod peers;
mod words;

use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

use figure::Figure;

/// A figure: the name of its files, which one it is, and how it is made.
type Entry = (&'static str, &'static str, fn() -> Figure);

const FIGURES: [Entry; 10] = [
    (
        "kulesza-2-epsilon",
        "Kulesza et al., Figure 2, first panel",
        || kulesza_2::over_epsilon(kulesza::RUNS).figure_of_laplace(),
    ),
    (
        "kulesza-2-mean",
        "Kulesza et al., Figure 2, second panel",
        || kulesza_2::over_mean(kulesza::RUNS).figure(),
    ),
    (
        "kulesza-2-large-epsilon",
        "Kulesza et al., Figure 2, third panel",
        || kulesza_2::low_privacy(kulesza::RUNS).figure_of_low_privacy(),
    ),
    ("kulesza-3", "Kulesza et al., Figure 3", || {
        kulesza_3::data(kulesza::RUNS).figure()
    }),
    ("kulesza-h", "Kulesza et al., Appendix H", || {
        kulesza_h::data(kulesza_h::RUNS).figure()
    }),
    ("lebeda-2", "Lebeda, Figure 2", || {
        lebeda_2::data(lebeda_2::RUNS).figure()
    }),
    ("lebeda-3", "Lebeda, Figure 3", || {
        lebeda_3::data(lebeda_3::RUNS).figure()
    }),
    ("kamath-1", "Kamath et al., Figure 1", || {
        kamath_1::data(kamath_1::RUNS).figure()
    }),
    ("kamath-3a", "Kamath et al., Figure 3a", || {
        kamath_3a::data(kamath_3a::RUNS).figure()
    }),
    ("peers", "against others", peers::figure),
];

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().unwrap_or("docs/figures".to_owned()));
    let wanted: Vec<String> = arguments.collect();
    let names = FIGURES.map(|(name, ..)| name);
    if let Some(unknown) = wanted.iter().find(|name| !names.contains(&name.as_str())) {
        return Err(format!("there is no figure {unknown}, only: {}", names.join(", ")).into());
    }
    std::fs::create_dir_all(&folder)?;
    let chosen = |name: &str| wanted.is_empty() || wanted.iter().any(|it| it == name);
    for (name, what, make) in FIGURES.into_iter().filter(|(name, ..)| chosen(name)) {
        let start = Instant::now();
        make().write(&folder, name)?;
        let seconds = start.elapsed().as_secs_f64();
        eprintln!("{what}: {name}.svg, {seconds:.1} s");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    /// The repository keeps the numbers of each figure and not the picture; a page says what it shows.
    #[test]
    fn every_figure_has_its_numbers_and_a_page() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        let pages: String = ["figures.md", "accuracy.md", "against-others.md"]
            .iter()
            .map(|page| fs::read_to_string(docs.join(page)).unwrap())
            .collect();
        let mut kept: Vec<String> = fs::read_dir(docs.join("figures"))
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .filter_map(|file| file.strip_suffix(".tsv").map(str::to_owned))
            .collect();
        kept.sort();
        let mut names = FIGURES.map(|(name, ..)| name);
        names.sort_unstable();
        assert_eq!(kept, names);
        for name in names {
            let named = format!("`figures/{name}.svg` ([numbers](figures/{name}.tsv)):");
            assert!(pages.contains(&named), "{name}");
        }
    }
}
