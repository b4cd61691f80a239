# shellcheck shell=bash
# What the scripts share: finding or installing PostgreSQL, building the library, and throw-away servers
# that never touch the directories or databases of an installed PostgreSQL.

set -euo pipefail
umask 022
cd "$(dirname "${BASH_SOURCE[0]}")/.."
REPO=$PWD
EXTENSION=dp_mean
VERSION=$(sed -n "s/^default_version *= *'\(.*\)'.*/\1/p" "$EXTENSION.control")
MAY_INSTALL=yes # what is missing, with apt-get
MAJORS="18 17 16 15"

# The caller's habits are not the throw-away servers' and their clients'.
for variable in "${!PG@}"; do
	case $variable in PG | PG_CONFIG) ;; *) unset "$variable" ;; esac
done

say() { printf '==> %s\n' "$*" >&2; }

die() {
	printf 'error: %s\n' "$*" >&2
	exit 1
}

# A temporary folder for everything that is not kept; it and all servers go when the script ends, however it ends.
WORK=$(mktemp -d "${TMPDIR:-/tmp}/$EXTENSION.XXXXXX")
WORK=$(cd "$WORK" && pwd -P)
chmod 755 "$WORK"
trap 'clean_up $?' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

clean_up() {
	trap '' INT TERM HUP
	local data job
	for job in $(jobs -p); do kill "$job" 2>/dev/null || true; done
	for data in "$WORK"/*/data; do
		[ -d "$data" ] || continue
		if [ "$1" -ne 0 ] && [ -s "$data/../log" ]; then
			say "the end of the log of the server '$(basename "$(dirname "$data")")'"
			tail -n 40 "$data/../log" >&2
		fi
		if [ -f "$data/postmaster.pid" ]; then
			# Each server by its own program: they may be of two versions.
			as_server "$(find -H "$data/../root" -path '*/bin/pg_ctl' -print -quit)" stop -D "$data" -m immediate >/dev/null || true
		fi
	done
	rm -rf "$WORK"
	if declare -F at_end >/dev/null; then at_end "$1"; fi
	exit "$1"
}

# Runs a command with which a signal to this script does not have to wait, as bash would otherwise.
run() {
	"$@" <&0 &
	wait $!
}

# quietly WHAT COMMAND...: runs it with a line that says how far it is; what it prints is shown only if it fails.
quietly() {
	local what=$1 log=$WORK/quiet.log start=$SECONDS pid
	shift
	"$@" <&0 >"$log" 2>&1 &
	pid=$!
	if [ -t 2 ]; then
		while kill -0 $pid 2>/dev/null; do
			printf '\r==> %s: %d crates, %d s' "$what" "$(grep -c '^ *Compiling ' "$log" || true)" $((SECONDS - start)) >&2
			sleep 0.5
		done
		printf '\r\033[K' >&2
	else
		say "$what"
	fi
	wait $pid || { cat "$log" >&2; die "failed: $what"; }
	[ ! -t 2 ] || say "$what: done in $((SECONDS - start)) s"
}

## Packages

as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		die "this needs root, and there is no sudo: run as root: $*"
	fi
}

apt_get() {
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::Retries=2 -o Acquire::http::Timeout=30 "$@"
}

apt_update() {
	[ "$MAY_INSTALL" = yes ] || die "no PostgreSQL with its server headers was found: PG_CONFIG=... or PG=... chooses one"
	command -v apt-get >/dev/null ||
		die "only Debian and Ubuntu are set up automatically: install PostgreSQL with its server headers, and try again"
	say "reading the package lists with apt-get$([ "$(id -u)" -eq 0 ] || echo ' (through sudo)')"
	apt_get update >&2 || true # what fails here fails again, and is told, below
}

apt_install() {
	apt_update
	say "installing $*"
	apt_get install -y --no-install-recommends "$@" >"$WORK/apt.log" 2>&1 || {
		tail -n 20 "$WORK/apt.log" >&2
		die "apt-get could not install: $*. If the lines above speak of fetching or resolving, the network is the trouble;" \
			"a major version that the distribution lacks is at https://apt.postgresql.org"
	}
}

