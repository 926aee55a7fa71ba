package mca

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// option is one parameter as its struct field declares it.
type option struct {
	field      string // the mca tag
	index      []int  // path for reflect.Value.FieldByIndex
	typ        reflect.Type
	form       form
	def        string // the default, as format writes it
	level      int
	unit       string
	help       string
	deprecated string
	enum       []string
	minText    string // as declared, for messages; "" when unbounded
	maxText    string
	min, max   reflect.Value // valid only when the text is set
	settable   bool
}

// The tags that only make sense beside an mca tag.
var optionTags = []string{"default", "level", "unit", "help", "deprecated", "enum", "min", "max", "settable"}

// describe reads the declarations of an option struct. v must be a pointer to
// a struct; its non-zero fields are defaults.
func describe(v any) ([]option, error) {
	ptr := reflect.ValueOf(v)
	if ptr.Kind() != reflect.Pointer || ptr.IsNil() || ptr.Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("want a pointer to a struct, have %T", v)
	}
	var options []option
	var errs []error
	seen := make(map[string]string)
	for _, f := range reflect.VisibleFields(ptr.Elem().Type()) {
		name, tagged := f.Tag.Lookup("mca")
		if !tagged {
			// Of an embedded struct VisibleFields lists the fields as well.
			if stray := strayTag(f); stray != "" {
				errs = append(errs, fmt.Errorf("field %s has a %s tag but no mca tag", f.Name, stray))
			}
			continue
		}
		if other, ok := seen[name]; ok {
			errs = append(errs, fmt.Errorf("fields %s and %s are both called %q", other, f.Name, name))
			continue
		}
		seen[name] = f.Name
		o, err := describeField(f, name, ptr.Elem())
		if err != nil {
			errs = append(errs, fmt.Errorf("field %s: %w", f.Name, err))
			continue
		}
		options = append(options, o)
	}
	return options, errors.Join(errs...)
}

func strayTag(f reflect.StructField) string {
	for _, tag := range optionTags {
		if _, ok := f.Tag.Lookup(tag); ok {
			return tag
		}
	}
	return ""
}

func describeField(f reflect.StructField, name string, fresh reflect.Value) (option, error) {
	o := option{
		field: name, index: f.Index, typ: f.Type,
		unit: f.Tag.Get("unit"), help: f.Tag.Get("help"), deprecated: f.Tag.Get("deprecated"),
	}
	if !fieldName.MatchString(name) {
		return o, fmt.Errorf("mca tag %q: want lower-case letters, digits and underscores", name)
	}
	if !f.IsExported() {
		return o, errors.New("has an mca tag but is not exported")
	}
	for i := 1; i < len(f.Index); i++ {
		if fresh.Type().FieldByIndex(f.Index[:i]).Type.Kind() == reflect.Pointer {
			return o, errors.New("lies in a struct embedded by pointer; embed the struct itself")
		}
	}
	var ok bool
	if o.form, ok = formOf(f.Type); !ok {
		return o, fmt.Errorf("type %s cannot be a parameter", f.Type)
	}
	if o.help == "" {
		return o, errors.New("the help tag is missing")
	}
	for _, step := range []func(reflect.StructTag) error{o.readLevel, o.readSettable, o.readEnum, o.readBounds} {
		if err := step(f.Tag); err != nil {
			return o, err
		}
	}
	return o, o.readDefault(f.Tag, fresh.FieldByIndex(f.Index))
}

func (o *option) readLevel(tag reflect.StructTag) error {
	text, ok := tag.Lookup("level")
	if !ok {
		o.level = 9
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 9 {
		return fmt.Errorf("level tag %q: want 1 to 9", text)
	}
	o.level = n
	return nil
}

func (o *option) readSettable(tag reflect.StructTag) error {
	switch text := tag.Get("settable"); text {
	case "true":
		o.settable = true
	case "", "false":
	default:
		return fmt.Errorf("settable tag %q: want true or false", text)
	}
	return nil
}

func (o *option) readEnum(tag reflect.StructTag) error {
	text, ok := tag.Lookup("enum")
	if !ok {
		return nil
	}
	if o.form != formString && o.form != formList {
		return errors.New("only a string or a list of strings can have an enum tag")
	}
	o.enum = strings.Split(text, "|")
	for i, name := range o.enum {
		if name == "" || strings.ContainsAny(name, ", ") || slices.Contains(o.enum[:i], name) {
			return fmt.Errorf("enum tag %q: want distinct names without blanks or commas, separated by |", text)
		}
	}
	return nil
}

func (o *option) readBounds(tag reflect.StructTag) error {
	for _, b := range []struct {
		tag  string
		text *string
		dst  *reflect.Value
	}{{"min", &o.minText, &o.min}, {"max", &o.maxText, &o.max}} {
		text, ok := tag.Lookup(b.tag)
		if !ok {
			continue
		}
		if !o.form.ordered() {
			return fmt.Errorf("a %s cannot have a %s tag", o.form.noun(), b.tag)
		}
		v, err := o.parse(text)
		if err != nil {
			return fmt.Errorf("%s tag %q: %w", b.tag, text, err)
		}
		// Set the text last: parse checks against bounds that are set.
		*b.dst, *b.text = v, text
	}
	return nil
}

func (o *option) readDefault(tag reflect.StructTag, preset reflect.Value) error {
	text, ok := tag.Lookup("default")
	if !preset.IsZero() || !ok {
		text = o.format(preset)
		if text == "" && o.form == formString {
			return nil // an enum may start out unset
		}
	}
	v, err := o.parse(text)
	if err != nil {
		return fmt.Errorf("default %q: %w", text, err)
	}
	o.def = o.format(v)
	return nil
}

// set stores a value in a struct of the type the option was read from.
func (o *option) set(structure reflect.Value, v reflect.Value) {
	structure.FieldByIndex(o.index).Set(v)
}
