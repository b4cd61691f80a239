//! The PostgreSQL face of `dp_mean`: it reads arguments, feeds integers to states, and asks the
//! mechanisms of `dp_core` for answers. The SQL that declares all of it is in `sql/`.

mod aggregates;
mod call;
mod citus;
mod functions;
mod gate;
mod ledger;
mod pg;
mod plan;
mod safe_functions;
mod state;
mod store;
#[cfg(feature = "testing")]
mod testing;
#[cfg(feature = "testing")]
mod testing_citus;
mod types;

pgrx::pg_module_magic!(name, version);

/// PostgreSQL calls it when it loads the library.
#[pgrx::pg_guard]
#[allow(non_snake_case)]
pub extern "C-unwind" fn _PG_init() {
    pg::settings::define();
    pg::counters::install();
    dp_core::pause::look_at(|| {
        pgrx::check_for_interrupts!();
    });
    gate::install();
    #[cfg(feature = "testing")]
    testing::loaded();
}

/// Settings of the server that pgrx-tests starts for the `#[pg_test]`s.
#[cfg(all(test, feature = "pg_test"))]
mod pg_test {
    pub fn setup(_options: Vec<&str>) {}

    pub fn postgresql_conf_options() -> Vec<&'static str> {
        vec!["shared_preload_libraries = 'dp_mean'"]
    }
}
