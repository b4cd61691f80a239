//! What the means without bounds share: where the rows lie, found from how they fall into bins.
//!
//! More of it: docs/proofs/location.md.

use crate::accuracy::forecast::{Forecast, Planned, bias_of_clamping};
use crate::encoding::cells::{CellCounts, Content, Line, MOST, STEPS};
use crate::error::ParameterError;
use crate::mechanism::mean::parameters::SCALE;
use crate::privacy::epsilon::Epsilon;
use crate::random::{Bits, add_noise, noted};
use crate::request::budget::{self, DELTA, outside};
use crate::request::checked::Request;
use crate::request::parameter::{Parameter, ParameterKind};
use crate::sampler::staircase::Staircase;
use crate::sampler::uniform::below;

/// The parameter `bin`.
pub(crate) const BIN: Parameter = Parameter {
    name: "bin",
    kind: ParameterKind::Number,
    domain: "scale / 10 <= bin <= 1000 * scale",
    description: "the width of the bins that find the location of the mean, in the rows' unit; by \
                  default 10 * scale",
};

/// The parameter `clip`.
pub(crate) const CLIP: Parameter = Parameter {
    name: "clip",
    kind: ParameterKind::Number,
    domain: "bin / 2 <= clip <= 6 * bin",
    description: "rows are clipped this far from the location found, in the rows' unit; rounded up to \
                  a tenth of a bin; by default 1.5 * bin. The noise is proportional to it",
};

/// The parameter `share`.
pub(crate) const SHARE: Parameter = Parameter {
    name: "share",
    kind: ParameterKind::Number,
    domain: "0.01 <= share <= 0.9",
    description: "the part of eps that finds the location; by default 0.125. More finds it among fewer \
                  rows, and leaves less for the mean",
};

/// Parameters that say what no mean without bounds can do.
pub(crate) const NO_MU: Parameter = Parameter {
    name: budget::MU.name,
    kind: ParameterKind::Number,
    domain: "none",
    description: "refused: without bounds no unbiased mean is Gaussian differentially private",
};

/// See [`NO_MU`].
pub(crate) const NO_RHO: Parameter = Parameter {
    name: budget::RHO.name,
    kind: ParameterKind::Number,
    domain: "none",
    description: "refused: without bounds no unbiased mean is zero-concentrated differentially \
                  private",
};

/// What such a mean may be asked for: see the parameters.
#[derive(Clone, Copy, Debug)]
pub struct Bins {
    /// Cells in a bin.
    pub bin: u32,
    /// Cells between the ends that rows are clipped to.
    pub span: u32,
    /// The width of a cell.
    pub width: f64,
}

impl Bins {
    /// Bins of this width, and rows clipped this far from the middle of one, rounded up to where a
    /// cell ends: the clipped sum is then known from the cells, wherever the location is.
    ///
    /// That is a whole bin a cell where `clip` is an odd number of half bins, half a bin where it
    /// is an even one, and else a tenth.
    pub fn new(bin: f64, clip: f64) -> Self {
        let halves = 2.0 * clip / bin;
        let (cells, span) = if halves.fract() != 0.0 {
            // A clip that was meant to be a tenth may be a digit above it.
            (10, 2 * (5.0 * halves - 1e-9).ceil() as u32)
        } else if halves % 2.0 == 1.0 {
            (1, halves as u32)
        } else {
            (2, 2 * halves as u32)
        };
        Self {
            bin: cells,
            span,
            width: bin / f64::from(cells),
        }
    }

    /// The grid steps, halves of a cell's, between the ends that rows are clipped to: below 2^32.
    pub fn steps(&self) -> u64 {
        2 * STEPS * u64::from(self.span)
    }

    /// The value of that distance.
    pub fn distance(&self) -> f64 {
        f64::from(self.span) * self.width
    }