## PostgreSQL: PG_CONFIG, then PG=major, then the newest installed, then the distribution's own

has_server() { [ -x "$("$1" --bindir)/postgres" ] && [ -x "$("$1" --bindir)/initdb" ]; }
has_headers() { [ -f "$("$1" --includedir-server)/postgres.h" ]; }

# The newest installed PostgreSQL that passes the given checks.
newest_pg() {
	local major candidate check
	for major in $MAJORS; do
		candidate=/usr/lib/postgresql/$major/bin/pg_config
		[ -x "$candidate" ] || continue
		for check in "$@"; do "$check" "$candidate" || continue 2; done
		echo "$candidate"
		return
	done
}

# The major version that the distribution's package `postgresql` stands for.
default_major() {
	apt-cache depends postgresql 2>/dev/null | sed -n 's/.*Depends: postgresql-\([0-9]*\)$/\1/p' | head -n 1 || true
}

# Sets PG_CONFIG and MAJOR.
find_pg() {
	local major=${PG:-}
	[ -z "$major" ] || supported "$major"
	if [ -z "${PG_CONFIG:-}" ] && [ -z "$major" ]; then
		PG_CONFIG=$(newest_pg has_server has_headers)
		if [ -z "$PG_CONFIG" ] && command -v pg_config >/dev/null && has_server pg_config && has_headers pg_config; then
			PG_CONFIG=pg_config
		fi
		[ -n "$PG_CONFIG" ] || major=$(newest_pg has_server | cut -d/ -f5)
	fi
	if [ -n "${PG_CONFIG:-}" ]; then
		PG_CONFIG=$(command -v "$PG_CONFIG" || die "there is no PG_CONFIG=$PG_CONFIG")
		has_headers "$PG_CONFIG" ||
			die "$PG_CONFIG has no server headers (on Debian and Ubuntu they are in postgresql-server-dev-NN)"
	else
		if [ -z "$major" ]; then
			major=$(default_major)
			[ -n "$major" ] || { apt_update && major=$(default_major); }
			[ -n "$major" ] || die "apt-get knows no PostgreSQL; if lines above speak of resolving, the network is the trouble"
		fi
		PG_CONFIG=/usr/lib/postgresql/$major/bin/pg_config
		if [ ! -x "$PG_CONFIG" ] || ! has_server "$PG_CONFIG" || ! has_headers "$PG_CONFIG"; then
			say "PostgreSQL $major is needed; its packages may also set up the distribution's own database service"
			apt_install "postgresql-$major" "postgresql-server-dev-$major"
		fi
	fi
	MAJOR=$("$PG_CONFIG" --version | sed 's/^PostgreSQL \([0-9]*\).*/\1/')
	supported "$MAJOR"
}

supported() {
	case " $MAJORS " in *" $1 "*) ;; *) die "there is no dp_mean for PostgreSQL $1, only for: $MAJORS" ;; esac
}

## Building

find_rust() {
	local wanted
	PATH=$PATH:$HOME/.cargo/bin
	wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
	command -v cargo >/dev/null ||
		die "Rust is missing: https://rustup.rs tells how to get it (dp_mean needs $wanted or newer), then try again"
	printf '%s\n%s\n' "$wanted" "$(cargo --version | cut -d' ' -f2)" | sort -VC ||
		die "$(cargo --version) is too old, dp_mean needs $wanted or newer: rustup update (https://rustup.rs)"
}

