package mca

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Params holds the effective value of every parameter of a Registry, and where
// each comes from. It is safe for concurrent use; only Set changes it.
type Params struct {
	reg *Registry

	mu       sync.RWMutex // guards which table is in force, and watchers
	values   map[string]value
	watchers []watcher
}

// value is a checked value: of the field's type for an option, a Selection for
// a selection list.
type value struct {
	parsed reflect.Value
	source Setting
}

// parse reads the text of a parameter.
func (r *Registry) parse(p *param, text string) (reflect.Value, error) {
	if p.opt != nil {
		return p.opt.parse(text)
	}
	s, err := r.checkSelection(p.framework, text)
	return reflect.ValueOf(s), err
}

func (p *param) defaultText() string {
	if p.opt == nil {
		return ""
	}
	return p.opt.def
}

func (p *param) format(v reflect.Value) string {
	if p.opt == nil {
		return v.Interface().(Selection).String()
	}
	return p.opt.format(v)
}

// Decode fills the tagged fields of into with the effective values of a
// component's parameters and leaves its other fields alone. Component "" or
// "base" means the framework's own parameters. into must be a pointer of the
// type that Options returns. When it has a method Validate() error, that is
// called last and its error returned with the settings it judged.
func (p *Params) Decode(framework, component string, into any) error {
	s := p.reg.options(framework, component)
	if s == nil {
		return fmt.Errorf("decoding parameters: %s registers no options", describePair(framework, component))
	}
	if t := reflect.TypeOf(into); t != s.typ || reflect.ValueOf(into).IsNil() {
		return fmt.Errorf("decoding parameters of %s: want a non-nil %v, have %T", describePair(framework, component), s.typ, into)
	}
	return p.fill(s, into)
}

func describePair(framework, component string) string {
	if component == "" || component == BaseName {
		return "framework " + framework
	}
	return "component " + framework + "/" + component
}

// fill stores all values of an option struct in into and validates the whole.
func (p *Params) fill(s *optionStruct, into any) error {
	structure := reflect.ValueOf(into).Elem()
	values := p.table()
	for _, d := range s.params {
		v := values[d.name].parsed
		if d.opt.form == formList && !v.IsNil() {
			// The receiver may sort or append; it must not reach our copy.
			own := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			reflect.Copy(own, v)
			v = own
		}
		d.opt.set(structure, v)
	}
	validator, ok := into.(interface{ Validate() error })
	if !ok {
		return nil
	}
	if err := validator.Validate(); err != nil {
		return fmt.Errorf("parameters of %s: %w%s", describePair(s.framework, s.component), err, p.judged(s))
	}
	return nil
}

// judged lists the settings of a struct that are not defaults, which are the
// ones a user can take back.
func (p *Params) judged(s *optionStruct) string {
	var set []string
	for _, d := range s.params {
		if from := p.table()[d.name].source; from.Layer != LayerDefault {
			set = append(set, fmt.Sprintf("%s is %q (%s)", d.name, from.Value, from.Source()))
		}
	}
	if set == nil {
		return ""
	}
	return "; " + strings.Join(set, ", ")
}

// Selection returns the selection list of a framework. It allows everything
// when the framework has none.
func (p *Params) Selection(framework string) Selection {
	d := p.reg.byName[framework]
	if d == nil || d.opt != nil {
		return Selection{}
	}
	return p.table()[framework].parsed.Interface().(Selection)
}

// Lookup returns the effective value of a parameter in its plain form (numbers
// in decimal, truth values as true or false) and the setting it comes from;
// ok is false when there is no such parameter.
func (p *Params) Lookup(name string) (text string, src Setting, ok bool) {
	d := p.reg.byName[name]
	if d == nil {
		return "", Setting{}, false
	}
	v := p.table()[name]
	return d.format(v.parsed), v.source, true
}

// Info is everything ompi_info prints about one parameter.
type Info struct {
	Name       string
	Framework  string
	Component  string // "base" for the framework's own
	Value      string // effective, in plain form
	Default    string // in plain form
	Source     Setting
	Type       string // Open MPI's name of the type, or "duration", "list"
	Unit       string // "" when it has none
	Help       string
	Level      int      // 1 to 9
	Enum       []string // the only values allowed; nil when free
	Min, Max   string   // inclusive bounds as declared; "" when unbounded
	Settable   bool     // a change after start-up has an effect
	Deprecated string   // what to use instead; "" when it is not deprecated
}

// selectionLevel is where Open MPI shows its selection lists: user/detail.
const selectionLevel = 2

// Infos returns all parameters: by framework, its selection list and own
// parameters first, then those of its components, in the order of declaration.
func (p *Params) Infos() []Info {
	infos := make([]Info, 0, len(p.reg.params))
	values := p.table()
	for _, d := range p.reg.params {
		v := values[d.name]
		info := Info{
			Name: d.name, Framework: d.framework, Component: d.component,
			Value: d.format(v.parsed), Default: d.defaultText(), Source: v.source,
		}
		if o := d.opt; o != nil {
			info.Type, info.Unit, info.Help, info.Level = o.typeName(), o.unit, o.help, o.level
			info.Enum, info.Min, info.Max = slices.Clone(o.enum), o.minText, o.maxText
			info.Settable, info.Deprecated = o.settable, o.deprecated
		} else {
			info.Type, info.Level = "string", selectionLevel
			info.Help = "components of the " + d.framework + " framework to use (a,b) or not to use (^a,b); empty allows all"
		}
		infos = append(infos, info)
	}
	return infos
}
