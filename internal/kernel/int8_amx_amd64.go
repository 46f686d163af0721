//go:build !purego

package kernel

import "unsafe"

const (
	// What the tile unit (AMX) does at a time: 16 rows, and 64 k as 16 rows of four.
	amxRows  = 16
	amxDepth = 64

	// amxLeast is the least rows worth it: memory takes longer than fewer do either way.
	amxLeast = 8
)

// A tileConfig is what LDTILECFG loads: the shape of each of the eight tiles.
// Source: Intel SDM, volume 1, "Tile configuration".
type tileConfig struct {
	palette  byte
	_        [15]byte // the row to start at, 0, and what is reserved
	rowBytes [16]uint16
	rows     [16]byte
}

// tileConfigs[m] is for m rows, as tileInt8FlatAMX (m ≤ 16) and tileInt8TallAMX use
// the tiles.
var tileConfigs = func() (all [2*amxRows + 1]tileConfig) {
	for m := 1; m < len(all); m++ {
		c := &all[m]
		c.palette = 1
		upper, lower := m, m // rows of the sums and of x, in tiles for either half
		if m > amxRows {
			upper, lower = amxRows, m-amxRows
		}
		for tile, rows := range []int{upper, upper, lower, lower, upper, lower, amxRows, amxRows} {
			c.rowBytes[tile], c.rows[tile] = 64, byte(rows)
		}
		if m <= amxRows {
			c.rows[5] = amxRows // weights
		}
	}
	return all
}()

// int8AMX returns k with the tile unit for sums of many rows.
func int8AMX(k int8Kernels) int8Kernels {
	k.tile = tileInt8AMX(k.tile)
	k.weightedSum = k.tile
	k.rowGroup, k.stream = 2*amxRows, amxLeast
	return k
}

// tileInt8AMX returns a tileInt8Func that uses the tile unit. It leaves to rest the k
// beyond a multiple of 64, and products of fewer than amxLeast rows. It writes no zeros for
// sums to start at: to load them, the tile unit would wait until they are in the cache.
func tileInt8AMX(rest tileInt8Func) tileInt8Func {
	return func(acc []int32, x []uint8, stride, rows int, w []int8, next hint) {
		n := len(w) / panel
		blocks := n / amxDepth
		if blocks == 0 || rows < amxLeast {
			rest(acc, x, stride, rows, w, next)
			return
		}
		_, _ = x[(rows-1)*stride+n-1], acc[rows*panel-1]
		groupsAMX(acc, x, stride, rows, (*byte)(unsafe.Pointer(&w[0])), blocks, next)
		if done := blocks * amxDepth; done < n {
			next.begun = true
			rest(acc, x[done:], stride, rows, w[done*panel:], next)
		}
	}
}

// groupsAMX does a product in groups of up to 32 rows. The first group takes the weights
// from memory as fast as it delivers them, and leaves them in a near cache.
func groupsAMX(acc []int32, x []uint8, stride, rows int, w *byte, blocks int, next hint) {
	begun := 0
	if next.begun {
		begun = 1
	}
	for r := 0; r < rows; r += 2 * amxRows {
		m, again := min(2*amxRows, rows-r), next.again || r > 0
		next.prefetch(r, m)
		sums, q, config := &acc[r*panel], &x[r*stride], &tileConfigs[m].palette
		switch tall := m > amxRows; {
		case tall && again:
			tileInt8TallAMX(sums, q, stride, w, blocks, begun, config)
		case tall:
			tileInt8TallStreamAMX(sums, q, stride, w, blocks, begun, farAhead, config)
		case again:
			tileInt8FlatAMX(sums, q, stride, w, blocks, begun, config)
		default:
			tileInt8FlatStreamAMX(sums, q, stride, w, blocks, begun, farAhead, config)
		}
	}
}