# Everything that a build needs: Rust, PostgreSQL with its headers, a linker, and libclang, which reads the headers.
find_build_tools() {
	local missing=()
	find_rust
	find_pg
	command -v cc >/dev/null || missing+=(gcc libc6-dev)
	[ -n "${LIBCLANG_PATH:-}" ] || ldconfig -p 2>/dev/null | grep -q 'libclang[-.]' ||
		compgen -G '/usr/lib/llvm-*/lib/libclang*.so*' >/dev/null || missing+=(libclang-dev)
	[ ${#missing[@]} -eq 0 ] || apt_install "${missing[@]}"
}

library() { echo "$REPO/target/pg$MAJOR/$1/lib$EXTENSION.so"; }

# build PROFILE...: the library of these profiles, release or testing, at the paths that `library` prints. All majors are
# built in one folder, where they share most of what they depend on, and then put aside.
build() {
	local profile
	quietly "building $EXTENSION $VERSION for PostgreSQL $MAJOR ($*)" compile "$@"
	for profile; do install -D "target/$profile/lib$EXTENSION.so" "$(library "$profile")"; done
}

# compile PROFILE...: several at once, as the end of each keeps one core busy and no more.
compile() {
	local profile job jobs=() status=0 what by
	trap 'kill $(jobs -p) 2>/dev/null; exit 143' TERM
	for profile; do
		# For tests, with the tests inside a backend: they share this library, and all that it depends on, if they are named here.
		what=(--lib --features "pg$MAJOR") by=without_paths
		[ "$profile" = release ] || what=(--lib --tests --features "pg$MAJOR,pg_test") by=
		$by env PGRX_PG_CONFIG_PATH="$PG_CONFIG" cargo build --locked --package "$EXTENSION" --profile "$profile" \
			--no-default-features "${what[@]}" --target-dir target &
		jobs+=($!)
	done
	for job in "${jobs[@]}"; do wait "$job" || status=$?; done
	return $status
}

# without_paths COMMAND...: runs cargo so that what it builds in the current directory names no path of this machine: the same
# source, PostgreSQL and Rust give the same bytes.
without_paths() {
	local separator=$'\x1f' flags home=${CARGO_HOME:-$HOME/.cargo}
	flags=--remap-path-prefix=$PWD=$EXTENSION$separator--remap-path-prefix=$home=cargo
	flags+=$separator'--cfg=poly1305_backend="soft"' # as in .cargo/config.toml, which these flags take the place of
	env -u RUSTFLAGS CARGO_ENCODED_RUSTFLAGS="$flags" CFLAGS="-ffile-prefix-map=$PWD=$EXTENSION -ffile-prefix-map=$home=cargo" "$@"
}

# no_paths LIBRARY: that it names no folder of who built it.
no_paths() {
	local path
	for path in "$PWD" "$REPO" "${CARGO_HOME:-$HOME/.cargo}" "$HOME"; do
		[ "$path" != / ] || continue
		if grep -aqF "$path/" "$1"; then die "$1 names a folder of this machine: $path"; fi
	done
}

# ship FILE: the library as packages have it, into this file, from the sources in the current directory.
ship() {
	quietly "building $EXTENSION $VERSION for PostgreSQL $MAJOR, to ship" without_paths env PGRX_PG_CONFIG_PATH="$PG_CONFIG" \
		cargo build --locked --package "$EXTENSION" --lib --release --no-default-features --features "pg$MAJOR" --target-dir target/ship
	install -D "target/ship/release/lib$EXTENSION.so" "$1"
	strip --strip-unneeded "$1"
	no_paths "$1"
}

# sql_script COMMAND FILE...: a script that only this command can run, of these files, as scripts/sql.awk puts them together.
sql_script() {
	printf '\\echo Use "%s" to load this file. \\quit\n' "$1"
	awk -f scripts/sql.awk sql/phrases.sql "${@:2}"
}

# subjects [VERSION]: the files of sql/subjects in their order; of a version, those that came with it, or whose aggregates
# changed, which are replaced.
subjects() {
	local subject since how
	while read -r subject since how; do
		case $subject in '' | '#'*) continue ;; esac
		if [ -z "${1:-}" ]; then
			echo "sql/$subject.sql"
		elif [ "$since" = "$1" ]; then
			echo "replace=$([ "$how" = replaced ] && echo 1 || echo 0) sql/$subject.sql"
		fi
	done <sql/subjects
}

# place LIBRARY LIBDIR EXTENSIONDIR: what an installation is made of. An update to this version ends with the subjects
# that came with it; the scripts of older versions are kept whole.
place() {
	local script made
	install -d "$2" "$3"
	install -m 755 "$1" "$2/$EXTENSION.so"
	install -m 644 "$EXTENSION.control" sql/upgrade/*.sql "$3/"
	made=$3/$EXTENSION--$VERSION.sql
	# shellcheck disable=SC2046 # names without blanks
	sql_script "CREATE EXTENSION $EXTENSION" $(subjects) >"$made"
	chmod 644 "$made"
	for script in sql/upgrade/"$EXTENSION"--*--"$VERSION.sql"; do
		made=$3/${script##*/}
		# shellcheck disable=SC2046
		sql_script "ALTER EXTENSION $EXTENSION UPDATE" "$script" $(subjects "$VERSION") >"$made"
		chmod 644 "$made"
	done
}

