// One small font in place of the twelve faces of Liberation, which are 4.4 MB of a program: gonum/plot takes them for
// the widths of its labels, and what draws the letters is the browser.
module codeberg.org/go-fonts/liberation

go 1.26.0

require golang.org/x/image v0.30.0
