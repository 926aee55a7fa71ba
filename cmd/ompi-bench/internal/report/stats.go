package report

import "slices"

// Spread is the median of repetitions and how far they reach.
type Spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// Summarise gives median, least and greatest; the median of an even number is the mean of the middle two. No values give zeros.
func Summarise(values []float64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	return Spread{Median: (v[(n-1)/2] + v[n/2]) / 2, Min: v[0], Max: v[n-1]}
}

// Ratios divides ours by theirs, repetition by repetition, and summarises. Only repetitions that both have count.
func Ratios(ours, theirs []float64) Spread {
	var r []float64
	for i := range min(len(ours), len(theirs)) {
		if theirs[i] != 0 {
			r = append(r, ours[i]/theirs[i])
		}
	}
	return Summarise(r)
}