## Python packages, from PyPI

# pip_fetch download|install REQUIREMENTS [OPTION...]: wheels with the hashes that the file names, and nothing else.
pip_fetch() {
	local what=$1 requirements=$2
	shift 2
	python3 -m pip --version >/dev/null 2>&1 || apt_install python3-pip
	PIP_ROOT_USER_ACTION=ignore python3 -m pip "$what" --quiet --disable-pip-version-check --no-deps --require-hashes --only-binary=:all: \
		--requirement "$requirements" "$@" >&2 || die "pip could not $what what $requirements names; is the network there?"
}

# python_packages REQUIREMENTS: a folder for PYTHONPATH with these packages, made once for each version of the file and of
# Python. Nothing is installed.
python_packages() {
	local dir
	command -v python3 >/dev/null || apt_install python3 python3-pip
	dir=$REPO/target/python/$(python3 -c 'import sys; print(sys.implementation.cache_tag)')-$(cksum <"$1" | cut -d' ' -f1)
	if [ ! -d "$dir" ]; then
		say "fetching what $1 names from PyPI"
		pip_fetch install "$1" --target "$WORK/python"
		mkdir -p "${dir%/*}"
		mv "$WORK/python" "$dir"
	fi
	echo "$dir"
}

# python_venv REQUIREMENTS: a virtual environment with exactly these packages, made anew when the file or Python changes.
# The file is complete, with hashes (scripts/pin), and is installed without looking for what else a package names.
python_venv() {
	local dir
	python3 -c 'import ensurepip, venv' 2>/dev/null || apt_install python3 python3-venv
	dir=$REPO/target/python/venv-$(python3 -c 'import sys; print(sys.implementation.cache_tag)')-$(cksum <"$1" | cut -d' ' -f1)
	if [ ! -f "$dir/ready" ]; then
		say "fetching what $1 names from PyPI"
		rm -rf "$dir"
		python3 -m venv "$dir"
		"$dir/bin/pip" install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement "$1" >&2 ||
			die "pip could not install $1; it needs the network and Python 3.11 to 3.13, and this is $("$dir/bin/python" --version)"
		touch "$dir/ready"
	fi
	echo "$dir"
}

# node_packages DIR: a folder for NODE_PATH with what the lock file in DIR names, from npm.
node_packages() {
	local dir
	dir=$REPO/target/node/$(cksum <"$1/package-lock.json" | cut -d' ' -f1)
	if [ ! -f "$dir/ready" ]; then
		say "fetching what $1/package-lock.json names from npm"
		mkdir -p "$dir"
		cp "$1/package.json" "$1/package-lock.json" "$dir"
		npm --prefix "$dir" ci --silent --ignore-scripts >&2 || die "npm could not install what $1 names; is the network there?"
		touch "$dir/ready"
	fi
	echo "$dir/node_modules"
}

## Throw-away servers

# PostgreSQL refuses to run as root.
as_server() {
	if [ "$(id -u)" -eq 0 ]; then
		local user=nobody
		! id postgres >/dev/null 2>&1 || user=postgres
		(cd / && runuser -u "$user" -- "$@")
	else
		"$@"
	fi
}

server_bin() { echo "$1/root$("$PG_CONFIG" --bindir)"; }

