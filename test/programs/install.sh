#!/bin/sh
# Installs packages on Debian, as root, and starts no service: install.sh PACKAGE…
set -eu

policy=/usr/sbin/policy-rc.d
mark='# Made by the tests of Highkiq while they install packages: may be removed.'
# One that bears our mark was left behind by a run that was killed.
if [ ! -e "$policy" ] || grep -qF "$mark" "$policy"; then
  trap 'rm -f "$policy"' EXIT
  trap 'exit 1' INT TERM HUP
  printf '#!/bin/sh\n%s\nexit 101\n' "$mark" >"$policy"
  chmod 755 "$policy"
fi

export DEBIAN_FRONTEND=noninteractive
isInstalled() { [ "$(dpkg-query -Wf '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }
isListed=
for package; do
  # Another run may have been faster while this one waited for the lock.
  if isInstalled "$package"; then continue; fi
  if [ -z "$isListed" ]; then apt-get update -q && isListed=yes; fi
  # One that can't be had does not keep the others away: its suites say that it is missing.
  apt-get install -yq --no-install-recommends "$package" || echo "$package could not be installed" >&2
done
