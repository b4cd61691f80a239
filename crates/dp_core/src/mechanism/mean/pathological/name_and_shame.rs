//! A mean that is unbiased for all rows, and shows some of them.
//!
//! The proof: docs/proofs/mean-name-and-shame.md.

use crate::mechanism::definition::{Entry, Info, Plan};
use crate::mechanism::mean::inputs::Mean;
use crate::mechanism::mean::parameters::{PUBLIC_N, REPLACE};
use crate::mechanism::mean::pathological::device::Pathological;
use crate::mechanism::mean::pathological::sampled::SampledMean;
use crate::privacy::cost::Loss;
use crate::request::budget::DELTA;

pub(crate) const ENTRY: Entry<Mean> = Entry {
    info: Info {
        name: "name_and_shame",
        what: "Proposition 3.6: as `hybrid`, without the noise",
        guarantee: "(0, delta)-differential privacy, by showing a row with probability delta; \
                    refused unless dp_mean.allow_pathological is on",
        loss: Loss::Approximate,
        neighbours: REPLACE,
        parameters: &[DELTA, PUBLIC_N],
        example: "name_and_shame(delta=1e-9, n=10000)",
        source: "Kamath, Mouzakis, Regehr, Singhal, Steinke, Ullman 2023, A bias-accuracy-privacy \
                 trilemma for statistical estimation: proposition 3.6, a device of proofs",
    },
    plan: Some(Plan {
        text: "name_and_shame(delta={delta}, n={n})",
        needs: "a public number of rows; the consent to show rows",
    }),
    // Each row with probability delta, as it is, over delta.
    //
    // **Why it is private** ((0, delta); neighbours by replacing one row). The replaced row is not
    // among those that come up but with probability at most delta, and then the answer is the same
    // function of the other rows. That is all: whose row comes up is not protected.
    build: |request| {
        let (_, coin) = request.coin()?;
        let rows = request.rows()?;
        Mean::of_pathological(Pathological::Sums(SampledMean {
            bounds: request.bounds()?,
            coin,
            rows,
            heads: None,
        }))
    },
};
