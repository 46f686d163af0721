#!/bin/sh
# Builds release archives. For each system and processor: the program, its manual and shell
# completions, documents, examples and licences; for Linux a Debian package too.
#
#   tools/dist.sh VERSION OUT [SYSTEM/PROCESSOR...]
#
# With URL=https://… in the environment it also writes a Homebrew formula that installs the
# archives from there. The same revision and Go version give the same bytes on any machine
# (make reproducible): nothing contains a path, time or user of the building machine.
# Needs GNU tar, gzip and zip; Debian packages need dpkg-deb and are skipped without it.
set -eu
version=$1 out=$2
shift 2
[ $# -gt 0 ] || set -- linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
case $version in
'' | *[!0-9A-Za-z.+-]*) echo "dist: version \"$version\": want letters, digits, dots and hyphens" >&2; exit 2 ;;
esac
export CGO_ENABLED=0 GOFLAGS='-trimpath -buildvcs=false' TZ=UTC LC_ALL=C
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
umask 022
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

build() { # PLATFORM FILE
	GOOS=${1%/*} GOARCH=${1#*/} go build -ldflags "-s -w -buildid= -X main.version=$version" -o "$2" ./cmd/verity
}
stamp() { # DIRECTORY: equal times and modes
	find "$1" -type d -exec chmod 755 {} +
	find "$1" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
}

echo "manual, completions, licences" >&2
common=$work/common
mkdir -p "$common/docs" "$common/completions"
cp LICENSE NOTICE tools/dist/README.md "$common"
cp -R docs/*.md docs/reference "$common/docs"
cp -R examples "$common"
find "$common" -type f -exec chmod 644 {} +
tools/licences.sh texts >"$common/THIRD_PARTY_LICENCES.txt"
build "$(go env GOHOSTOS)/$(go env GOHOSTARCH)" "$work/verity"
"$work/verity" manual "$common/man"
for shell in bash:verity.bash zsh:_verity fish:verity.fish powershell:verity.ps1; do
	"$work/verity" completion "${shell%:*}" >"$common/completions/${shell#*:}"
done

debian() { # DIRECTORY PROCESSOR
	number=$(echo "${version#v}" | tr - +)
	case $number in [0-9]*) ;; *) number="0~$number" ;; esac # Debian wants a digit first
	tree=$work/deb
	rm -rf "$tree"
	mkdir -p "$tree/DEBIAN" "$tree/usr/bin" "$tree/usr/share/man" "$tree/usr/share/doc" \
		"$tree/usr/share/bash-completion/completions" "$tree/usr/share/zsh/vendor-completions" "$tree/usr/share/fish/vendor_completions.d"
	cp -R "$1" "$tree/usr/share/doc/verity"
	cd "$tree/usr/share/doc/verity"
	mv verity "$tree/usr/bin/verity"
	mv man "$tree/usr/share/man/man1"
	mv completions/verity.bash "$tree/usr/share/bash-completion/completions/verity"
	mv completions/_verity "$tree/usr/share/zsh/vendor-completions/_verity"
	mv completions/verity.fish "$tree/usr/share/fish/vendor_completions.d/verity.fish"
	cat >"$tree/DEBIAN/control" <<EOF
Package: verity
Version: $number
Architecture: $2
Installed-Size: $(($(find "$tree" -type f -exec cat {} + | wc -c) / 1024))
Section: sound
Priority: optional
Recommends: ffmpeg
Maintainer: Verity maintainers <verity@localhost>
Description: speech to text with Whisper, on CPUs
 The program contains Whisper base; others are downloaded by name.
EOF
	stamp "$tree"
	dpkg-deb -Zgzip --root-owner-group --build "$tree" "$out/verity_${version}_$2.deb" >/dev/null
}

for platform; do
	echo "$platform" >&2
	top=verity-$version-$(echo "$platform" | tr / -)
	cp -R "$common" "$work/$top"
	case $platform in
	windows/*)
		build "$platform" "$work/$top/verity.exe"
		printf '@start http://127.0.0.1:8000\r\n@"%%~dp0verity.exe" serve\r\n@pause\r\n' >"$work/$top/start.cmd"
		stamp "$work/$top"
		rm -f "$out/$top.zip"
		(cd "$work" && find "$top" -type f | sort | zip -q -X -@ "$out/$top.zip")
		;;
	*)
		build "$platform" "$work/$top/verity"
		stamp "$work/$top"
		tar -C "$work" --sort=name --format=ustar --owner=root:0 --group=root:0 --mtime="@$SOURCE_DATE_EPOCH" -cf - "$top" | gzip -9n >"$out/$top.tar.gz"
		;;
	esac
	case $platform in
	linux/*)
		if command -v dpkg-deb >/dev/null; then
			(debian "$work/$top" "${platform#*/}")
		else
			echo "*** SKIPPED: no Debian package without dpkg-deb ***" >&2
		fi
		;;
	esac
done

cd "$out"
sha256sum verity*"$version"* >SHA256SUMS
if [ -n "${URL-}" ]; then
	sum() { sed -n "s/^\([0-9a-f]*\)  verity-$version-$1\.tar\.gz$/\1/p" SHA256SUMS; }
	sed -e "s|@URL@|${URL%/}|; s|@VERSION@|${version#v}|; s|@NAME@|verity-$version|" -e "s|@DARWIN_ARM64@|$(sum darwin-arm64)|" \
		-e "s|@DARWIN_AMD64@|$(sum darwin-amd64)|" -e "s|@LINUX_ARM64@|$(sum linux-arm64)|" -e "s|@LINUX_AMD64@|$(sum linux-amd64)|" \
		"$OLDPWD/tools/dist/verity.rb" >verity.rb
fi
cat SHA256SUMS