    /// Cells with a random offset: a word, uniform, that does not depend on the rows. The offset is
    /// uniform over a bin.
    pub fn line(&self, word: u64) -> Line {
        let fraction = (word >> 11) as f64 / (1u64 << 53) as f64;
        Line::new(self.width, fraction * f64::from(self.bin))
    }

    /// The cell at whose lower edge rows are clipped from below, where the location is in this bin.
    fn first(&self, bin: i64) -> i64 {
        let (cells, span) = (i64::from(self.bin), i64::from(self.span));
        // Both are even, or both are odd.
        bin * cells + (cells - span) / 2
    }
}

/// More occupied cells than about this many, and no location is looked for.
const CROWD: u32 = 1 << 17;

/// Of delta, what the test for a crowd of cells may take.
const CROWD_DELTA: f64 = 0.125;

/// The coarse step: the bin with the most rows, where there is one with enough of them.
///
/// Algorithm 1 of Kamath, Mouzakis, Regehr, Singhal, Steinke and Ullman (2023), a stable histogram
/// with a random offset, on integers. The bins that hold a row get two-sided geometric noise; of
/// those that then reach a threshold the one with the most is the location, and a tie is broken at
/// random. If there is none, there is no location.
///
/// **Why it is private** ((epsilon, delta), all of it for this step; the offset is public). Say one
/// row is added: the votes of one bin rise by 1.
///
/// * If that bin holds other rows, the noise of scale `1 / votes` makes each of its noisy votes at
///   most `e^votes` times likelier, and nothing else changes.
/// * If not, that bin is new: with noise `Z` it is seen with probability `P(1 + Z >= threshold)`,
///   which is at most 7/8 delta by the choice of the threshold, and otherwise nothing changes.
///
/// So the noisy votes that reach the threshold, with their bins, are (votes, 7/8 delta)-private; the
/// location is a function of them, and of coins. Where a row is *replaced*, two bins change, and
/// `votes` is halved for it; of the two directions each has at most one bin that is new.
///
/// **Memory.** Bins are at most as many as rows, but no memory may grow with rows alone, and where it
/// ends must not show a row. So no location is looked for where more than about 2^17 cells are
/// occupied: their number, which one row changes by at most 1, is compared with two-sided geometric
/// noise at `crowd`, a small part of epsilon. At 2^18 cells ([`MOST`]) rows are left out, and there
/// never is a location; a neighbour with just 2^18 would find one only if the noise fell below -2^17,
/// with probability at most `e^(-2^17 crowd)`, which is delta / 8 by the choice of `crowd`.
///
/// **Why it is unbiased.** Mirror the rows about their distribution's centre: cells, votes, noise and ties are
/// mirrored with them, the offset is as likely as its mirror image, so the location, if there is one,
/// is as likely to lie to the left of the centre as to the right (lemmas 4.5 and 4.6 there). Without
/// the random offset it would lean towards multiples of the bin's width (Karwa and Vadhan 2018).
#[derive(Clone, Debug)]
pub struct Location {
    bins: Bins,
    crowd: Staircase,
    votes: Staircase,
    threshold: i128,
    /// The epsilons of the noise on the number of cells and on votes.
    crowd_scale: f64,
    votes_scale: f64,
}

impl Location {
    /// `bins`, with `epsilon` to spend. A row changes that many bins: 1 if it is added or
    /// removed, 2 if it is replaced.
    ///
    /// # Errors
    /// An epsilon too small to tell a crowd of cells by.
    pub fn new(
        bins: Bins,
        epsilon: Epsilon,
        delta: f64,
        changed: u32,
    ) -> Result<Self, ParameterError> {
        let crowd = (1.0 / (CROWD_DELTA * delta)).ln() / f64::from(CROWD);
        let parts = epsilon.split(crowd);
        let (crowd, votes) = parts
            .filter(|(crowd, votes)| crowd.value() < votes.value())
            .ok_or_else(too_small)?;
        let votes = if changed == 2 { votes.half() } else { votes };
        Ok(Self {
            bins,
            crowd: Staircase::two_sided_geometric(crowd),
            votes: Staircase::two_sided_geometric(votes),
            threshold: threshold(votes.value(), (1.0 - CROWD_DELTA) * delta),
            crowd_scale: crowd.value(),
            votes_scale: votes.value(),
        })
    }

