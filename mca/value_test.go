package mca

import (
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func optionOf[T any](tag reflect.StructTag) *option {
	t := reflect.TypeFor[T]()
	o := &option{typ: t, unit: tag.Get("unit")}
	o.form, _ = formOf(t)
	for _, step := range []func(reflect.StructTag) error{o.readEnum, o.readBounds} {
		if err := step(tag); err != nil {
			panic(err)
		}
	}
	return o
}

func TestParseGood(t *testing.T) {
	type mode string
	for _, test := range []struct {
		option *option
		text   string
		want   any
	}{
		{optionOf[int](""), "0", 0},
		{optionOf[int](""), "+7", 7},
		{optionOf[int](""), "-4K", -4096},
		{optionOf[int64](""), "1m", int64(1 << 20)},
		{optionOf[int64](""), "2G", int64(2 << 30)},
		{optionOf[int64](""), "0x10k", int64(16 << 10)},
		{optionOf[int64](""), "0X1F", int64(31)},
		{optionOf[int](""), "010", 8},
		{optionOf[int](""), "0k", 0},
		{optionOf[int32](""), "-2147483648", int32(-1 << 31)},
		{optionOf[int32](""), "0x7fffffff", int32(1<<31 - 1)},
		{optionOf[int64](""), "-9223372036854775808", int64(-1 << 63)},
		{optionOf[int64](""), "-8589934592g", int64(-1 << 63)},
		{optionOf[uint32](""), "4294967295", uint32(1<<32 - 1)},
		{optionOf[uint64](""), "18446744073709551615", uint64(1<<64 - 1)},
		{optionOf[uint64](""), "-0", uint64(0)},
		{optionOf[bool](""), "Yes", true},
		{optionOf[bool](""), "on", true},
		{optionOf[bool](""), "TRUE", true},
		{optionOf[bool](""), "1", true},
		{optionOf[bool](""), "off", false},
		{optionOf[bool](""), "0", false},
		{optionOf[float64](""), "1e3", 1000.0},
		{optionOf[time.Duration](""), "1m30s", 90 * time.Second},
		{optionOf[time.Duration](""), "0", time.Duration(0)},
		{optionOf[time.Duration](`min:"0" max:"1s"`), "1s", time.Second},
		{optionOf[string](""), "", ""},
		{optionOf[string](""), "a b#c", "a b#c"},
		{optionOf[mode](`enum:"auto|cma"`), "cma", mode("cma")},
		{optionOf[[]string](""), "", []string(nil)},
		{optionOf[[]string](""), "lo, eth0", []string{"lo", "eth0"}},
		{optionOf[[]mode](`enum:"put|get"`), "get,put", []mode{"get", "put"}},
	} {
		v, err := test.option.parse(test.text)
		if err != nil {
			t.Errorf("%v %q: %v", test.option.typ, test.text, err)
			continue
		}
		if got := v.Interface(); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%v %q = %v, want %v", test.option.typ, test.text, got, test.want)
		}
		again, err := test.option.parse(test.option.format(v))
		if err != nil || !reflect.DeepEqual(again.Interface(), test.want) {
			t.Errorf("%v %q: plain form %q reads as %v, %v", test.option.typ, test.text, test.option.format(v), again, err)
		}
	}
}

