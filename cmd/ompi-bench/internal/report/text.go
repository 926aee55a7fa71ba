package report

import (
	"fmt"
	"io"

	"github.com/ompi-go/ompi-go/cmd/ompi-bench/internal/suite"
)

// Head writes the comment lines above the columns of one test.
func Head(w io.Writer, t suite.Test, ranks int, how string) {
	fmt.Fprintf(w, "# %s, %d ranks\n# ompi-go, %s\n", t.Name, ranks, how)
	fmt.Fprintf(w, "# %-*s%20s", first(t)-2, t.Size, t.Title)
	if t.Rate {
		fmt.Fprintf(w, "%20s", "Messages/s")
	}
	for _, title := range t.More {
		fmt.Fprintf(w, "%20s", title)
	}
	if t.Layouts {
		fmt.Fprintf(w, "%20s", "Checksum")
	}
	fmt.Fprintln(w)
}

// first is the width of the first column.
func first(t suite.Test) int {
	if t.Layouts || t.Course {
		return 24
	}
	return 16
}

// Line writes one row in the same columns.
func Line(w io.Writer, t suite.Test, r Row) {
	fmt.Fprintf(w, "%-*s%20.3f", first(t), r.Label(), r.Value)
	if t.Rate {
		fmt.Fprintf(w, "%20.1f", MessageRate(r))
	}
	for _, title := range t.More {
		fmt.Fprintf(w, "%20.3f", r.More[title])
	}
	if t.Layouts {
		fmt.Fprintf(w, "%20s", r.Checksum)
	}
	fmt.Fprintln(w)
}

// MessageRate is the messages per second of a row in MB/s.
func MessageRate(r Row) float64 {
	if r.Size == 0 {
		return 0
	}
	return r.Value * 1e6 / float64(r.Size)
}

// LimitLine writes a raw limit, as a comment when prefix is "# ".
func LimitLine(w io.Writer, prefix string, l Limit) {
	name := l.Name
	if l.Size > 0 {
		name += " " + Bytes(l.Size)
	}
	if l.Missing != "" {
		fmt.Fprintf(w, "%s%-34s not measured: %s\n", prefix, name, l.Missing)
		return
	}
	fmt.Fprintf(w, "%s%-34s%12.3f %-5s (%.3f to %.3f)\n", prefix, name, l.Median, l.Unit, l.Min, l.Max)
}

// Bytes writes a size as people do: 8, 64K, 4M.
func Bytes(n int64) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%dM", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%dK", n>>10)
	}
	return fmt.Sprint(n)
}
