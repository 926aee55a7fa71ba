package ompi_test

import (
	"os"
	"testing"
)

// aboutOb1 skips a test that is about pml ob1 and the BTLs under it when the environment chooses another PML, as who runs all tests over that one
// has it do: OMPI_MCA_pml=cm go test -count=1 ./ompi
func aboutOb1(t testing.TB) {
	t.Helper()
	if pml := os.Getenv("OMPI_MCA_pml"); pml != "" && pml != "ob1" {
		t.Skip("about pml ob1, and OMPI_MCA_pml is", pml)
	}
}