func TestParseBad(t *testing.T) {
	for _, test := range []struct {
		option *option
		text   string
		want   string
	}{
		{optionOf[int](""), "", "it is empty; expected an integer"},
		{optionOf[int](`unit:"bytes"`), "12abc", "not an integer; expected an integer (bytes) such as"},
		{optionOf[int](""), "abc", "not an integer"},
		{optionOf[int](""), "k", "not an integer"},
		{optionOf[int](""), "-", "not an integer"},
		{optionOf[int](""), "--1", "not an integer"},
		{optionOf[int](""), "4kk", "not an integer"},
		{optionOf[int](""), "4kb", "not an integer"},
		{optionOf[int](""), " 4", "not an integer"},
		{optionOf[int](""), "4 k", "not an integer"},
		{optionOf[int](""), "1_000", "not an integer"},
		{optionOf[int](""), "1.5", "not an integer"},
		{optionOf[int](""), "0x", "not an integer"},
		{optionOf[int](""), "0x-1", "not an integer"},
		{optionOf[int](""), "0b1", "not an integer"},
		{optionOf[int](""), "08", "leading 0 means octal"},
		{optionOf[int64](""), "9223372036854775808", "64 bits (-9223372036854775808 to 9223372036854775807)"},
		{optionOf[int64](""), "8589934592g", "64 bits"},
		{optionOf[int64](""), "99999999999999999999", "64 bits"},
		{optionOf[int64](""), "0xffffffffffffffffg", "64 bits"},
		{optionOf[int32](""), "2g", "32 bits (-2147483648 to 2147483647)"},
		{optionOf[int32](""), "-2147483649", "32 bits"},
		{optionOf[uint32](""), "4g", "32 bits (0 to 4294967295)"},
		{optionOf[uint64](""), "-1", "negative"},
		{optionOf[int](`min:"1" max:"4k"`), "0", "too small; expected an integer such as 4096, 4k, 1m, 2g or 0x1000, between 1 and 4k"},
		{optionOf[int](`min:"1"`), "0", "at least 1"},
		{optionOf[uint32](`max:"4k"`), "4097", "too large; expected a non-negative integer such as 4096, 4k, 1m, 2g or 0x1000, at most 4k"},
		{optionOf[float64](`max:"10"`), "10.5", "too large"},
		{optionOf[bool](""), "", "empty"},
		{optionOf[bool](""), "2", "not a truth value; expected true, false"},
		{optionOf[float64](""), "", "empty"},
		{optionOf[float64](""), "1x", "not a number"},
		{optionOf[float64](""), "1e999", "out of range"},
		{optionOf[float64](""), "inf", "finite"},
		{optionOf[float64](""), "nan", "finite"},
		{optionOf[time.Duration](""), "", "empty"},
		{optionOf[time.Duration](""), "5", "unit is missing; expected a duration with its unit"},
		{optionOf[time.Duration](""), "5 s", "not a duration"},
		{optionOf[time.Duration](`min:"0"`), "-1s", "too small"},
		{optionOf[string](`enum:"auto|none|cma"`), "cam", `"cam" is not a known value; did you mean cma?; expected one of auto, none, cma`},
		{optionOf[string](`enum:"auto"`), "", "not a known value"},
		{optionOf[[]string](""), "a,,b", "empty element"},
		{optionOf[[]string](""), "a,", "empty element"},
		{optionOf[[]string](`enum:"put|get"`), "put,gte", "did you mean get?"},
	} {
		_, err := test.option.parse(test.text)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v %q: error %v, want one with %q", test.option.typ, test.text, err, test.want)
		}
	}
}

// modelInteger computes with unlimited precision what parseInteger should.
func modelInteger(text string) (*big.Int, bool) {
	body := strings.TrimPrefix(text, "-")
	if body == text {
		body = strings.TrimPrefix(text, "+")
	}
	factor := int64(1)
	for suffix, f := range map[string]int64{"k": 1 << 10, "m": 1 << 20, "g": 1 << 30} {
		if cut, ok := strings.CutSuffix(strings.ToLower(body), suffix); ok {
			body, factor = cut, f
			break
		}
	}
	if body == "" || strings.ContainsAny(body, "+-_bBoO") && !strings.HasPrefix(strings.ToLower(body), "0x") || strings.Contains(body, "_") {
		return nil, false
	}
	n, ok := new(big.Int).SetString(body, 0)
	if !ok {
		return nil, false
	}
	n.Mul(n, big.NewInt(factor))
	if strings.HasPrefix(text, "-") {
		n.Neg(n)
	}
	return n, true
}

func TestParseIntegerModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[-+]{0,2}(0x|0X|0)?[0-9a-fA-F_]{0,20}[kKmMgG]{0,2}`).Draw(t, "text")
		want, valid := modelInteger(text)
		got, err := parseInt(text, 64)
		if fits := valid && want.IsInt64(); fits != (err == nil) || fits && got != want.Int64() {
			t.Fatalf("parseInt(%q) = %d, %v; want %v, valid %v", text, got, err, want, valid)
		}
		ugot, err := parseUint(text, 64)
		if fits := valid && want.IsUint64(); fits != (err == nil) || fits && ugot != want.Uint64() {
			t.Fatalf("parseUint(%q) = %d, %v; want %v, valid %v", text, ugot, err, want, valid)
		}
	})
}

// FuzzParse checks for every form that an accepted value has a plain form that
// reads as the same value.
func FuzzParse(f *testing.F) {
	options := []*option{
		optionOf[int](`min:"-5"`), optionOf[int32](""), optionOf[uint32](""), optionOf[uint64](""), optionOf[float64](""),
		optionOf[bool](""), optionOf[time.Duration](""), optionOf[string](`enum:"a|b"`), optionOf[[]string](""),
	}
	for _, text := range []string{"", "4k", "-1", "0x7f", "1.5", "yes", "2ms", "a", "a,b", "99999999999999999999g"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, o := range options {
			v, err := o.parse(text)
			if err != nil {
				continue
			}
			again, err := o.parse(o.format(v))
			if err != nil || !reflect.DeepEqual(v.Interface(), again.Interface()) {
				t.Errorf("%v %q: plain form %q reads as %v, %v", o.typ, text, o.format(v), again, err)
			}
		}
	})
}
