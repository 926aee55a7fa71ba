package report

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// powersOfTwo labels the size axis: 1, 16, 256, 4K, … so that about ten labels remain.
type powersOfTwo struct{}

// Ticks implements plot.Ticker.
func (powersOfTwo) Ticks(lo, hi float64) []plot.Tick {
	first, last := int(math.Ceil(math.Log2(lo))), int(math.Floor(math.Log2(hi)))
	every := max(1, (last-first+9)/10)
	var ticks []plot.Tick
	for e := first; e <= last; e++ {
		t := plot.Tick{Value: math.Exp2(float64(e))}
		if (e-first)%every == 0 {
			t.Label = Bytes(int64(t.Value))
		}
		ticks = append(ticks, t)
	}
	return ticks
}

// oneTwoFive labels a logarithmic axis of values: 0.1, 0.2, 0.5, 1, …; over many decades only the powers of ten.
type oneTwoFive struct{}

// Ticks implements plot.Ticker.
func (oneTwoFive) Ticks(lo, hi float64) []plot.Tick {
	sparse := hi/lo > 2000
	var ticks []plot.Tick
	for _, v := range steps125(lo, hi) {
		t := plot.Tick{Value: v}
		if !sparse || isPowerOfTen(v) {
			t.Label = strconv.FormatFloat(v, 'g', 6, 64)
			if v >= 1 && v < 1e9 {
				t.Label = strconv.FormatFloat(v, 'f', 0, 64)
			}
		}
		ticks = append(ticks, t)
	}
	return ticks
}

// widen moves both ends outwards to the next value of 1, 2 or 5 times a power of ten, so that the axis ends at labels.
func widen(lo, hi float64) (float64, float64) {
	all := steps125(lo/10, hi*10)
	for i := len(all) - 1; i >= 0; i-- {
		if all[i] <= lo {
			lo = all[i]
			break
		}
	}
	for _, v := range all {
		if v >= hi && v > lo {
			return lo, v
		}
	}
	return lo, hi
}

// steps125 lists the values of 1, 2, 5 times powers of ten from lo to hi.
func steps125(lo, hi float64) []float64 {
	var all []float64
	for e := int(math.Floor(math.Log10(lo))); e <= int(math.Ceil(math.Log10(hi))); e++ {
		for _, m := range [3]float64{1, 2, 5} {
			// parsed rather than multiplied, so that 0.2 is 0.2
			v, _ := strconv.ParseFloat(strconv.Itoa(int(m))+"e"+strconv.Itoa(e), 64)
			if v >= lo*(1-1e-9) && v <= hi*(1+1e-9) {
				all = append(all, v)
			}
		}
	}
	return all
}

func isPowerOfTen(v float64) bool {
	e := math.Log10(v)
	return math.Abs(e-math.Round(e)) < 1e-9
}
