#!/bin/sh
# Prints the licences of the modules that the program contains:
#
#   tools/licences.sh          a table: docs/dev/LICENCES.md, which make check compares
#   tools/licences.sh texts    the texts, which release archives carry
#
# It fails on a module whose licence it does not recognise.
set -eu
tab=$(printf '\t')

# Module, version, root and directory of every package in the program, on any system.
packages() {
	for system in linux darwin windows; do
		GOOS=$system GOARCH=amd64 CGO_ENABLED=0 go list -deps -f \
			"{{with .Module}}{{if not .Main}}{{.Path}}$tab{{.Version}}$tab{{.Dir}}$tab{{\$.Dir}}{{end}}{{end}}" ./cmd/verity
	done | LC_ALL=C sort -u
}

# Module, version and every licence file between the package and the root of its module.
files() {
	packages | while IFS=$tab read -r module version root dir; do
		while :; do
			find "$dir" -maxdepth 1 -type f ! -name '*.go' \( -iname 'licen[cs]e*' -o -iname 'copying*' -o \
				-iname 'notice*' -o -iname 'unlicense*' -o -iname 'patents*' \) | sed "s|^|$module$tab$version$tab|"
			[ "$dir" != "$root" ] || break
			dir=$(dirname "$dir")
		done
	done | LC_ALL=C sort -u
}

kind() { # of the licence in a file
	text=$(tr -s '[:space:]' ' ' <"$1")
	case $text in
	*"Apache License Version 2.0"*) echo Apache-2.0 ;;
	*"may be used to endorse or promote products"*) echo BSD-3-Clause ;;
	*"Redistributions in binary form must reproduce"*) echo BSD-2-Clause ;;
	*"Permission is hereby granted, free of charge"*) echo MIT ;;
	*"Permission to use, copy, modify, and"*) echo ISC ;;
	*"unencumbered software released into the public domain"*) echo Unlicense ;;
	esac
}

all=$(files)
[ -n "$all" ] || { echo "licences: go list named no modules" >&2; exit 1; }
if [ "${1-}" = texts ]; then
	printf 'Go\t%s\t%s\n%s\n' "$(go env GOVERSION)" "$(go env GOROOT)/LICENSE" "$all" | while IFS=$tab read -r module version file; do
		printf '==== %s %s: %s\n\n' "$module" "$version" "$(basename "$file")"
		cat "$file"
		echo
	done
	exit
fi

cat <<'EOF'
# Licences

The modules in the program, by `tools/licences.sh`; `make check` fails when the table is not current. Release archives
carry the texts of these licences and that of Go (BSD-3-Clause).

| module | version | licence |
|---|---|---|
EOF
packages | cut -f 1,2 | uniq | while IFS=$tab read -r module version; do
	kinds=$(printf '%s\n' "$all" | grep -F "$module$tab$version$tab" | cut -f 3 | while read -r file; do kind "$file"; done |
		LC_ALL=C sort -u | paste -s -d , - | sed 's/,/, /g')
	[ -n "$kinds" ] || { echo "licences: $module $version has no licence that this script knows: read it, then add its words" >&2; exit 1; }
	echo "| $module | $version | $kinds |"
done
