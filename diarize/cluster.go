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

// leastSimilarity is the least average cosine of two clusters that are one speaker.
const leastSimilarity = 0.34

// apart is how much more similar than usual two clusters may be and still be kept apart, because more speakers
// were asked for. Parts of one voice are more similar than that.
const apart = 0.1

// groups clusters unit vectors, [n][192], and returns the members of each cluster, at most most clusters. Clusters with
// fewer than small members do not count, and are left out. If fewer than least clusters are left, less similar
// and smaller ones count, too; voices that are not there are not made up.
func groups(p *parallel.Pool, vectors []float32, least, most, small int) [][]int {
	n := len(vectors) / voiceSize
	var all []cluster
	for first := 0; first < n; first += blockLimit {
		var block []cluster
		for i := first; i < min(first+blockLimit, n); i++ {
			block = append(block, cluster{[]int{i}, vectors[i*voiceSize:][:voiceSize]})
		}
		if n > blockLimit {
			block = cut(block, tree(p, block), func(m []merge) int { return similar(m, leastSimilarity) })
		}
		all = append(all, block...)
	}
	merges := tree(p, all)
	large := func(done int) int { return countLarge(all, merges[:done], small) }
	all = cut(all, merges, func(m []merge) int {
		at := similar(m, leastSimilarity)
		if large(at) < least {
			small = max(2, small/2)
			return mostAtLeast(large, similar(m, leastSimilarity+apart), len(m), least)
		}
		return at
	})
	// The largest stays whatever its size, so that a short clip has a speaker.
	slices.SortStableFunc(all, func(a, b cluster) int { return len(b.members) - len(a.members) })
	for i, c := range all {
		if i > 0 && len(c.members) < small {
			all = all[:i]
			break
		}
	}
	var found [][]int
	for _, c := range reduce(all, most) {
		found = append(found, c.members)
	}
	return found
}

// reduce returns at most most of the clusters, the largest first. If the smallest is less than half as large as the
// average, it is left out: it is rather an odd moment than a speaker. Else the two most similar are joined.
func reduce(all []cluster, most int) []cluster {
	for len(all) > most {
		total := 0
		for _, c := range all {
			total += len(c.members)
		}
		if last := len(all) - 1; 2*len(all)*len(all[last].members) < total {
			all = all[:last]
			continue
		}
		a, b, _ := mostSimilar(len(all), func(i, j int) float32 {
			return cosine(all[i].sum, all[j].sum) / float32(len(all[i].members)*len(all[j].members))
		})
		joined := cluster{slices.Concat(all[a].members, all[b].members), slices.Clone(all[a].sum)}
		kernel.Add(joined.sum, all[b].sum)
		all = slices.Delete(all, b, b+1)
		all[a] = joined
		slices.SortStableFunc(all, func(a, b cluster) int { return len(b.members) - len(a.members) })
	}
	return all
}

// mostSimilar returns the most similar pair of n things, the first before the second. There must be two.
func mostSimilar(n int, similarity func(i, j int) float32) (a, b int, best float32) {
	best = float32(math.Inf(-1))
	for i := range n {
		for j := range i {
			if v := similarity(i, j); v > best {
				best, a, b = v, j, i
			}
		}
	}
	return a, b, best
}

// similar returns how many of the merges, the most similar first, join similar clusters.
func similar(m []merge, least float64) int {
	n := slices.IndexFunc(m, func(m merge) bool { return !(float64(m.similarity) >= least) })
	if n < 0 {
		return len(m)
	}
	return n
}

// mostAtLeast returns the largest number of merges, from lo to hi, that leaves want large clusters; if none does, the
// one that leaves the most.
func mostAtLeast(large func(done int) int, lo, hi, want int) (at int) {
	best := 0
	for done := hi; done >= lo; done-- {
		k := large(done)
		if k >= want {
			return done
		}
		if k > best {
			best, at = k, done
		}
	}
	return at
}

// countLarge returns how many clusters have at least small members after the merges.
func countLarge(all []cluster, merges []merge, small int) (n int) {
	sizes := make([]int, len(all))
	for i, c := range all {
		sizes[i] = len(c.members)
	}
	for _, m := range merges {
		sizes[m.a] += sizes[m.b]
		sizes[m.b] = 0
	}
	for _, size := range sizes {
		if size > 0 && size >= small {
			n++
		}
	}
	return n
}

// cut does as many of the merges as count says, and returns the clusters that are left.
func cut(all []cluster, merges []merge, count func([]merge) int) (left []cluster) {
	for _, m := range merges[:count(merges)] {
		a, b := &all[m.a], &all[m.b]
		a.sum = slices.Clone(a.sum)
		kernel.Add(a.sum, b.sum)
		a.members = append(slices.Clone(a.members), b.members...)
		b.members = nil
	}
	for _, c := range all {
		if c.members != nil {
			left = append(left, c)
		}
	}
	return left
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
