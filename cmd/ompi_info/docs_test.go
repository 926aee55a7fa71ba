package main

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"github.com/ompi-go/ompi-go/mca"
)

var update = flag.Bool("update", false, "write docs/params.md anew")

const paramsDocument = "../../docs/params.md"

// TestParamsDocument keeps docs/params.md equal to what the built-in
// components declare.
func TestParamsDocument(t *testing.T) {
	reg, err := mca.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	params, err := mca.Load(reg, mca.Input{})
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if err := WriteMarkdown(&want, reg, params); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(paramsDocument, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(paramsDocument)
	if err != nil || !bytes.Equal(have, want.Bytes()) {
		t.Errorf("docs/params.md is out of date (%v); run: go test ./cmd/ompi_info -run TestParamsDocument -update", err)
	}
}
