class Verity < Formula
  desc "Speech to text with Whisper, on CPUs"
  homepage "@URL@"
  version "@VERSION@"
  license "Apache-2.0"

  on_macos do
    on_arm do
      url "@URL@/@NAME@-darwin-arm64.tar.gz"
      sha256 "@DARWIN_ARM64@"
    end
    on_intel do
      url "@URL@/@NAME@-darwin-amd64.tar.gz"
      sha256 "@DARWIN_AMD64@"
    end
  end

  on_linux do
    on_arm do
      url "@URL@/@NAME@-linux-arm64.tar.gz"
      sha256 "@LINUX_ARM64@"
    end
    on_intel do
      url "@URL@/@NAME@-linux-amd64.tar.gz"
      sha256 "@LINUX_AMD64@"
    end
  end

  def install
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
