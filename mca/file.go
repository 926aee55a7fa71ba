package mca

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// settingName is what may stand for a name in a file: wider than our own names,
// because files may also hold names for other MPI libraries.
var settingName = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)

const paramFileForm = `expected "name = value" or a # comment`

// ReadParamFile reads a parameter file: one "name = value" a line, blank lines,
// and comments from a # at the start of a line or after a blank. Quotes are part
// of the value, as in Open MPI. Where of each setting is path:line. All
// malformed lines are reported together. A missing file satisfies
// errors.Is(err, fs.ErrNotExist).
func ReadParamFile(path string, layer Layer) ([]Setting, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("parameter file: %w", err)
	}
	return parseParamFile(string(data), path, layer)
}

func parseParamFile(text, path string, layer Layer) ([]Setting, error) {
	var settings []Setting
	var errs []error
	number := 0
	for line := range strings.Lines(text) {
		number++
		where := fmt.Sprintf("%s:%d", path, number)
		name, value, ok, err := parseAssignment(line)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w; %s", where, err, paramFileForm))
		} else if ok {
			settings = append(settings, Setting{Name: name, Value: value, Layer: layer, Where: where})
		}
	}
	return settings, errors.Join(errs...)
}

// parseAssignment reads one line; ok is false when there is nothing on it.
func parseAssignment(line string) (name, value string, ok bool, err error) {
	line = strings.TrimSpace(stripComment(line))
	if line == "" {
		return "", "", false, nil
	}
	name, value, found := strings.Cut(line, "=")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	switch {
	case !found:
		return "", "", false, fmt.Errorf("%q has no =", line)
	case !settingName.MatchString(name):
		return "", "", false, fmt.Errorf("%q is not a parameter name", name)
	case strings.ContainsRune(value, 0):
		return "", "", false, fmt.Errorf("the value of %s has a NUL byte", name)
	}
	return name, value, true, nil
}

// stripComment cuts a line at the first # that starts it or follows a blank; a
// # inside a word stays, since host names and paths may have one.
func stripComment(line string) string {
	for i := range len(line) {
		if line[i] == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t') {
			return line[:i]
		}
	}
	return line
}
