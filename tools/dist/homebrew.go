package main

import (
	"bytes"
	"fmt"
	"strings"
)

// formula returns the formula of Homebrew that installs archives, of which there are lines
// of checksums, from an address.
func formula(address, version string, sums []string) file {
	var b bytes.Buffer
	fmt.Fprintf(&b, `class Verity < Formula
  desc "Speech to text with Whisper, on CPUs"
  homepage %q
  version %q
  license "Apache-2.0"

`, address, strings.TrimPrefix(version, "v"))
	for _, system := range []struct{ on, name string }{{"macos", "darwin"}, {"linux", "linux"}} {
		fmt.Fprintf(&b, "  on_%s do\n", system.on)
		for _, processor := range []struct{ on, name string }{{"arm", "arm64"}, {"intel", "amd64"}} {
			for _, line := range sums {
				sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
				if strings.HasSuffix(name, "-"+system.name+"-"+processor.name+".tar.gz") {
					fmt.Fprintf(&b, "    on_%s do\n      url \"%s/%s\"\n      sha256 \"%s\"\n    end\n",
						processor.on, strings.TrimSuffix(address, "/"), name, sum)
				}
			}
		}
		b.WriteString("  end\n\n")
	}
	b.WriteString(`  def install
    bin.install "verity"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/verity.bash" => "verity"
    zsh_completion.install "completions/_verity"
    fish_completion.install "completions/verity.fish"
    doc.install "README.md", "NOTICE", "THIRD_PARTY_LICENCES.txt", "docs", "examples"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/verity --version")
  end
end
`)
	return file{name: "verity.rb", data: b.Bytes()}
}