    /// The fewest noisy votes that make a location.
    pub fn threshold(&self) -> i128 {
        self.threshold
    }

    /// What it counts.
    pub fn bins(&self) -> &Bins {
        &self.bins
    }

    /// The cell at whose lower edge rows are clipped from below, or `None` where there is no location.
    pub fn find<B: Bits>(&self, histogram: &CellCounts, bits: &mut B) -> Option<i64> {
        let noise = self.crowd.draw(bits).value;
        let cells = add_noise(histogram.cells.count() as i128, noise, bits);
        if histogram.full || cells > i128::from(CROWD) {
            return None;
        }
        let bin_of = |cell: i64| cell.div_euclid(i64::from(self.bins.bin));
        let (mut most, mut location, mut ties) = (self.threshold, None, 0);
        // The cells of a bin follow one another.
        let mut cells = histogram.cells.iter().peekable();
        while let Some((cell, Content { count, .. })) = cells.next() {
            let (bin, mut votes) = (bin_of(cell), count);
            while let Some((_, more)) = cells.next_if(|(cell, _)| bin_of(*cell) == bin) {
                votes = votes.wrapping_add(more.count);
            }
            let votes = i128::from(votes);
            let noisy = votes.saturating_add(self.votes.draw(bits).value);
            let noisy = noted(&[votes, i128::from(bin)], noisy, bits);
            if noisy > most || noisy == most && location.is_none() {
                (most, location, ties) = (noisy, Some(bin), 1);
            } else if noisy == most {
                // Each of those that tie has the same chance to be the one.
                ties += 1;
                if below(ties, bits) == 0 {
                    location = Some(bin);
                }
            }
        }
        location.map(|bin| self.bins.first(bin))
    }
}

impl Location {
    /// How far from the mean of the population the answer may be, for rows of a symmetric distribution whose
    /// standard deviation `psi`, or else half a bin, bounds.
    ///
    /// Clipping makes no bias on average over the locations, but for each location one of the size that it
    /// has for any distribution: `clip - bin` from the mean, for a location within a bin of it.
    pub(crate) fn forecast(&self, planned: &Planned, noise_sd: f64) -> Forecast {
        let bin = f64::from(self.bins.bin) * self.bins.width;
        let slack = self.bins.distance() / 2.0 - bin;
        let clipping = planned.moment.map_or(0.0, |(moment, psi)| {
            if slack > 0.0 {
                bias_of_clamping(moment, psi, slack)
            } else {
                psi
            }
        });
        Forecast {
            noise_sd,
            bias: 0.0,
            rmse: planned.sampling_sd(bin).hypot(noise_sd).hypot(clipping),
            null: self.no_location(planned.rows, planned.moment.map(|(_, psi)| psi / bin)),
        }
    }

    /// A bound on the probability that there is no location among that many rows of any distribution whose standard
    /// deviation is at most `spread` bins: to leading order in `1 / rows`.
    ///
    /// Two bins at most meet the rows within half a bin of the mean, `1 - 4 spread^2` of all
    /// (Chebyshev), so one has half of them, `p`. It has fewer than `p n - m` rows with probability at
    /// most `exp(-2 m^2 / n)` (Hoeffding), and then misses the threshold if its noise is below
    /// `threshold - (p n - m)`. Besides, few cells are taken for a crowd now and then.
    pub fn no_location(&self, rows: f64, spread: Option<f64>) -> f64 {
        let share = (1.0 - 4.0 * spread.unwrap_or(0.0).powi(2)) / 2.0;
        if share <= 0.0 {
            return 1.0;
        }
        let tail = |scale: f64, above: f64| (-scale * above.max(0.0)).exp();
        let missed = (1..100).map(|part| {
            let fewer = share * rows * f64::from(part) / 100.0;
            let above = share * rows - fewer - self.threshold as f64;
            (-2.0 * fewer * fewer / rows).exp() + tail(self.votes_scale, above)
        });
        let crowd = tail(self.crowd_scale, f64::from(CROWD) - 4.0 * rows.sqrt());
        (missed.fold(1.0, f64::min) + crowd).min(1.0)
    }
}

