# shellcheck shell=bash
# New Debian systems to build and to install in, for scripts/release-debian and scripts/release-rpm, which set SUITE and ROOTS first. What comes
# behind the line that reads this runs in namespaces of its own: mounts and processes end with it, and the folder goes.

MIRROR=${MIRROR:-http://deb.debian.org/debian}
BUILD=$ROOTS/build EMPTY=$ROOTS/empty

pass_by() {
	say "passed by: $*"
	exit 77
}

if [ -z "${DP_MEAN_INSIDE:-}" ]; then
	[ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null || pass_by "a new Debian $SUITE needs root"
	command -v debootstrap >/dev/null || { command -v apt-get >/dev/null || pass_by "there is no debootstrap"; apt_install debootstrap; }
	as_root unshare --mount --pid --fork true 2>/dev/null || pass_by "this machine gives no namespaces to work in"
	find_rust
	cargo fetch --locked --quiet
	at_end() {
		as_root rm -rf --one-file-system "$ROOTS"
		rmdir "${ROOTS%/*}" 2>/dev/null || true
	}
	status=0
	run as_root env DP_MEAN_INSIDE=yes PATH="$PATH" MIRROR="$MIRROR" CARGO_HOME="${CARGO_HOME:-$HOME/.cargo}" \
		RUST="$(rustc --print sysroot)" SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}" \
		unshare --mount --pid --fork --kill-child "$0" "$@" || status=$?
	exit "$status"
fi

# inside ROOT COMMAND...: nothing of our environment but what a terminal has.
inside() {
	local root=$1
	shift
	env -i PATH=/root/rust/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
		${http_proxy:+http_proxy="$http_proxy"} CARGO_NET_OFFLINE=true SOURCE_DATE_EPOCH="$SOURCE_DATE_EPOCH" chroot "$root" "$@"
}

# installs ROOT PACKAGE...: without what is only recommended.
installs() {
	local root=$1
	shift
	quietly "apt-get install $* ($SUITE)" inside "$root" apt-get install -y -q --no-install-recommends "$@"
}

mount --make-rprivate /
rm -rf --one-file-system "$ROOTS"
mkdir -p "$ROOTS"
(quietly "debootstrap $SUITE" debootstrap --variant=minbase "$SUITE" "$EMPTY" "$MIRROR") || pass_by "debootstrap could not fetch Debian $SUITE from $MIRROR"
# Nothing starts by itself.
printf '#!/bin/sh\nexit 101\n' >"$EMPTY/usr/sbin/policy-rc.d"
chmod 755 "$EMPTY/usr/sbin/policy-rc.d"
[ -e "$EMPTY/etc/hosts" ] || echo '127.0.0.1 localhost' >"$EMPTY/etc/hosts" # as an installer makes it
cp -a "$EMPTY" "$BUILD"
for root in "$EMPTY" "$BUILD"; do
	mount -t proc proc "$root/proc"
	mount --rbind /dev "$root/dev"
	mount -t tmpfs tmpfs "$root/dev/shm"
	cp -L /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || true
	quietly "apt-get update ($SUITE)" inside "$root" apt-get update -q
done

# The source, Rust and the crates, in /root of what builds.
mkdir "$BUILD/root/source" "$BUILD/root/.cargo" "$BUILD/root/rust"
tar --create --exclude=./target --exclude=./.git . | tar --extract --no-same-owner --directory "$BUILD/root/source"
mount --bind --read-only "$CARGO_HOME" "$BUILD/root/.cargo"
mount --bind --read-only "$RUST" "$BUILD/root/rust"
