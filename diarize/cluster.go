package diarize

import (
	"cmp"
	"math"
	"slices"

	"verity/internal/kernel"
	"verity/parallel"
)

// blockLimit is how many vectors are clustered together: their similarities take 100 MB. More are
// clustered in blocks of this size, and then the clusters of all blocks.
const blockLimit = 5000

// A cluster is a set of vectors.
type cluster struct {
	members []int
	sum     []float32 // of the vectors; the average cosine of two clusters is the product of their sums by their sizes
}

// A merge joins cluster b to cluster a.
type merge struct {
	a, b       int
	similarity float32
}

// Two clusters are one speaker if their average cosine is at least leastSimilarity. Small ones differ by chance, and the
// more vectors there are, the more. So the bound is lower by chance times the root of the number of vectors, divided by the
// size of the smaller cluster.
const (
	leastSimilarity = 0.42
	chance          = 0.11
)

// margin returns by how much two clusters of n vectors in all are more similar than two speakers can be.
func margin(a, b cluster, n int) float32 {
	x, y := float32(len(a.members)), float32(len(b.members))
	return cosine(a.sum, b.sum)/(x*y) + float32(chance*math.Sqrt(float64(n)))/min(x, y) - leastSimilarity
}

// join returns a cluster of the members of both.
func join(a, b cluster) cluster {
	sum := slices.Clone(a.sum)
	kernel.Add(sum, b.sum)
	return cluster{slices.Concat(a.members, b.members), sum}
}

// voice returns the unit vector in the direction of the sum.
func (c cluster) voice() []float32 {
	v := slices.Clone(c.sum)
	normalise(v)
	return v
}

// groups clusters unit vectors, [n][192], into clusters from least to most, in order of their first vectors. Voices that
// are not there are not made up. Clusters with fewer than small members are left out; if there are no others, they are
// one, so that a short clip has a speaker. natural is how many clusters there would be if no number were asked for.
func groups(p *parallel.Pool, vectors []float32, least, most, small int) (found []cluster, natural int) {
	n := len(vectors) / voiceSize
	var all []cluster
	for first := 0; first < n; first += blockLimit {
		var block []cluster
		for i := first; i < min(first+blockLimit, n); i++ {
			block = append(block, cluster{[]int{i}, vectors[i*voiceSize:][:voiceSize]})
		}
		if n > blockLimit {
			block = cut(block, tree(p, block))
		}
		all = append(all, block...)
	}
	all = cut(all, tree(p, all))
	isSmall := func(c cluster) bool { return len(c.members) < small }
	if large := slices.DeleteFunc(slices.Clone(all), isSmall); len(large) > 0 {
		all = large
	} else {
		for _, c := range all[1:] {
			all[0] = join(all[0], c)
		}
		return all[:1], 1
	}
	for len(all) > 1 {
		a, b, best := largestMargin(all, n)
		if !(best >= 0) && len(all) <= most {
			break
		}
		if found == nil && len(all) <= least {
			found = slices.Clone(all)
		}
		all[a] = join(all[a], all[b])
		all = slices.Delete(all, b, b+1)
	}
	if found == nil {
		found = all
	}
	return found, len(all)
}

// largestMargin returns the pair of clusters with the largest margin, the first before the second. There must be two, of n
// vectors in all.
func largestMargin(all []cluster, n int) (a, b int, best float32) {
	a, b, best = 0, 1, float32(math.Inf(-1))
	for i := range all {
		for j := range i {
			if v := margin(all[i], all[j], n); v > best {
				best, a, b = v, j, i
			}
		}
	}
	return a, b, best
}

// cut does the merges of clusters that are similar, and returns the clusters that are left.
func cut(all []cluster, merges []merge) (left []cluster) {
	for _, m := range merges { // the most similar first
		if !(m.similarity >= leastSimilarity) {
			break
		}
		all[m.a] = join(all[m.a], all[m.b])
		all[m.b].members = nil
	}
	return slices.DeleteFunc(all, func(c cluster) bool { return c.members == nil })
}

// tree returns the merges that join everything, the most similar first; later ones of equal ones if they
// depend on earlier ones. Similarity is the average over all pairs of vectors.
//
// It follows chains of nearest neighbours (Murtagh, 1983): two clusters that are nearest to each other can be
// joined at once, whatever else is left, since joining others never brings anything closer than it was.
// That needs time in proportion to the square of the number.
func tree(p *parallel.Pool, all []cluster) (merges []merge) {
	n := len(all)
	if n < 2 {
		return nil
	}
	s := similarities(p, all)
	sizes, alive := make([]float64, n), make([]int, n)
	for i, c := range all {
		sizes[i], alive[i] = float64(len(c.members)), i
	}
	var chain []int
	for len(alive) > 1 {
		if len(chain) == 0 {
			chain = append(chain, alive[0])
		}
		top := chain[len(chain)-1]
		row, next := s[top*n:][:n], -1
		if len(chain) > 1 { // of equal ones, the one before
			next = chain[len(chain)-2]
		}
		for _, i := range alive {
			if i != top && (next < 0 || row[i] > row[next]) {
				next = i
			}
		}
		if len(chain) < 2 || next != chain[len(chain)-2] {
			chain = append(chain, next)
			continue
		}
		chain = chain[:len(chain)-2]
		a, b := min(top, next), max(top, next)
		merges = append(merges, merge{a, b, row[next]})
		alive = slices.DeleteFunc(alive, func(i int) bool { return i == b })
		for _, i := range alive {
			if i != a {
				mean := (float64(sizes[a]*float64(s[a*n+i])) + float64(sizes[b]*float64(s[b*n+i]))) / (sizes[a] + sizes[b])
				s[a*n+i], s[i*n+a] = float32(mean), float32(mean)
			}
		}
		sizes[a] += sizes[b]
	}
	slices.SortStableFunc(merges, func(x, y merge) int { return cmp.Compare(y.similarity, x.similarity) })
	return merges
}

// similarities returns the average cosine of each pair of clusters, [n][n].
func similarities(p *parallel.Pool, all []cluster) []float32 {
	n := len(all)
	means := make([]float32, 0, n*voiceSize)
	for _, c := range all {
		for _, v := range c.sum {
			means = append(means, v/float32(len(c.members)))
		}
	}
	s := kernel.NewFloats(n * n)
	kernel.MatMul(p, s, means, n, voiceSize, packed(n, voiceSize, means), nil, kernel.Store)
	return s
}
