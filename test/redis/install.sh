#!/bin/sh
# Installs redis-server on Debian, as root, and starts no service.
set -eu

# Another run may have been faster while this one waited for the lock.
if command -v redis-server >/dev/null; then exit 0; fi

policy=/usr/sbin/policy-rc.d
mark='# Made by the tests of Highkiq while they install redis-server: may be removed.'
# One that bears our mark was left behind by a run that was killed.
if [ ! -e "$policy" ] || grep -qF "$mark" "$policy"; then
  trap 'rm -f "$policy"' EXIT
  trap 'exit 1' INT TERM HUP
  printf '#!/bin/sh\n%s\nexit 101\n' "$mark" >"$policy"
  chmod 755 "$policy"
fi

export DEBIAN_FRONTEND=noninteractive
apt-get update -q
apt-get install -yq --no-install-recommends redis-server
