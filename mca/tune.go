package mca

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// envName is the name of an environment variable as POSIX shells write it.
var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

const tuneFileForm = `expected "--mca name value", "-x VAR" or "-x VAR=value" (several may share a line), "name = value", or a # comment`

// ReadTuneFile reads a file of --tune. A line holds options as on mpirun's
// command line (--mca name value, -mca name value, -x VAR, -x VAR=value; several
// a line, with shell quotes), or "name = value" as in a parameter file. It
// returns the parameters, with layer LayerTune and Where "tune path:line", and
// the arguments of -x in order. All malformed lines are reported together.
func ReadTuneFile(path string) (mca []Setting, env []string, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("tune file: %w", err)
	}
	return parseTuneFile(string(data), path)
}

func parseTuneFile(text, path string) (mca []Setting, env []string, err error) {
	var errs []error
	number := 0
	for line := range strings.Lines(text) {
		number++
		where := fmt.Sprintf("tune %s:%d", path, number)
		settings, vars, err := parseTuneLine(line, where)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w; %s", where, err, tuneFileForm))
			continue
		}
		mca, env = append(mca, settings...), append(env, vars...)
	}
	return mca, env, errors.Join(errs...)
}

func parseTuneLine(line, where string) (mca []Setting, env []string, err error) {
	if !strings.HasPrefix(strings.TrimSpace(line), "-") {
		name, value, ok, err := parseAssignment(line)
		if err != nil || !ok {
			return nil, nil, err
		}
		return []Setting{{Name: name, Value: value, Layer: LayerTune, Where: where}}, nil, nil
	}
	words, err := splitWords(line)
	if err != nil {
		return nil, nil, err
	}
	for len(words) > 0 {
		flag := words[0]
		switch flag {
		case "--mca", "-mca":
			if len(words) < 3 {
				return nil, nil, fmt.Errorf("%s needs a name and a value", flag)
			}
			if !settingName.MatchString(words[1]) {
				return nil, nil, fmt.Errorf("%q is not a parameter name", words[1])
			}
			mca = append(mca, Setting{Name: words[1], Value: words[2], Layer: LayerTune, Where: where})
			words = words[3:]
		case "-x":
			if len(words) < 2 {
				return nil, nil, errors.New("-x needs a variable")
			}
			if name, _, _ := strings.Cut(words[1], "="); !envName.MatchString(name) {
				return nil, nil, fmt.Errorf("-x: %q is not the name of an environment variable", name)
			}
			env = append(env, words[1])
			words = words[2:]
		default:
			return nil, nil, fmt.Errorf("%q cannot stand in a tune file%s", flag, didYouMean(nearest(flag, []string{"--mca", "-mca", "-x"})))
		}
	}
	return mca, env, nil
}

// splitWords splits a line as a shell does: blanks separate, single quotes keep
// everything, double quotes keep all but backslash before a quote or backslash,
// an unquoted backslash keeps the next byte, # at the start of a word comments.
func splitWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord := false
	quote := byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == 0:
			return nil, errors.New("the line has a NUL byte")
		case quote != 0 && c == quote:
			quote = 0
		case quote == '"' && c == '\\' && i+1 < len(line) && (line[i+1] == '"' || line[i+1] == '\\'):
			i++
			word.WriteByte(line[i])
		case quote != 0:
			word.WriteByte(c)
		case c == '\'' || c == '"':
			quote, inWord = c, true
		case c == '\\' && i+1 < len(line) && line[i+1] != '\n' && line[i+1] != '\r':
			i++
			word.WriteByte(line[i])
			inWord = true
		case c == '\\':
			return nil, errors.New("a line cannot be continued with a backslash")
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		case c == '#' && !inWord:
			return words, nil
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("the quote %c is not closed", quote)
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}