# private_prefix DIR: a copy of the chosen installation in DIR/root. PostgreSQL finds its libraries and extensions
# relative to its executable, so the copy has directories of its own for them and needs nothing but itself.
private_prefix() {
	local root=$1/root bin share lib dir
	bin=$("$PG_CONFIG" --bindir)
	share=$("$PG_CONFIG" --sharedir)
	lib=$("$PG_CONFIG" --pkglibdir)
	mkdir -p "$root$bin" "$root$share" "$root$lib"
	cp -rL "$bin/." "$root$bin" # real files: a symbolic link would lead PostgreSQL back
	cp -r "$share/." "$root$share"
	cp -r "$lib/." "$root$lib"
	for dir in "$bin"/../../../*.libs; do # the libraries that a PyPI wheel brings along
		[ ! -d "$dir" ] || cp -r "$dir" "$root$(dirname "$(dirname "$(dirname "$bin")")")"
	done
	chmod -R a+rX "$root"
	[ "$("$root$bin/pg_config" --sharedir --pkglibdir)" = "$root$share"$'\n'"$root$lib" ] ||
		die "the copy of PostgreSQL in $root does not use its own directories"
}

# The settings of a server with the testing build. Most tests ask the same question often, and mean a fresh answer: those of
# answers that are kept switch that on.
# shellcheck disable=SC2034 # the scripts read it
TESTING=("shared_preload_libraries = '$EXTENSION'" "dp_mean.reuse = off")

# server_start NAME [SETTING=VALUE...]: starts the server of a private prefix made before in $WORK/NAME, on a
# socket of its own, and sets URL for libpq.
server_start() {
	local dir=$WORK/$1 bin
	bin=$(server_bin "$dir")
	shift
	if [ "$(id -u)" -eq 0 ]; then as_server test -x "$dir" || die "the server's user cannot enter $dir: choose another TMPDIR"; fi
	mkdir "$dir/data" "$dir/socket"
	touch "$dir/log"
	[ "$(id -u)" -ne 0 ] || chown "$(as_server id -u)" "$dir/data" "$dir/socket" "$dir/log"
	as_server "$bin/initdb" -D "$dir/data" -U postgres -A trust -E UTF8 --locale=C --no-sync >"$WORK/initdb.log" ||
		{ cat "$WORK/initdb.log" >&2; die "initdb failed"; }
	{
		printf '%s\n' "listen_addresses = ''" "unix_socket_directories = '$dir/socket'" "port = 5432" \
			"fsync = off" "synchronous_commit = off" "full_page_writes = off" "max_prepared_transactions = 4"
		[ $# -eq 0 ] || printf '%s\n' "$@"
	} >>"$dir/data/postgresql.conf"
	as_server env -u RUST_BACKTRACE -u RUST_LIB_BACKTRACE "$bin/pg_ctl" start -D "$dir/data" -l "$dir/log" -w -t 60 >/dev/null || die "the server did not start"
	# shellcheck disable=SC2034 # the scripts read it
	URL="host=$dir/socket port=5432 user=postgres dbname=postgres"
}

# server NAME LIBRARY [SETTING=VALUE...]: a running server with this library of ours, from nothing.
server() {
	local dir=$WORK/$1
	say "starting a throw-away PostgreSQL $MAJOR"
	mkdir "$dir"
	private_prefix "$dir"
	place "$2" "$dir/root$("$PG_CONFIG" --pkglibdir)" "$dir/root$("$PG_CONFIG" --sharedir)/extension"
	server_start "$1" "${@:3}"
}

## Tests leave nothing behind

# temporary: a folder for the temporary files of tests, new the first time.
temporary() {
	mkdir -p "$WORK/temporary"
	chmod 1777 "$WORK/temporary" # as that of a machine
	echo "$WORK/temporary"
}

# left_behind: what tests have left in it.
left_behind() { ls -A "$WORK/temporary"; }

## Tests that run inside a backend

# pg_tests: the names of the `#[pg_test]`s of src/.
pg_tests() { find src -name '*.rs' -exec sed -n '/^#\[pg_test\]$/{n;s/^fn \([a-z0-9_]*\)() {$/\1/p}' {} + | sort; }

# pg_test_functions: the SQL that declares them as pgrx-tests calls them; cargo-pgrx would write it.
pg_test_functions() {
	echo 'CREATE SCHEMA tests;'
	pg_tests | sed "s/.*/CREATE FUNCTION tests.&() RETURNS void LANGUAGE c AS '\$libdir\/$EXTENSION', '&_wrapper';/"
}

