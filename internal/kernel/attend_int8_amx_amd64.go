//go:build !purego

package kernel

import "unsafe"

// manyQueriesAMX runs tiles of many queries on the tile unit.
var manyQueriesAMX = &manyQueryOps{
	score: func(t *manyQueryTile, dst []float32, stride int, q, k []byte, kScale []float32, rows, panels int) {
		keys := panels * panelKeys
		_, _, _, _ = dst[(rows-1)*stride+keys-1], q[rows*manyQueryDim-1], k[keys*manyQueryDim-1], kScale[keys-1]
		scoreTallAMX(&dst[0], 4*stride, &q[0], &k[0], &kScale[0], (*byte)(unsafe.Pointer(&t.rows)), rows, panels,
			&t.sums[0], &tileConfigs[rows].palette)
	},
	mix: func(
		t *manyQueryTile, dst []float32, stride int, weights []byte, units []float32,
		v []byte, total []float32, quarters int,
	) {
		rows, blocks := len(total), (quarters*mixPositions+weightBlock-1)/weightBlock
		_, _, _ = dst[(rows-1)*stride+manyQueryDim-1], weights[blocks*weightStep-1], units[blocks*int8TileRows-1]
		_ = v[: quarters*mixPositions*manyQueryDim : cap(v)] // the last positions may lie in what Values keeps spare
		mixTallAMX(&dst[0], 4*stride, &weights[0], &units[0], &v[0], &total[0], rows, quarters,
			&t.sums[0], &tileConfigs[rows].palette)
	},
}