const _: () = assert!(MOST == 2 * CROWD as usize);

/// The least threshold with `P(1 + Z >= threshold) <= delta`, for two-sided geometric noise:
/// `P(Z >= k) = e^(-epsilon k) / (1 + e^-epsilon)` for a `k` above 0.
fn threshold(epsilon: f64, delta: f64) -> i128 {
    let k = -(delta.ln() + (-epsilon).exp().ln_1p()) / epsilon;
    // More than the roundings above could have taken away. At least 2: so that `k` is above 0.
    ((k * (1.0 + 1e-12) + 1e-9).ceil() as i128).max(1) + 1
}

/// The parameters that all of them take, checked.
pub(crate) struct Wanted {
    pub bins: Bins,
    pub delta: f64,
    /// What of epsilon finds the location, and the rest.
    pub epsilons: (Epsilon, Epsilon),
}

impl Request<'_> {
    /// The parameters of a mean without bounds.
    pub(crate) fn wanted(&self) -> Result<Wanted, ParameterError> {
        let get = |parameter: &Parameter| self.choice.get(parameter.name);
        if get(&NO_MU).or(get(&NO_RHO)).is_some() {
            return Err(impossible(
                "under Gaussian or zero-concentrated differential privacy",
            ));
        }
        if get(&DELTA).is_none_or(|delta| delta == 0.0) {
            return Err(impossible("with delta = 0"));
        }
        let scale = match get(&SCALE) {
            Some(scale) if (1e-290..=1e290).contains(&scale) => scale,
            Some(_) => return Err(outside(&SCALE)),
            None => {
                return Err(ParameterError::new(
                    "mech",
                    "does not say how far the rows spread",
                    "Give a public bound on their standard deviation, as in symmetric(delta=1e-6, \
                     scale=10): too large a one costs accuracy in proportion, too small a one may \
                     leave no answer.",
                ));
            }
        };
        let within =
            |parameter: &Parameter, default: f64, least: f64, most: f64| match get(parameter) {
                None => Ok(default),
                Some(value) if (least..=most).contains(&value) => Ok(value),
                Some(_) => Err(outside(parameter)),
            };
        let bin = within(&BIN, 10.0 * scale, scale / 10.0, 1000.0 * scale)?;
        let clip = within(&CLIP, 1.5 * bin, bin / 2.0, 6.0 * bin)?;
        let share = within(&SHARE, 0.125, 0.01, 0.9)?;
        let epsilon = self.row_epsilon()?;
        let epsilons = epsilon.split(share * epsilon.value());
        Ok(Wanted {
            bins: Bins::new(bin, clip),
            delta: self.row_delta()?.ok_or_else(|| outside(&DELTA))?,
            epsilons: epsilons.ok_or_else(too_small)?,
        })
    }
}

fn too_small() -> ParameterError {
    ParameterError::new(
        "eps",
        "is too small to find the location of the mean with this delta",
        "Give a larger eps, or a mechanism that knows its bounds, such as hourglass.",
    )
}

/// The error for what cannot be: theorems 1.5 and D.5 of Kamath et al. (2023).
fn impossible(how: &str) -> ParameterError {
    ParameterError::new(
        "mech",
        format!("asks for an unbiased mean of unbounded rows {how}, which cannot exist"),
        "Give a delta above 0, as in symmetric(delta=1e-6, scale=10); or give bounds, lo and hi, \
         and a mechanism for bounded rows: smooth, which is unbiased if all rows lie between them, \
         or hourglass.",
    )
}