## Mutants

# Sets TOOL to cargo-mutants.
cargo_mutants() {
	local version=27.1.0
	TOOL=$REPO/target/tools/bin/cargo-mutants
	if [ "$("$TOOL" mutants --version 2>/dev/null)" != "cargo-mutants $version" ]; then
		say "building cargo-mutants $version, from crates.io; it takes two to five minutes"
		run cargo install cargo-mutants --version "$version" --locked --quiet --root target/tools
	fi
}

## Citus

# citus_or_pass: the folder with Citus that is laid over a server; nothing, with a word, where it cannot be had.
citus_or_pass() {
	local status=0
	scripts/citus || status=$?
	if [ "$status" -eq 77 ]; then
		say "passed by: there is no Citus here"
		status=0
	fi
	return "$status"
}

# citus_cluster LIBRARY [SETTING=VALUE...]: a coordinator and two workers of the Citus in $CITUS with this library of ours, and a
# key. Sets URL to the coordinator.
citus_cluster() {
	local node psql sockets=()
	head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' | sed 's/^/one /' >"$WORK/keys"
	for node in coordinator first second; do
		say "starting a throw-away PostgreSQL $MAJOR with Citus: $node"
		mkdir "$WORK/$node"
		private_prefix "$WORK/$node"
		cp -r "$CITUS/." "$WORK/$node/root"
		place "$1" "$WORK/$node/root$("$PG_CONFIG" --pkglibdir)" "$WORK/$node/root$("$PG_CONFIG" --sharedir)/extension"
		server_start "$node" "shared_preload_libraries = 'citus, $EXTENSION'" "wal_level = logical" "max_prepared_transactions = 100" \
			"citus.node_conninfo = 'sslmode=disable'" "citus.local_hostname = '$WORK/$node/socket'" \
			"citus.enable_statistics_collection = off" "${@:2}"
		# As the manual says, but for the way from server to server.
		install -m 600 "$WORK/keys" "$WORK/$node/data/dp_mean.keys"
		[ "$(id -u)" -ne 0 ] || chown "$(as_server id -u)" "$WORK/$node/data/dp_mean.keys"
		sockets+=("$WORK/$node/socket")
		"$(server_bin "$WORK/$node")/psql" -qX -v ON_ERROR_STOP=1 "$URL" -c "CREATE EXTENSION citus"
	done
	URL="host=${sockets[0]} port=5432 user=postgres dbname=postgres"
	psql=("$(server_bin "$WORK/coordinator")/psql" -qX -v ON_ERROR_STOP=1 "$URL")
	"${psql[@]}" -c "SELECT citus_set_coordinator_host('${sockets[0]}', 5432)" -c "SELECT citus_add_node('${sockets[1]}', 5432)" \
		-c "SELECT citus_add_node('${sockets[2]}', 5432)" >/dev/null
	# Citus makes it on the workers too.
	"${psql[@]}" -c "CREATE EXTENSION $EXTENSION"
}

# clients_world NAME DATABASE...: on the server NAME, databases with the protected tables of tests/forms/world.sql, each with
# a budget of its own, and a role `analyst` for whom the library is loaded as docs/bi-tools.md says.
clients_world() {
	local psql database
	psql=("$(server_bin "$WORK/$1")/psql" -qX -v ON_ERROR_STOP=1)
	shift
	{
		echo "CREATE EXTENSION $EXTENSION;"
		sed 's/{analyst}/analyst/g' tests/forms/world.sql tests/drivers/clients.sql
	} >"$WORK/world.sql"
	"${psql[@]}" "$URL" -c "CREATE ROLE analyst LOGIN"
	for database; do
		"${psql[@]}" "$URL" -c "CREATE DATABASE $database"
		PGOPTIONS="-c client_min_messages=warning" "${psql[@]}" "${URL/dbname=postgres/dbname=$database}" -f "$WORK/world.sql" >"$WORK/world.log"
	done
}
