package ompi_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ompi-go/ompi-go/ompi"
)

// choiceVar tells one rank of other parameters: rank,name,value.
const choiceVar = "OMPI_GO_CHOICE"

// setChoice gives a rank its own parameters, before it has read any.
func setChoice(rank string) {
	word := strings.Split(os.Getenv(choiceVar), ",")
	if len(word) == 3 && word[0] == rank {
		os.Setenv("OMPI_MCA_"+word[1], word[2])
	}
}

func choiceRank(w *ompi.Comm) error {
	if err := w.Barrier(); err != nil {
		return err
	}
	fmt.Println("came through")
	return nil
}

// TestPMLChoiceProcesses: a job whose ranks have chosen different PMLs ends, with one report that says who has chosen what.
func TestPMLChoiceProcesses(t *testing.T) {
	for _, x := range []struct {
		all, one string
		want     []string
	}{
		{"ob1", "2,pml,cm", []string{"rank 2 ", "rank 0 uses pml ob1, this one pml cm over mtl portals4"}},
		{"cm", "0,pml,ob1", []string{"rank 0 uses pml ob1, this one pml cm over mtl portals4"}},
		{"cm", "1,mtl_portals4_match_bits,4/12/24/24", []string{"rank 0 uses pml cm over mtl portals4 (match bits 4/12/16/32", "rank 1 ", "this one pml cm over mtl portals4 (match bits 4/12/24/24"}},
		{"cm", "1,mtl_portals4_credit_headers,16", []string{"rank 1 ", "flow control by credit for 16 messages"}},
	} {
		for _, onFailure := range []string{"abort", "continue"} {
			t.Run(x.all+" "+x.one+" "+onFailure, func(t *testing.T) {
				began := time.Now()
				out, errOut, err := launch(t, 3, "choice", []string{"--on-failure", onFailure}, []string{"OMPI_MCA_pml=" + x.all, choiceVar + "=" + x.one})
				if err == nil || time.Since(began) > 50*time.Second {
					t.Fatalf("the job ended with %v after %v: %s%s", err, time.Since(began), out, errOut)
				}
				for _, w := range x.want {
					if !strings.Contains(errOut, w) {
						t.Errorf("the job says %q; it should say %q", errOut, w)
					}
				}
				if n := strings.Count(errOut, "chosen different transports"); onFailure == "abort" && n != 1 {
					t.Errorf("the job says it %d times: %q", n, errOut)
				}
			})
		}
	}
	out, errOut, err := launch(t, 3, "choice", nil, []string{"OMPI_MCA_pml=ob1", choiceVar + "=1,pml,ob1"})
	if err != nil || strings.Count(out, "came through") != 3 {
		t.Errorf("ranks that have chosen alike: %v, %s%s", err, out, errOut)
	}
}
