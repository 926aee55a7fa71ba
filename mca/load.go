package mca

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/v2"
)

// delimiter would split names into levels in koanf; names are flat, so it is a
// byte no name has.
const delimiter = "/"

// Load reads all sources of in, checks every value in every one of them, and
// returns the effective parameters. All problems are reported together; each
// names the value, the parameter, the source and the form expected, and near
// names where a name is unknown.
func Load(reg *Registry, in Input) (*Params, error) {
	p, err := LoadGood(reg, in)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// LoadGood is Load that returns, beside the error, the parameters as they would be without the settings that are wrong: for those
// who show parameters, not for those who use them.
func LoadGood(reg *Registry, in Input) (*Params, error) {
	l := loader{reg: reg}
	settings := l.gather(in)
	l.checkNames(settings)
	l.merge()
	p := l.params()
	if len(l.errs) == 0 {
		l.validate(p)
	}
	if in.Warn != nil {
		l.warn(in.Warn)
	}
	return p, errors.Join(l.errs...)
}

// loader is one run of Load.
type loader struct {
	reg     *Registry
	errs    []error
	good    []Setting // known name and well-formed value, lowest layer first
	foreign []Setting // names of other MPI libraries
	adapted []string  // what was made of values of other MPI libraries
	merged  *koanf.Koanf
	from    map[string]Setting // provenance: the setting whose value is merged
}

func (l *loader) fail(format string, args ...any) {
	l.errs = append(l.errs, fmt.Errorf(format, args...))
}

// gather returns the settings of all sources, lowest layer first.
func (l *loader) gather(in Input) []Setting {
	var all []Setting
	for _, file := range []struct {
		path  string
		layer Layer
	}{{in.SystemFile, LayerSystemFile}, {in.UserFile, LayerUserFile}} {
		if file.path == "" {
			continue
		}
		settings, err := ReadParamFile(file.path, file.layer)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !hidden(file.path) {
			l.errs = append(l.errs, err)
		}
		all = append(all, settings...)
	}
	all = append(all, l.environment(in.Environ)...)
	for _, s := range in.Settings {
		if s.Layer <= LayerDefault || s.Layer >= layerEnd {
			l.fail("parameter %q: a setting cannot have %v", s.Name, s.Layer)
			continue
		}
		all = append(all, s)
	}
	slices.SortStableFunc(all, func(a, b Setting) int { return int(a.Layer - b.Layer) })
	return all
}

// hidden reports whether a file lies in a folder that this user may not even look into. A program that has given up root's rights
// still has root's HOME: whatever is in there is not meant for it.
func hidden(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrPermission)
}

func (l *loader) environment(environ []string) []Setting {
	var all []Setting
	for _, entry := range environ {
		key, value, _ := strings.Cut(entry, "=")
		if key == HandoffVar {
			settings, err := DecodeHandoff(value)
			if err != nil {
				l.fail("environment variable %s, which mpirun sets for its ranks: %w", HandoffVar, err)
			}
			all = append(all, settings...)
		} else if name, ok := strings.CutPrefix(key, EnvPrefix); ok {
			all = append(all, Setting{Name: name, Value: value, Layer: LayerEnv, Where: "environment " + key})
		}
	}
	return all
}

// checkNames sorts settings into good and foreign ones, and errors.
func (l *loader) checkNames(settings []Setting) {
	for _, s := range settings {
		p := l.reg.byName[s.Name]
		if p == nil {
			if !s.Layer.strict() && l.reg.foreign(s.Name) {
				l.foreign = append(l.foreign, s)
			} else {
				l.fail("%w (%s)", l.reg.unknown(s.Name), s.Source())
			}
			continue
		}
		if p.opt == nil && !s.Layer.strict() {
			value, note := l.reg.adapt(p.framework, s.Value)
			if note != "" {
				l.adapted = append(l.adapted, fmt.Sprintf("parameter %s: value %q (%s): %s", s.Name, s.Value, s.Source(), note))
			}
			s.Value = value
		}
		if _, err := l.reg.parse(p, s.Value); err != nil {
			l.fail("parameter %s: bad value %q (%s): %w", s.Name, s.Value, s.Source(), err)
			continue
		}
		l.good = append(l.good, s)
	}
}

// merge layers the values; koanf keeps values only, so the setting each one
// came from is kept beside it.
func (l *loader) merge() {
	l.merged = koanf.New(delimiter)
	l.from = make(map[string]Setting)
	layers := make([]map[string]any, layerEnd)
	put := func(s Setting) {
		if layers[s.Layer] == nil {
			layers[s.Layer] = make(map[string]any)
		}
		layers[s.Layer][s.Name] = s.Value
		l.from[s.Name] = s
	}
	for _, p := range l.reg.params {
		put(Setting{Name: p.name, Value: p.defaultText(), Layer: LayerDefault, Where: "default"})
	}
	for _, s := range l.good {
		put(s)
	}
	for _, values := range layers {
		if values == nil {
			continue
		}
		if err := l.merged.Load(confmap.Provider(values, delimiter), nil); err != nil {
			l.fail("layering parameters: %w", err)
		}
	}
}

// params takes the values out of koanf, whose readers must not meet a writer,
// into a table of our own.
func (l *loader) params() *Params {
	p := &Params{reg: l.reg, values: make(map[string]value, len(l.reg.params))}
	for _, d := range l.reg.params {
		text := l.merged.String(d.name)
		parsed, err := l.reg.parse(d, text)
		if err != nil {
			// Sources are checked before merging and defaults when declared.
			l.fail("parameter %s: bad value %q: %w", d.name, text, err)
			continue
		}
		p.values[d.name] = value{parsed: parsed, source: l.from[d.name]}
	}
	return p
}

// validate asks every option struct that can whether its values go together.
func (l *loader) validate(p *Params) {
	for _, s := range l.reg.structs {
		if err := p.fill(s, s.fresh()); err != nil {
			l.errs = append(l.errs, err)
		}
	}
}

func (l *loader) warn(say func(string)) {
	if len(l.foreign) > 0 {
		var b strings.Builder
		b.WriteString("ignoring parameters this library does not have: ")
		for i, s := range l.foreign {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "%s (%s)", s.Name, s.Source())
		}
		say(b.String())
	}
	for _, note := range l.adapted {
		say(note)
	}
	for _, d := range l.reg.params {
		s := l.from[d.name]
		if s.Layer == LayerDefault {
			continue
		}
		if d.opt != nil && d.opt.deprecated != "" {
			say(fmt.Sprintf("parameter %s (%s) is deprecated: %s", s.Name, s.Source(), d.opt.deprecated))
		}
	}
}
