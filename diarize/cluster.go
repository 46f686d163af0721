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

// Where a number is asked for, the best of several cuts counts: better is what fits the vectors by half a percent more.
// A speaker then needs three windows at least.
const (
	betterFit  = 1.005
	givenLeast = 3
)

// groups clusters unit vectors, [n][192], and returns the members of each cluster, at most most clusters. Clusters with
// fewer than small members do not count, and are left out. Where a number is asked for, other similarities than the
// least decide, too, and half of small if fewer than least clusters are left; voices that are not there are not made up.
func groups(p *parallel.Pool, vectors []float32, least, most, small int) [][]int {
	n := len(vectors) / voiceSize
	var all []cluster
	for first := 0; first < n; first += blockLimit {
		var block []cluster
		for i := first; i < min(first+blockLimit, n); i++ {
			block = append(block, cluster{[]int{i}, vectors[i*voiceSize:][:voiceSize]})
		}
		if n > blockLimit {
			block = cut(block, tree(p, block), leastSimilarity)
		}
		all = append(all, block...)
	}
	merges := tree(p, all)
	found := large(cut(all, merges, leastSimilarity), most, small)
	if least == 1 || len(found) >= least && least < most {
		return found
	}
	fit := 0.0
	for _, small := range []int{small, max(givenLeast, small/2)} {
		for _, similarity := range []float64{leastSimilarity, 0.38, 0.42} {
			other := large(cut(all, merges, similarity), least, small)
			_, f := refine(vectors, other)
			if len(other) > len(found) || len(other) == len(found) && f > betterFit*fit {
				found, fit = other, f
			}
		}
		if len(found) == least {
			break
		}
	}
	return found
}

// large returns the members of the clusters with at least small of them, at most most. If none has as many, all vectors
// are one cluster, so that a short clip has a speaker.
func large(all []cluster, most, small int) (found [][]int) {
	slices.SortStableFunc(all, func(a, b cluster) int { return len(b.members) - len(a.members) })
	n := slices.IndexFunc(all, func(c cluster) bool { return len(c.members) < small })
	switch {
	case n == 0:
		var members []int
		for _, c := range all {
			members = append(members, c.members...)
		}
		return [][]int{members}
	case n > 0:
		all = all[:n]
	}
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

// cut does the merges of clusters that are similar, and returns the clusters that are left.
func cut(all []cluster, merges []merge, least float64) (left []cluster) {
	all = slices.Clone(all)
	for _, m := range merges { // the most similar first
		if !(float64(m.similarity) >= least) {
			break
		}
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
