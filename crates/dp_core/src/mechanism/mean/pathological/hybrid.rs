//! A mean that is unbiased for all rows: clipped with noise, and what the clipping cut off is shown.
//!
//! The proof: docs/proofs/mean-hybrid.md.

use crate::encoding::grid::{self, Bounds};
use crate::error::ParameterError;
use crate::mechanism::definition::{Entry, Info, Plan};
use crate::mechanism::mean::inputs::Mean;
use crate::mechanism::mean::parameters::{PUBLIC_N, REPLACE};
use crate::mechanism::mean::pathological::device::Pathological;
use crate::mechanism::mean::pathological::sampled::{ClippedPart, SampledMean};
use crate::mechanism::mean::symmetric::APPROXIMATE;
use crate::privacy::cost::Loss;
use crate::request::budget::{DELTA, outside};
use crate::request::parameter::{Parameter, ParameterKind};
use crate::sampler::staircase::Staircase;

pub(crate) const ENTRY: Entry<Mean> = Entry {
    info: Info {
        name: "hybrid",
        what: "Kamath et al. 2023, Proposition 3.7: no bias for any rows, and shows rows with \
               probability delta; refused unless a superuser sets `dp_mean.allow_pathological`",
        guarantee: APPROXIMATE,
        loss: Loss::Approximate,
        neighbours: REPLACE,
        parameters: &[DELTA, PUBLIC_N, MOMENT, PSI],
        example: "hybrid(delta=1e-9, n=10000, moment=4, psi=10)",
        source: "Kamath, Mouzakis, Regehr, Singhal, Steinke, Ullman 2023, A bias-accuracy-privacy \
                 trilemma for statistical estimation: proposition 3.7, a device of proofs; with the \
                 noise of Geng, Viswanath 2014, The optimal mechanism in differential privacy",
    },
    plan: Some(Plan {
        text: "hybrid(delta={delta}, n={n}, moment={moment}, psi={psi})",
        needs: "a public number of rows; lo and hi between which their mean lies; a moment above 2; \
                the consent to show rows",
    }),
    // The clip radius `c` is the one with the least bound on the variance, for rows with
    // `E|X - mean|^moment <= psi^moment` and a mean between lo and hi. It is that of proposition 3.7,
    // with the variance of this noise in the place of Laplace's, `2 / epsilon^2`.
    //
    // **Why it is private** ((epsilon, delta); neighbours by replacing one row). Unless the replaced
    // row's tail is chosen, which has probability at most delta, the two sums differ by the heads of
    // one row: at most G, which staircase noise with steps of G covers (see `clipped`). A tail that is
    // chosen shows its row.
    build: |request| {
        let ((delta, coin), rows) = (request.coin()?, request.rows()?);
        let (moment, psi) = match (
            request.choice.get(MOMENT.name),
            request.choice.get(PSI.name),
        ) {
            (Some(moment), _) if !(moment > 2.0 && moment <= 1000.0) => {
                return Err(outside(&MOMENT));
            }
            (_, Some(psi)) if !(1e-290..=1e290).contains(&psi) => return Err(outside(&PSI)),
            (Some(moment), Some(psi)) => (moment, psi),
            _ => {
                return Err(ParameterError::new(
                    "mech",
                    "does not say how heavy the tails of the rows are",
                    "Give both moment and psi, as in hybrid(delta=1e-9, n=10000, moment=4, psi=10).",
                ));
            }
        };
        let (bounds, epsilon) = (request.bounds()?, request.row_epsilon()?);
        let noise = Staircase::least(grid::STEPS, epsilon);
        let spread = rows * (moment - 2.0) / (2.0 * moment.powi(2) * delta * noise.variance());
        let radius = psi * spread.powf(1.0 / moment);
        let clipped = Bounds::new(Some(bounds.lo() - radius), Some(bounds.hi() + radius));
        Mean::of_pathological(Pathological::Sums(SampledMean {
            bounds: clipped.map_err(|_| outside(&PSI))?,
            coin,
            rows,
            heads: Some(Box::new(ClippedPart {
                noise,
                radius,
                moment,
                psi,
            })),
        }))
    },
};

const MOMENT: Parameter = Parameter {
    name: "moment",
    kind: ParameterKind::Number,
    domain: "2 < moment <= 1000",
    description: "the order of a moment of the rows about their mean that is bounded",
};

const PSI: Parameter = Parameter {
    name: "psi",
    kind: ParameterKind::Number,
    domain: "1e-290 <= psi <= 1e290",
    description: "a public bound on that moment's root, in the rows' unit: \
                  E|x - mean|^moment <= psi^moment",
};
