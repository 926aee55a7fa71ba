package mca

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// form is the notation in which a value is written.
type form int

const (
	formString form = iota
	formBool
	formInt
	formUint
	formFloat
	formDuration
	formList
)

var durationType = reflect.TypeFor[time.Duration]()

func formOf(t reflect.Type) (form, bool) {
	if t == durationType {
		return formDuration, true
	}
	switch t.Kind() {
	case reflect.String:
		return formString, true
	case reflect.Bool:
		return formBool, true
	case reflect.Int, reflect.Int32, reflect.Int64:
		return formInt, true
	case reflect.Uint, reflect.Uint32, reflect.Uint64:
		return formUint, true
	case reflect.Float64:
		return formFloat, true
	case reflect.Slice:
		return formList, t.Elem().Kind() == reflect.String
	}
	return 0, false
}

func (f form) ordered() bool {
	return f == formInt || f == formUint || f == formFloat || f == formDuration
}

func (f form) noun() string {
	return [...]string{"string", "truth value", "integer", "non-negative integer", "number", "duration", "list"}[f]
}

// typeName is the type shown by ompi_info, in Open MPI's spelling where it has one.
func (o *option) typeName() string {
	switch o.form {
	case formString:
		return "string"
	case formList:
		return "list"
	case formBool:
		return "bool"
	case formFloat:
		return "double"
	case formDuration:
		return "duration"
	}
	return map[reflect.Kind]string{
		reflect.Int: "int", reflect.Int32: "int32_t", reflect.Int64: "int64_t",
		reflect.Uint: "unsigned_int", reflect.Uint32: "uint32_t", reflect.Uint64: "uint64_t",
	}[o.typ.Kind()]
}

// expected says in words what a value must look like.
func (o *option) expected() string {
	var s string
	switch o.form {
	case formString:
		s = "a string"
		if o.enum != nil {
			s = "one of " + strings.Join(o.enum, ", ")
		}
	case formList:
		s = "a comma-separated list"
		if o.enum != nil {
			s += " of " + strings.Join(o.enum, ", ")
		}
	case formBool:
		s = "true, false, yes, no, on, off, 1 or 0"
	case formInt, formUint:
		s = "an integer"
		if o.form == formUint {
			s = "a non-negative integer"
		}
		if o.unit != "" {
			s += " (" + o.unit + ")"
		}
		s += " such as 4096, 4k, 1m, 2g or 0x1000"
	case formFloat:
		s = "a decimal number"
		if o.unit != "" {
			s += " (" + o.unit + ")"
		}
	case formDuration:
		s = "a duration with its unit, such as 500us, 10ms or 2s"
	}
	switch {
	case o.minText != "" && o.maxText != "":
		s += ", between " + o.minText + " and " + o.maxText
	case o.minText != "":
		s += ", at least " + o.minText
	case o.maxText != "":
		s += ", at most " + o.maxText
	}
	return s
}

// parse reads a value strictly. The result can be assigned to the field; the
// error says what is wrong and what was expected, not which parameter it is.
func (o *option) parse(text string) (reflect.Value, error) {
	v := reflect.New(o.typ).Elem()
	var err error
	switch o.form {
	case formString:
		err = o.checkEnum(text)
		v.SetString(text)
	case formBool:
		var b bool
		b, err = parseBool(text)
		v.SetBool(b)
	case formInt:
		var n int64
		n, err = parseInt(text, o.typ.Bits())
		v.SetInt(n)
	case formUint:
		var n uint64
		n, err = parseUint(text, o.typ.Bits())
		v.SetUint(n)
	case formFloat:
		var x float64
		x, err = parseFloat(text)
		v.SetFloat(x)
	case formDuration:
		var d time.Duration
		d, err = parseDuration(text)
		v.SetInt(int64(d))
	case formList:
		err = o.parseList(text, v)
	}
	if err == nil {
		err = o.checkBounds(v)
	}
	if err != nil {
		return reflect.Value{}, fmt.Errorf("%w; expected %s", err, o.expected())
	}
	return v, nil
}

// format writes a value the way parse reads it: numbers in plain decimal, so
// that listings can be compared and computed with.
func (o *option) format(v reflect.Value) string {
	switch o.form {
	case formBool:
		return strconv.FormatBool(v.Bool())
	case formInt:
		return strconv.FormatInt(v.Int(), 10)
	case formUint:
		return strconv.FormatUint(v.Uint(), 10)
	case formFloat:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case formDuration:
		return time.Duration(v.Int()).String()
	case formList:
		parts := make([]string, v.Len())
		for i := range parts {
			parts[i] = v.Index(i).String()
		}
		return strings.Join(parts, ",")
	}
	return v.String()
}

func (o *option) parseList(text string, v reflect.Value) error {
	if text == "" {
		return nil
	}
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			return errors.New("it has an empty element")
		}
		if err := o.checkEnum(part); err != nil {
			return err
		}
		elem := reflect.New(o.typ.Elem()).Elem()
		elem.SetString(part)
		v.Set(reflect.Append(v, elem))
	}
	return nil
}

func (o *option) checkEnum(text string) error {
	if o.enum == nil {
		return nil
	}
	for _, name := range o.enum {
		if name == text {
			return nil
		}
	}
	return fmt.Errorf("%q is not a known value%s", text, didYouMean(nearest(text, o.enum)))
}

func (o *option) checkBounds(v reflect.Value) error {
	if o.minText != "" && less(v, o.min) {
		return errors.New("it is too small")
	}
	if o.maxText != "" && less(o.max, v) {
		return errors.New("it is too large")
	}
	return nil
}

func less(a, b reflect.Value) bool {
	switch {
	case a.CanInt():
		return a.Int() < b.Int()
	case a.CanUint():
		return a.Uint() < b.Uint()
	}
	return a.Float() < b.Float()
}
