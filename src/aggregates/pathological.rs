//! Means that can show a row: what `dp_mean` does for them alone.

use dp_core::encoding::grid::Grid;
use dp_core::mechanism::definition::Mechanism;
use dp_core::mechanism::mean::answer::MeanAnswer;
use dp_core::mechanism::mean::inputs::Mean;
use dp_core::mechanism::mean::pathological::cells::CoinedCounts;
use dp_core::mechanism::mean::pathological::device::{CoinedMean, Pathological};
use pgrx::pg_sys::Datum;

use crate::aggregates::shared::scalars::value;
use crate::call::aggregate::Aggregate;
use crate::call::group::state as state_of;
use crate::call::offset::word_of_group;
use crate::call::release::{release, with_coins};
use crate::pg::errors::{self, Refusal};
use crate::pg::fmgr::Call;
use crate::state::coined_cells::CoinedCells;

impl Aggregate<Mean> {
    /// A row, with the toss of its coin.
    ///
    /// # Safety
    /// `call` is a call of dp_mean's transition function, of a site that was found.
    pub unsafe fn row_with_coin(
        &self,
        call: Call,
        device: &Pathological,
    ) -> Result<Datum, Refusal> {
        match device {
            Pathological::Sums(mechanism) => {
                let steps = with_coins(|generator| mechanism.steps(value(call), generator));
                let grid = mechanism.grid().unwrap_or(Grid::NONE);
                // SAFETY: the caller guarantees it.
                unsafe { self.any_row(call, grid, steps) }
            }
            Pathological::Cells(mechanism) => {
                // SAFETY: the SQL declaration makes argument 0 a dp_state.
                let state = match unsafe { state_of(call) } {
                    // SAFETY: the same.
                    Some(datum) => unsafe { self.coined_cells(datum, &**mechanism) }?,
                    // SAFETY: the caller guarantees it.
                    None => CoinedCells::new(mechanism.line(unsafe { word_of_group(call) })),
                };
                let place = state.line().cell_of(value(call));
                let is_chosen = with_coins(|generator| mechanism.coin().toss(generator));
                // The executor copies it into the aggregate's own memory.
                Ok(state.add(place, is_chosen).into_datum())
            }
        }
    }

    /// The state of a group for this mechanism.
    unsafe fn coined_cells<'a>(
        &self,
        datum: Datum,
        mechanism: &dyn CoinedMean,
    ) -> Result<CoinedCells<'a>, Refusal> {
        // SAFETY: the SQL declaration makes it a dp_state.
        let state = unsafe { self.found(CoinedCells::of(datum), datum) }?;
        if !state.line().same_cells(&mechanism.line(0)) {
            return Err(errors::depends_on_rows(self.name, "mech"));
        }
        Ok(state)
    }

    /// A release of the group, or of no rows where there is no state.
    ///
    /// # Safety
    /// `call` is a call of a final function of dp_mean or dp_mean_and_count, of a site that was found.
    pub unsafe fn release_device(
        &self,
        call: Call,
        device: &Pathological,
    ) -> Result<MeanAnswer, Refusal> {
        match device {
            // SAFETY: the caller guarantees it.
            Pathological::Sums(mechanism) => unsafe { self.release_state(call, mechanism) },
            Pathological::Cells(mechanism) => {
                // SAFETY: the SQL declaration makes argument 0 a dp_state.
                let counts = match unsafe { state_of(call) } {
                    // SAFETY: the same.
                    Some(datum) => unsafe { self.coined_cells(datum, &**mechanism) }?.counts(),
                    None => CoinedCounts::new(mechanism.line(0)),
                };
                Ok(release(&**mechanism, &counts))
            }
        }
    }
}
