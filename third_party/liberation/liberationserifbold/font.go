// Package liberationserifbold has the Go font where gonum/plot asks for a face of Liberation.
package liberationserifbold

import "golang.org/x/image/font/gofont/goregular"

// TTF is the font.
var TTF = goregular.TTF
