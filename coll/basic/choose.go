package basic

import "github.com/ompi-go/ompi-go/coll/alg"

var (
	allreduceRing        = alg.Named(alg.Allreduce, "ring")
	allreduceReduceBcast = alg.Named(alg.Allreduce, "reduce_bcast")
	gatherBinomial       = alg.Named(alg.Gather, "binomial")
	scatterBinomial      = alg.Named(alg.Scatter, "binomial")
	allgatherDoubling    = alg.Named(alg.Allgather, "recursive_doubling")
	reduceScatter        = alg.Named(alg.ReduceScatter, "pairwise")
	reduceScatterBlock   = alg.Named(alg.ReduceScatterBlock, "pairwise")
	scanDoubling         = alg.Named(alg.Scan, "recursive_doubling")
	exscanDoubling       = alg.Named(alg.Exscan, "recursive_doubling")
)

// Choose implements alg.Chooser.
func (o *Options) Choose(a *alg.Args, bytes int64, size int) *alg.Algorithm {
	ordered := a.Op != nil && !a.Op.Commutative()
	switch a.Kind {
	case alg.Allreduce:
		if bytes >= o.AllreduceLong {
			if ordered {
				return allreduceReduceBcast
			}
			return allreduceRing
		}
	case alg.Gather:
		if size > 2 && bytes <= o.GatherShort {
			return gatherBinomial
		}
	case alg.Scatter:
		if size > 2 && bytes <= o.GatherShort {
			return scatterBinomial
		}
	case alg.Allgather:
		if size&(size-1) == 0 && bytes*int64(size) <= o.AllgatherShort {
			return allgatherDoubling
		}
	case alg.ReduceScatter:
		if !ordered {
			return reduceScatter
		}
	case alg.ReduceScatterBlock:
		if !ordered {
			return reduceScatterBlock
		}
	case alg.Scan:
		return scanDoubling
	case alg.Exscan:
		return exscanDoubling
	}
	return alg.List(a.Kind)[0]
}
