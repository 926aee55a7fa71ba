package mca

import (
	"fmt"
	"net/url"
	"strings"
)

// HandoffVar is the private environment variable in which mpirun hands the
// settings of --mca and --tune to its ranks. Had it exported them as
// OMPI_MCA_<name>, the ranks would take them for the user's environment, and
// both precedence and provenance would be lost.
const HandoffVar = "OMPI_GO_MCA_HANDOFF"

// The text is
//
//	1 { ";" layer ":" name ":" value ":" where }
//
// where 1 is the version, layer is one letter, and the other fields are
// query-escaped, so that they hold neither separators nor bytes an environment
// cannot carry.
const handoffVersion = "1"

// handoffLayers gives the letter of each layer. Defaults are never handed on.
const handoffLayers = "-suetca"

// EncodeHandoff packs settings into the value of [HandoffVar]. It panics on a
// layer that does not exist and on LayerDefault, which every rank knows itself.
func EncodeHandoff(settings []Setting) string {
	var b strings.Builder
	b.WriteString(handoffVersion)
	for _, s := range settings {
		if s.Layer <= LayerDefault || s.Layer >= layerEnd {
			panic(fmt.Sprintf("mca: EncodeHandoff: setting %q has layer %v", s.Name, s.Layer))
		}
		b.WriteByte(';')
		b.WriteByte(handoffLayers[s.Layer])
		for _, field := range []string{s.Name, s.Value, s.Where} {
			b.WriteByte(':')
			b.WriteString(url.QueryEscape(field))
		}
	}
	return b.String()
}

// DecodeHandoff unpacks what EncodeHandoff packed. "" holds no settings.
func DecodeHandoff(text string) ([]Setting, error) {
	if text == "" {
		return nil, nil
	}
	records := strings.Split(text, ";")
	if records[0] != handoffVersion {
		return nil, fmt.Errorf("version %q, this library reads version %s; is mpirun of another release?", records[0], handoffVersion)
	}
	var settings []Setting
	for i, record := range records[1:] {
		s, err := decodeRecord(record)
		if err != nil {
			return nil, fmt.Errorf("setting %d: %w", i+1, err)
		}
		settings = append(settings, s)
	}
	return settings, nil
}

func decodeRecord(record string) (Setting, error) {
	fields := strings.Split(record, ":")
	if len(fields) != 4 {
		return Setting{}, fmt.Errorf("%d fields, want 4", len(fields))
	}
	if len(fields[0]) != 1 || fields[0] == "-" || !strings.Contains(handoffLayers, fields[0]) {
		return Setting{}, fmt.Errorf("unknown layer %q", fields[0])
	}
	s := Setting{Layer: Layer(strings.Index(handoffLayers, fields[0]))}
	for i, dst := range []*string{&s.Name, &s.Value, &s.Where} {
		text, err := url.QueryUnescape(fields[i+1])
		if err != nil {
			return Setting{}, err
		}
		*dst = text
	}
	return s, nil
}
